"""Figures of memory mapping and static allocation; intervals are Student's over programs unless a function says otherwise."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from corl.statistics import sample_mean

from .cells import bold, mean, number, recorded, recorded_table, row, rows, table

__all__ = [
    "cost_model", "game_players", "large_static", "learned_priority", "players", "replays", "searches", "slower", "static",
    "suite", "suite_summary", "tracing",
]  # fmt: skip

_TUNED = "xla-like tuned"
_GROUPS = ("generated", "traced")


def suite() -> str:
    """Means of all solvers after one second, above the bound and above the best of each pair."""
    solvers = [
        "all-slow", "greedy-keep", "xla-like", _TUNED, "learned-priority", "nested-search", "annealing from xla-like",
        "annealing", "AlphaZero", "MuZero",
    ]  # fmt: skip
    return _suite(solvers)


def suite_summary() -> str:
    """The same, of the solvers that the problem's page names."""
    return _suite(["all-slow", "greedy-keep", "xla-like", _TUNED, "learned-priority", "annealing"])


def above_bound(solver: str) -> str:
    """Return how far plans are above the bound after one second, in per cent without the sign; "" if the file does not say."""
    return number(row("memory/mapping-standard", solver=solver, group="all")["mean_bound_gap_percent"], 1)


def _suite(solvers: list[str]) -> str:
    best = recorded("memory", "above the best of the row")
    lines = [
        ["above the proven bound, %", *(bold(above_bound(solver), solver == "annealing") for solver in solvers)],
        ["above the best of the row, %", *(bold(best["all", solver], solver == "annealing") for solver in solvers)],
    ]
    return table(["", *("tuned" if solver == _TUNED else solver for solver in solvers)], lines)


def slower(name: str, method: str, base: str, group: str) -> list[float]:
    """By how many per cent plans of `method` are slower than those of `base`, for each program that both have."""

    def times(wanted: str) -> dict[str, float]:
        found = rows(f"memory/{name}", method=wanted)
        return {each["program"]: float(each["microseconds"]) for each in found if _group(each) == group}

    mine, theirs = times(method), times(base)
    return [100 * (value / theirs[program] - 1) for program, value in mine.items() if program in theirs]


def _group(found: dict[str, str]) -> str:
    return found.get("group") or ("generated" if found["program"].startswith("mixed-") else "traced")


def _signed(values: list[float]) -> str:
    """Return the mean with half of Student's 95 % interval."""
    found = sample_mean(values)
    assert found.value is not None
    return f"{number(found.value, 2, sign=True)} ± {number(found.half, 2)}"


def learned_priority() -> str:
    """Plans of the learned priority and of its ablations beside the tuned compiler-like ones."""
    labels = {
        "xla-like": "`xla-like`, default setting",
        "learned": "learned, one plan ({} and {} ms; tuned {} and {})",
        "learned, in the time of tuned": "learned, plans with noise in the time of tuned",
        "items, compiler's priority, in the time of tuned": "the compiler's priority over the same items, in that time",
        "shuffled, in the time of tuned": "the trained numbers shuffled, in that time",
    }
    spent = [
        number(mean(each["milliseconds"] for each in rows("memory/mapping-priority", method=method, group=group)), 1)
        for method in ("learned", _TUNED)
        for group in _GROUPS
    ]
    lines = []
    for method, label in labels.items():
        cells = [f"{_signed(slower('mapping-priority', method, _TUNED, group))} %" for group in _GROUPS]
        best = method == "learned, in the time of tuned"
        lines.append([label.format(*spent), *(bold(cell, best) for cell in cells)])
    return table(["", "generated, 30 programs of 80 operations", "traced, 18 programs x 1, 2, 4, 8 MiB"], lines)


def searches() -> str:
    """The share of the gap that searches close, and how far their plans are above the bound."""
    labels = {
        ("all-slow", ""): "all-slow", ("greedy-keep", ""): "greedy-keep", ("xla-like", ""): "xla-like", (_TUNED, ""): "tuned",
        ("learned-priority, one plan", ""): "learned, one plan", ("learned-priority", "1"): "learned-priority 1 s",
        ("nested-search", "1"): "nested-search 1 s", ("annealing from xla-like", "1"): "annealing from xla-like 1 s",
        ("annealing", "1"): "annealing 1 s", ("annealing", "10"): "annealing 10 s",
    }  # fmt: skip
    closed, above = [], []
    for method, limit in labels:
        found = rows("memory/mapping", method=method, limit=limit)
        closed.append(bold(number(mean(each["closed"] for each in found), 0, 100), method == "annealing"))
        above.append(number(mean(100 * (float(e["microseconds"]) / float(e["bound"]) - 1) for e in found), 1))
    return table(["", *labels.values()], [["gap closed, %", *closed], ["above the bound, %", *above]])


def players() -> str:
    """Players of the game beside tuned `xla-like`, and the better of both."""
    labels = {
        "AlphaZero, policy alone": "AlphaZero's policy alone ({} s; {} s)",
        "MuZero, policy alone": "MuZero's policy alone ({} s; {} s)",
        "AlphaZero, Gumbel search": "", "AlphaZero, PUCT": "", "AlphaZero, beam": "", "AlphaZero, samples": "",
        "MuZero": "MuZero, Gumbel search", "shuffled, Gumbel search": "", "no network, Gumbel search": "",
        "learned-priority": "`learned-priority`", "annealing": "",
    }  # fmt: skip
    lines = []
    for method, label in labels.items():
        generated, traced = (slower("mapping-players", method, _TUNED, group) for group in _GROUPS)
        spent = (mean(e["seconds"] for e in rows("memory/mapping-players", method=method) if _group(e) == g) for g in _GROUPS)
        head = (label or method).format(*(number(each, 1) for each in spent))
        cells = [f"{bold(_signed(some), method == 'annealing')} ({_counts(some)})" for some in (generated, traced)]
        lines.append([head, *cells, _signed([min(x, 0.0) for x in traced])])
    bounds: dict[str, list[float]] = {group: [] for group in _GROUPS}
    for each in rows("memory/mapping-players", method=_TUNED):
        bounds[_group(each)].append(100 * (float(each["bound"]) / float(each["microseconds"]) - 1))
    lines.append(["bound", *map(_signed, bounds.values()), ""])
    heads = ["generated (better, worse of 12)", "traced (better, worse of 12)", "better of both, traced"]
    return table(["", *heads], lines)


def _counts(slower: list[float]) -> str:
    return f"{sum(x < -0.01 for x in slower)}, {sum(x > 0.01 for x in slower)}"


def replays() -> str:
    """What plans of annealing lose by the rules of a game, mean and largest loss."""

    def losses(column: str) -> list[float]:
        return [float(each[column]) for each in rows("memory/mapping-replays")]

    labels = {
        ("game",): "the mallocGame: offsets in schedule order, once for all; copies as late as idle bandwidth hides them",
        ("by_area", "by_size"): "the order of items, given by area or by size, at the lowest free offset",
        ("stall",): "only when copies begin: with the operation before the use",
        ("hidden",): "only when copies begin: as late as idle bandwidth hides them",
        ("either",): "the same, or with the operation before the use, whichever is nearer to the plan",
    }
    lines = []
    for columns, label in labels.items():
        means = ", ".join(number(mean(losses(column)), 2) for column in columns)
        lines.append([label, means, ", ".join(number(max(losses(column)), 1) for column in columns)])
    return table(["what the game decides by itself", "mean", "most"], lines)


def game_players() -> str:
    """Policies of the game's players before and after it changed."""
    return recorded_table("memory", "players of the game")


def cost_model() -> str:
    """Spearman's correlations of modelled and measured times, with 95 % bootstrap intervals over the operations."""
    lines = []
    for model, batch, kind, label in (
        ("resnet50", 1, "", "ResNet-50, batch 1"), ("resnet50", 1, "conv2d", "its convolutions"),
        ("resnet50", 8, "", "ResNet-50, batch 8"), ("resnet50", 8, "conv2d", "its convolutions"),
        ("alexnet", 1, "", "AlexNet, batch 1"), ("unet", 1, "", "U-Net, batch 1"),
    ):  # fmt: skip
        found = rows("memory/cost-model", model=model, batch=batch, **({"operation": kind} if kind else {}))
        modelled, flops, moved, measured = (
            np.array([float(each[column]) for each in found]) for column in ("modelled_us", "flops", "bytes", "measured_us")
        )
        cells = [_correlation(theory, measured) for theory in (modelled, flops, moved)]
        cells[0] = bold(cells[0], label.startswith("ResNet-50"))
        lines.append([label, f"{len(found)}", *cells, number(float(np.median(measured / modelled)), 2)])
    heads = ["operations", "sizes", "modelled time", "FLOPs alone", "bytes alone", "measured / modelled, median"]
    return table(heads, lines)


def _correlation(one: np.ndarray, other: np.ndarray) -> str:
    """Return the rank correlation with its interval; a resample in which one of the two is constant counts as no correlation."""
    drawn = np.random.default_rng(0).integers(0, len(one), (2000, len(one)))
    low, high = np.percentile(_ranks(one[drawn], other[drawn]), [2.5, 97.5])
    value = _ranks(one[None], other[None])[0]
    return f"{number(float(value), 3)} [{number(float(low), 3)}, {number(float(high), 3)}]"


def _ranks(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return Spearman's correlation of each row, float64 [rows]; 0 if a side is constant."""
    first, second = (rankdata(each, axis=-1) - (each.shape[-1] + 1) / 2 for each in (one, other))
    scale = np.sqrt((first**2).sum(axis=-1) * (second**2).sum(axis=-1))
    return np.divide((first * second).sum(axis=-1), scale, out=np.zeros(len(first)), where=scale > 0)


def static() -> str:
    """Seconds for minimalloc's challenging instances."""
    found = {solver: rows("memory/static-beside", solver=solver) for solver in ("branch-and-bound", "minimalloc")}
    ours = found["branch-and-bound"]
    lines = [["buffers", *(each["buffers"] for each in ours)]]
    for solver, label in (("branch-and-bound", "`branch-and-bound`"), ("minimalloc", "minimalloc")):
        lines.append([label, *(each["seconds"] for each in found[solver])])
    return table(["", *(each["instance"].partition(".")[0] for each in ours)], lines)


def static_seconds(solver: str) -> str:
    """Return the seconds of a solver for all of these together."""
    return number(sum(float(each["seconds"]) for each in rows("memory/static-beside", solver=solver)), 1)


def large_static() -> str:
    """Heights of idealloc's large files."""
    return recorded_table("memory", "large static instances")


def tracing() -> str:
    """Operations and products of shipped programs and of transformers' classes."""
    return recorded_table("memory", "operations and products")

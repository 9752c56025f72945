"""Figures of the travelling salesman problem: classical solvers. Those of policies are in tsp_learned.py."""

from __future__ import annotations

from decimal import Decimal

from .cells import Row, bold_least, interval, mean, number, percent, recorded, recorded_table, row, rows, significant, table

__all__ = [
    "atsp_classes", "classics", "equal_time", "heatmaps", "kick_shares", "large_gap", "large_tours", "one_second", "recall",
    "symmetric_gap", "tsplib", "tsplib_worse", "workers",
]  # fmt: skip

_LARGE = {
    "E10k.0 (`eax`)": "portgen-10000", "E31k.0": "portgen-31623", "E100k.0": "portgen-100000", "E316k.0": "portgen-316228",
    "E1M.0": "portgen-1000000", "C100k.0": "portcgen-100000",
}  # fmt: skip


def large_gap(name: str, instance: str) -> str:
    """Return the gap of `auto` on a large instance, in per cent without the sign: two digits, three below a tenth."""
    gap = row(f"tsp/{name}", group=instance)["mean_gap_percent"]
    return number(gap, 3 if float(gap) < 0.1 else 2)


def large_tours() -> str:
    """Gaps after one and ten minutes, the time to some gaps, and peak memory."""
    times, gaps = recorded("tsp", "seconds to a gap"), ("5 %", "3 %", "2 %", "1 %", "0.5 %")
    lines = []
    for label, group in _LARGE.items():
        short, long = row("tsp/huge", group=group), rows("tsp/huge-long", group=group)
        ten = f"{large_gap('huge-long', group)} %" if long else ""
        memory = _gigabytes(max([short, *long], key=lambda run: float(run["peak_megabytes"])))
        lines.append([label, f"{large_gap('huge', group)} %", ten, *(times.get((group, gap), "") for gap in gaps), memory])
    return table(["", "gap in 60 s", "gap in 600 s", *(f"seconds to {gap}" for gap in gaps), "peak memory of these runs"], lines)


def kick_shares() -> str:
    """Gaps of `ils` on E100k.0 by the share of the time that kicks take."""
    return recorded_table("tsp", "kick shares", "share of kicks")


def workers() -> str:
    """Gaps of `ils` on E100k.0 with one and with two workers."""
    return recorded_table("tsp", "workers", "gap in % after")


def tsplib_worse() -> str:
    """Files of TSPLIB on which `eax` is worse than fast-tsp after six seconds."""
    return recorded_table("tsp", "eax worse than fast-tsp")


def recall() -> str:
    """Edges of good tours among five candidates a city, by their source."""
    return recorded_table("tsp", "recall of candidates", "candidates")


def _gigabytes(run: Row) -> str:
    return f"{number(float(run['peak_megabytes']) / 1000, 2)} GB"


def symmetric_gap(solver: str, digits: int) -> str:
    """Return the mean gap of a solver on the instances of tsp/standard that are not of the ATSP, in per cent without the sign."""
    groups = [each for each in rows("tsp/standard", solver=solver) if each["group"] not in ("all", "TSPLIB, asymmetric")]
    return number(mean((each["mean_gap_percent"] for each in groups), (each["runs"] for each in groups)), digits)


def one_second() -> str:
    """Gaps after one second on all instances of tsp/standard."""

    def asymmetric(solver: str, digits: int) -> str:
        return percent(row("tsp/standard", solver=solver, group="TSPLIB, asymmetric")["mean_gap_percent"], digits)

    digits = {"eax": 3, "ils": 2, "fast-tsp": 3, "ortools": 1}
    return table(
        ["mean gap to the reference", "`eax`", "`ils`", "fast-tsp 0.2.2", "OR-Tools 9.15"],
        [
            ["27 symmetric instances", *(f"{symmetric_gap(*each)} %" for each in digits.items())],
            ["4 asymmetric instances", "", asymmetric("ils", 2), "", asymmetric("ortools", 1)],
        ],
    )


def tsplib() -> str:
    """Gaps of `eax` and fast-tsp on TSPLIB's files of 1,000 to 6,000 cities."""
    counts = recorded("tsp", "tsplib")
    lines: list[list[str]] = [[] for _ in range(6)]
    for solver, below in (("eax", 4), ("fast-tsp", 3)):
        gaps = {g: row("tsp/tsplib", solver=solver, group=g) for g in ("all", "1,000 to 2,000", "2,000 to 6,000")}
        whole, small, large = (gap["mean_gap_percent"] for gap in gaps.values())
        cells = (
            percent(whole, 3), percent(small, below), percent(large, 3), gaps["all"]["reached"], counts[solver, "better"],
            counts[solver, "worse"],
        )  # fmt: skip
        for line, cell in zip(lines, cells, strict=True):
            line.append(cell)
    heads = [
        "mean gap to the optimum, 26 files", "mean gap, 17 files below 2,000 cities", "mean gap, 9 larger files",
        "files solved to optimality", "files on which it is better (7 are equal)", "files on which it is worse",
    ]  # fmt: skip
    return table(["", "`eax`", "fast-tsp 0.2.2"], [[head, *line] for head, line in zip(heads, lines, strict=True)])


def atsp_classes() -> str:
    """Gaps on one instance of each class of the ATSP."""
    lines = []
    for name in dict.fromkeys(each["class"] for each in rows("tsp/atsp-classes")):
        runs = {each["solver"]: each for each in rows("tsp/atsp-classes", **{"class": name})}
        above = runs["ils"]["best above our bound"]
        cells = [significant(runs[solver]["gap to the best"], 100) for solver in ("ils", "ortools", "eax, doubled")]
        cells[0] += "" if float(above) else ", proven"
        lines.append([name, *cells, significant(above, 100)])
    return table(["", "`ils`", "OR-Tools", "`eax`, doubled graph", "best above the bound"], lines)


def classics() -> str:
    """Gaps of ours, linkern and LKH after a minute."""
    programs = ("corl", "linkern", "LKH, default", "LKH, POPMUSIC")
    lines = []
    for label, cities in (("E10k.0", 10_000), ("E31k.0", 31_623)):
        found = [rows("tsp/classics", cities=cities, program=program) for program in programs]
        gaps = [each[0]["gap"] if each else "" for each in found]
        texts = [percent(gap, 3) if gap else "none" if each else "" for gap, each in zip(gaps, found, strict=True)]
        lines.append([label, *bold_least(gaps, texts)])
    return table(["60 s", "ours (`auto`)", "linkern", "LKH, default", "LKH, POPMUSIC"], lines)


def equal_time() -> str:
    """Gaps and rates on batches of 20 cities."""

    def each(method: str) -> Row:
        return row("tsp/equal-time", method=method)

    def rate(method: str) -> str:
        return number(each(method)["instances_per_second"], 0)

    def gap(method: str, digits: int = 2) -> str:
        return interval(each(method), "mean_gap", digits)

    def about(method: str, digits: int) -> str:
        found = Decimal(each(method)["instances_per_second"])
        return number(found, digits - found.adjusted() - 1)

    starts = {
        "nearest insertion and 2-opt" + (f", best of {count} starts" if count > 1 else ""): f"insertion and 2-opt, {count}"
        for count in (1, 4, 16)
    }
    lines = [
        ["`ils`, 1 iteration", gap("ils bound=False, 1", 3), rate("ils bound=False, 1")],
        ["`ils`, 10 iterations", number(each("ils bound=False, 10")["mean_gap"], 3), rate("ils bound=False, 10")],
        ["`eax`, 10 iterations", number(each("eax, 10")["mean_gap"], 3), rate("eax, 10")],
        *([name, number(each(m)["mean_gap"], 2), about(m, 2)] for name, m in starts.items()),
        ["perceptron, greedy", gap("perceptron, 1"), about("perceptron, 1", 2)],
        ["perceptron, best of 4 samples", gap("perceptron, 4"), about("perceptron, 4", 3)],
        ["perceptron, best of 16 samples", gap("perceptron, 16"), rate("perceptron, 16")],
        ["`tsp-bq`, greedy, 512 tours at once", gap("tsp-bq, greedy"), rate("tsp-bq, greedy")],
        ["greedy edge", number(each("greedy-edge")["mean_gap"], 1), rate("greedy-edge")],
    ]  # fmt: skip
    return table(["", "gap %", "tours a second"], lines)


def heatmaps() -> str:
    """Gaps of the sampled search with each heatmap after ten seconds."""
    labels = {
        "none": "tuned; equal weights (no heatmap)", "softmax": "tuned; softmax of distances",
        "nearest": "tuned; by rank among the nearest (default)", "gnn": "tuned; graph network (`tsp-heatmap`)",
        "paper": "paper; by rank among the nearest",
    }  # fmt: skip
    lines = []
    for name, label in labels.items():
        small, large = (row("tsp/heatmaps", size=size, heatmap=name, seconds=10) for size in (500, 1000))
        cells = [interval(each, "mean_gap_percent") for each in (small, large)]
        value, low, high = (large[key] for key in ("paired_with_none", "paired_low", "paired_high"))
        lines.append([label, *cells, signed(value, low, high) if value else ""])
    return table(["preset; heatmap", "500 cities", "1000 cities", "1000 cities, minus no heatmap (paired)"], lines)


def signed(value: str, low: str, high: str) -> str:
    """Return "+value [low, high]": only the value has its sign in any case."""
    return f"{number(value, 2, sign=True)} [{number(low, 2)}, {number(high, 2)}]"

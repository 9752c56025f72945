"""Figures of the job shop."""

from __future__ import annotations

import csv
import json
from typing import Any

import numpy as np

from .cells import ROOT, bold, figure, interval, mean, number, recorded, row, rows, table

__all__ = [
    "arena_flexible", "arrivals", "flexible_public", "flexible_tardiness", "floor", "floor_ratio", "floor_regimes",
    "floor_resolving", "floor_resolving_ratios", "further", "hard", "hard_whole", "published", "records", "resources", "rules",
    "setups", "slim", "slim_authors", "standard", "stays", "summary", "tardiness_ratio", "workers",
]  # fmt: skip

_SOLVERS = {"tabu": "`tabu`", "cp-sat": "CP-SAT", "cp-sat with 8 threads": "CP-SAT with 8 threads"}


def suite_gap(name: str, solver: str, limit: int, group: str = "all") -> str:
    """Return a mean gap in a file of a suite, in per cent without the sign; "none" if no run found a schedule."""
    return figure(f"jobshop/{name}", "mean_gap_percent", 2, solver=solver, time_limit=limit, group=group) or "none"


def standard() -> str:
    """Gaps on instances of Taillard and Demirkol after 10 and 60 seconds."""
    groups = {
        "15 x 15": "ta01, ta06", "20 x 15": "ta11, ta16", "20 x 20": "ta21, ta26", "30 x 15": "ta31, ta36",
        "30 x 20": "ta41, ta46", "100 x 20": "ta71", "two sets, 20 x 15": "dmu41", "all": "all",
    }  # fmt: skip
    lines = [
        [f"{label}, {limit} s", *(suite_gap("standard", solver, limit, group) for group in groups)]
        for limit in (10, 60)
        for solver, label in _SOLVERS.items()
    ]
    return table(["mean gap to the best known, %", *groups.values()], lines)


def hard_whole() -> str:
    """Gaps on the hard sets after 10, 30 and 60 seconds."""
    demirkol = ["dmu41 to dmu55", "dmu56 to dmu60", "dmu61 to dmu75", "dmu76 to dmu80"]
    others = {"ta41 to ta50": "ta41-50", "swv06 to swv10": "swv06-10"}
    lines = []
    for limit in (10, 30, 60):
        found = [row("jobshop/hard-whole", group=group, time_limit=limit) for group in demirkol]
        together = number(mean((each["mean_gap_percent"] for each in found), (each["runs"] for each in found)), 2)
        gaps = [number(each["mean_gap_percent"], 2) for each in found]
        lines.append([f"{limit} s", *gaps, together, *(suite_gap("hard-whole", "tabu", limit, group) for group in others)])
    short = [name.replace(" to dmu", "-") for name in demirkol]
    return table(["", *short, "all dmu", *others.values()], lines)


def arena_flexible() -> str:
    """Gaps on a sample of the flexible sets after 60 seconds."""
    groups = (
        "Behnke", "Hurink edata", "Hurink rdata", "Hurink vdata", "Brandimarte", "Dauzère and Paulli", "Barnes", "Fattahi, Kacem",
    )  # fmt: skip
    found = [row("jobshop/arena-flexible", group=group, time_limit=60) for group in (*groups, "all")]
    gaps = [number(each["mean_gap_percent"], 2) for each in found]
    reached = [f"{each['reached']} of {each['runs']}" for each in found]
    return table(["", *groups, "all"], [["mean gap, %", *gaps], ["best known reached", *reached]])


def further() -> str:
    """Gaps on Taillard's smallest instances, 100 x 100 and re-entrant shops."""
    groups = ("ta01-10, 15 x 15", "tai, 100 x 100", "bel00-09, re-entrant")
    lines = []
    for limit in (10, 60):
        found = [row("jobshop/further", group=group, time_limit=limit) for group in groups]
        lines.append([f"{limit} s", *(number(each["mean_gap_percent"], 2) for each in found)])
    return table(["mean gap, %", *groups], lines)


def workers() -> str:
    """Mean gaps of one and of two workers over time; the references are those of the instances' folder."""
    with (ROOT / "instances/jobshop/reference.csv").open(encoding="utf-8", newline="") as file:
        best = {line["name"]: float(line["value"]) for line in csv.DictReader(file)}
    found, steps = rows("jobshop/workers"), range(10, 61, 10)
    lines = []
    for count, label in (("1", "one worker"), ("2", "two workers")):
        gaps: dict[int, list[float]] = {step: [] for step in steps}
        for each in found:
            if each["workers"] == count and int(each["seconds"]) in gaps:
                gaps[int(each["seconds"])].append(100 * (float(each["value"]) / best[each["instance"]] - 1))
        lines.append([label, *(number(mean(gap), 2) if gap else "" for gap in gaps.values())])
    return table(["mean gap, %", *(f"{step} s" for step in steps)], lines)


def published() -> str:
    """Gaps that others publish on the same instances, below ours."""
    columns = ("12 of Taillard and Demirkol", "dmu41-55, dmu61-75")
    harder = (row("jobshop/hard-whole", group=group, time_limit=60) for group in ("dmu41 to dmu55", "dmu61 to dmu75"))
    ours = [suite_gap("standard", "tabu", 60), number(mean(each["mean_gap_percent"] for each in harder), 2)]
    cells = recorded("jobshop", "published")
    lines = [["`tabu`", "60 s, one core", *ours]]
    for name in dict.fromkeys(name for name, _ in cells):
        label, _, seconds = name.partition(", ")
        limit = f"{seconds}, eight cores" if seconds else "600 s, four cores"
        lines.append([label, limit, *(cells[name, column] for column in columns)])
    return table(["mean gap, %", "", *columns], lines)


def hard() -> str:
    """Gaps on eleven hard instances, beside CP-SAT."""
    groups = {"dmu41 to dmu60": "four of dmu41-60", "dmu61 to dmu80": "five of dmu61-80", "30 x 20": "ta41, ta46", "all": "all"}
    lines = ([label, *(suite_gap("hard", solver, 60, group) for group in groups)] for solver, label in _SOLVERS.items())
    return table(["mean gap, %", *groups.values()], lines)


def flexible_tardiness() -> str:
    """Weighted tardiness with choices of machines."""
    cells = recorded("jobshop", "weighted tardiness of flexible shops")
    lines = ([solver, *(cell for (name, _), cell in cells.items() if name == solver)] for solver in _SOLVERS.values())
    return table(["weighted tardiness", "10 x 6", "", "20 x 8", "", "30 x 10", ""], lines)


def rules() -> str:
    """Objectives of workshops with rules; the least in bold, unless both annealing and CP-SAT have it."""
    cells = recorded("jobshop", "objectives with rules")
    solvers = ("annealing", "CP-SAT", "CP-SAT with 8 threads")
    lines, size = [], ""
    for name in dict.fromkeys(name for name, _ in cells):
        texts = [cells[name, solver].partition(", proven") for solver in solvers]
        values = [float(text.replace(",", "")) for text, _, _ in texts]
        first = values.index(min(values))
        best = -1 if first == 0 and values.count(values[0]) > 1 else first
        lines.append([name.removeprefix(size), *(bold(text, k == best) + proven for k, (text, proven, _) in enumerate(texts))])
        size = name.partition(": ")[0] + ": " if ": " in name else size
    return table(["rules", "`annealing`", "CP-SAT", "with 8 threads"], lines)


def setups() -> str:
    """Mean objectives with set-ups over the seeds, beside annealing and CP-SAT; the least in bold."""
    methods, lines = {"tabu": "`tabu`", "annealing": "`annealing`", "cp-sat": "`cp-sat`"}, []
    for rule, jobs in dict.fromkeys((each["rule"], each["jobs"]) for each in rows("jobshop/setups")):
        found = {name: rows("jobshop/setups", rule=rule, jobs=jobs, method=name) for name in methods}
        values = {name: mean(float(each["value"]) for each in of) for name, of in found.items()}
        cells = [bold(f"{value:,.0f}", value == min(values.values())) for value in values.values()]
        bound = max(int(each["bound"]) for of in found.values() for each in of)
        lines.append([rule, f"{jobs} x 10", *cells, f"{bound:,}"])
    return table(["set-ups", "jobs, machines", *methods.values(), "best bound"], lines)


def stays() -> str:
    """Makespans and bounds with resumable operations and with blocking, beside CP-SAT and PyJobShop; the least in bold."""
    methods = {"annealing": "`annealing`", "cp-sat": "`cp-sat`", "pyjobshop": "PyJobShop"}
    lines, last = [], ""
    for rule, jobs in dict.fromkeys((each["rule"], each["jobs"]) for each in rows("jobshop/stays")):
        found = {name: rows("jobshop/stays", rule=rule, jobs=jobs, method=name) for name in methods}
        values = {name: int(of[0]["makespan"]) for name, of in found.items() if of}
        cells = []
        for name in methods:
            text = bold(f"{values[name]:,}", values[name] == min(values.values())) if name in values else ""
            proven = bool(text) and found[name][0]["bound"] == found[name][0]["makespan"]
            cells.append(text + (", proven" if proven else ""))
        bound = max(int(of[0]["bound"]) for of in found.values() if of)
        lines.append(["" if rule == last else rule, f"{jobs} x 10", *cells, f"{bound:,}"])
        last = rule
    return table(["rule", "jobs, machines", *methods.values(), "best bound"], lines)


def resources() -> str:
    """Makespans with resources and of hybrid flow shops, beside CP-SAT and PyJobShop; the least in bold."""
    methods = {("annealing", "tabu"): "`annealing` or `tabu`", ("cp-sat",): "`cp-sat`", ("pyjobshop",): "PyJobShop"}
    lines = []
    for instance in dict.fromkeys(each["instance"] for each in rows("jobshop/resources")):
        found = rows("jobshop/resources", instance=instance)
        values = [next((int(each["makespan"]) for each in found if each["method"] in names), None) for names in methods]
        least = min(value for value in values if value is not None)
        cells = ["" if value is None else bold(f"{value:,}", value == least) for value in values]
        lines.append([instance, *cells, f"{max(int(each['bound']) for each in found):,}"])
    return table(["instance", *methods.values(), "best bound"], lines)


def flexible_public() -> str:
    """Gaps on public flexible instances."""
    sets = {
        "behnke/": "Behnke (6)", "hurink/edata/": "edata (2)", "hurink/rdata/": "rdata (2)", "hurink/vdata/": "vdata (2)",
        "brandimarte/": "Brandimarte (2)", "dauzere/": "Dauzère (2)", "": "all",
    }  # fmt: skip
    lines = []
    for solver, label in _SOLVERS.items():
        found = rows("jobshop/flexible-public", method=solver)
        means = (mean(_gap(each) for each in found if each["instance"].startswith(prefix)) for prefix in sets)
        lines.append([label, *(number(each, 2) for each in means)])
    return table(["", *sets.values()], lines)


def _gap(run: dict[str, str]) -> float:
    best = float(run["best_known"])
    return 100 * (float(run["makespan"]) - best) / best


def arrivals() -> str:
    """Weighted tardiness by that of `covert` in each regime, with 95 % intervals over instances."""
    methods = ("atc", "policy", "line")
    lines = []
    for load, tightness in ((load, tightness) for load in (0.8, 0.9, 0.95) for tightness in (2, 3, 4)):
        named = (load, tightness) == (0.9, 3)
        cells = [_ratio(load, tightness, method, 3 if named and method == "policy" else 2) for method in methods]
        lines.append([bold(f"{load:g}, {tightness}", named), "1", cells[0], bold(cells[1], named), cells[2]])
    heads = ["load, due", "`covert`", "`atc`, tuned as well", "`jobshop-arrivals`", "the same without a hidden layer"]
    return table(heads, lines)


def floor() -> str:
    """Weighted tardiness on the shop floor by that of the best tuned rule in each regime, with 95 % intervals over days."""
    methods = {
        "covert": "`covert`", "atc": "`atc`", "evolution": "`jobshop-floor`", "line": "without a hidden layer",
        "gradient": "by policy gradient",
    }  # fmt: skip
    present = [name for name in methods if rows("jobshop/floor", method=name)]
    lines = []
    for regime in floor_regimes():
        named, cells = regime == (0.85, 4.0, 0.4), []
        for name in present:
            chosen = named and name == "evolution"
            value, low, high = (number(each, 3 if chosen else 2) for each in floor_ratio(*regime, name))
            cells.append("1" if low == high else bold(f"{value} ({low}-{high})", chosen))
        lines.append([bold("{:g}, {:g}, {:g}".format(*regime), named), *cells])
    return table(["load, due, set-ups", *(methods[name] for name in present)], lines)


def floor_regimes() -> list[tuple[float, float, float]]:
    """Return the regimes of the shop floor, in order: load, tightness and share of set-ups."""
    found = {(float(each["load"]), float(each["tightness"]), float(each["setup"])) for each in rows("jobshop/floor")}
    return sorted(found)


def floor_ratio(load: float, tightness: float, setup: float, method: str) -> tuple[float, float, float]:
    """Return the ratio of sums of tardiness, method to the best tuned rule of the regime, and its bootstrap interval."""
    where = {"load": load, "tightness": tightness, "setup": setup}
    rules = [_tardiness("floor", name, **where) for name in ("atc", "covert")]
    return _bootstrap(_tardiness("floor", method, **where), min(rules, key=lambda values: sum(values.values())))


def floor_times(load: float, tightness: float, setup: float, *methods: str) -> str:
    """Return the mean times of a decision of some methods in a regime, in words."""
    where = {"load": load, "tightness": tightness, "setup": setup}
    times = (mean(each["ms_per_decision"] for each in rows("jobshop/floor", method=method, **where)) for method in methods)
    return f"{'; '.join(f'{time:.2g} ms' for time in times)} a decision"


def floor_resolving() -> str:
    """Weighted tardiness of re-solving on short days, by that of the tuned rule on the same days."""
    lines = []
    base = _tardiness("floor-resolving", "covert")
    for method in dict.fromkeys(each["method"] for each in rows("jobshop/floor-resolving")):
        found = rows("jobshop/floor-resolving", method=method)
        value, low, high = (number(each, 2) for each in _bootstrap(_tardiness("floor-resolving", method), base))
        ratio = "1" if method == "covert" else value if len(found) == 1 else f"{value} ({low}-{high})"
        label = {"covert": "`covert`, tuned", "evolution": "`jobshop-floor`"}.get(method, method)
        lines.append([label, str(len(found)), number(mean(each["ms_per_decision"] for each in found), 1), ratio])
    return table(["", "days", "ms per decision", "tardiness"], lines)


def floor_resolving_ratios(method: str) -> list[tuple[str, str, tuple[float, float, float]]]:
    """Return, for each kind of re-solving with several days, its label, the time of both, and the ratio of sums, method to it."""
    kinds = dict.fromkeys(each["method"] for each in rows("jobshop/floor-resolving") if "re-solving" in each["method"])
    found = []
    for kind in (each for each in kinds if len(_tardiness("floor-resolving", each)) > 1):
        seconds, _, delay = kind.removeprefix("re-solving ").partition(" s, delay ")
        label = f"`annealing` at every decision, the clock {'stands still' if delay == '0' else 'runs'}"
        ratio = _bootstrap(_tardiness("floor-resolving", method), _tardiness("floor-resolving", kind))
        own = mean(each["ms_per_decision"] for each in rows("jobshop/floor-resolving", method=method))
        found.append((label, f"{own:.2g} ms; {seconds} s a decision", ratio))
    return found


def tardiness_ratio(load: float, tightness: float, method: str, base: str = "covert") -> tuple[float, float, float]:
    """Return the ratio of sums of tardiness, method to base, on their common instances, and its bootstrap interval."""
    return _bootstrap(*(_tardiness("arrivals", name, load=load, tightness=tightness) for name in (method, base)))


def _tardiness(table_name: str, method: str, **where: Any) -> dict[str, float]:
    """Return the tardiness of a method by seeds, of the rows that have the values `where`."""
    return {each["seed"]: float(each["tardiness"]) for each in rows(f"jobshop/{table_name}", method=method, **where)}


def _bootstrap(values: dict[str, float], base: dict[str, float]) -> tuple[float, float, float]:
    """Return the ratio of sums over the common seeds and its bootstrap interval, as in the studies."""
    pairs = np.array([(value, base[seed]) for seed, value in values.items() if seed in base])
    drawn = np.random.default_rng(0).integers(0, len(pairs), (10_000, len(pairs)))
    sums = pairs[drawn].sum(axis=1)
    low, high = np.quantile(sums[:, 0] / np.maximum(1.0, sums[:, 1]), (0.025, 0.975))
    return float(pairs[:, 0].sum() / max(1.0, pairs[:, 1].sum())), float(low), float(high)


def _ratio(load: float, tightness: float, method: str, digits: int) -> str:
    value, low, high = (number(each, digits) for each in tardiness_ratio(load, tightness, method))
    return f"{value} ({low}-{high})"


def slim() -> str:
    """Gaps of the learned dispatcher and of a rule, greedy and the best of 128."""
    groups = list(dict.fromkeys(each["group"] for each in rows("jobshop/slim")))
    lines = []
    for method, schedules, label in (
        ("slim", 1, "`slim`, greedy"), ("fdd/mwkr", 1, "FDD/MWKR"), ("slim", 128, "`slim`, best of 128"),
        ("fdd/mwkr", 128, "best of 128 randomised FDD/MWKR"),
    ):  # fmt: skip
        found = [row("jobshop/slim", group=group, method=method, schedules=schedules) for group in groups]
        gaps = [each["mean_gap"] for each in found]
        lines.append([label, *(number(gap, 1) for gap in (*gaps, mean(gaps)))])
        if method == "slim":
            lines.append(["", *(f"{number(each['low'], 1)}-{number(each['high'], 1)}" for each in found), ""])
    return table(["", *groups, "mean"], lines)


def slim_authors() -> str:
    """Gaps of the published checkpoint of SLIM and of ours, with as many schedules and in the same time."""
    groups = list(dict.fromkeys(each["group"] for each in rows("jobshop/authors")))
    found = {group: {each["method"]: each for each in rows("jobshop/authors", group=group, schedules=128)} for group in groups}
    labels = {
        "authors": "the authors' network, best of 128", "slim": "`slim`, best of 128",
        "slim, in the authors' time": "`slim`, in the authors' time",
    }  # fmt: skip
    lines = []
    for method, label in labels.items():
        cells = [f"{number(of[method]['mean_gap'], 1)}, {number(of[method]['seconds'], 1)} s" for of in found.values()]
        lines.append([label, *cells])
        if method != "authors":
            lines.append(["minus the authors'", *(interval(of[f"{method}, minus authors"], "mean_gap") for of in found.values())])
    return table(["", *groups], lines)


def summary() -> str:
    """The figures that the problem's page has."""
    makespans, tardiness = recorded("jobshop", "makespans of 100 x 100"), recorded("jobshop", "weighted tardiness")

    def gaps(name: str, limit: int) -> list[str]:
        return [suite_gap(name, solver, limit) for solver in one_core]

    one_core, cells = ("tabu", "cp-sat"), recorded("jobshop", "published")
    theirs = [cells[engine, "12 of Taillard and Demirkol"] for engine in ("CP-SAT 9.15", "OptalCP 2026.4")]
    public = [number(mean(_gap(each) for each in rows("jobshop/flexible-public", method=solver)), 2) for solver in one_core]
    labels = [_SOLVERS[solver] for solver in one_core]
    lines = [
        ["12 of 160 instances of Taillard and Demirkol, mean gap to the best known, %", "10 s", *gaps("standard", 10), ""],
        ["", "60 s", *gaps("standard", 60), f"CP-SAT {theirs[0]}, OptalCP {theirs[1]} (600 s, four cores)"],
        ["11 of Demirkol's harder ones and Taillard's 30 x 20 (`jobshop/hard`), mean gap, %", "60 s", *gaps("hard", 60), ""],
        ["100 x 100, makespan", "300 s", *(makespans.get(("100 x 100", label), "") for label in labels), ""],
        ["16 of 402 public flexible ones, mean gap, %", "60 s", *public, ""],
        ["weighted tardiness, 30 x 10, mean", "10 s", *(tardiness["30 x 10", label] for label in labels), ""],
    ]
    return table(["", "limit", "`tabu`", "CP-SAT", "published"], lines)


def records() -> str:
    """Makespans of the certificates, beside the best published ones."""
    lines = []
    for path in sorted((ROOT / "instances" / "jobshop" / "records").glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        seconds = record.get("processor_seconds", "")
        makespans = number(record["objective"], 0), number(record["published"], 0)
        lines.append([record["instance"], *makespans, record["source"], record["date"], number(seconds, 0)])
    return table(["instance", "makespan", "published", "source", "date", "processor seconds"], lines)

"""Figures of mixed-integer programs; ratios and their intervals are those that the studies compute from the same files."""

from __future__ import annotations

import importlib
import math
import sys
from functools import cache
from typing import Any

import numpy as np

from .cells import ROOT, number, recorded, recorded_table, row, rows, table

__all__ = [
    "branching_environment", "credit_summary", "defaults", "families", "graph", "judged", "line_of_defaults", "miplib",
    "miplib_seeds", "of_defaults", "reading",
    "reliability_judged", "revibranch", "summary", "unseen",
]  # fmt: skip

_FAMILIES = ("auctions", "set-cover", "independent-set", "facility-location")


def _study(name: str) -> Any:
    folder = str(ROOT / "tests" / "studies")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(name)


@cache
def _compared(name: str, base: str) -> dict[tuple[str, str], dict[str, Any]]:
    """The lines of `milp_rules.py table FILE`, by family and solver; `total` is relative to the rule `base`."""
    lines = _study("milp_comparison").table([ROOT / "instances" / "milp" / "results" / f"{name}.csv"], base)
    return {(line["family"], line["solver"]): line for line in lines}


def line_of(name: str, family: str, solver: str, base: str = "scip-relpscost") -> dict[str, Any]:
    """Return the means and ratios of a solver on a family."""
    return _compared(name, base)[family, solver]


def ratio(name: str, family: str, solver: str, key: str) -> str:
    """Return a ratio of times: `total` to relpscost's, `after` the root to the better of the baselines, or `floor`."""
    return number(line_of(name, family, solver)[key], 2)


def _with_interval(line: dict[str, Any], key: str) -> str:
    value, low, high = (number(line[key + end], 2) for end in ("", "_low", "_high"))
    return f"{value} [{low}, {high}]"


def _after_pscost(name: str, family: str, solver: str) -> str:
    """Return the ratio of shifted means of the time after the root to pscost's."""
    mine, theirs = (line_of(name, family, each)["after_root"] + 0.0 for each in (solver, "scip-pscost"))
    return number(mine / theirs, 2)


def families() -> str:
    """Means of three branching rules on four families."""
    lines = []
    for family in _FAMILIES:
        for solver in ("scip-relpscost", "scip-pscost", "learned-branching"):
            line = line_of(family, family, solver)
            label = f"`{solver}`" + (" (the same without learning)" if (family, solver) == ("auctions", "scip-pscost") else "")
            digits = 2 if family == "facility-location" else 1
            seconds = (number(line[key], digits) for key in ("seconds", "after_root"))
            iterations = number(line["iterations"], 1 - math.floor(math.log10(line["iterations"])))
            cells = [*seconds, number(line["nodes"], 0), iterations, number(line["total"], 2), number(line["after"], 2)]
            lines.append([family.replace("-", " ") if solver == "scip-relpscost" else "", label, *cells])
    heads = ["seconds", "after the root", "nodes", "iterations", "total / relpscost", "after the root / pscost"]
    return table(["", "", *heads], lines)


def summary() -> str:
    """The ratios that the problem's page has."""
    labels = {
        "auctions": "auctions, 20 of 100 x 500", "set-cover": "set cover, 20 of 500 x 1000, with the tableau",
        "independent-set": "independent set, 20 of 500 nodes",
        "facility-location": "facility location, 20 of 35 x 35, with the tableau",
    }  # fmt: skip
    lines = [[label, of_defaults(family), *ratios(family)] for family, label in labels.items()]
    return table(
        ["", "defaults: / `scip`", "total / relpscost", "`scip-pscost`, total / relpscost", "after the root / pscost"], lines
    )


def ratios(family: str) -> tuple[str, str, str]:
    """Return, of the latest policy, its total / relpscost, pscost's total / relpscost, and its time after the root / pscost's."""
    name = f"{family}-judge" if family in ("set-cover", "facility-location") else family
    total, base = (ratio(name, family, solver, "total") for solver in ("learned-branching", "scip-pscost"))
    return total, base, ratio(name, family, "learned-branching", "after")


def judged() -> str:
    """Ratios of the policies with the tableau, judged once."""
    lines = []
    for family in ("set-cover", "facility-location"):
        for solver, label in (("scip-pscost", "pscost"), ("learned-branching", "learned")):
            line = line_of(f"{family}-judge", family, solver)
            first = solver == "scip-pscost"
            after = "1.00" if first else _with_interval(line, "after")
            floor = _with_interval(line, "floor") if first else ""
            head = family.replace("-", " ") if first else ""
            lines.append([head, label, _with_interval(line, "total"), floor, after, number(line["nodes"], 0)])
    return table(["", "", "total / relpscost", "the root alone", "after the root / pscost", "nodes"], lines)


@cache
def _as_used() -> dict[str, dict[str, Any]]:
    """The lines of `milp_defaults.py table` of learned branching, by family: ratios to SCIP with its default settings."""
    study = _study("milp_defaults")
    lines = study.tables(rows("milp/defaults"), study.LIMIT)
    return {line["family"]: line for line in lines if line["solver"] == "learned-branching"}


def defaults() -> str:
    """Ratios to SCIP with its default settings, and its mean seconds."""
    lines = []
    for family, line in _as_used().items():
        ratios = [_with_interval(line, key) for key in ("seconds", "nodes", "iterations")]
        lines.append([family.replace("-", " "), number(line["par10_base"], 1), *ratios, number(line["worst_ratio"], 2)])
    return table(["", "`scip`, mean seconds", "seconds / `scip`", "nodes", "LP iterations", "worst program"], lines)


def of_defaults(family: str) -> str:
    """Return the ratio of the time of learned branching to SCIP's, both with SCIP's default settings; empty: not measured."""
    return number(_as_used()[family]["seconds"], 2) if family in _as_used() else ""


def line_of_defaults(family: str) -> dict[str, Any]:
    """Return the line of a family in the table of learned branching beside SCIP with its default settings."""
    return _as_used()[family]


def graph() -> str:
    """Agreement with strong branching, and ratios to the perceptron."""
    study, runs = _study("milp_graph"), rows("milp/gnn")
    lines = []
    for network, label in (("perceptron", "perceptron"), ("root-gnn", "`root-gnn`"), ("gcnn", "`gcnn`")):
        agrees = row("milp/gnn-accuracy", network=network)
        first = f"{number(agrees['agrees'], 2)} [{number(agrees['low'], 2)}, {number(agrees['high'], 2)}]"
        cells = ["1", "1", "1"]
        if network != "perceptron":
            found = [
                study.ratio(runs, network, field, shift)
                for field, shift in (("nodes", 10.0), ("seconds", 1.0), ("after_root", 1.0))
            ]
            cells = [f"{number(value, 2)} [{number(low, 2)}, {number(high, 2)}]" for value, low, high in found]
        lines.append([label, first, *cells])
    return table(["", "first choice is strong branching's", "nodes", "seconds", "after the root"], lines)


def _credit(credit: str, ancestors: int) -> list[dict[str, str]]:
    prefix = f"credit={credit} ancestors={ancestors} "
    return [each for each in rows("milp/revibranch", sizes="items=70 bids=350") if each["policy"].startswith(prefix)]


def _geometric(found: list[dict[str, str]], column: str, digits: int) -> str:
    return number(math.exp(float(np.mean([math.log(float(each[column])) for each in found]))), digits)


def revibranch() -> str:
    """Nodes and LP iterations of policies by reinforcement alone."""
    lines = []
    for policy, label in (("pscost", "SCIP's pscost"), ("milp-auctions", "imitation (`milp-auctions`)")):
        found = row("milp/revibranch", sizes="items=70 bids=350", policy=policy)
        over = "1" if policy == "pscost" else _over(found, 2)
        lines.append([label, number(found["nodes"], 1), number(found["lp_iterations"], 0), over])
    for credit, ancestors, label in (
        ("tree", 0, "`tree`"), ("tree", 8, "`tree`, 8 ancestors"), ("weights", 0, "`weights`"),
        ("weights", 8, "`weights`, 8 ancestors (ReviBranch)"), ("paths", 0, "`paths` (30 programs)"),
        ("paths", 8, "`paths`, 8 ancestors (30 programs)"),
    ):  # fmt: skip
        found = _credit(credit, ancestors)
        each = credit == "paths"
        nodes = ", ".join(number(one["nodes"], 0 if each else 1) for one in found)
        if each:
            iterations = ", ".join(number(one["lp_iterations"], 0) for one in found)
            over = ", ".join(number(one["nodes_over_pscost"], 1) for one in found)
        else:
            iterations, over = _geometric(found, "lp_iterations", 0), _geometric(found, "nodes_over_pscost", 2)
        lines.append([label, nodes, iterations, over])
    found = row("milp/revibranch", policy="random")
    lines.append(["random (30 programs)", number(found["nodes"], 0), number(found["lp_iterations"], 0), _over(found, 1)])
    return table(["100 auctions of 70 x 350", "nodes, by seed", "LP iterations", "nodes / pscost"], lines)


def _over(found: dict[str, str], digits: int) -> str:
    low, high = (number(found[key], digits) for key in ("low", "high"))
    return f"{number(found['nodes_over_pscost'], digits)} [{low}, {high}]"


def credit_summary() -> str:
    """Nodes by credit and ancestors, geometric means over seeds, for the pages of the problem and the paper."""
    lines = [
        [label, *(_geometric(_credit(credit, ancestors), "nodes", 0) for ancestors in (0, 8))]
        for credit, label in (("weights", "reward distributed over paths"), ("tree", "credit of the tree MDP"))
    ]
    return table(["", "this node alone", "with 8 earlier steps"], lines)


def unseen() -> str:
    """Ratios to SCIP's default of rules on the programs to choose on."""
    name, rule = "learned-reliability", "root=false"
    labels = {
        f"{name}:weight=8": "`weight=8`, as it was",
        f"{name}:weight=8:pairs=8": "`pairs=8`: trust by agreement",
        f"{name}:weight=8:pairs=8:{rule}": "`pairs=8 root=false`",
        f"{name}:weight=8:pairs=24:{rule}": "**`pairs=24 root=false`, now the default**",
        f"{name}:weight=16:pairs=8:{rule}": "`weight=16 pairs=8 root=false`",
        "": "the same, `pairs=8`, weights trained on 195 varied programs",
        f"{name}:prior=dual:weight=8:pairs=8:{rule}": "`prior=dual pairs=8 root=false`, by hand",
        f"{name}:prior=mean:weight=4": "`prior=mean weight=4`, without learning",
        "scip+sbiterofs=10000": "SCIP, `sbiterofs` 10,000 (by hand)",
        "scip+maxreliable=2": "SCIP, `maxreliable` 2 (by hand)",
        "scip+dynamiclookahead=true": "SCIP, `dynamiclookahead` (by hand)",
    }
    found = {line["solver"]: line for line in _study("milp_unseen").table(rows("milp/unseen-choose"), 30.0)}
    other = next(solver for solver in found if ":policy=" in solver)
    lines = []
    for solver, label in labels.items():
        line = found[solver or other]
        worst = line["worst_ratio"]
        cells = [_with_interval(line, key) for key in ("seconds", "iterations", "nodes")]
        lines.append([label, *cells, number(worst, 0 if worst >= 10 else 2)])
    return table(["", "seconds", "LP iterations", "nodes", "worst program"], lines)


def _miplib(name: str, programs: list[str], labels: dict[str, str], mean_of: bool) -> str:
    """Seconds of `scip`, and ratios of seconds + 1 to it, means over seeds geometric."""

    def shifted(solver: str, program: str) -> float:
        found = [each for each in rows(f"milp/{name}", solver=solver) if each["instance"].lower().startswith(program)]
        return float(np.exp(np.mean([math.log(float(each["seconds"]) + 1) for each in found])))

    def whole(values: list[float]) -> float:
        return float(np.exp(np.mean(np.log(values))))

    base = [shifted("scip", program) for program in programs]
    means = [number(whole(base) - 1, 1)] if mean_of else []
    lines = [["`scip` itself, seconds", *(number(each - 1, 1) for each in base), *means]]
    for solver, label in labels.items():
        over = [shifted(solver, program) / theirs for program, theirs in zip(programs, base, strict=True)]
        lines.append([label, *(number(each, 2) for each in over), *([number(whole(over), 2)] if mean_of else [])])
    return table(["/ `scip`", *programs, *(["mean"] if mean_of else [])], lines)


def miplib() -> str:
    """Eight programs of MIPLIB 3 with one seed."""
    labels = {
        "learned-reliability": "`learned-reliability`", "learned-reliability:weight=4": "`weight=4`",
        "learned-reliability:weight=4:prior=mean": "`weight=4 prior=mean`, without learning",
    }  # fmt: skip
    programs = ["bell5", "dcmulti", "enigma", "lseu", "misc03", "p0201", "pp08a", "stein27"]
    return _miplib("miplib3", programs, labels, mean_of=True)


def miplib_seeds() -> str:
    """Those of 22 programs of MIPLIB 3 that branch, with three seeds."""
    programs = ["bell3a", "bell5", "dcmulti", "enigma", "gesa2_o", "lseu", "misc03", "p0201", "pp08a", "rgn", "stein27"]
    return _miplib("miplib3-seeds", programs, {"learned-reliability": "`learned-reliability`"}, mean_of=False)


def branching_environment() -> str:
    """Nodes and seconds of rules in the environment of milp-branching."""
    cells = recorded("milp", "nodes of milp-branching")
    rules = ("most fractional", "pseudocost", "strong")
    names = dict.fromkeys(name for name, _ in cells)
    lines = ([name, *(f"{cells[name, rule]} ({cells[name, f'{rule}, seconds']})" for rule in rules)] for name in names)
    return table(["", *rules], lines)


def reliability_judged() -> str:
    """LP iterations and nodes of the learned reliability, by those of SCIP's default."""
    return recorded_table("milp", "learned reliability, judged")


def reading() -> str:
    """Milliseconds in which an LP is read."""
    return recorded_table("milp", "reading an LP")

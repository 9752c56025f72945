"""Figures of README.md, choosing.md and the pages of papers."""

from __future__ import annotations

from . import arena, bandits, jobshop, memory, orienteering, tsp, vrp
from .cells import figure, percent, recorded, row, table

__all__ = ["bq_nco", "choosing", "readme"]


def readme() -> str:
    """What to expect."""
    lines = []
    for each in arena.headlines():
        if each.front:
            published = f"Published, {each.published}" if each.published else ""
            others = ". ".join(part for part in (each.beside, published) if part)
            lines.append([": ".join(arena.linked(each, "")), each.ours, others])
    return table(["", "ours", "others"], lines)


def choosing() -> str:
    """Which solver for which quality."""
    tabu, routing = jobshop.suite_gap, vrp.mean_gap
    belgium = [cell for (solver, _), cell in recorded("vrp", "gaps on Belgium").items() if solver == "ruin-recreate"]
    sequences = [figure("flowshop/standard", "mean_gap_percent", 2, group="all", time_limit=limit) for limit in (5, 20)]
    asymmetric = percent(row("tsp/standard", solver="ils", group="TSPLIB, asymmetric")["mean_gap_percent"])
    minute, ten = tsp.large_gap("huge", "portgen-100000"), tsp.large_gap("huge-long", "portgen-1000000")
    below = sorted(bandits.fluid_gaps(), key=float)
    page = "../../problems/{}/README.md".format
    files, reached, nodes = orienteering.matched()
    lines = [
        [
            f"[TSP]({page('tsp')})", "`ils`: any size",
            f"`eax`: {tsp.symmetric_gap('eax', 3)} % above the reference in one second, 100 to 2,100 cities",
            "`exact`: seconds at 100 cities, minutes at 200",
        ],
        [
            "TSP of 20,000 to ten million cities", "`ils`",
            f"{minute} % above the best known at 100,000 in a minute, {ten} at a million in ten"
            " ([figures](../../instances/tsp/results/README.md))", "",
        ],
        ["ATSP", "`ils`", f"{asymmetric} in one second on four instances", "`exact`"],
        [
            f"[vehicle routing]({page('vrp')})", "`ruin-recreate`",
            f"{routing('standard', 'ruin-recreate', 60, 'X')} % above the best known in 60 s"
            f" ({routing('standard', 'ruin-recreate', 10, 'X')} in 10 s), 100 to 1,000 clients;"
            f" {' to '.join(sorted(belgium))} % in 300 s with 3,000 to 6,000", "none",
        ],
        [
            f"[orienteering]({page('orienteering')})", "`ruin-recreate`",
            f"at least as good as EA4OP's own run on {reached} of {files} files, {nodes} nodes", "none",
        ],
        [
            f"[knapsack]({page('knapsack')})", "`greedy`", "`dp` is done in milliseconds", "`dp`; several capacities `cp-sat`",
        ],
        [
            f"[job shop]({page('jobshop')})", "`dispatch`",
            f"`tabu`: {tabu('standard', 'tabu', 60)} % above the best known in 60 s ({tabu('standard', 'tabu', 10)} in 10 s)",
            "`cp-sat`, up to 60 operations mostly within a second",
        ],
        [
            f"[flow shop]({page('flowshop')})", "`neh`",
            f"`iterated-greedy`: {sequences[1]} % above the best known in 20 s ({sequences[0]} in 5 s), 20 to 100 jobs",
            "`cp-sat`, up to 8 jobs",
        ],
        [
            f"[integer programs]({page('milp')})", "`scip`", "see the page",
            "`scip`, `highs`, `cp-sat` (in exact arithmetic); learned branching is faster on families that it was trained on",
        ],
        [
            f"[memory mapping]({page('memory')})", "`learned-priority`: milliseconds",
            f"`annealing`: {memory.above_bound('annealing')} % above the bound in 1 s", "`cp-sat` on small programs",
        ],
        [
            f"[static allocation]({page('memory_static')})", "`first-fit`",
            "`branch-and-bound`: minimalloc's eleven challenging instances in"
            f" {memory.static_seconds('branch-and-bound')} s together", "`branch-and-bound`",
        ],
        [
            f"[restless bandits]({page('bandits')})", "`myopic`, `whittle`",
            f"`fluid`: {below[0]} to {below[-1]} % below its proven bound", "the bound of `fluid`",
        ],
    ]  # fmt: skip
    return table(["problem", "good at once", "what a minute buys", "a proof"], lines)


def bq_nco() -> str:
    """Greedy gaps of BQ-NCO's networks, of ours, and of our best rule."""
    methods = ("judged as shipped greedy", "judged least estimate")
    fresh = {"row": "uniform-100-128-greedy fresh"}
    found = {
        "TSP100": [figure("tsp/policies", "mean_gap", 2, 100, policy=name, **fresh) for name in ("tsp-bq", "least-bound")],
        "ATSP100": [figure("tsp/policies-atsp", "gap", 2, instances="asymmetric 100", method=method) for method in methods],
    }
    for name, family, digits, network, split in (
        ("CVRP100", "vrp", 2, "imitation-greedy", "judge"), ("OP100", "orienteering", 2, "orienteering-bq-greedy", "long"),
        ("KP100", "knapsack", 3, "knapsack-bq-greedy", "judge"),
    ):  # fmt: skip
        labels = (network, "rule-greedy")
        found[name] = [figure(f"{family}/policies", "mean_gap", digits, 100, row=each, split=split) for each in labels]
    theirs = recorded("tsp", "published by BQ-NCO")
    heads = ["theirs", "ours", "our best rule"]
    return table(["", *heads], ([name, theirs[name, "gap in %"], *cells] for name, cells in found.items()))

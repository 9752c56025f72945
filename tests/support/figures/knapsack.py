"""Figures of the knapsack problem."""

from __future__ import annotations

from .cells import interval, number, percent, recorded, row, table

__all__ = ["equal_time", "policies", "proofs", "summary"]


_PROOFS = {
    "uniform 10,000": "uniform, 10,000 items", "weakly-correlated 10,000": "weakly correlated, 10,000",
    "strongly-correlated 1,000": "strongly correlated, 1,000",
    "inverse-strongly-correlated 1,000": "inverse strongly correlated, 1,000",
}  # fmt: skip


def proofs() -> str:
    """Seconds to a proof."""
    found = {label: row("knapsack/proofs", group=group) for group, label in _PROOFS.items()}
    lines = ([label, run["runs"], f"{number(run['mean_runtime'], 0, 1000)} ms"] for label, run in found.items())
    return table(["", "instances", "mean runtime"], lines)


def summary() -> str:
    """Proofs and what is left with several capacities, for the problem's page."""
    found = {label: row("knapsack/proofs", group=group) for group, label in _PROOFS.items()}
    lines = [[label, run["runs"], "all", f"{number(run['mean_runtime'], 0, 1000)} ms"] for label, run in found.items()]
    several = row("knapsack/standard", group="multi-100-5")
    left = f"gap of {percent(several['mean_bound_gap_percent'])} after {number(several['time_limit'], 0)} s"
    lines.append(["five capacities, 100 items", several["runs"], "", left])
    return table(["", "instances", "proven", "mean runtime or gap"], lines)


def policies() -> str:
    """Gaps of `knapsack-bq` and of weights by hand."""

    def cell(name: str) -> str:
        return interval(row("knapsack/policies", row=name), "mean_gap", 4, scale=100)

    labels = {"knapsack-bq": "`knapsack-bq`", "rule": "the best weights by hand of the same features, tuned"}
    lines = [[label, cell(f"{name}-greedy"), cell(f"{name}-beam16")] for name, label in labels.items()]
    published = ", ".join(cell for (name, _), cell in recorded("knapsack", "published").items())
    return table(["", "greedy", "beam 16"], [*lines, ["BQ-NCO (2023), GOAL (2025), published", published, ""]])


def equal_time() -> str:
    """Gaps and rates on batches of 50 items."""
    labels = {
        "dp, 1000": ("`dp`", 0), "knapsack-bq, greedy": ("`knapsack-bq` greedy", 3), "greedy": ("greedy by density", 2),
        "greedy noise=0.1, 20": ("the same, best of 20 with noise", 2),
    }  # fmt: skip
    lines = []
    for method, (label, digits) in labels.items():
        found = row("knapsack/equal-time", method=method)
        loss = interval(found, "mean_gap", digits) if digits else number(found["mean_gap"], 0)
        lines.append([label, loss, number(found["instances_per_second"], -1)])
    return table(["", "gap %", "fillings a second"], lines)

"""Figures of the study of routing solvers beside their peers (tests/studies/routing_strength.py)."""

from __future__ import annotations

from .cells import Row, mean, number, rows, table

__all__ = ["ortec", "sets"]

_LABELS = {"ruin-recreate": "`ruin-recreate`", "pyvrp": "PyVRP", "hgs": "HGS-CVRP", "hgs-vrptw": "HGS-VRPTW"}


def _solvers(found: list[Row]) -> list[str]:
    return list(dict.fromkeys(row["solver"] for row in found))


def sets() -> str:
    """Gaps on files of PyVRP's sets, as means over the seeds that were measured."""
    found = rows("vrp/strength", table="sets")
    solvers, lines = _solvers(found), []
    for name in dict.fromkeys(row["instance"] for row in found):
        cells = [
            [row["gap_percent"] for row in found if (row["instance"], row["solver"]) == (name, solver)] for solver in solvers
        ]
        lines.append([name, *(number(mean(cell), 2) if cell else "" for cell in cells)])
    return table(["gap in %, 60 s", *(_LABELS[solver] for solver in solvers)], lines)


def ortec() -> str:
    """Costs on ORTEC's instances, and the numbers of routes."""
    found = rows("vrp/strength", table="ortec")
    solvers, lines = _solvers(found), []
    for name in dict.fromkeys(row["instance"] for row in found):
        cells = [name.removeprefix("ORTEC-VRPTW-ASYM-")]
        for limit in dict.fromkeys(row["limit"] for row in found):
            for solver in solvers:
                chosen = [row for row in found if (row["instance"], row["limit"], row["solver"]) == (name, limit, solver)]
                cells.append(f"{number(mean(row['objective'] for row in chosen), 0)} ({chosen[0]['routes']})" if chosen else "")
        lines.append(cells)
    limits = list(dict.fromkeys(row["limit"] for row in found))
    return table(["cost (routes)", *(f"{_LABELS[solver]}, {limit} s" for limit in limits for solver in solvers)], lines)

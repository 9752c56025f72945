"""Figures of the study of routing solvers beside their peers (tests/studies/routing_strength.py)."""

from __future__ import annotations

from .cells import Row, mean, number, rows, table

__all__ = ["ortec", "sets"]

_LABELS = {"ruin-recreate": "`ruin-recreate`", "pyvrp": "PyVRP", "hgs": "HGS-CVRP", "hgs-vrptw": "HGS-VRPTW"}


def _solvers(found: list[Row]) -> list[str]:
    return list(dict.fromkeys(row["solver"] for row in found))


def sets() -> str:
    """Mean gaps on files of PyVRP's sets, over the seeds measured, and the mean of each set."""
    found = rows("vrp/strength", table="sets")
    solvers = _solvers(found)
    kinds = {"HFVRP": lambda name: name.startswith("X"), "GVRP": lambda name: not name.startswith("X")}
    lines = []
    for kind, belongs in kinds.items():
        names = list(dict.fromkeys(row["instance"] for row in found if belongs(row["instance"])))
        gaps = {(name, solver): _mean_gap(found, name, solver) for name in names for solver in solvers}
        lines += [[f"{kind} {name}", *(number(gaps[name, solver], 2) for solver in solvers)] for name in names]
        lines.append([f"{kind}, mean", *(number(mean(gaps[name, solver] for name in names), 2) for solver in solvers)])
    return table(["gap in %, 60 s", *(_LABELS[solver] for solver in solvers)], lines)


def _mean_gap(found: list[Row], name: str, solver: str) -> str:
    return str(mean(row["gap_percent"] for row in found if (row["instance"], row["solver"]) == (name, solver)))


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

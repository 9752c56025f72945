"""Figures of the study of routing solvers beside their peers (tests/studies/routing_strength.py)."""

from __future__ import annotations

import math
import re
import tomllib
from decimal import Decimal
from pathlib import Path, PurePosixPath

from corl.solvers.vrp.auto import suits_genetic

from .cells import Row, mean, number, rows, table

__all__ = [
    "beside_hgs",
    "large",
    "large_means",
    "ortec",
    "pdptw",
    "set_means",
    "sets",
    "windows",
    "windows_means",
    "x",
    "x_long",
    "x_long_mean",
]

_LABELS = {
    "ruin-recreate": "`ruin-recreate`",
    "genetic": "`genetic`",
    "pyvrp": "PyVRP",
    "hgs": "HGS-CVRP",
    "hgs-vrptw": "HGS-VRPTW",
    "filo2": "FILO2",
    "ails2": "AILS-II",
}
_TABLES = Path(__file__).parents[2] / "studies" / "routing_strength.toml"


def _solvers(found: list[Row]) -> list[str]:
    return list(dict.fromkeys(row["solver"] for row in found))


def _gaps(name: str) -> str:
    """Gaps of a table of the study, a row for each instance and limit, as means over the seeds that were measured."""
    found = rows("vrp/strength", table=name)
    solvers, lines = _solvers(found), []
    for instance, limit in dict.fromkeys((row["instance"], row["limit"]) for row in found):
        chosen = [row for row in found if (row["instance"], row["limit"]) == (instance, limit)]
        cells = [[row["gap_percent"] for row in chosen if row["solver"] == solver] for solver in solvers]
        lines.append([f"{instance}, {limit} s", *(number(mean(cell), 2) if cell else "" for cell in cells)])
    return table(["gap in %", *(_LABELS[solver] for solver in solvers)], lines)


def sets() -> str:
    """Gaps on files of PyVRP's sets."""
    return _gaps("sets")


def set_means() -> str:
    """Mean gaps of PyVRP's sets; the study names the folder of each file."""
    found, files = rows("vrp/strength", table="sets"), tomllib.loads(_TABLES.read_text(encoding="utf-8"))["sets"]["files"]
    folder = {PurePosixPath(file).stem: PurePosixPath(file).parent.name for file in files}
    solvers, lines = _solvers(found), []
    for name in dict.fromkeys(folder[str(row["instance"])] for row in found):
        chosen = [row for row in found if folder[str(row["instance"])] == name]
        gaps = ([row["gap_percent"] for row in chosen if row["solver"] == solver] for solver in solvers)
        lines.append([name, *(number(mean(each), 2) for each in gaps)])
    return table(["mean gap in %", *(_LABELS[solver] for solver in solvers)], lines)


def x() -> str:
    """Gaps on files of the set X, and means over those with HGS-CVRP."""
    lines = []
    for limit in (10, 60):
        ours, theirs, _, count = beside_hgs(limit)
        lines.append(f"| mean of the {count}, {limit} s, ours by `auto` | | {ours} | {theirs} | |")
    return "\n".join([_gaps("x"), *lines])


def x_long() -> str:
    """Gaps on files of X with 2.4 seconds a client, of what `auto` takes."""
    found = rows("vrp/strength", table="x-long")
    lines = []
    for row in found:
        seconds = float(row["limit"].removesuffix("n")) * _clients(row["instance"])
        lines.append([row["instance"], number(seconds, 0), _LABELS[row["solver"]], number(row["gap_percent"], 2)])
    return table(["", "seconds", "`auto` takes", "gap in %"], [*lines, ["mean", "", "", x_long_mean()[0]]])


def x_long_mean() -> tuple[str, int]:
    """Return the mean gap on the files of X with 2.4 seconds a client, and their number."""
    gaps = [row["gap_percent"] for row in rows("vrp/strength", table="x-long")]
    return number(mean(gaps), 2), len(gaps)


def beside_hgs(limit: int) -> tuple[str, str, int, int]:
    """Return the mean gaps of ours and of HGS-CVRP on files of X, on how many of these HGS-CVRP is ahead, and their number.

    Ours is what `auto` takes. On each file, the means over the seeds are compared.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows("vrp/strength", table="x", limit=limit):
        found.setdefault((row["instance"], row["solver"]), []).append(row["gap_percent"])
    gaps = {key: mean(each) for key, each in found.items()}
    theirs = {instance: gap for (instance, solver), gap in gaps.items() if solver == "hgs"}
    ours = {each: gaps[each, "genetic" if suits_genetic(_clients(each), limit) else "ruin-recreate"] for each in theirs}
    ahead = sum(theirs[each] < ours[each] for each in theirs)
    return number(mean(ours.values()), 2), number(mean(theirs.values()), 2), ahead, len(theirs)


def _clients(instance: str) -> float:
    """Return the number of clients in the name of an instance of X; inf for another name."""
    found = re.match(r"X-n(\d+)-", instance)
    return int(found[1]) - 1 if found else math.inf


def large() -> str:
    """Gaps with 3,000 and 6,000 clients; costs with 4,244 and 8,574, of which no best known ones are published."""
    means = " | ".join(number(each, 2) for each in large_means().values())
    return f"{_gaps('large')}\n| mean | {means} |\n\n{_costs('xl', 0)}"


def large_means() -> dict[str, Decimal]:
    """Return the mean gaps on the files of 3,000 and 6,000 clients, by solver."""
    found = rows("vrp/strength", table="large")
    return {each: mean(row["gap_percent"] for row in found if row["solver"] == each) for each in _solvers(found)}


def windows() -> str:
    """Gaps on files of 1,000 clients with time windows."""
    return f"{_gaps('windows')}\n| mean | {' | '.join(windows_means())} |"


def windows_means() -> list[str]:
    """Return the mean gaps of ours and of PyVRP on files of 1,000 clients with time windows."""
    found = rows("vrp/strength", table="windows")
    return [
        number(mean(row["gap_percent"] for row in found if row["solver"] == solver), 2) for solver in ("ruin-recreate", "pyvrp")
    ]


def pdptw() -> str:
    """Costs and numbers of routes on Li and Lim's instances of 1,000 tasks."""
    return _costs("pdptw", 1)


def ortec() -> str:
    """Costs on ORTEC's instances, and the numbers of routes."""
    return _costs("ortec", 0)


def _costs(name: str, digits: int) -> str:
    """Costs of a table of the study, with the numbers of routes in brackets."""
    found = rows("vrp/strength", table=name)
    solvers, lines = _solvers(found), []
    for instance in dict.fromkeys(row["instance"] for row in found):
        cells = [instance.removeprefix("ORTEC-VRPTW-ASYM-")]
        for limit in dict.fromkeys(row["limit"] for row in found):
            for solver in solvers:
                chosen = [row for row in found if (row["instance"], row["limit"], row["solver"]) == (instance, limit, solver)]
                costs = number(mean(row["objective"] for row in chosen), digits) if chosen else ""
                cells.append(f"{costs} ({chosen[0]['routes']})" if chosen else "")
        lines.append(cells)
    limits = list(dict.fromkeys(row["limit"] for row in found))
    return table(["cost (routes)", *(f"{_LABELS[solver]}, {limit} s" for limit in limits for solver in solvers)], lines)

"""Random instances with side constraints of real instances.

Each function `_NAME(arguments, random)` adds the side constraint NAME: it returns fields of SideConstraints, and may change the
arguments of VrpInstance in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError, unknown
from corl.problems.vrp.generators_structure import STRUCTURE
from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.problems.vrp.rules import SideConstraints

__all__ = ["day"]

_DAY = 600.0  # minutes; a vehicle travels one unit of distance in one minute
_CAPACITY = 50.0
_VEHICLE_FIELDS = {  # the fields with one row per vehicle type
    "aboard", "capacities", "stays_out", "overtime_from", "overtime_cost", "duration_cost", "reloads", "max_driving", "rest",
    "speed_factors",
}  # fmt: skip
_MAX_SIZE = 100_000  # clients


def day(*, size: int = 100, ask: str = "", windows: float = 0.3, seed: int = 0) -> VrpInstance:
    """Return a feasible day of deliveries with the side constraints in `ask`, which are separated by commas.

    Clients are uniform in a square of 100 by 100 minutes with the depot in its middle; demands are 1 to 9, the capacity 50,
    service 5 to 10 minutes, and the day ten hours long. A share `windows` of the clients has a time window of one to four hours.
    Accepted in `ask`, in supported combinations: aboard, backhauls, balance, breaks, clusters (served in a row), dimensions,
    groups, open, overtime, pickups, releases, reloads, rests, shifts (two days of each vehicle), shipments, skills, soft (soft
    windows), soft_clusters (each on one route), spells (several windows), traffic (slower at peak hours).
    """
    wanted = [word for word in ask.replace(" ", "").split(",") if word]
    for word in wanted:
        if word not in _RULES:
            raise UsageError(unknown("there is no rule", word, sorted(_RULES)))
    if not 1 <= size <= _MAX_SIZE or not 0.0 <= windows <= 1.0:
        raise UsageError(f"accepted: size 1 to {_MAX_SIZE}, windows 0 to 1")
    for one, other in (("shifts", "skills"), ("clusters", "soft_clusters"), ("clusters", "shifts"), ("soft_clusters", "shifts")):
        if {one, other} <= set(wanted):
            raise UsageError(f"ask: {one} and {other} do not go together; accepted: one of them")
    random = np.random.default_rng(seed)
    points = np.concatenate([[[50.0, 50.0]], random.integers(0, 101, (size, 2))])
    n = size + 1
    opening = np.floor(random.uniform(60.0, _DAY - 360.0, n))
    has_window = (random.random(n) < windows) & (np.arange(n) > 0)
    arguments: dict[str, Any] = {
        "demand": np.append([0.0], random.integers(1, 10, size)),
        "earliest": np.where(has_window, opening, 0.0),
        "latest": np.where(has_window, opening + random.integers(60, 240, n), np.where(np.arange(n) > 0, _DAY - 100.0, _DAY)),
        "service": np.append([0.0], random.integers(5, 11, size)),
        "required": np.arange(n) > 0,
        "vehicles": Vehicles(np.array([_CAPACITY])),
        "points": points.astype(np.float64),
    }
    rules: dict[str, Any] = {}
    for word in sorted(set(wanted)):  # "skills", which doubles the vehicle type, follows "reloads", which replaces it
        rules |= _RULES[word](arguments, random)
    for name in _VEHICLE_FIELDS & rules.keys():
        rules[name] = np.repeat(rules[name], arguments["vehicles"].types, axis=0)
    options = (f" --option ask={','.join(wanted)}" if wanted else "") + (f" --option windows={windows}" if windows != 0.3 else "")
    return VrpInstance(
        name=f"day-{size}",
        edge_weight_type="EUC_2D",
        rules=SideConstraints(**rules) if rules else None,
        comment=f"corl generate vrp day --option size={size}{options} --seed {seed}",
        **arguments,
    )


def _clients(arguments: dict[str, Any], random: np.random.Generator, share: float) -> NDArray[np.bool_]:
    """Return bool [n]: a random choice of about this share of the clients."""
    chosen = random.random(len(arguments["demand"])) < share
    chosen[0] = False
    return chosen


def _aboard(arguments: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    return {"aboard": np.array([[10.0]])}


def _backhauls(arguments: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    back = _clients(arguments, random, 0.4)
    pickups = np.where(back, arguments["demand"], 0.0)[:, None]
    arguments["demand"] = np.where(back, 0.0, arguments["demand"])
    return {"pickups": pickups, "backhauls_last": True}


def _breaks(arguments: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    return {"breaks": np.array([[0.0, 240.0, 300.0, 45.0]])}


def _dimensions(arguments: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    volume = np.where(arguments["demand"] > 0.0, random.integers(0, 7, len(arguments["demand"])), 0)
    return {"demands": np.column_stack([arguments["demand"], volume]), "capacities": np.array([[_CAPACITY, 30.0]])}


def _groups(arguments: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    """Return groups of two clients with consecutive numbers; one of the two must be served."""
    n = len(arguments["demand"])
    first = _clients(arguments, random, 0.2)[1:-1]
    first[1:] &= ~first[:-1]
    groups = np.full(n, -1)
    number = np.cumsum(first) - 1
    groups[1:-1][first] = groups[2:][first] = number[first]
    arguments["required"] = arguments["required"] & (groups < 0)
    return {"groups": groups, "group_required": np.ones(int(first.sum()), bool)}


def _open(arguments: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    return {"stays_out": np.array([True])}


def _overtime(arguments: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    return {"overtime_from": np.array([360.0]), "overtime_cost": np.array([2.0]), "duration_cost": np.array([0.2])}


def _pickups(arguments: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    return {"pickups": np.append([0.0], random.integers(0, 8, len(arguments["demand"]) - 1)).astype(float)[:, None]}


def _releases(arguments: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    late = _clients(arguments, random, 0.4)
    release = np.where(late, np.floor(random.uniform(0.0, 120.0, len(late))), 0.0)
    arguments["latest"] = np.where(late, np.maximum(arguments["latest"], release + 200.0), arguments["latest"])
    return {"release": release}


def _reloads(arguments: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    count = max(2, len(arguments["demand"]) // 8)
    arguments["vehicles"] = Vehicles(np.array([25.0]), np.array([count]))
    return {"reloads": np.array([4])}


def _rests(arguments: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    return {"max_driving": np.array([180.0]), "rest": np.array([30.0])}


def _shipments(arguments: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    """Return shipments between half of the clients; the demand of the client with the pickup becomes the amount."""
    order = 1 + random.permutation(len(arguments["demand"]) - 1)
    pairs = order[: len(order) // 4 * 2].reshape(-1, 2)
    ends = np.zeros(len(arguments["demand"]), bool)
    ends[pairs] = True
    amounts = arguments["demand"][pairs[:, :1]]
    arguments["demand"] = np.where(ends, 0.0, arguments["demand"])
    arguments["earliest"] = np.where(ends, 0.0, arguments["earliest"])
    arguments["latest"] = np.where(ends, _DAY - 100.0, arguments["latest"])
    return {"shipments": pairs, "amounts": amounts}


def _skills(arguments: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    """Make a second, more expensive vehicle type, which may serve all clients; the first may serve only about 70 %."""
    vehicles = arguments["vehicles"]
    arguments["vehicles"] = Vehicles(
        np.repeat(vehicles.capacity, 2), np.repeat(vehicles.count, 2), unit_cost=np.array([1.0, 1.3])
    )
    return {"allowed": np.stack([~_clients(arguments, random, 0.3), np.ones(len(arguments["demand"]), bool)])}


def _soft(arguments: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    """Return soft windows, of half an hour to two hours, for 60 % of the clients, whose windows are then the day."""
    chosen, n = _clients(arguments, random, 0.6), len(arguments["demand"])
    begin = np.floor(random.uniform(30.0, _DAY - 250.0, n))
    end = begin + random.integers(30, 121, n)
    arguments["earliest"] = np.where(chosen, 0.0, arguments["earliest"])
    arguments["latest"] = np.where(chosen, _DAY - 100.0, arguments["latest"])
    windows = np.column_stack([np.where(chosen, begin, 0.0), np.where(chosen, end, np.inf)])
    return {"soft_windows": windows, "early_cost": np.where(chosen, 0.2, 0.0), "late_cost": np.where(chosen, 1.0, 0.0)}


def _traffic(arguments: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    """Return a morning and an evening in which vehicles are half as fast, and a day between them."""
    return {"period_starts": np.array([0.0, 120.0, 240.0, 420.0, 540.0]), "speed_factors": np.array([[1.0, 0.5, 0.8, 0.5, 1.0]])}


def _spells(arguments: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    """Return closed intervals: about a third of the clients cannot be served for half an hour within their windows."""
    nodes = np.flatnonzero(_clients(arguments, random, 0.35))
    begin = arguments["earliest"][nodes] + np.floor((arguments["latest"] - arguments["earliest"])[nodes] / 4)
    return {"closed": np.column_stack([nodes, begin, begin + 30.0]).astype(np.float64)}


_RULES: dict[str, Callable[[dict[str, Any], np.random.Generator], dict[str, Any]]] = {
    "aboard": _aboard, "backhauls": _backhauls, "breaks": _breaks, "dimensions": _dimensions, "groups": _groups, "open": _open,
    "overtime": _overtime, "pickups": _pickups, "releases": _releases, "reloads": _reloads, "rests": _rests,
    "shipments": _shipments, "skills": _skills, "soft": _soft, "spells": _spells, "traffic": _traffic, **STRUCTURE,
}  # fmt: skip

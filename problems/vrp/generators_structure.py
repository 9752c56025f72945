"""The rules of structure of random instances: clusters of clients, balance, and vehicles with a shift on each of two days.

Each function `_NAME(arguments, random)` adds the side constraint NAME, as in generators_rules.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from corl.problems.vrp.instance import Vehicles
from corl.problems.vrp.rules_structure import Balance

__all__ = ["STRUCTURE"]

_MAX_CLUSTER = 6  # clients of a cluster; with demands up to 9 each, fewer than a vehicle can carry
_CLUSTERED_SHARE = 0.7  # of the clients
_ONE_DAY_SHARE = 0.3  # of the clients, for each of the two days: they can be served on that day only
_CLIENTS_PER_VEHICLE = 8  # enough vehicles to serve all clients on one day
_ROSTER_MINUTES = 900.0  # of both days together
_ROSTER_COST = 50.0


def _clusters(arguments: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    """Return clusters of two to six close clients, served in a row; clustered clients have no window, but the whole day."""
    points, n = arguments["points"], len(arguments["demand"])
    clusters, free, number = np.full(n, -1), np.arange(n) > 0, 0
    while free.sum() > (1.0 - _CLUSTERED_SHARE) * (n - 1) and free.sum() > 1:
        first, size = random.choice(np.flatnonzero(free)), int(random.integers(2, _MAX_CLUSTER))
        distances = np.where(free, ((points - points[first]) ** 2).sum(axis=1), np.inf)
        members = np.argsort(distances, kind="stable")[: min(size, int(free.sum()))]
        members = members[np.cumsum(arguments["demand"][members]) <= arguments["vehicles"].capacity.min()]
        clusters[members], number = number, number + 1
        free[members] = False
    opens, closes = arguments["earliest"], arguments["latest"]
    arguments["earliest"] = np.where(clusters >= 0, 0.0, opens)
    arguments["latest"] = np.where(clusters >= 0, closes[0] - 100.0, closes)
    return {"clusters": clusters, "cluster_in_a_row": np.ones(number, bool)}


def _soft_clusters(arguments: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    """Return the same clusters, each of which is served by one route in any order."""
    rules = _clusters(arguments, random)
    return rules | {"cluster_in_a_row": np.zeros_like(rules["cluster_in_a_row"])}


def _balance(arguments: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    return {"balance": Balance("longest", "duration", 5.0)}


def _shifts(arguments: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    """Return vehicles with a shift on each of two days, and clients of which some can be served on one of the days only."""
    n = len(arguments["demand"])
    vehicles, draw = 1 + (n - 1) // _CLIENTS_PER_VEHICLE, random.random(n)
    kinds, capacity = 2 * vehicles, float(arguments["vehicles"].capacity[0])
    arguments["vehicles"] = Vehicles(np.full(kinds, capacity), np.ones(kinds, np.int64))
    first_day, only = np.arange(kinds) < vehicles, np.arange(n) > 0
    return {
        "roster": np.arange(kinds) % vehicles,
        "roster_duration": np.full(vehicles, _ROSTER_MINUTES),
        "roster_cost": np.full(vehicles, _ROSTER_COST),
        "allowed": np.where(first_day[:, None], draw >= _ONE_DAY_SHARE, draw < 1.0 - _ONE_DAY_SHARE) | ~only,
    }


STRUCTURE: dict[str, Callable[[dict[str, Any], np.random.Generator], dict[str, Any]]] = {
    "balance": _balance, "clusters": _clusters, "shifts": _shifts, "soft_clusters": _soft_clusters,
}  # fmt: skip
"""Word in `ask` -> the function that adds the rule."""

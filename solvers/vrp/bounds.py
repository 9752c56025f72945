"""The radial lower bound, which takes next to no time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.routing.shortest_paths import dijkstra

if TYPE_CHECKING:
    from corl.run import Run

__all__ = ["radial_bound", "report_if_empty"]

# How far rounding may reduce a leg below its true length; types that are not listed round up, by less than 1.
_LOSS = {"EXACT_2D": 0.0, "EXACT_3D": 0.0, "EUC_2D": 0.5, "EUC_3D": 0.5, "MAN_2D": 1.0, "MAN_3D": 1.5}
_LOSS |= {"MAX_2D": 0.5, "MAX_3D": 0.5, "TENTHS_2D": 1.0}
_MOST_MATRIX = 2000  # greatest number of nodes for shortest paths in a matrix
_SAFETY = 1e-9


def report_if_empty(instance: VrpInstance, run: Run) -> bool:
    """Return whether there are no clients; if so, report the solution without routes, which is optimal."""
    if instance.clients == 0:
        run.report([])
        run.report_bound(0.0)
    return instance.clients == 0


def radial_bound(instance: VrpInstance) -> float:
    """Return a lower bound on the objective value; 0 if nothing better is known.

    A route is at least as long as the distance to any of its clients and back, hence as the mean of these weighted by demand; a
    client's share of it is its demand divided by the largest capacity (Haimovich & Rinnooy Kan, Mathematics of Operations
    Research 10, 1985, lemma 1). The same holds for a route's fixed cost. An optional client counts at most its prize. Distances
    satisfy the triangle inequality except for rounding, which is subtracted for every leg; in a matrix, shortest paths are used.
    """
    if instance.rules is not None:
        return 0.0
    vehicles, depots, n = instance.vehicles, instance.depots, instance.n
    out_and_back = _distances_there_and_back(instance)
    if out_and_back is None:
        return 0.0
    capacity = float(vehicles.capacity.max())
    if not 0.0 < capacity < np.inf:
        return 0.0
    fixed = float(vehicles.fixed_cost.min()) + instance.route_weight
    unit = float(vehicles.unit_cost.min())
    loss = unit * _LOSS.get(instance.edge_weight_type, 0.0)
    share = instance.demand[depots:] / capacity * (unit * out_and_back[depots:] + fixed)
    share = np.where(instance.required[depots:], share, np.minimum(share, instance.prize[depots:]))
    legs = 2.0 * (n - depots)  # greatest number of legs: every client on a separate route
    return max(0.0, (1.0 - _SAFETY) * (float(share.sum()) - loss * legs) / instance.scale)


def _distances_there_and_back(instance: VrpInstance) -> NDArray[np.float64] | None:
    """Return float64 [n]: lower bounds on the distance from the nearest first depot over each node to the nearest last depot."""
    starts, ends = np.unique(instance.vehicles.start), np.unique(instance.vehicles.end)
    if instance.matrix is None:
        to = np.min([instance.distances_from(int(depot)) for depot in starts], axis=0)
        back = np.min([instance.distances_from(int(depot)) for depot in ends], axis=0)
        return np.asarray(np.maximum(0.0, to + back - 2.0 * _LOSS.get(instance.edge_weight_type, 1.0)))
    if instance.n > _MOST_MATRIX:
        return None
    to = np.min([_shortest(instance.matrix, int(depot)) for depot in starts], axis=0)
    back = np.min([_shortest(instance.matrix.T, int(depot)) for depot in ends], axis=0)
    return np.asarray(to + back)


def _shortest(matrix: NDArray[np.float64], start: int) -> NDArray[np.float64]:
    """Return float64 [n]: lengths of shortest paths from a node (a distance of 0 is an arc like any other)."""
    length = np.array(matrix[start])
    for _ in dijkstra(lambda node: np.asarray(matrix[node]), length, np.ones(len(matrix), bool)):
        pass
    return length

"""The radial lower bound: each client's share of the way from the depot to the client and back. It is computed in no time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.routing.shortest_paths import dijkstra

if TYPE_CHECKING:
    from corl.run import Run

__all__ = ["radial_bound", "report_if_empty"]

# Edge weight type -> the most by which rounding reduces a leg below its true length. Other types round up, by less than 1.
_ROUNDING_LOSS = {"EXACT_2D": 0.0, "EXACT_3D": 0.0, "EUC_2D": 0.5, "EUC_3D": 0.5, "MAN_2D": 1.0, "MAN_3D": 1.5}
_ROUNDING_LOSS |= {"MAX_2D": 0.5, "MAX_3D": 0.5, "TENTHS_2D": 1.0}
_MAX_MATRIX_NODES = 2000  # greatest number of nodes for which shortest paths in a matrix are computed
_SAFETY = 1e-9  # relative reduction of the bound, for rounding


def report_if_empty(instance: VrpInstance, run: Run) -> bool:
    """Return whether there are no clients; if so, report the solution without routes, which is optimal."""
    if instance.clients == 0:
        run.report([])
        run.report_bound(0.0)
    return instance.clients == 0


def radial_bound(instance: VrpInstance) -> float:
    """Return a lower bound on the objective value; 0 if nothing better is known.

    A route is at least as long as the distance to any of its clients and back, and so at least as long as the mean of these
    distances weighted by demand. Summed over all routes, each client counts with its distance there and back, times its demand
    divided by the largest capacity (Haimovich & Rinnooy Kan, Mathematics of Operations Research 10, 1985, lemma 1). The fixed
    cost of a route is shared in the same way, and an optional client counts at most with its prize.

    This needs the triangle inequality. Rounded distances may violate it; the loss by rounding is subtracted for every leg. In a
    matrix, shortest paths replace the distances.
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
    leg_loss = unit * _ROUNDING_LOSS.get(instance.edge_weight_type, 0.0)
    share = instance.demand[depots:] / capacity * (unit * out_and_back[depots:] + fixed)
    share = np.where(instance.required[depots:], share, np.minimum(share, instance.prize[depots:]))
    max_legs = 2.0 * (n - depots)  # greatest number of legs: every client on a separate route
    return max(0.0, (1.0 - _SAFETY) * (float(share.sum()) - leg_loss * max_legs) / instance.scale)


def _distances_there_and_back(instance: VrpInstance) -> NDArray[np.float64] | None:
    """Return float64 [n]: lower bounds on the distance from a start depot over each node to an end depot.

    None for an instance with a large matrix, in which shortest paths would take too long.
    """
    starts, ends = np.unique(instance.vehicles.start), np.unique(instance.vehicles.end)
    if instance.matrix is None:
        to = np.min([instance.distances_from(int(depot)) for depot in starts], axis=0)
        back = np.min([instance.distances_from(int(depot)) for depot in ends], axis=0)
        return np.asarray(np.maximum(0.0, to + back - 2.0 * _ROUNDING_LOSS.get(instance.edge_weight_type, 1.0)))
    if instance.n > _MAX_MATRIX_NODES:
        return None
    to = np.min([_shortest(instance.matrix, int(depot)) for depot in starts], axis=0)
    back = np.min([_shortest(instance.matrix.T, int(depot)) for depot in ends], axis=0)
    return np.asarray(to + back)


def _shortest(matrix: NDArray[np.float64], start: int) -> NDArray[np.float64]:
    """Return float64 [n]: the lengths of shortest paths from a node. A distance of 0 is an arc, not a missing arc."""
    length = np.array(matrix[start])
    for _ in dijkstra(lambda node: np.asarray(matrix[node]), length, np.ones(len(matrix), bool)):
        pass
    return length

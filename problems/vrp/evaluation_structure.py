"""The judge of the rules of structure: clusters of clients, balanced routes, and the rosters of vehicles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.routes import Route
from corl.problems.vrp.rules import SideConstraints
from corl.tolerance import keeps

__all__ = ["check_clusters", "check_rosters", "structure_cost"]

_Floats = NDArray[np.float64]


def check_clusters(instance: VrpInstance, rules: SideConstraints, routes: Sequence[Route]) -> None:
    """Check that each cluster is served by one route, and one after another if it asks for it. Raises Infeasible."""
    if rules.clusters is None or rules.cluster_in_a_row is None:
        return
    route_of = np.full(len(rules.cluster_in_a_row), -1)
    for number, route in enumerate(routes):
        clusters = np.where(route.visits >= instance.depots, rules.clusters[route.visits], -1)
        for cluster in np.unique(clusters[clusters >= 0]).tolist():
            if route_of[cluster] >= 0:
                numbers = f"{route_of[cluster] + 1} and {number + 1}"
                raise Infeasible(f"routes {numbers} both serve clients of the cluster {_names(instance, rules, cluster)}")
            route_of[cluster] = number
            positions = np.flatnonzero(clusters == cluster)
            if rules.cluster_in_a_row[cluster] and positions[-1] - positions[0] >= len(positions):
                between = route.visits[positions[0] : positions[-1] + 1]
                other = instance.labels[int(between[clusters[positions[0] : positions[-1] + 1] != cluster][0])]
                message = f"route {number + 1} visits {other} between clients of the cluster"
                raise Infeasible(f"{message} {_names(instance, rules, cluster)}, which it has to serve in a row")


def _names(instance: VrpInstance, rules: SideConstraints, cluster: int) -> str:
    """Return the labels of the clients of a cluster, ten at most."""
    return ", ".join(instance.labels[node] for node in np.flatnonzero(rules.clusters == cluster)[:10])


def check_rosters(
    instance: VrpInstance, rules: SideConstraints, routes: Sequence[Route], durations: _Floats, driving: _Floats
) -> None:
    """Check the limits of all routes of a vehicle together. Raises Infeasible.

    Args:
        instance: The instance.
        rules: Its side constraints.
        routes: The routes.
        durations: float64 [routes], the duration of each.
        driving: float64 [routes], the travel time of each.
    """
    if rules.roster is None:
        return
    roster = rules.roster[[route.vehicle for route in routes]]
    for limits, amounts, words in ((rules.roster_duration, durations, "take"), (rules.roster_driving, driving, "drive")):
        for number, limit in enumerate([] if limits is None else limits.tolist()):
            total = float(amounts[roster == number].sum())
            if not keeps(total, limit):
                labels = ", ".join(instance.vehicle_label(kind) for kind in np.flatnonzero(rules.roster == number)[:10].tolist())
                unit = instance.scale * instance.speed
                message = f"the routes of vehicle types {labels} {words} {total / unit:.10g} together"
                raise Infeasible(f"{message}; the limit is {limit / unit:.10g}")


def structure_cost(rules: SideConstraints, routes: Sequence[Route], lengths: _Floats, durations: _Floats) -> float:
    """Return the cost of unbalanced routes and of the rosters that are used (times `scale`).

    Args:
        rules: The side constraints.
        routes: The routes.
        lengths: float64 [routes], the distance of each.
        durations: float64 [routes], the duration of each; used only if the balance is one of durations.
    """
    cost = 0.0
    if rules.balance is not None and len(routes):
        amounts = lengths if rules.balance.of == "distance" else durations
        least = amounts.min() if rules.balance.measure == "range" else 0.0
        cost += rules.balance.weight * float(amounts.max() - least)
    if rules.roster is not None and rules.roster_cost is not None:
        used = np.unique(rules.roster[[route.vehicle for route in routes]])
        cost += float(rules.roster_cost[used[used >= 0]].sum())
    return cost

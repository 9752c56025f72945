"""Clusters and the longest distance in the model of OR-Tools' routing library: constraints, and a cost of the global span."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from corl.problems.vrp.instance import VrpInstance

__all__ = ["add_clusters", "cluster_routes", "refusal"]

_SUPPORTED = ("clusters", "cluster_in_a_row", "balance", "soft_windows", "early_cost", "late_cost")


def refusal(instance: VrpInstance) -> str:
    """Return which side constraint the model does not express, to follow "it takes"; "" if there is none."""
    rules = instance.rules
    if rules is None:
        return ""
    if others := rules.named(name for name in vars(rules) if name not in _SUPPORTED):
        return f"no {others[0]}"
    if rules.clusters is not None and not instance.required[instance.depots :].all():
        return "no clusters of clients together with optional clients"
    if rules.balance is not None and (rules.balance[:2] != ("longest", "distance") or rules.balance.weight % 1.0):
        return "no balance but that of the longest distance, with a whole number as its weight"
    return ""


def cluster_routes(instance: VrpInstance) -> list[list[int]] | None:
    """Return a route for each cluster and for each other client, from which the search can start; None without clusters.

    The engine's construction heuristics insert clients one by one and rarely find a solution that keeps clusters together. If
    there are several vehicle types or a limited number of vehicles, None is returned, too.
    """
    rules = instance.rules
    if rules is None or rules.clusters is None or instance.vehicles.types > 1 or instance.vehicles.count[0] >= 0:
        return None
    clusters = [np.flatnonzero(rules.clusters == cluster).tolist() for cluster in np.unique(rules.clusters[rules.clusters >= 0])]
    return [*clusters, *([node] for node in range(instance.depots, instance.n) if rules.clusters[node] < 0)]


def add_clusters(instance: VrpInstance, routing: Any, manager: Any) -> None:
    """Add the constraints that one vehicle serves a cluster, and that its clients follow one another, in place.

    Args:
        instance: The instance.
        routing: The library's RoutingModel.
        manager: Its RoutingIndexManager.
    """
    rules = instance.rules
    if rules is None or rules.clusters is None or rules.cluster_in_a_row is None:
        return
    solver = routing.solver()
    if rules.cluster_in_a_row.any():
        routing.AddConstantDimension(1, instance.n + 1, True, "position")
    for cluster, in_a_row in enumerate(rules.cluster_in_a_row.tolist()):
        indices = [manager.NodeToIndex(node) for node in np.flatnonzero(rules.clusters == cluster).tolist()]
        for index in indices[1:]:
            solver.Add(routing.VehicleVar(index) == routing.VehicleVar(indices[0]))
        if in_a_row:
            position = routing.GetDimensionOrDie("position")
            for one in indices:
                for other in indices:
                    if one != other:
                        solver.Add(position.CumulVar(one) - position.CumulVar(other) <= len(indices) - 1)

"""A quick proof that a cluster of clients cannot be served: no vehicle can serve all of its required clients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.vehicle_travel import NO_RULES
from corl.tolerance import keeps

__all__ = ["unservable_cluster"]

_MAX_NAMED = 10  # clients named in a message


def unservable_cluster(instance: VrpInstance, kinds: list[int], possible: NDArray[np.bool_]) -> str:
    """Return why one route cannot serve the required clients of a cluster, in words; "" if that is not proven.

    Args:
        instance: The instance.
        kinds: The vehicle types that have vehicles.
        possible: bool [len(kinds), n], which vehicle type may be able to serve which required client.
    """
    rules = instance.rules or NO_RULES
    if rules.clusters is None or rules.cluster_in_a_row is None:
        return ""
    q, types = rules.dimensions, instance.vehicles.types
    demands = rules.of("demands", instance.demand[:, None])
    capacities = rules.of("capacities", np.repeat(instance.vehicles.capacity[:, None], q, axis=1))
    trips = 1 + rules.of("reloads", np.zeros(types, np.int64))
    for cluster, in_a_row in enumerate(rules.cluster_in_a_row.tolist()):
        members = np.flatnonzero((rules.clusters == cluster) & instance.required)
        if not len(members):
            continue
        names = ", ".join(instance.labels[node] for node in members[:_MAX_NAMED])
        can_serve: list[bool] = np.asarray(possible[:, members].all(axis=1)).tolist()
        if not any(can_serve):
            return f"no vehicle can serve all clients of the cluster {names}"
        load, loadings = demands[members].sum(axis=0), np.ones(types) if in_a_row else trips
        limits = [capacities[kind] * loadings[kind] for kind, able in zip(kinds, can_serve) if able]
        if not any(keeps(load, limit).all() for limit in limits):
            return f"the demand of the cluster {names} exceeds the capacity of every vehicle that can serve it"
    return ""

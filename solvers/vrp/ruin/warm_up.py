"""A small instance with the features of a given one: solving it compiles the kernels that the given instance needs."""

from __future__ import annotations

import numpy as np

from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.problems.vrp.rules import SideConstraints

__all__ = ["warm_up_instance"]

_CLIENTS = 12


def warm_up_instance(instance: VrpInstance) -> VrpInstance:
    """Return an instance with twelve clients and one depot; distances, windows and side constraints are of the same kind."""
    n, random = _CLIENTS + 1, np.random.default_rng(1)
    points = None
    if instance.points is not None:
        points = random.integers(1, 60, (n, instance.points.shape[1])).astype(np.float64)
    matrix = None if instance.matrix is None else random.integers(1, 60, (n, n)).astype(np.float64)
    demand = np.ones(n)
    demand[0] = 0.0
    return VrpInstance(
        name="tiny",
        edge_weight_type=instance.edge_weight_type,
        demand=demand,
        vehicles=Vehicles(capacity=np.array([4.0])),
        points=points,
        matrix=matrix,
        earliest=np.zeros(n) if instance.windows else None,
        latest=np.full(n, 1e6) if instance.windows else None,
        fleet=instance.fleet,
        scale=instance.scale,
        rules=None if instance.rules is None else SideConstraints(),
    )

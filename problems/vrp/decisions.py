"""Conversion of routes to the environment's actions that build them, for imitation learning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.vrp.environment import refusal
from corl.problems.vrp.evaluation import routes_of
from corl.problems.vrp.instance import VrpInstance

__all__ = ["decisions"]


def decisions(instance: VrpInstance, solution: Any) -> NDArray[np.int64]:
    """Return the environment's actions that build a solution, int64 [number of visits], followed by 0 if clients are skipped.

    The fullest routes come first, as in BQ-NCO (Drakulic et al., NeurIPS 2023, appendix); of equally full routes, the one with
    the client of lowest number. If direction does not matter, a route begins at the end that is nearer to the depot. Raises
    UsageError for instances that the environment does not accept.
    """
    if reason := refusal(instance):
        raise UsageError(f"{instance.name or 'vrp'}: {reason}")
    from_depot = instance.distances_from(0)
    reversible = instance.symmetric and not instance.windows
    paths = []
    for route in routes_of(instance, solution):
        path = route.visits.astype(np.int64)
        if reversible and (from_depot[path[-1]], path[-1]) < (from_depot[path[0]], path[0]):
            path = path[::-1]
        paths.append((-float(instance.demand[path].sum()), int(path.min()), path))
    actions: list[int] = []
    for _, _, path in sorted(paths, key=lambda each: each[:2]):
        actions += [int(path[0]) + (instance.n if actions else 0), *path[1:].tolist()]
    if len(actions) < instance.clients:
        actions.append(0)
    return np.array(actions, np.int64)

"""The actions of an episode that builds a given path, or a path that scores at least as much; imitation learns from them."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.orienteering.environment import OrienteeringEnvironment
from corl.problems.orienteering.evaluation import check
from corl.problems.orienteering.instance import OrienteeringInstance

__all__ = ["decisions"]


def decisions(instance: OrienteeringInstance, solution: Any) -> NDArray[np.int64]:
    """Return the nodes between start and end of a path, then the first listed nodes until no node can be visited, int64 [k].

    A node from which the direct way to the end is too long is skipped, since no episode can visit it. Raises Infeasible if
    `solution` is not feasible.
    """
    environment, actions = OrienteeringEnvironment([instance], 1, 1), []
    for node in check(instance, solution)[1:-1].tolist():
        with contextlib.suppress(UsageError):
            environment.step([0], [0], [node])
            actions.append(node)
    while (node := int(environment.actions([0])[0, 0])) >= 0:
        environment.step([0], [0], [node])
        actions.append(node)
    return np.array(actions, np.int64)

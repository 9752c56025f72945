"""The decisions that build a given path, or one that scores no less; imitation learns from them."""

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
    """Return the nodes between the ends of a path, followed by the first listed ones until none can be visited, int64 [k].

    A node from which the direct way to the end is too long is skipped, since no episode can visit it. Raises Infeasible if
    `solution` is not a path.
    """
    environment, taken = OrienteeringEnvironment([instance], 1, 1), []
    for node in check(instance, solution)[1:-1].tolist():
        with contextlib.suppress(UsageError):
            environment.step([0], [0], [node])
            taken.append(node)
    while (node := int(environment.actions([0])[0, 0])) >= 0:
        environment.step([0], [0], [node])
        taken.append(node)
    return np.array(taken, np.int64)

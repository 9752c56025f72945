"""Building a path node by node in the plane: the observation has coordinates instead of distances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.orienteering.environment import OrienteeringEnvironment
from corl.problems.orienteering.environments.plane.features import observe
from corl.problems.orienteering.instance import OrienteeringInstance

__all__ = ["PlaneEnvironment", "in_the_plane"]

_PLANE = ("EUC_2D", "CEIL_2D", "EXACT_2D")  # types of distances, which may be rounded


def in_the_plane(instance: OrienteeringInstance) -> bool:
    """Return whether distances are the lengths of lines between points in the plane, in the unit of the coordinates."""
    return instance.graph.edge_weight_type in _PLANE


class PlaneEnvironment(OrienteeringEnvironment):
    """An OrienteeringEnvironment that lists up to 128 nodes and observes where they are, for networks that see all of them.

    Raises UsageError for an instance whose distances are not those of points in the plane (`in_the_plane`).
    """

    def __init__(self, instances: Sequence[OrienteeringInstance], rows: int, width: int = 128) -> None:
        for instance in instances:
            if not in_the_plane(instance):
                raise UsageError("the environment 'plane' is for points in the plane; accepted for others: 'nodes', 'insertion'")
        super().__init__(instances, rows, width)

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return what remains of the problems. Slots 0..K-1 are the listed nodes, slot K is the last node, slot K + 1 the end.

        action: int32 [R, K], the listed nodes, -1 in empty slots; mask: bool [R, K + 2], True if the slot is used.
        scores: float64 [R, K]; points: float64 [R, K + 2, 2]; 0 in empty slots.
        left: float64 [R], the limit minus the length of the path.
        """
        scores, points = np.zeros(actions.shape), np.zeros((len(rows), self.width + 2, 2))
        observe(self.state, rows, actions, scores, points)
        mask = np.concatenate([actions >= 0, np.ones((len(rows), 2), bool)], axis=1)
        length_left = self.state.limit[self.state.instance[rows]] - self.state.length[rows]
        return {"action": actions, "mask": mask, "scores": scores, "points": points, "left": length_left}

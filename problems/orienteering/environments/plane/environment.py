"""Building a path node by node in the plane: the observation has coordinates instead of distances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.orienteering.environment import OrienteeringEnvironment
from corl.problems.orienteering.instance import OrienteeringInstance

__all__ = ["PlaneEnvironment"]


class PlaneEnvironment(OrienteeringEnvironment):
    """An OrienteeringEnvironment that lists up to 128 nodes and observes where they are, for networks that see all of them.

    Raises UsageError for an instance whose nodes have no coordinates in the plane.
    """

    def __init__(self, instances: Sequence[OrienteeringInstance], rows: int, width: int = 128) -> None:
        for instance in instances:
            if instance.graph.points is None or instance.graph.points.shape[1] != 2 or instance.graph.edge_weight_type == "GEO":
                raise UsageError("the environment 'plane' is for points in the plane; accepted for others: 'nodes', 'insertion'")
        super().__init__(instances, rows, width)

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return what remains of the problems. Slots 0..K-1 are the listed nodes, slot K is the last node, slot K + 1 the end.

        action: int32 [R, K], the listed nodes, -1 in empty slots; mask: bool [R, K + 2], True if the slot is used.
        scores: float64 [R, K]; points: float64 [R, K + 2, 2]; 0 in empty slots.
        left: float64 [R], the limit minus the length of the path.
        """
        state = self.state
        instance = state.instance[rows]
        mask = np.concatenate([actions >= 0, np.ones((len(rows), 2), bool)], axis=1)
        last_node = state.order[rows, state.visited[rows] - 1]
        nodes = np.concatenate([actions, last_node[:, None], state.end[instance][:, None]], axis=1)
        points = state.graphs.points[state.graphs.points_start[instance][:, None] + np.maximum(nodes, 0), :2]
        scores = state.scores[state.graphs.nodes_start[instance][:, None] + np.maximum(actions, 0)]
        observation: dict[str, NDArray[Any]] = {"action": actions, "mask": mask, "scores": np.where(actions >= 0, scores, 0.0)}
        length_left = state.limit[instance] - state.length[rows]
        return observation | {"points": np.where(mask[..., None], points, 0.0), "left": length_left}

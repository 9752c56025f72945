"""Building a path node by node, as a Markov decision process (README.md, "As a decision process")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from corl.environment import Environment
from corl.errors import UsageError
from corl.problems.orienteering.evaluation import path_length
from corl.problems.orienteering.features import observe
from corl.problems.orienteering.instance import OrienteeringInstance
from corl.problems.orienteering.metric import metric_of
from corl.problems.orienteering.transitions import State, reset_rows
from corl.routing.graph_pool import graph_pool
from corl.tolerance import LIMIT

__all__ = ["OrienteeringEnvironment"]


class OrienteeringEnvironment(Environment):
    """Partial paths, one in each row. An action is the next node of the path.

    A node can be visited if it is unvisited and the end can be reached from it within the limit. `actions` lists the `width`
    nodes with the highest score per distance; `step` accepts any node that can be visited. The reward of a step is the node's
    score, the base value, to which rewards are added, is the score of start and end, and the episode ends when no node can be
    visited. Raises UsageError for an instance in which the direct way from start to end is longer than the limit.
    """

    plans: ClassVar[bool] = False
    """Whether each row has a plan: a sequence of nodes from the path's last node to the end (see InsertionEnvironment)."""

    def __init__(self, instances: Sequence[OrienteeringInstance], rows: int, width: int = 48) -> None:
        super().__init__(instances, rows, width)
        for instance in instances:
            if path_length(instance, np.array([instance.start, instance.end])) > instance.limit * (1.0 + 0.5 * LIMIT):
                raise UsageError("an environment takes no instance whose way from start to end is longer than the limit")
        self.width = min(width, max(1, max(instance.n for instance in instances) - 1))
        self.state = _pool(self.instances, rows, self.plans)
        self.reset(np.arange(rows), 0)

    def _reset(self, rows: NDArray[np.int64], which: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the base values: the scores of start and end."""
        reset_rows(self.state, rows, which)
        bases = [each.scores[list({each.start, each.end})].sum() for each in self.instances]
        return np.array(bases)[which]

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return what remains of the problems. Slots 0..K-1 are the listed nodes, slot K is the last node, slot K + 1 the end.

        action: int32 [R, K], the listed nodes, -1 in empty slots; mask: bool [R, K + 2], True if the slot is used.
        scores: float64 [R, K]; distances: float64 [R, K + 2, K + 2], from slot to slot; 0 in empty slots.
        left: float64 [R], the limit minus the length of the path; remaining: int32 [R], the number of nodes that can be visited,
        listed or not.
        """
        state = self.state
        scores, distances = np.zeros(actions.shape), np.zeros((len(rows), self.width + 2, self.width + 2))
        observe(state, rows, actions, scores, distances)
        mask = np.concatenate([actions >= 0, np.ones((len(rows), 2), bool)], axis=1)
        length_left = state.limit[state.instance[rows]] - state.length[rows]
        observation: dict[str, NDArray[Any]] = {"action": actions, "mask": mask, "scores": scores, "distances": distances}
        return observation | {"left": length_left, "remaining": state.reachable[rows]}

    def solution(self, row: int) -> NDArray[np.int32]:
        """Return the path of a row, int32 [k], including the end. Raises UsageError while another node can be visited."""
        pool_row, state = int(self._checked(row)[0]), self.state
        if state.reachable[pool_row]:
            raise UsageError(f"{state.reachable[pool_row]} nodes can still be visited in row {pool_row}")
        return np.append(state.order[pool_row, : state.visited[pool_row]], np.int32(state.end[state.instance[pool_row]]))


def _pool(instances: list[OrienteeringInstance], rows: int, plans: bool) -> State:
    """Return the pool of `instances`; the rows are initialised by `reset`."""
    graphs = graph_pool([metric_of(instance) for instance in instances])
    n = int(graphs.size.max())
    return State(
        graphs=graphs,
        scores=np.concatenate([instance.scores for instance in instances]),
        limit=np.array([instance.limit * (1.0 + 0.5 * LIMIT) for instance in instances]),
        start=np.array([instance.start for instance in instances], np.int64),
        end=np.array([instance.end for instance in instances], np.int64),
        instance=np.zeros(rows, np.int32),
        visited=np.ones(rows, np.int32),
        length=np.zeros(rows),
        order=np.zeros((rows, n), np.int32),
        reachable=np.zeros(rows, np.int32),
        power=np.ones(2),
        plan=np.zeros((rows, n) if plans else (0, 0), np.int32),
        planned=np.zeros(rows if plans else 0, np.int32),
    )

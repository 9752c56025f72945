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
    """A pool of partial paths. An action is the next node: an unvisited one from which the end can be reached within the limit.

    The `width` nodes of the highest score per distance are listed, any may be taken. The reward of a step is the node's score,
    the base value is the score of start and end, and the episode ends when no node can be visited. Raises UsageError for an
    instance whose direct way from start to end is longer than the limit.
    """

    plans: ClassVar[bool] = False
    """Whether each row has a plan for the rest of its path."""

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
        """Return the reduced states. Slots 0..K-1 are the nodes `actions` lists, slot K the last node, slot K + 1 the end.

        action: int32 [R, K], -1 in empty slots; mask: bool [R, K + 2], whether a slot is taken.
        scores: float64 [R, K]; distances: float64 [R, K + 2, K + 2], from slot to slot; zero in empty slots.
        left: float64 [R], the length that is left; remaining: int32 [R], the number of nodes that can be visited, listed or not.
        """
        state = self.state
        scores, distances = np.zeros(actions.shape), np.zeros((len(rows), self.width + 2, self.width + 2))
        observe(state, rows, actions, scores, distances)
        mask = np.concatenate([actions >= 0, np.ones((len(rows), 2), bool)], axis=1)
        left = state.limit[state.instance[rows]] - state.length[rows]
        observation: dict[str, NDArray[Any]] = {"action": actions, "mask": mask, "scores": scores, "distances": distances}
        return observation | {"left": left, "remaining": state.reachable[rows]}

    def solution(self, row: int) -> NDArray[np.int32]:
        """Return the path of a row, int32 [k], with the end. Raises UsageError while nodes can be visited."""
        at, state = int(self._checked(row)[0]), self.state
        if state.reachable[at]:
            raise UsageError(f"{state.reachable[at]} nodes can still be visited in row {at}")
        return np.append(state.order[at, : state.visited[at]], np.int32(state.end[state.instance[at]]))


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

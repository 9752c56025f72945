"""Depth-first branch and bound as a Markov decision process (README.md, "As a decision process")."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.environment import Environment
from corl.errors import UsageError
from corl.problems.milp_branching.features import FEATURES, TREE_FEATURES, Columns, Node, candidate_features, columns_of
from corl.problems.milp_branching.instance import BranchingInstance, BranchingTree
from corl.problems.milp_branching.relaxations import Relaxations
from corl.problems.milp_branching.transitions import State, branch, candidates, recorded, root

__all__ = ["BranchingEnvironment"]


class BranchingEnvironment(Environment):
    """A pool of branch-and-bound trees. An action is an integer variable with a fractional LP value, to branch on.

    `actions` lists the `width` most fractional variables; `step` accepts any fractional one. A step branches and then solves
    nodes, depth first, until the next decision. The reward is minus the number of nodes solved; the base value is minus the
    number of nodes solved before the first decision.

    Linear programs cannot be solved in numba kernels. The state of a row is therefore a Python object, and `compiled` is False,
    which `SimulatorModel` and the decoders check.
    """

    compiled: ClassVar[bool] = False

    def __init__(
        self, instances: Sequence[BranchingInstance], rows: int, width: int = 64, *,
        remaining: Callable[[], float] = lambda: math.inf,
    ) -> None:  # fmt: skip
        """Create the pool.

        Args:
            instances: The instances, at least one.
            rows: The number of trees.
            width: The largest number of actions that are listed.
            remaining: Returns the seconds left for linear programs; when no time is left, solving one raises OutOfTime.
        """
        super().__init__(instances, rows, width)
        self.width = max(1, min(width, max(instance.integers for instance in instances)))
        self.state = ()
        self._relaxations = [Relaxations(instance.scaled.program, remaining) for instance in instances]
        self._columns: list[Columns] = [_columns(relaxations) for relaxations in self._relaxations]
        self._roots: list[State | None] = [None] * len(self.instances)
        self._trees: list[State] = []
        self._which = np.zeros(rows, np.int64)
        self._trees = [self._root(0)] * rows

    def tree(self, row: int) -> tuple[Relaxations, State]:
        """Return the relaxations and the state of a row, for branching rules that need more than the observation."""
        at = int(self._checked(row)[0])
        return self._relaxations[self._which[at]], self._trees[at]

    def instance_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """See Environment.instance_of."""
        return self._which[rows]

    def _reset(self, rows: NDArray[np.int64], which: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the base values: minus the numbers of nodes solved before the first decision.

        Raises UsageError for an unbounded relaxation.
        """
        for row, k in zip(rows.tolist(), which.tolist()):
            self._which[row], self._trees[row] = k, self._root(k)
        return np.array([-float(self._trees[row].solved) for row in rows.tolist()], np.float64)

    def actions(self, rows: ArrayLike) -> NDArray[np.int32]:
        """See Environment.actions. Lists variables, the most fractional first."""
        at = self._checked(rows)
        out = np.full((len(at), self.width), -1, np.int32)
        for i, row in enumerate(at.tolist()):
            listed = candidates(self._relaxations[self._which[row]], self._trees[row])[: self.width]
            out[i, : len(listed)] = listed
        return out

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return the observations of R rows; slot k of K slots describes the k-th listed action.

        Returns:
            action: int32 [R, K], as listed by `actions`; -1 in empty slots.
            mask: bool [R, K], False in empty slots.
            candidates: float32 [R, K, F], the features `features.FEATURES` of each action; 0 in empty slots.
            tree: float32 [R, G], the features `features.TREE_FEATURES` of the tree.
        """
        features = np.zeros((len(rows), self.width, len(FEATURES)), np.float32)
        tree = np.zeros((len(rows), len(TREE_FEATURES)), np.float32)
        for i, row in enumerate(rows.tolist()):
            k, state = int(self._which[row]), self._trees[row]
            every = candidates(self._relaxations[k], state)
            listed = every[: self.width]
            depth = 0 if state.node is None else state.node.depth
            tree[i, :4] = np.log1p([state.solved, state.pending, depth, len(every)])
            tree[i, 4] = state.incumbent is not None
            if len(listed):
                features[i, : len(listed)] = candidate_features(self._columns[k], _node(state), listed, len(every))
        return {"action": actions, "mask": actions >= 0, "candidates": features, "tree": tree}

    def solution(self, row: int) -> BranchingTree:
        """Return the complete tree. Raises UsageError while a node is open."""
        at = int(self._checked(row)[0])
        state = self._trees[at]
        if state.node is not None:
            raise UsageError(f"{1 + state.pending} nodes are open in row {row}")
        return recorded(state, self.instances[int(self._which[at])].scaled)

    def _step(
        self, src: NDArray[np.int64], dst: NDArray[np.int64], actions: NDArray[np.int64], rewards: NDArray[np.float64]
    ) -> None:
        for i, (row, to, action) in enumerate(zip(src.tolist(), dst.tolist(), actions.tolist())):
            relaxations, state = self._relaxations[self._which[row]], self._trees[row]
            rewards[i] = np.nan
            if action in candidates(relaxations, state):
                self._which[to], self._trees[to] = self._which[row], branch(relaxations, state, action)
                rewards[i] = state.solved - self._trees[to].solved

    def _root(self, k: int) -> State:
        found = self._roots[k]
        if found is None:
            found = self._roots[k] = root(self._relaxations[k])
        return found


def _columns(relaxations: Relaxations) -> Columns:
    program = relaxations.program
    return columns_of(
        relaxations.sign * program.c, program.first, program.column, program.value, program.row_lower, program.row_upper
    )


def _node(state: State) -> Node:
    """Return the data for the features at an open node."""
    assert state.node is not None and state.relaxation is not None and state.root_relaxation is not None
    return Node(
        x=state.relaxation.x, duals=state.relaxation.duals, objective=state.relaxation.objective, depth=state.node.depth,
        root_x=state.root_relaxation.x, incumbent=state.incumbent, value=state.value, gain_total=state.pseudocosts.total,
        gain_count=state.pseudocosts.observations,
    )  # fmt: skip

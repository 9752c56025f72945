"""Filling a knapsack item by item, as a Markov decision process (README.md, "As a decision process")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.environment import Environment
from corl.errors import UsageError
from corl.problems.knapsack.features import observe
from corl.problems.knapsack.instance import KnapsackInstance
from corl.problems.knapsack.transitions import State, reset_rows
from corl.tolerance import LIMIT

__all__ = ["KnapsackEnvironment", "density"]


class KnapsackEnvironment(Environment):
    """Partly filled knapsacks, one in each row. An action is an item that fits.

    `actions` lists the `width` densest items that fit; `step` accepts any item that fits.

    The reward of a step is the item's value, the base value, to which rewards are added, is 0, and the episode ends when nothing
    fits. What remains is a smaller knapsack: the items that still fit, with the capacities that remain.
    """

    def __init__(self, instances: Sequence[KnapsackInstance], rows: int, width: int = 128) -> None:
        super().__init__(instances, rows, width)
        self.width = min(width, max(instance.n for instance in instances))
        self.state = _pool(self.instances, rows)
        self.reset(np.arange(rows), 0)

    def _reset(self, rows: NDArray[np.int64], which: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the base values, which are 0."""
        reset_rows(self.state, rows, which)
        return np.zeros(len(rows))

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return what remains of the knapsacks; slot k is for the item in column k of `actions`.

        action: int32 [R, K], as `actions` lists them, -1 in empty slots; mask: bool [R, K], True if the slot is used.
        values: float64 [R, K]; weights: float64 [R, K, M], the use of each capacity; 0 in empty slots and for capacities that an
        instance does not have.
        left: float64 [R, M], the unused part of each capacity; constraints: int64 [R], the number of capacities.
        remaining: int32 [R], the number of items that fit, listed or not.
        """
        state = self.state
        values = np.zeros(actions.shape)
        left = np.zeros((len(rows), state.used.shape[1]))
        weights = np.zeros((*actions.shape, left.shape[1]))
        observe(state, rows, actions, values, weights, left)
        constraints = state.constraints[state.instance[rows]]
        observation: dict[str, NDArray[Any]] = {"action": actions, "mask": actions >= 0, "values": values, "weights": weights}
        return observation | {"left": left, "constraints": constraints, "remaining": state.fitting[rows]}

    def solution(self, row: int) -> NDArray[np.int32]:
        """Return the items taken, int32 [k], in the instance's order. Raises UsageError while another one fits."""
        pool_row = int(self._checked(row)[0])
        if self.state.fitting[pool_row]:
            raise UsageError(f"{self.state.fitting[pool_row]} items still fit in row {pool_row}")
        return np.sort(self.state.taken[pool_row, : self.state.picks[pool_row]])


def density(instance: KnapsackInstance) -> NDArray[np.float64]:
    """Return each item's value over the sum of the shares that it uses of the capacities, float64 [n]; inf if that sum is 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = np.where(instance.weights > 0, instance.weights / instance.capacities[:, None], 0.0).sum(axis=0)
        return np.where(share > 0, instance.values / share, np.where(instance.values > 0, np.inf, 0.0))


def _pool(instances: list[KnapsackInstance], rows: int) -> State:
    """Return the pool of `instances`; the rows are initialised by `reset`."""
    size = np.array([instance.n for instance in instances], np.int64)
    constraints = np.array([instance.m for instance in instances], np.int64)
    n, m = int(size.max()), int(constraints.max())
    orders = [np.argsort(-density(instance), kind="stable") for instance in instances]
    return State(
        size=size,
        constraints=constraints,
        items_start=np.cumsum(size) - size,
        weights_start=np.cumsum(size * constraints) - size * constraints,
        limits_start=np.cumsum(constraints) - constraints,
        values=np.concatenate([instance.values for instance in instances]),
        weights=np.concatenate([instance.weights.T.ravel() for instance in instances]),
        limits=np.concatenate([instance.capacities * (1.0 + 0.5 * LIMIT) for instance in instances]),
        order=np.concatenate(orders).astype(np.int32),
        instance=np.zeros(rows, np.int32),
        used=np.zeros((rows, m)),
        fitting=np.zeros(rows, np.int32),
        open=np.zeros((rows, n), np.int32),
        picks=np.zeros(rows, np.int32),
        taken=np.zeros((rows, n), np.int32),
    )

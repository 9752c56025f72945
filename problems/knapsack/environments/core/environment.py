"""Filling knapsacks with one capacity as a Markov decision process that starts with the certain items taken.

An item is certain if it belongs to every solution better than a known solution (relaxation.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.knapsack.environment import KnapsackEnvironment, density
from corl.problems.knapsack.environments.core.features import CoreLookahead, observe
from corl.problems.knapsack.environments.core.relaxation import certain
from corl.problems.knapsack.instance import KnapsackInstance
from corl.problems.knapsack.transitions import take_rows
from corl.tolerance import LIMIT

__all__ = ["CoreEnvironment", "core_of"]


class CoreEnvironment(KnapsackEnvironment):
    """A KnapsackEnvironment for one capacity, in which an episode starts with the certain items taken.

    Raises UsageError for an instance with several capacities.
    """

    def __init__(self, instances: Sequence[KnapsackInstance], rows: int, width: int = 24) -> None:
        for instance in instances:
            if instance.m > 1:
                raise UsageError(f"{instance.name}: {instance.m} capacities; the environment 'core' takes one")
        self._certain = [np.flatnonzero(core_of(instance)[0]) for instance in instances]
        super().__init__(instances, rows, width)

    def _reset(self, rows: NDArray[np.int64], which: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the base values: the values of the certain items."""
        super()._reset(rows, which, keys)
        certain_items = [self._certain[number] for number in which.tolist()]
        ends = np.cumsum([len(items) for items in certain_items])
        bases = np.zeros(len(rows))
        take_rows(self.state, rows, np.concatenate(certain_items), ends, bases)
        return bases

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return the arrays of `KnapsackEnvironment._observe` and of `CoreLookahead`."""
        lookahead = CoreLookahead.empty(len(rows), self.width)
        observe(self.state, rows, actions, lookahead)
        return super()._observe(rows, actions) | lookahead._asdict()


def core_of(instance: KnapsackInstance) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the certain items and a known solution of an instance with one capacity.

    Returns:
        certain: bool [n], the items that belong to every solution better than the known one.
        known: bool [n], the items of the known solution.
    """
    limit, weights = instance.capacities[0] * (1.0 + 0.5 * LIMIT), instance.weights[0]
    order = np.argsort(-density(instance), kind="stable")
    order = order[weights[order] <= limit]
    certain_items, known_items = np.zeros(len(order), bool), np.zeros(len(order), bool)
    certain(instance.values[order], weights[order], limit, certain_items, known_items)
    masks = np.zeros((2, instance.n), bool)
    masks[0, order], masks[1, order] = certain_items, known_items
    return masks[0], masks[1]

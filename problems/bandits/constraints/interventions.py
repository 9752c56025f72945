"""Interventions: each chosen intervention acts on several arms; an arm's level is the set of interventions that act on it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible, InputError, UsageError
from corl.fields import Array, Integer, Object
from corl.problems.bandits.constraints.constraint import LARGEST_INTEGER, Constraint, Fields, Oracle, Relaxation, Rooms

__all__ = ["MAX_TOUCHING", "Interventions"]

MAX_TOUCHING = 6
"""The largest number m of interventions that touch one arm, which then has 2^m levels."""
_MAX_ACTIONS = 200_000  # feasible actions in the oracle's list


@dataclass(frozen=True, eq=False)
class Interventions(Constraint):
    """At most `budget` of N interventions are chosen. An arm's level encodes which of those touching the arm are chosen."""

    count: int
    """N, the number of interventions."""
    touching: tuple[tuple[int, ...], ...]
    """For each of J arms the interventions that touch it, increasing. Bit i of the arm's level stands for the i-th of them."""
    budget: int
    """The maximum number of interventions."""

    kind = "interventions"
    form = Object({"count": Integer(0, LARGEST_INTEGER), "touching": Array(Array(Integer(0))), "budget": Integer()})

    def __post_init__(self) -> None:
        for arm, each in enumerate(self.touching):
            if len(each) > MAX_TOUCHING or list(each) != sorted(set(each)) or any(not 0 <= i < self.count for i in each):
                accepted = f"accepted: up to {MAX_TOUCHING} of 0 to {self.count - 1}, rising"
                raise InputError(f"arm {arm}: {list(each)} is not accepted; {accepted}", field="constraint.touching")
        if not 0 <= self.budget <= self.count:
            raise InputError(f"{self.budget} is not accepted; accepted: 0 to {self.count}", field="constraint.budget")

    @property
    def action_size(self) -> int:
        """N, the number of interventions."""
        return self.count

    def check_arms(self, levels: NDArray[np.int32], most: int) -> None:
        """See Constraint.check_arms: an arm has a level for every subset of the interventions that touch it."""
        if len(self.touching) != len(levels):
            raise InputError(f"is for {len(self.touching)} arms; there are {len(levels)}", field="constraint.touching")
        for arm, each in enumerate(self.touching):
            if levels[arm] != 1 << len(each):
                made = f"{len(each)} interventions make {1 << len(each)}"
                raise InputError(f"arm {arm} has {levels[arm]} levels; {made}", field="constraint")

    def check(self, action: NDArray[np.int8]) -> None:
        """See Constraint.check."""
        if (chosen := sum(int(x) for x in action)) > self.budget:
            raise Infeasible(f"{chosen} interventions, more than the {self.budget} allowed")

    def levels_of(self, actions: NDArray[np.int8]) -> NDArray[np.int8]:
        """See Constraint.levels_of."""
        levels = np.zeros((len(actions), len(self.touching)), np.int8)
        for arm, each in enumerate(self.touching):
            for bit, intervention in enumerate(each):
                levels[:, arm] |= actions[:, intervention] << bit
        return levels

    def random(self, generator: np.random.Generator, count: int) -> NDArray[np.int8]:
        """See Constraint.random. Returns sets of `budget` interventions."""
        order = generator.random((count, self.count)).argsort(axis=1).argsort(axis=1)
        return (order < self.budget).astype(np.int8)

    @cached_property
    def every_action(self) -> NDArray[np.int8]:
        """All feasible actions, int8 [V, N]. Raises UsageError if there are too many to list."""
        size = sum(comb(self.count, k) for k in range(self.budget + 1))
        if size > _MAX_ACTIONS:
            raise UsageError(f"{size} sets of interventions; accepted: up to {_MAX_ACTIONS}")
        actions = np.zeros((size, self.count), np.int8)
        chosen = (each for k in range(self.budget + 1) for each in combinations(range(self.count), k))
        for row, each in enumerate(chosen):
            actions[row, list(each)] = 1
        return actions

    def make_oracle(self) -> Oracle:
        """Return an oracle that evaluates every action."""
        from corl.problems.bandits.constraints.kernels import best_effects

        actions = self.every_action
        levels = self.levels_of(actions)

        def best(level_values: NDArray[np.float64]) -> NDArray[np.int8]:
            chosen = np.empty(len(level_values), np.int64)
            best_effects(np.ascontiguousarray(level_values, np.float64), levels, chosen)
            return actions[chosen]

        return best

    def relaxation(self) -> Relaxation:
        """Return the relaxation: z holds the probabilities of each arm's levels above 0, then those of the interventions.

        For each arm that an intervention touches, the probability of the intervention equals the sum of the probabilities of the
        levels that contain it. The probabilities of the interventions sum to at most the budget.
        """
        from scipy.sparse import csr_array

        touching = self.touching
        first = np.concatenate([[0], np.cumsum([(1 << len(each)) - 1 for each in touching])]).astype(np.int64)
        size = int(first[-1]) + self.count
        width = max(1 << len(each) for each in touching) - 1
        chance = np.zeros((len(touching) * width, size))
        inequalities, limit = [], []
        for arm, each in enumerate(touching):
            one_level = np.zeros(size)
            one_level[first[arm] : first[arm + 1]] = 1.0
            inequalities.append(one_level)  # the probabilities of an arm's levels sum to at most 1
            limit.append(1.0)
            for level in range(1, 1 << len(each)):
                chance[arm * width + level - 1, first[arm] + level - 1] = 1.0
            for bit, intervention in enumerate(each):
                difference = np.zeros(size)
                for level in range(1, 1 << len(each)):
                    if level >> bit & 1:
                        difference[first[arm] + level - 1] = 1.0
                difference[first[-1] + intervention] = -1.0
                inequalities += [difference, -difference]
                limit += [0.0, 0.0]
        for i in range(self.count):
            inequalities.append(np.eye(1, size, int(first[-1]) + i)[0])
            limit.append(1.0)
        inequalities.append(np.concatenate([np.zeros(int(first[-1])), np.ones(self.count)]))
        limit.append(float(self.budget))
        return Relaxation(csr_array(chance), csr_array(np.array(inequalities)), np.array(limit), np.arange(size) >= first[-1])

    def rooms(self) -> Rooms:
        """Return one room with one resource, the budget. See Constraint.rooms."""
        return Rooms(np.ones((self.count, 1), np.int64), np.array([[self.budget]], np.int64))

    def touched(self) -> list[tuple[tuple[int, int], ...]]:
        """See Constraint.touched."""
        places = [(i, arm, 1 << bit) for arm, each in enumerate(self.touching) for bit, i in enumerate(each)]
        return [tuple((arm, level) for i, arm, level in places if i == entry) for entry in range(self.count)]

    def to_json(self) -> dict[str, Any]:
        """Return `count`, `touching` and `budget`."""
        return {"count": self.count, "touching": [list(each) for each in self.touching], "budget": self.budget}

    @classmethod
    def from_json(cls, fields: Fields, arms: int) -> Interventions:
        """Return the constraint, as the inverse of `to_json`."""
        count = fields["count"].integer()
        touching = [[entry.integer() for entry in each.entries()] for each in fields["touching"].entries(arms)]
        return cls(count, tuple(map(tuple, touching)), fields["budget"].integer())

"""Recipe `milp.gains`: predicts strong branching's gains on a mix of generated families, for learned reliability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corl.errors import UsageError
from corl.options import option
from corl.problems.milp import generators
from corl.solvers.milp.imitation.recipe import ImitationRecipe, imitate

if TYPE_CHECKING:
    from corl.learning.session import Training
    from corl.problems.milp.instance import MilpInstance

__all__ = ["FAMILIES", "GainsRecipe"]

_SEEDS = 600_000  # first seed of the programs that are generated; benchmarks take small ones
_HELD_OUT, _EVERY = 8, 50


@dataclass(frozen=True)
class GainsRecipe(ImitationRecipe):
    """A perceptron on what is known of a candidate before it is branched on, from the trees of small random programs."""

    family: str = option(
        "set-cover,auctions,facility-location,independent-set,multiple-knapsack",
        "Names of `corl generate milp`, separated by commas, taken in turn, at random sizes up to about half of the usual.",
    )
    samples: int = option(600, "Labelled nodes.", low=8, scale="log")
    share: float = option(0.3, "Probability that a node is labelled; each tree's first one always is.", above=0, high=1)
    each: int = option(6, "Labelled nodes of one tree at the most.", low=1, scale="log")
    width: int = option(40, "Candidates of a labelled node that strong branching is asked about, at random.", low=2, scale="log")
    updates: int = option(1500, "Optimiser steps.", low=1, scale="log")

    title: ClassVar[str] = "milp-gains: predicts strong branching's gains, for learned reliability"
    decay: ClassVar[float] = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        if unknown := [name for name in self.names if name not in FAMILIES]:
            raise UsageError(f"family has {unknown[0]!r}; accepted: {', '.join(FAMILIES)}")

    @property
    def names(self) -> list[str]:
        """Of the families."""
        return [name.strip() for name in self.family.split(",")]

    def train(self, training: Training) -> None:
        from corl.solvers.milp.reliability.pupil import GainPupil

        def program(number: int) -> MilpInstance:
            if self.instances:
                return self.read(number, pupil.lessons.nodes)
            make = FAMILIES[self.names[number % len(self.names)]]
            return make(np.random.default_rng([training.seed, number]), _SEEDS + number)

        pupil = GainPupil("own" if self.instances else self.family, program, _HELD_OUT)
        imitate(self, training, pupil, _EVERY)


def _between(random: np.random.Generator, low: int, high: int) -> int:
    return int(random.integers(low, high, endpoint=True))


def _set_cover(random: np.random.Generator, seed: int) -> MilpInstance:
    rows = _between(random, 80, 250)
    columns = rows * _between(random, 2, 4)
    return generators.set_cover(rows=rows, columns=columns, density=float(random.uniform(0.03, 0.1)), seed=seed)


def _auctions(random: np.random.Generator, seed: int) -> MilpInstance:
    items = _between(random, 40, 80)
    return generators.auctions(items=items, bids=items * _between(random, 4, 6), seed=seed)


def _facility_location(random: np.random.Generator, seed: int) -> MilpInstance:
    customers, facilities = _between(random, 12, 30), _between(random, 12, 30)
    return generators.facility_location(
        customers=customers, facilities=facilities, ratio=float(random.uniform(1.5, 6.0)), seed=seed
    )


def _independent_set(random: np.random.Generator, seed: int) -> MilpInstance:
    return generators.independent_set(nodes=_between(random, 120, 300), affinity=_between(random, 3, 6), seed=seed)


def _multiple_knapsack(random: np.random.Generator, seed: int) -> MilpInstance:
    kinds: tuple[Any, ...] = ("uncorrelated", "weak", "strong")
    items, knapsacks = _between(random, 15, 60), _between(random, 2, 6)
    return generators.multiple_knapsack(items=items, knapsacks=knapsacks, correlation=kinds[seed % 3], seed=seed)


FAMILIES: dict[str, Callable[[np.random.Generator, int], MilpInstance]] = {
    "set-cover": _set_cover,
    "auctions": _auctions,
    "facility-location": _facility_location,
    "independent-set": _independent_set,
    "multiple-knapsack": _multiple_knapsack,
}
"""Small programs of random sizes and shapes: labels are cheap, and what holds across sizes is learned."""

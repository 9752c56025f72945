"""Recipe `milp.gains`: predicts strong branching's gains on a mix of generated families, for learned reliability."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corl.errors import UsageError
from corl.options import option
from corl.problems.milp import generators
from corl.problems.milp_branching.candidates import Feature
from corl.solvers.milp.imitation.recipe import ImitationRecipe

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from corl.learning.imitation import Batch
    from corl.problems.milp.instance import MilpInstance
    from corl.solvers.milp.imitation.teacher import Label
    from corl.solvers.milp.scip.rule import Observation

__all__ = ["FAMILIES", "GainsRecipe", "shares"]

_SEEDS = 600_000  # first seed of the programs that are generated; benchmarks take small ones
_LEAST = 1e-3  # of a step; SCIP divides by no less either where it is sure of the fraction
_NOTHING = 1e-9  # in sum


@dataclass(frozen=True)
class GainsRecipe(ImitationRecipe):
    """A perceptron on what is known of a candidate before it is branched on, from the trees of small random programs.

    The loss is Poisson's deviance (less a constant), its means softmax of the logs: a mean is what a pseudocost is, gains are
    often 0, and the common factor is left out.
    """

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
    every: ClassVar[int] = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        if unknown := [name for name in self.names if name not in FAMILIES]:
            raise UsageError(f"family has {unknown[0]!r}; accepted: {', '.join(FAMILIES)}")

    @property
    def names(self) -> list[str]:
        """Of the families."""
        return [name.strip() for name in self.family.split(",")]

    def network(self) -> Any:
        from corl.solvers.milp.reliability.network import GainNetwork

        return GainNetwork(family="own" if self.instances else self.family)

    def program(self, number: int, seed: int) -> MilpInstance:
        if self.instances:
            return self.read(number)
        make = FAMILIES[self.names[number % len(self.names)]]
        return make(np.random.default_rng([seed, number]), _SEEDS + number)

    def lesson(
        self, node: Observation, seen: Mapping[str, NDArray[Any]], label: Label
    ) -> tuple[Mapping[str, NDArray[Any]], NDArray[np.float32]] | None:
        """The shares of the gains, without directions that had no solution."""
        down = np.clip(node.features[label.slots, Feature.FRACTION], _LEAST, 1.0 - _LEAST)
        found = shares(label.gains, np.stack([down, 1.0 - down], 1))
        return None if found is None else ({**seen, "mask": np.isfinite(label.gains).ravel()}, found)

    def validate(self, network: Any, held: Batch) -> dict[str, float]:
        """The loss, and `uniform`, what it is where all predictions are the same."""
        from corl.learning.imitation import loss

        found, _ = loss(network, held)
        return {"held_out": found.item(), "uniform": float(held.states.mask.sum(1).log().mean())}


def shares(gains: NDArray[np.float64], steps: NDArray[np.float64]) -> NDArray[np.float32] | None:
    """Gains of a step by 1 / their sum, [2 k], 0 in directions without a solution; None where nothing was gained.

    gains [k, 2] of whole children, inf without a solution; steps [k, 2] how far the variable moves in them.
    """
    kept = np.isfinite(gains)
    unit = np.where(kept, np.maximum(gains, 0.0), 0.0) / steps
    total = unit.sum()
    return None if kept.sum() < 2 or total <= _NOTHING else (unit / total).ravel().astype(np.float32)


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

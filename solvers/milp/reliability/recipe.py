"""Recipe `milp.gains`: predicts strong branching's gains on a mix of generated families, for learned reliability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corl.errors import UsageError
from corl.learning.recipe import Recipe
from corl.problems.milp import generators
from corl.solvers.milp.branching_recipe import Lessons, check_labelling

if TYPE_CHECKING:
    from corl.learning.training import Training
    from corl.problems.milp.instance import MilpInstance
    from corl.solvers.milp.reliability.network import GainNetwork

__all__ = ["FAMILIES", "GainsRecipe"]

_COLLECTED = 0.8  # share of the run after which nothing is collected any more
_DECAY = 0.01  # of weights
_SEEDS = 600_000  # first seed of the programs that are generated; benchmarks take small ones
_TURNS = 50  # optimiser steps between two validations


@dataclass(frozen=True)
class GainsRecipe(Recipe):
    """Nodes of the trees of small random programs, labelled by strong branching (teaching.py); then Poisson's deviance on them.

    Collecting comes first, one program a step, until there are `samples` labelled nodes; then `updates` steps of AdamW end it.
    """

    family: str = "set-cover,auctions,facility-location,independent-set,multiple-knapsack"
    """Names of `corl generate milp` with commas, taken in turn, at random sizes up to about half of the default ones."""
    samples: int = 600
    """Labelled nodes, from 8."""
    share: float = 0.3
    """Probability that a node is labelled, above 0 to 1; each tree's first one always is."""
    each: int = 6
    """Labelled nodes of one tree at the most."""
    width: int = 40
    """Candidates of a labelled node that strong branching is asked about, at random, from 2."""
    updates: int = 1500
    """Optimiser steps."""
    rate: float = 3e-3
    """The largest learning rate of AdamW, above 0; over the updates it falls to 0 as a cosine."""
    batch: int = 32
    """Nodes of a step."""

    title: ClassVar[str] = "milp-gains: predicts strong branching's gains, for learned reliability"
    step: ClassVar[str] = "a program whose tree is labelled; after these, an optimiser step"

    def __post_init__(self) -> None:
        check_labelling(self)
        for name in self.names:
            if name not in FAMILIES:
                raise UsageError(f"family has {name!r}; accepted: {', '.join(FAMILIES)}")

    @property
    def names(self) -> list[str]:
        """Of the families."""
        return [name.strip() for name in self.family.split(",")]

    def train(self, training: Training) -> None:
        import torch

        from corl.solvers.milp.reliability.network import GainNetwork, poisson_loss

        network, lessons = GainNetwork(family=self.family), Lessons()
        optimiser = torch.optim.AdamW(network.parameters(), lr=self.rate, weight_decay=_DECAY)
        training.manage(network=network, optimiser=optimiser, lessons=lessons, random=(random := training.generator(1)))
        while training.budget():
            if lessons.nodes < self.samples and training.fraction < _COLLECTED and lessons.updates == 0:
                name = self.names[lessons.programs % len(self.names)]
                instance = FAMILIES[name](np.random.default_rng([training.seed, lessons.programs]), _SEEDS + lessons.programs)
                lessons.add(instance, self._labelled(instance, training, lessons.programs))
                training.log(nodes=lessons.nodes, programs=lessons.programs)
                continue
            if lessons.updates >= self.updates:
                break
            if lessons.updates == 0:
                network.standardise(torch.cat([lines for lines, _ in lessons.ready()]))
            for group in optimiser.param_groups:
                group["lr"] = self.rate * 0.5 * (1.0 + float(np.cos(np.pi * lessons.updates / self.updates)))
            chosen = random.integers(len(lessons.train), size=self.batch)
            loss = poisson_loss(network, [lessons.train[int(k)] for k in chosen])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            lessons.updates += 1
            training.log(loss=loss.item(), **(_validated(network, lessons) if lessons.updates % _TURNS == 0 else {}))
        training.log(**_validated(network, lessons))
        training.save(network.eval())

    def _labelled(self, instance: MilpInstance, training: Training, seed: int) -> list[tuple[Any, Any]]:
        from corl.run import Run
        from corl.solvers.milp.reliability.teaching import GainTeacher
        from corl.solvers.milp.teaching import teach

        left = None if training.time_limit is None else max(1.0, _COLLECTED * training.time_limit - training.seconds)
        run = Run(training.problem.of(instance), instance, seed=training.seed + seed, time_limit=left)
        run.start()
        teacher = teach(instance, run, share=self.share, most=self.each, width=self.width, kind=GainTeacher)
        assert isinstance(teacher, GainTeacher)
        return teacher.lessons


def _validated(network: GainNetwork, lessons: Lessons) -> dict[str, float]:
    """On held-out programs: the loss, and `uniform`, what it is where all predictions are the same."""
    import torch

    from corl.solvers.milp.reliability.network import poisson_loss

    if not lessons.held:
        return {}
    with torch.no_grad():
        uniform = float(np.mean([np.log(len(gains)) for _, gains in lessons.held]))
        return {"held_out": float(poisson_loss(network, lessons.held)), "uniform": uniform}


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

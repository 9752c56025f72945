"""What the recipes of branching do alike: collect labelled nodes from the trees of small programs, then learn from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from corl.errors import UsageError
from corl.options import option
from corl.recipe import Recipe

if TYPE_CHECKING:
    from torch import Tensor, nn

    from corl.learning.session import Training
    from corl.problems.milp.instance import MilpInstance
    from corl.solvers.milp.branching.scoring import Scorer
    from corl.solvers.milp.imitation.lessons import Lessons
    from corl.solvers.milp.imitation.teacher import Teacher

__all__ = ["SEEDS", "ImitationRecipe", "Pupil", "collect", "imitate"]

SEEDS = 500_000
"""The first seed of generated programs; benchmarks take small ones."""


@dataclass(frozen=True)
class ImitationRecipe(Recipe):
    """Nodes of SCIP's trees, some labelled by strong branching (imitation.teacher); then a network learns from these.

    Collecting comes first, one program a step, until there are `samples` labelled nodes; then `updates` steps of AdamW end it.
    """

    samples: int = option(200, "Labelled nodes.", low=8, scale="log")
    share: float = option(0.05, "Probability that a node is labelled; each tree's first one always is.", above=0, high=1)
    each: int = option(12, "Labelled nodes of one tree at the most.", low=1, scale="log")
    width: int = option(80, "Candidates of a labelled node that strong branching is asked about, at random.", low=2, scale="log")
    updates: int = option(300, "Optimiser steps.", low=1, scale="log")
    rate: float = option(3e-3, "The largest learning rate of AdamW; over the updates it falls to 0.", above=0, scale="log")
    batch: int = option(32, "Nodes of an optimiser step.", low=1, scale="log")
    instances: str = option(
        "", "A folder of .mps and .lp files (.gz too), solved in turn, again and again, instead of what `family` generates."
    )

    step: ClassVar[str] = "a program whose tree is labelled; after these, an optimiser step"
    decay: ClassVar[float] = 0.05
    """Of weights."""
    collecting: ClassVar[float] = 0.8
    """Share of the run after which nothing is collected any more."""

    def read(self, number: int, labelled: int) -> MilpInstance:
        """The program of that number in the folder `instances`, where `labelled` nodes are labelled so far.

        Raises UsageError for a folder without files, and for one whose programs teach nothing.
        """
        from corl.problems.milp.problem import Milp

        folder = Path(self.instances)
        files = sorted(path for path in folder.glob("*") if path.name.endswith((".mps", ".lp", ".mps.gz", ".lp.gz")))
        if not files:
            raise UsageError(f"{folder}: no .mps or .lp file there; accepted: instances=FOLDER of such files")
        if number >= len(files) and not labelled:
            raise UsageError(
                f"{folder}: SCIP solved each of the {number} programs there, or ran out of time, before it had to branch: "
                "nothing to learn; accepted: programs that need branching"
            )
        return Milp().read(files[number % len(files)])


class Pupil(Protocol):
    """A network and how it learns from lessons."""

    @property
    def network(self) -> nn.Module:
        """What is trained."""

    @property
    def lessons(self) -> Lessons:
        """What there is to learn."""

    @property
    def teacher(self) -> type[Teacher]:
        """Who makes lessons of labelled nodes."""

    @property
    def policy(self) -> Scorer | None:
        """What grows the trees instead of SCIP's pseudocosts."""

    @property
    def program(self) -> Callable[[int], MilpInstance]:
        """Makes the program of a number."""

    def begin(self, lessons: Sequence[Any]) -> None:
        """Once, before the first optimiser step: means and scales of what the network sees."""

    def loss(self, lessons: Sequence[Any]) -> Tensor:
        """Of a batch."""

    def validate(self, lessons: Sequence[Any]) -> dict[str, float]:
        """Of lessons held out, at least one."""


def imitate(recipe: ImitationRecipe, training: Training, pupil: Pupil, every: int) -> None:
    """Collect until there are enough nodes or the share of the time is over, then learn; validated `every` so many steps.

    Raises UsageError where there is nothing to learn from, or no time to.
    """
    import torch

    from corl.learning.optimise import gradient_step
    from corl.solvers.milp.scip import functions as scip

    if not scip.load():
        raise UsageError("the SCIP functions that features are made of were not found in PySCIPOpt's library")
    network, lessons, random = pupil.network, pupil.lessons, training.generator(1)
    optimiser = torch.optim.AdamW(network.parameters(), lr=recipe.rate, weight_decay=recipe.decay)
    training.manage(network=network, optimiser=optimiser, lessons=lessons, random=random)

    def validated() -> dict[str, float]:
        with torch.no_grad():
            return pupil.validate(lessons.held) if lessons.held else {}

    while training.budget():
        if lessons.nodes < recipe.samples and training.fraction < recipe.collecting and lessons.updates == 0:
            instance = pupil.program(lessons.programs)
            lessons.add(instance, collect(recipe, training, pupil, instance))
            training.log(nodes=lessons.nodes, programs=lessons.programs)
            continue
        if lessons.updates >= recipe.updates:
            break
        if lessons.updates == 0:
            pupil.begin(lessons.ready())
        loss = pupil.loss([lessons.train[int(k)] for k in random.integers(len(lessons.train), size=recipe.batch)])
        gradient_step(optimiser, loss, recipe.rate, lessons.updates / recipe.updates, clip=math.inf)
        lessons.updates += 1
        training.log(loss=loss.item(), **(validated() if lessons.updates % every == 0 else {}))
    if not lessons.updates:
        lessons.ready()
        raise UsageError("the run ended before the first optimiser step; accepted: more time or steps")
    config: Any = network.config
    config |= {key: value for key, value in lessons.range().items() if key in config}
    training.log(**validated())
    training.save(network.eval())


def collect(recipe: ImitationRecipe, training: Training, pupil: Pupil, instance: MilpInstance) -> list[Any]:
    """The lessons of one program's tree."""
    from corl.run import Run
    from corl.solvers.milp.imitation.teacher import teach

    left = None if training.time_limit is None else max(1.0, recipe.collecting * training.time_limit - training.seconds)
    run = Run(training.problem.of(instance), instance, seed=training.seed + pupil.lessons.programs, time_limit=left)
    run.start()
    options: dict[str, Any] = {"share": recipe.share, "most": recipe.each, "width": recipe.width, "policy": pupil.policy}
    return teach(pupil.teacher, instance, run, **options).lessons

"""What the recipes of branching do alike: collect labelled nodes from the trees of small programs, then learn from them.

They stand beside `any.imitation`, whose teacher solves instances of an environment: here nodes are labelled inside SCIP's solve,
all before the first optimiser step. Replay, loss and optimiser step are the shared ones.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.learning.recipe import Recipe
from corl.options import option
from corl.solvers.milp.folder import instances_option, program_files

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.learning.algorithms.imitation import Batch
    from corl.learning.episodes import Episodes
    from corl.learning.session import Training
    from corl.problems.milp.instance import MilpInstance
    from corl.run import Run
    from corl.solvers.milp.branching.policy import BranchingPolicy
    from corl.solvers.milp.imitation.lessons import Lessons
    from corl.solvers.milp.imitation.teacher import Label
    from corl.solvers.milp.scip.rule import Observation

__all__ = ["SEEDS", "ImitationRecipe"]

SEEDS = 500_000
"""The first seed of generated programs; benchmarks take small ones."""
_TEMPERATURE = 0.3  # of the target: a candidate whose two gains' product is half the best one's weighs a tenth of it


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
    instances: str = instances_option()

    step: ClassVar[str] = "a program whose tree is labelled; after these, an optimiser step"
    decay: ClassVar[float] = 0.05
    """Of weights."""
    collecting: ClassVar[float] = 0.8
    """Share of the run after which nothing is collected any more."""
    held_out: ClassVar[int] = 8
    """Of so many programs the second one's nodes are held out."""
    every: ClassVar[int] = 20
    """Optimiser steps between two validations."""

    @abc.abstractmethod
    def network(self) -> Any:
        """A new one: a Learner (algorithms.imitation) that Sees (scip.recorder), with `standardise` of a batch of all lessons."""

    @abc.abstractmethod
    def program(self, number: int, seed: int) -> MilpInstance:
        """The program of that number; `seed` is the run's."""

    def grower(self) -> BranchingPolicy | None:
        """What grows the next tree instead of SCIP's pseudocosts; nothing, unless overridden."""
        return None

    def lesson(
        self, node: Observation, seen: Mapping[str, NDArray[Any]], label: Label
    ) -> tuple[Mapping[str, NDArray[Any]], NDArray[np.float32]] | None:
        """See teacher.Lesson. Unless overridden, the distribution to imitate is a softmax of strong branching's scores."""
        import numpy as np

        weights = np.exp((label.scores - label.scores.max()) / _TEMPERATURE)
        return seen, (weights / weights.sum()).astype(np.float32)

    def validate(self, network: Any, held: Batch) -> dict[str, float]:
        """Of lessons held out: how often the first choice is strong branching's, and the mean log that it loses by it."""
        from corl.solvers.milp.imitation.lessons import agrees, choices

        best, taken = choices(network, held)
        return {"agrees": float(agrees(best, taken).float().mean()), "loses": float(_TEMPERATURE * (best / taken).log().mean())}

    def train(self, training: Training) -> None:

        from corl.learning.algorithms import imitation
        from corl.learning.optimise import gradient_step, new_optimiser
        from corl.solvers.milp.imitation.lessons import Lessons
        from corl.solvers.milp.scip import functions as scip

        if not scip.load():
            raise UsageError("the SCIP functions that features are made of were not found in PySCIPOpt's library")
        network, lessons = self.network().to(training.device), Lessons(self.samples + self.each, self.held_out)
        random = training.generator(1)
        optimiser = new_optimiser(network, self.rate, decay=self.decay)
        training.manage(network=network, optimiser=optimiser, lessons=lessons, random=random)
        while training.budget():
            if lessons.nodes < self.samples and training.fraction < self.collecting and lessons.updates == 0:
                self._collect(training, network, lessons)
                continue
            if lessons.updates >= self.updates:
                break
            if lessons.updates == 0:
                lessons.begin(network)
            loss, _ = imitation.loss(network, lessons.sample(network, random, self.batch))
            gradient_step(optimiser, loss, self.rate, lessons.updates / self.updates, clip=math.inf)
            lessons.updates += 1
            training.log(loss=loss.item(), **(self._validated(network, lessons) if lessons.updates % self.every == 0 else {}))
        if not lessons.updates:
            lessons.check()
            raise UsageError("the run ended before the first optimiser step; accepted: more time or steps")
        lessons.describe(network)
        training.log(**self._validated(network, lessons))
        training.save(network.eval())

    def _validated(self, network: Any, lessons: Lessons) -> dict[str, float]:
        import torch

        if not lessons.others.size:
            return {}
        network.eval()
        with torch.no_grad():
            found = self.validate(network, lessons.held(network))
        network.train()
        return found

    def _collect(self, training: Training, network: Any, lessons: Lessons) -> None:
        """Label the tree of the next program. Raises UsageError for a folder whose programs teach nothing."""
        from corl.run import Run

        number = len(lessons.signatures)
        if self.instances and number >= (count := len(program_files(self.instances))) and not lessons.nodes:
            raise UsageError(
                f"{self.instances}: SCIP solved each of the {count} programs there, or ran out of time, before it had to branch: "
                "nothing to learn; accepted: programs that need branching"
            )
        instance = self.program(number, training.seed)
        left = None if training.time_limit is None else max(1.0, self.collecting * training.time_limit - training.seconds)
        run = Run(training.problem.with_sense_of(instance), instance, seed=training.seed + number, time_limit=left)
        run.start()
        lessons.add(instance, self.labelled(instance, run, network))
        training.log(nodes=lessons.nodes, programs=len(lessons.signatures))

    def labelled(self, instance: MilpInstance, run: Run, network: Any) -> Episodes:
        """The labelled nodes of a program's tree, as the network sees them."""
        from corl.solvers.milp.imitation.teacher import Teacher
        from corl.solvers.milp.scip.recorder import Recorder, record

        recorder = Recorder(network)
        teacher = Teacher(recorder, self.lesson, run.seed, self.share, self.each, self.width, self.grower())
        return record(instance, run, teacher, recorder)

    def read(self, number: int) -> MilpInstance:
        """The program of that number in the folder `instances`. Raises UsageError for one without files."""
        from corl.problems.milp.problem import Milp

        files = program_files(self.instances)
        return Milp().read(files[number % len(files)])

"""`ImitationRecipe`: the common part of recipes that imitate strong branching.

To label a node is to compute strong branching's scores of its candidates. Nodes are labelled during SCIP's solves of training
programs, all before the first optimiser step. (The recipe `any.imitation`, whose loss and replay are used here, instead lets a
teacher solve instances of an environment.)
"""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.learning.recipe import Recipe
from corl.options import option
from corl.solvers.milp.folder import instances_option, parts, program_files

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.learning.algorithms.imitation import Batch
    from corl.learning.episodes import Episodes
    from corl.learning.session import Training
    from corl.problems.milp.instance import MilpInstance
    from corl.run import Run
    from corl.solvers.milp.branching.policy import BranchingPolicy
    from corl.solvers.milp.imitation.judgement import Judgement
    from corl.solvers.milp.imitation.lessons import Lessons
    from corl.solvers.milp.imitation.teacher import Label
    from corl.solvers.milp.scip.rule import Observation

__all__ = ["SEEDS", "ImitationRecipe"]

SEEDS = 500_000
"""The first seed of generated training programs; benchmarks use small seeds."""
_TEMPERATURE = 0.3  # of the softmax: a candidate with half of the best product of gains gets a tenth of the best's probability


@dataclass(frozen=True)
class ImitationRecipe(Recipe):
    """Labels nodes of SCIP's trees by strong branching (imitation.teacher), then trains a network on them.

    Nodes are collected first, one program per step, until there are `samples` labelled nodes; `updates` steps of AdamW follow.
    """

    samples: int = option(200, "The number of labelled nodes.", low=8, scale="log")
    share: float = option(0.05, "Probability that a node is labelled; the root always is.", above=0, high=1)
    each: int = option(12, "The largest number of labelled nodes per tree.", low=1, scale="log")
    width: int = option(
        80, "The largest number of candidates, drawn at random, whose scores are computed at a node.", low=2, scale="log"
    )
    updates: int = option(300, "Optimiser steps.", low=1, scale="log")
    rate: float = option(3e-3, "The initial learning rate of AdamW, which falls to 0.", above=0, scale="log")
    batch: int = option(32, "Nodes per optimiser step.", low=1, scale="log")
    instances: str = instances_option()
    judge: bool = option(
        True,
        "Whether programs of `instances` are kept apart, on which the policy is compared with SCIP; without a gain, no file is "
        "written. The comparison begins after the training and is not shortened by the time limit.",
    )

    step: ClassVar[str] = "a program whose tree is labelled; after these, an optimiser step"
    decay: ClassVar[float] = 0.05
    """The weight decay."""
    collecting: ClassVar[float] = 0.8
    """The fraction of the run after which no further nodes are collected."""
    held_out: ClassVar[int] = 8
    """Of each group of this many programs, the nodes of the second are held out for validation."""
    every: ClassVar[int] = 20
    """The number of optimiser steps between two validations."""

    @abc.abstractmethod
    def network(self) -> Any:
        """Return a new network: a Learner (algorithms.imitation) and a NodeObserver (scip.recorder) with `standardise`."""

    @abc.abstractmethod
    def program(self, number: int, seed: int) -> MilpInstance:
        """Return the training program with this number, counted from 0, for a run with this seed."""

    def grower(self) -> BranchingPolicy | None:
        """Return the policy that branches at nodes that are not labelled; None: SCIP's pseudocost branching."""
        return None

    def lesson(
        self, node: Observation, observed: Mapping[str, NDArray[Any]], label: Label
    ) -> tuple[Mapping[str, NDArray[Any]], NDArray[np.float32]] | None:
        """Return what to learn at a labelled node (see teacher.Lesson): by default the softmax of strong branching's scores."""
        import numpy as np

        weights = np.exp((label.scores - label.scores.max()) / _TEMPERATURE)
        return observed, (weights / weights.sum()).astype(np.float32)

    def validate(self, network: Any, held: Batch) -> dict[str, float]:
        """Return two measures of the network on held-out nodes.

        "agrees" is the fraction of nodes at which the network's choice is strong branching's; "loses" is the mean difference
        between strong branching's best score and its score of the network's choice.
        """
        from corl.solvers.milp.imitation.lessons import agrees, choices

        best, taken = choices(network, held)
        return {"agrees": float(agrees(best, taken).float().mean()), "loses": float(_TEMPERATURE * (best / taken).log().mean())}

    def train(self, training: Training) -> None:
        """Collect labelled nodes, train a network on them, and save it."""
        from corl.learning.algorithms import imitation
        from corl.learning.optimise import gradient_step, new_optimiser
        from corl.solvers.milp.imitation.lessons import Lessons
        from corl.solvers.milp.scip import functions as scip

        if not scip.load():
            raise UsageError("the SCIP functions that features are made of were not found in PySCIPOpt's library")
        network, lessons = self.network().to(training.device), Lessons(self.samples + self.each, self.held_out)
        random, judgement = training.generator(1), self._judgement()
        optimiser = new_optimiser(network, self.rate, decay=self.decay)
        training.manage(network=network, optimiser=optimiser, lessons=lessons, random=random, judgement=judgement)
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
        if lessons.at_root:
            count, every = lessons.at_root, len(lessons.signatures)
            training.notes.append(f"{count} of {every} training trees ended at the root; branching cannot shorten such solves")
        if self._judged(training, network.eval(), judgement):
            training.save(network)

    def _judgement(self) -> Judgement:
        """Return the comparison, with no programs if nothing is judged. Raises UsageError if the folder has too few programs."""
        from corl.solvers.milp.imitation.judgement import Judgement

        divided = parts(self.instances) if self.instances and self.judge else None
        return Judgement(divided.choose if divided else (), divided.judge if divided else ())

    def _judged(self, training: Training, network: Any, judgement: Judgement) -> bool:
        """Compare the policy with SCIP, as far as Ctrl-C permits, and note the verdict; return whether the network is written."""
        from tempfile import TemporaryDirectory

        from corl.networks.checkpoints import save
        from corl.solvers.milp.imitation.judgement import seconds_of

        if not judgement.judge:
            return True
        with TemporaryDirectory() as folder:
            policy = Path(folder) / "policy.safetensors"
            save(policy, network)
            for solver, file, limit in judgement.remaining():
                training.budget()  # writes snapshots; limits of time and steps do not end the comparison
                seconds = None if training.interrupted else seconds_of(solver, file, str(policy), limit)
                if seconds is None:
                    training.interrupt()
                    training.budget()
                    training.notes.append("the policy was not judged, and not written")
                    return False
                judgement.add(solver, file, seconds)
                training.log(compared=len(judgement.seconds))
        training.notes.append(judgement.sentence(str(training.output or "FILE")))
        training.limit = "finished"
        return judgement.gains

    def _validated(self, network: Any, lessons: Lessons) -> dict[str, float]:
        """Return the result of `validate`; empty without held-out nodes."""
        import torch

        if not lessons.others.size:
            return {}
        network.eval()
        with torch.no_grad():
            measures = self.validate(network, lessons.held(network))
        network.train()
        return measures

    def _collect(self, training: Training, network: Any, lessons: Lessons) -> None:
        """Label nodes in the tree of the next program. Raises UsageError if no program of the folder needs branching."""
        from corl.run import Run

        number = len(lessons.signatures)
        if self.instances and number >= (count := len(self._files())) and not lessons.nodes:
            raise UsageError(
                f"{self.instances}: SCIP solved each of {count} programs there, or ran out of time, before it had to branch: "
                "nothing to learn; accepted: programs that need branching"
            )
        instance = self.program(number, training.seed)
        seconds = None if training.time_limit is None else max(1.0, self.collecting * training.time_limit - training.seconds)
        run = Run(training.problem.with_sense_of(instance), instance, seed=training.seed + number, time_limit=seconds)
        run.start()
        lessons.add(instance, self.labelled(instance, run, network))
        training.log(nodes=lessons.nodes, programs=len(lessons.signatures), at_root=lessons.at_root)

    def labelled(self, instance: MilpInstance, run: Run, network: Any) -> Episodes:
        """Solve a program and return the labelled nodes of its tree, with the network's observations."""
        from corl.solvers.milp.imitation.teacher import Teacher
        from corl.solvers.milp.scip.recorder import Recorder, record

        recorder = Recorder(network)
        teacher = Teacher(recorder, self.lesson, run.seed, self.share, self.each, self.width, self.grower())
        return record(instance, run, teacher, recorder)

    def read(self, number: int) -> MilpInstance:
        """Return the training program with this number, cyclically, in the folder `instances`. Raises UsageError for no files."""
        from corl.problems.milp.problem import Milp

        files = self._files()
        return Milp().read(files[number % len(files)])

    def _files(self) -> list[Path]:
        """Return the training programs of the folder. Raises UsageError if there are too few files."""
        return parts(self.instances).train if self.judge else program_files(self.instances)

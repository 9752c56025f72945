"""Recipe `any.imitation`: a policy that imitates a solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.errors import UsageError
from corl.options import option
from corl.solvers.training.common import PolicyRecipe

if TYPE_CHECKING:
    from corl.learning.session import Training

__all__ = ["Imitation"]


@dataclass(frozen=True)
class Imitation(PolicyRecipe):
    """Cross-entropy on states of a solver's solutions of new instances, which the workers solve while the network trains.

    The store has states of `uses` * 4 lessons, each of `lesson` solutions; each round passes over it once, in random order, then
    a quarter (with `uses` = 4) gives way to new ones. Where the teacher completes what the policy began, the policy is the one
    that it was when the round before began: one to two rounds old.
    """

    teacher: str = option("", "The solver to imitate, one that iterations can limit (corl list solvers); it must be named.")
    teacher_iterations: int = option(10, "The teacher's limit for an instance.", low=1, scale="log")
    completing: bool = option(
        False,
        "Whether the teacher completes episodes that the policy began, up to a random place, instead of solving instances; few "
        "solvers can.",
    )
    start: str = option("", "A checkpoint to go on from; empty: a new network of `width`, `layers` and `heads`.")
    batch: int = option(16, "A step looks at `batch` * `states` states.", low=1, scale="log")
    lesson: int = option(0, "New instances of a lesson, which are played together; 0: as many as `batch`.", low=0)
    states: int = option(8, "Of each solution, those that are learned from, at random places.", low=1)
    starts: int = option(
        1, "From how many random starts each solution is followed, where the problem has several (a tour's cities).", low=1
    )
    uses: int = option(4, "How many times each state is learned from; with 1, every step looks at new ones.", low=1, scale="log")
    value_weight: float = option(0.0, "Weight of the squared error of the value, what the rest of the solution brings.", low=0)
    every: int = option(20, "Steps between two looks at the watched instances.", low=1)

    title: ClassVar[str] = "imitation of a solver's solutions"
    step: ClassVar[str] = "one optimiser step on `batch` * `states` states"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.teacher:
            raise UsageError("imitation needs the option teacher, the name of a solver (corl list solvers)")

    def train(self, training: Training) -> None:

        from corl.learning import imitation
        from corl.learning.optimise import gradient_step, new_optimiser
        from corl.solvers.training.common import begin, check_learned, source_of
        from corl.solvers.training.lessons import Stream, teaching

        self.check(training.problem.name)
        source = source_of(self, training.problem, training.seed)
        policy = begin(self, training, source)
        stream = Stream(self, training, source, policy)
        optimiser = new_optimiser(policy, self.rate)
        training.manage(network=policy, optimiser=optimiser, rounds=stream.rounds, asked=stream.asked)
        with teaching(stream, training) as workers:
            while training.budget():
                seen = stream.watched(training.step)
                batch = stream.batch(workers)
                if batch is not None:
                    with training.autocast():
                        loss, terms = imitation.loss(policy, batch, self.value_weight)
                    gradient_step(optimiser, loss, self.rate, training.fraction)
                    seen = {"loss": loss.item(), **terms, **seen}
                else:
                    check_learned(training, optimiser)
                training.log(**seen)
        check_learned(training, optimiser, over=True)
        training.save(policy)

    def check(self, problem: str) -> None:
        """Raise UsageError where the teacher is no solver that iterations can limit, or shall complete and cannot."""
        from corl import registry
        from corl.solver import Solver
        from corl.solvers.training.common import check_teacher

        check_teacher(self, problem)
        able = [name for name in registry.solvers(problem) if registry.solver(problem, name).complete is not Solver.complete]
        if self.completing and self.teacher not in able:
            raise UsageError(f"teacher is {self.teacher}; accepted with completing: {', '.join(able) or 'none'}")

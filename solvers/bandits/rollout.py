"""Rollout: a solver that compares a few good actions in every step by rollouts of the fluid policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.bandits.instance import BanditInstance
    from corl.run import Run

__all__ = ["Rollout"]


@dataclass(frozen=True)
class Rollout(Solver):
    """Compare in every step a few good actions by rollouts of the fluid policy after each, with common random numbers.

    The fluid policy is reported first; it remains the solution if there is no time to play all episodes with rollouts.
    """

    breadth: int = option(4, "Number of actions compared in a step, including the fluid policy's.", low=2, high=1000)
    samples: int = option(8, "Number of rollouts after each action.", low=2, high=1000, scale="log")
    depth: int = option(4, "Steps of a rollout; the fluid relaxation estimates the reward of later steps.", low=1, high=1000)

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit
    preparation_size: ClassVar[int] = 2  # sizes from 2 on need the same preparation (Solver.preparation_size)
    title: ClassVar[str] = "Tree search over likely actions, with rollouts of the fluid policy"

    def prepare(self, instance: BanditInstance) -> None:
        from corl.solvers.bandits.policies import fluid_relaxation  # noqa: F401
        from corl.solvers.bandits.warm_up import warm_up

        warm_up(instance)

    def solve(self, instance: BanditInstance, run: Run) -> None:
        from corl.deadline import in_time
        from corl.solvers.bandits.fluid import report_bound
        from corl.solvers.bandits.policies.fluid_relaxation import solve_fluid
        from corl.solvers.bandits.policies.rollout import RolloutPolicy
        from corl.solvers.bandits.policies.tables import TablePolicy

        fluid = None
        with in_time(run):
            fluid = solve_fluid(instance)
            run.report(TablePolicy(instance, fluid.level_values))
            run.report(RolloutPolicy(instance, fluid.level_values, fluid.value, self.breadth, self.samples, self.depth, run.seed))
        report_bound(run, fluid)

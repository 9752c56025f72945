"""Fluid: values of levels by the prices of the fluid relaxation, and an exact oracle for the best feasible action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.bandits.instance import BanditInstance
    from corl.run import Run
    from corl.solvers.bandits.policies.fluid_relaxation import FluidSolution

__all__ = ["Fluid"]


@dataclass(frozen=True)
class Fluid(Solver):
    """Take the feasible action of highest value under the prices of the fluid relaxation at every time.

    Its bound is on expected rewards: a policy may earn more by chance in few episodes, and then no bound is reported.
    """

    resolve: int = option(
        0,
        """Steps of a linear program that is solved again from the state of every step, for its prices; 0: none. A program
        takes milliseconds to seconds, and each situation of the episodes needs one. The policy without it is reported first.""",
        low=1,
        also=0,
    )

    limit_free: ClassVar[bool] = True
    iteration: ClassVar[str] = "the policy, played in all episodes; all of it at the first"
    alike: ClassVar[int] = 2
    title: ClassVar[str] = "Fluid prices: a linear program's worths of levels at every time, maximised exactly"

    def prepare(self, instance: BanditInstance) -> None:
        from corl.solvers.bandits.policies import fluid_relaxation  # noqa: F401
        from corl.solvers.bandits.warm_up import warm_up

        warm_up(instance)

    def solve(self, instance: BanditInstance, run: Run) -> None:
        from corl.deadline import in_time
        from corl.solvers.bandits.policies.fluid_relaxation import solve_fluid
        from corl.solvers.bandits.policies.resolving import ResolvingPolicy
        from corl.solvers.bandits.policies.tables import TablePolicy

        found = None
        with in_time(run):
            found = solve_fluid(instance)
            run.report(TablePolicy(instance, found.level_values))
            if self.resolve:
                run.report(ResolvingPolicy(instance, found.value, self.resolve))
        report_bound(run, found)


def report_bound(run: Run, found: FluidSolution | None) -> None:
    """Report the relaxation's bound on expected rewards, if there is one, unless the policy has earned more by chance."""
    if found is not None and (run.objective is None or run.objective <= found.bound):
        run.report_bound(found.bound)

"""Fluid: a solver whose policy follows the prices of the fluid relaxation, with an exact oracle for the best feasible action."""

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
    """Take the feasible action of highest value, where the fluid relaxation gives the value of every level at every time.

    The relaxation bounds expected rewards. In few episodes a policy may earn more by chance; then no bound is reported.
    """

    resolve: int = option(
        0,
        """If above 0, the relaxation of this many steps is solved in every step from the current state. That takes
        milliseconds to seconds for each different state in the episodes. The policy of resolve=0 is reported first.""",
        low=1,
        special=0,
    )

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit
    iteration: ClassVar[str] = "the policy, played in all episodes; all of it at the first"
    preparation_size: ClassVar[int] = 2  # sizes from 2 on need the same preparation (Solver.preparation_size)
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

        fluid = None
        with in_time(run):
            fluid = solve_fluid(instance)
            run.report(TablePolicy(instance, fluid.level_values))
            if self.resolve:
                run.report(ResolvingPolicy(instance, fluid.value, self.resolve))
        report_bound(run, fluid)


def report_bound(run: Run, fluid: FluidSolution | None) -> None:
    """Report the relaxation's bound, if it was solved, unless the policy has earned more by chance."""
    if fluid is not None and (run.objective is None or run.objective <= fluid.bound):
        run.report_bound(fluid.bound)

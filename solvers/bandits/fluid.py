"""Fluid: what levels are worth under the prices of the fluid relaxation, and an exact oracle for what is feasible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.bandits.instance import BanditInstance
    from corl.run import Run

__all__ = ["Fluid"]


@dataclass(frozen=True)
class Fluid(Solver):
    """The prices of the fluid relaxation at every time, and the feasible action of highest worth under them.

    Its bound is on expected rewards: a policy may earn more on the luck of few episodes, and then no bound is reported.
    """

    resolve: int = 0
    """Steps of a program that is solved anew from the state of every step, and gives its prices; 0: none. Dear: a program takes
    milliseconds to seconds, and each situation of the episodes needs one. The policy without is reported first."""

    limit_free: ClassVar[bool] = True
    title: ClassVar[str] = "Fluid prices: a linear program's worths of levels at every time, maximised exactly"

    def __post_init__(self) -> None:
        if self.resolve < 0:
            raise UsageError(f"resolve is {self.resolve}; accepted: an integer from 0")

    def prepare(self, instance: BanditInstance) -> None:
        from corl.problems.bandits import fluid  # noqa: F401
        from corl.solvers.bandits.warm import warm_up

        warm_up(instance)

    def solve(self, instance: BanditInstance, run: Run) -> None:
        from corl.problems.bandits.fluid import solve_fluid
        from corl.problems.bandits.policies import ResolvingPolicy, TablePolicy
        from corl.solvers.bandits.rehearsal import rehearse

        found = solve_fluid(instance, time_limit=run.remaining)
        if found is None:
            return
        run.report(TablePolicy(instance, found.worth))
        if self.resolve:
            policy = ResolvingPolicy(instance, found.value, self.resolve)
            if rehearse(policy, run):
                run.report(policy)
        report_bound(run, found.bound)


def report_bound(run: Run, bound: float) -> None:
    """Tell `run` of a bound on expected rewards, unless luck has gone beyond it."""
    if run.objective is None or run.objective <= bound:
        run.report_bound(bound)

"""Rollout: tree search over likely actions with rollouts of the fluid policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.bandits.instance import BanditInstance
    from corl.run import Run

__all__ = ["Rollout"]

_ROWS = 10  # situations that are searched at once


@dataclass(frozen=True)
class Rollout(Solver):
    """Looks in every step at a few likely actions, each by rollouts of the fluid policy under the same luck.

    The fluid policy is reported first, and stays where the time is not enough to play all episodes.
    """

    breadth: int = 4
    """Actions compared, from 2; the fluid policy's own is the first."""
    samples: int = 8
    """Rollouts of each action, from 2."""
    depth: int = 4
    """Steps of a rollout, from 1; what follows is worth what the fluid relaxation says."""

    limit_free: ClassVar[bool] = True
    title: ClassVar[str] = "Tree search over likely actions, with rollouts of the fluid policy"

    def __post_init__(self) -> None:
        for name, least in (("breadth", 2), ("samples", 2), ("depth", 1)):
            if getattr(self, name) < least:
                raise UsageError(f"{name} is {getattr(self, name)}; accepted: an integer from {least}")

    def prepare(self, instance: BanditInstance) -> None:
        from corl.problems.bandits import fluid  # noqa: F401
        from corl.solvers.bandits.warm import warm_up

        warm_up(instance)

    def solve(self, instance: BanditInstance, run: Run) -> None:
        from corl.problems.bandits.fluid import solve_fluid
        from corl.problems.bandits.policies import RolloutPolicy, TablePolicy
        from corl.solvers.bandits.fluid import report_bound
        from corl.solvers.bandits.rehearsal import rehearse

        found = solve_fluid(instance, time_limit=run.remaining)
        if found is None:
            return
        run.report(TablePolicy(instance, found.worth))
        policy = RolloutPolicy(instance, found.worth, found.value, self.breadth, self.samples, self.depth, run.seed)
        if rehearse(policy, run, _ROWS):
            run.report(policy)
        report_bound(run, found.bound)

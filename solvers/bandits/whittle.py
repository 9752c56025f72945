"""Whittle: the arms' indices as values of pulls, and an exact oracle for the best feasible action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.bandits.instance import BanditInstance
    from corl.run import Run

__all__ = ["Whittle"]


@dataclass(frozen=True)
class Whittle(Solver):
    """Pull the feasible arms with the largest sum of indices (Whittle 1988; with an exact oracle, for more than a budget).

    An index is the price at which pulling and not pulling an arm have the same value over an infinite horizon: for unequal costs
    or short horizons, `fluid` is the better choice.
    """

    discount: float = option(0.99, "Of the indices; the instance's own where that is below 1.", above=0, below=1)

    limit_free: ClassVar[bool] = True
    iteration: ClassVar[str] = "the policy, played in all episodes; all of it at the first"
    members: ClassVar[int] = 2
    title: ClassVar[str] = "Whittle's index and an exact oracle"

    def accepts(self, instance: BanditInstance) -> str:
        return "" if instance.rewards.shape[1] == 2 else "an index is of arms with two levels"

    def prepare(self, instance: BanditInstance) -> None:
        import numpy as np

        from corl.solvers.bandits.warm_up import warm_up
        from corl.solvers.bandits.whittle_index import whittle_indices

        warm_up(instance)
        whittle_indices(np.full((1, 2, 2, 2), 0.5), np.ones((1, 2, 2)), 0.5)

    def solve(self, instance: BanditInstance, run: Run) -> None:
        import numpy as np

        from corl.deadline import in_time
        from corl.solvers.bandits.policies.tables import TablePolicy
        from corl.solvers.bandits.whittle_index import whittle_indices

        discount = instance.discount if instance.discount < 1.0 else self.discount
        indices = np.zeros((instance.arms, instance.rewards.shape[2]))
        for states in np.unique(instance.states):  # padding is no state of an arm
            members = np.flatnonzero(instance.states == states)
            chances = np.ascontiguousarray(instance.transitions[members, :, :states, :states])
            rewards = np.ascontiguousarray(instance.rewards[members, :, :states])
            indices[members, :states], _ = whittle_indices(chances, rewards, discount)
        level_values = np.stack([np.zeros_like(indices), indices], axis=1)
        with in_time(run):
            run.report(TablePolicy(instance, level_values[None]))

"""Whittle: a solver whose policy pulls the feasible arms with the largest sum of Whittle indices, found by an exact oracle."""

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
    """Pull the feasible arms with the largest sum of Whittle indices (Whittle 1988, for a budget; here for every constraint).

    The index of a state is the price of a pull at which pulling and not pulling have the same value over an infinite horizon. The
    index ignores costs and the end of the horizon: for unequal costs or short horizons, `fluid` is the better choice.
    """

    discount: float = option(
        0.99, "Discount of the indices; an instance's own discount replaces it if that is below 1.", above=0, below=1
    )

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit
    iteration: ClassVar[str] = "the policy, played in all episodes; all of it at the first"
    preparation_size: ClassVar[int] = 2  # sizes from 2 on need the same preparation (Solver.preparation_size)
    title: ClassVar[str] = "Whittle's index and an exact oracle"

    def accepts(self, instance: BanditInstance) -> str:
        return "" if instance.rewards.shape[1] == 2 else "Whittle's index is defined for arms with two levels"

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
        for states in np.unique(instance.states):  # arms with equal numbers of states together, without their padding
            members = np.flatnonzero(instance.states == states)
            chances = np.ascontiguousarray(instance.transitions[members, :, :states, :states])
            rewards = np.ascontiguousarray(instance.rewards[members, :, :states])
            indices[members, :states], _ = whittle_indices(chances, rewards, discount)
        level_values = np.stack([np.zeros_like(indices), indices], axis=1)
        with in_time(run):
            run.report(TablePolicy(instance, level_values[None]))

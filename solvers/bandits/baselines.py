"""Solvers that report a baseline policy: no action, random actions, the best of a sample, one or two steps of lookahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.bandits.instance import BanditInstance
    from corl.run import Run

__all__ = ["IterativeMyopic", "Myopic", "Null", "Random", "Sampling", "TwoStep"]


class _Baseline(Solver):
    """A solver whose policy is computed from the instance without a search."""

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit
    iteration: ClassVar[str] = "the policy, played in all episodes; all of it at the first"
    preparation_size: ClassVar[int] = 2  # sizes from 2 on need the same preparation (Solver.preparation_size)

    def prepare(self, instance: BanditInstance) -> None:
        from corl.solvers.bandits.warm_up import warm_up

        warm_up(instance)


@dataclass(frozen=True)
class Null(_Baseline):
    """Leave all arms alone in every step."""

    title: ClassVar[str] = "No action"

    def solve(self, instance: BanditInstance, run: Run) -> None:
        import numpy as np

        from corl.deadline import in_time
        from corl.solvers.bandits.policies.tables import TablePolicy

        with in_time(run):
            run.report(TablePolicy(instance, np.zeros((1, *instance.rewards.shape))))


@dataclass(frozen=True)
class Random(_Baseline):
    """Take a random maximal feasible action in every step."""

    title: ClassVar[str] = "Random feasible actions"

    def solve(self, instance: BanditInstance, run: Run) -> None:
        from corl.deadline import in_time
        from corl.solvers.bandits.policies.tables import RandomPolicy

        with in_time(run):
            run.report(RandomPolicy(instance, run.seed))


@dataclass(frozen=True)
class Sampling(_Baseline):
    """Take the action with the highest reward in the step among `samples` random maximal feasible actions."""

    samples: int = option(100, "Number of actions compared.", low=1, high=100_000, scale="log")

    title: ClassVar[str] = "The best of random feasible actions, one step ahead"

    def solve(self, instance: BanditInstance, run: Run) -> None:
        from corl.deadline import in_time
        from corl.solvers.bandits.policies.tables import SamplingPolicy

        with in_time(run):
            run.report(SamplingPolicy(instance, instance.rewards, self.samples, run.seed))


@dataclass(frozen=True)
class Myopic(_Baseline):
    """Take the feasible action with the highest reward in the step."""

    title: ClassVar[str] = "One step ahead, exactly"

    def solve(self, instance: BanditInstance, run: Run) -> None:
        from corl.deadline import in_time
        from corl.solvers.bandits.policies.tables import TablePolicy

        with in_time(run):
            run.report(TablePolicy(instance, instance.rewards[None]))


@dataclass(frozen=True)
class IterativeMyopic(_Baseline):
    """Build an action greedily, adding the feasible entry that raises the reward in the step most."""

    title: ClassVar[str] = "One step ahead, pick by pick"

    def solve(self, instance: BanditInstance, run: Run) -> None:
        from corl.deadline import in_time
        from corl.solvers.bandits.policies.tables import IterativePolicy

        with in_time(run):
            run.report(IterativePolicy(instance, instance.rewards[None]))


@dataclass(frozen=True)
class TwoStep(_Baseline):
    """Take the feasible action with the highest reward in this step and the next, in which each arm will get its best level."""

    title: ClassVar[str] = "Two steps ahead, arm by arm"

    def solve(self, instance: BanditInstance, run: Run) -> None:
        import numpy as np

        from corl.deadline import in_time
        from corl.solvers.bandits.policies.tables import TablePolicy

        next_rewards = np.where(instance.exists, instance.rewards, -np.inf).max(axis=1)
        next_rewards = np.where(instance.exists[:, 0], next_rewards, 0.0)
        two_steps = instance.rewards + instance.discount * np.einsum("jasn,jn->jas", instance.transitions, next_rewards)
        with in_time(run):
            run.report(TablePolicy(instance, np.stack([two_steps] * (instance.horizon - 1) + [instance.rewards])))

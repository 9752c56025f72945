"""Policies from a checkpoint on bandits, where a solution is a policy: the generic solvers' names, played in all episodes.

(The generic ones keep the best of many episodes, which here would be the luckiest.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.bandits.instance import BanditInstance
    from corl.run import Run

__all__ = ["MuZero", "Policy", "TreeSearch"]


_NAMED = "the name or the file of a checkpoint, not a policy itself: whoever checks a solution of bandits loads it again"
_SHARE = 0.8  # of the time limit, for a policy that searches


@dataclass(frozen=True)
class Policy(Solver):
    """The likeliest picks of a network, up to commit, in every step."""

    policy: str = option(
        "", "A shipped policy's name or a checkpoint file (corl train bandits); empty: a shipped one, if any.", accepted=_NAMED
    )

    alike: ClassVar[int] = 2
    title: ClassVar[str] = "a learned policy: its likeliest picks in every step"
    iteration: ClassVar[str] = "the policy, played in all episodes; all of it at the first"
    limit_free: ClassVar[bool] = True

    def prepare(self, instance: BanditInstance) -> None:
        _prepare(self, instance, self.policy)

    def solve(self, instance: BanditInstance, run: Run) -> None:
        _report(instance, run, self.policy)


@dataclass(frozen=True)
class TreeSearch(Solver):
    """The picks of a tree search in the environment before each of them, whose luck is not that of the episodes. Where 80 % of
    the time limit is too short for that, the network's likeliest picks are reported.
    """

    policy: str = option(
        "", "A shipped policy's name or a checkpoint file (corl train bandits); empty: a shipped one, if any.", accepted=_NAMED
    )
    method: Literal["gumbel", "puct"] = option("gumbel", "Gumbel search (sequential halving at the root) or PUCT.")
    simulations: int = option(16, "Leaves of the tree of every pick.", low=1, high=1 << 14, scale="log")
    value_scale: float = option(0.02, "Of Gumbel search, the weight of values beside the network's logits.", low=0)

    alike: ClassVar[int] = 2
    title: ClassVar[str] = "tree search (Gumbel or PUCT) in the environment for every pick, led by a learned policy"
    iteration: ClassVar[str] = "the policy, played in all episodes; all of it at the first"

    def prepare(self, instance: BanditInstance) -> None:
        _prepare(self, instance, self.policy)

    def solve(self, instance: BanditInstance, run: Run) -> None:
        _report(instance, run, self.policy, (self.method, self.simulations, self.value_scale))


@dataclass(frozen=True)
class MuZero(Solver):
    """As tree search, in the network's own model of the environment."""

    policy: str = option(
        "", "A checkpoint of a network with a learned model (corl train bandits --recipe muzero).", accepted=_NAMED
    )
    method: Literal["gumbel", "puct"] = option("gumbel", "Gumbel search (sequential halving at the root) or PUCT.")
    simulations: int = option(16, "Leaves of the tree of every pick.", low=1, high=1 << 14, scale="log")
    value_scale: float = option(0.02, "Of Gumbel search, the weight of values beside the network's logits.", low=0)

    alike: ClassVar[int] = 2
    title: ClassVar[str] = "tree search in a learned model (MuZero) for every pick"
    iteration: ClassVar[str] = "the policy, played in all episodes; all of it at the first"

    def prepare(self, instance: BanditInstance) -> None:
        _prepare(self, instance, self.policy, "muzero")

    def solve(self, instance: BanditInstance, run: Run) -> None:
        _report(instance, run, self.policy, (self.method, self.simulations, self.value_scale), "muzero")


def _prepare(solver: Solver, instance: BanditInstance, name: str, architecture: str = "") -> None:
    """Load, and solve a tiny instance, so that everything is compiled."""
    from corl import registry
    from corl.run import Run
    from corl.solvers.bandits.warm import tiny, warm_up
    from corl.solvers.generic.inference import policy_for

    policy_for(instance, name, architecture)
    warm_up(instance)
    small = tiny(instance)
    solver.solve(small, Run(registry.problem("bandits"), small))


def _report(
    instance: BanditInstance, run: Run, name: str, search: tuple[str, int, float] | None = None, architecture: str = ""
) -> None:
    """Report a policy, without its search (method, simulations, weight of values) where that takes too long."""
    from corl.networks.checkpoints import loaded
    from corl.solvers.bandits.clock import in_time
    from corl.solvers.bandits.policies.learned import LearnedPolicy
    from corl.solvers.generic.inference import policy_for, policy_name

    policy_for(instance, name, architecture)
    wanted = policy_name(instance, name, architecture)
    digest = loaded(wanted)[1]["digest"]
    if search:
        with in_time(run, _SHARE):
            method, simulations, scale = search
            run.report(LearnedPolicy(instance, wanted, digest, method, simulations, architecture == "muzero", scale))
    if run.objective is None:
        with in_time(run):
            run.report(LearnedPolicy(instance, wanted, digest))

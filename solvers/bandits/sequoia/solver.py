"""Solvers that learn a Q-network over states and combinatorial actions, for the one instance and inside the clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.bandits.instance import BanditInstance
    from corl.problems.bandits.policies import NetworkPolicy
    from corl.run import Run
    from corl.solvers.bandits.sequoia.learning import Learner, Plan

__all__ = ["IterativeDqn", "Sequoia"]

_SHARE = 0.6  # of the time limit, for learning: the rest is for playing the instance's episodes
_TAU = 1e-6  # of the target network in the public release
_MODES = ("paper", "release")
_BASES = ("none", "fluid")
_ACTIONS = ("auto", "list", "highs", "scip")
_ROWS = 5  # situations between two looks at the clock


@dataclass(frozen=True)
class Sequoia(Solver):
    """Deep Q-learning whose best action is exact: a look at all feasible ones, or a mixed-integer program (Xu et al., ICLR 2025).

    The network learns for the one instance, inside the time limit: `episodes` of them, or what fits in 60 % of it. The myopic
    policy (the fluid one with base="fluid") is reported first; of the networks after pretraining and after every target the
    one is taken that does best in 20 episodes of the learner's own.
    """

    mode: str = "paper"
    """paper: the target network is renewed every 20 episodes; release: it follows by 1e-6 a step, as in the public code."""
    base: str = "none"
    """fluid: the network learns a residual over the worths of the fluid relaxation, beginning at 0."""
    actions: str = "auto"
    """How the best action is found: list (a look at all), highs or scip (mixed-integer programs); auto: list up to 100,000."""
    episodes: int = 60
    """Of learning, from 0."""
    epochs: int = 60
    """Of pretraining on one-step rewards, from 1."""

    iteration: ClassVar[str] = "an episode of learning"
    title: ClassVar[str] = "SEQUOIA: deep Q-learning with exact combinatorial actions"

    def __post_init__(self) -> None:
        for name, accepted in (("mode", _MODES), ("base", _BASES), ("actions", _ACTIONS)):
            if getattr(self, name) not in accepted:
                raise UsageError(f"{name} is {getattr(self, name)!r}; accepted: {', '.join(accepted)}")
        _check_sizes(self.episodes, self.epochs)

    def prepare(self, instance: BanditInstance) -> None:
        _prepare(instance, "list" if self.actions == "auto" else self.actions, self.base == "fluid")

    def solve(self, instance: BanditInstance, run: Run) -> None:
        from corl.problems.bandits.constraints.listing import every_action
        from corl.problems.bandits.policies import TablePolicy

        worth, bound = None, None
        if self.base == "fluid":
            from corl.problems.bandits.fluid import solve_fluid

            if (found := solve_fluid(instance, time_limit=run.remaining)) is None:
                return
            worth, bound = found.worth, found.bound
        run.report(TablePolicy(instance, instance.rewards[None] if worth is None else worth))
        choice = self.actions
        if choice == "auto":
            choice = "highs" if every_action(instance.constraint) is None else "list"
        learned = _learned(instance, run, _plan(self.mode, self.episodes, self.epochs), choice, worth)
        _report(run, learned, bound)


@dataclass(frozen=True)
class IterativeDqn(Solver):
    """The same network and learning, but an action is built pick by pick, each the one that raises its value most.

    (The iterative DQN baseline of Xu, Wilder, Khalil & Tambe, ICLR 2025.)
    """

    episodes: int = 60
    """Of learning, from 0; fewer where 60 % of the time limit is over."""
    epochs: int = 60
    """Of pretraining on one-step rewards, from 1."""

    iteration: ClassVar[str] = "an episode of learning"
    title: ClassVar[str] = "Deep Q-learning with actions built pick by pick"

    def __post_init__(self) -> None:
        _check_sizes(self.episodes, self.epochs)

    def prepare(self, instance: BanditInstance) -> None:
        _prepare(instance, "iterative", False)

    def solve(self, instance: BanditInstance, run: Run) -> None:
        from corl.problems.bandits.policies import IterativePolicy

        run.report(IterativePolicy(instance, instance.rewards[None]))
        _report(run, _learned(instance, run, _plan("paper", self.episodes, self.epochs), "iterative", None), None)


def _check_sizes(episodes: int, epochs: int) -> None:
    for name, value, least in (("episodes", episodes, 0), ("epochs", epochs, 1)):
        if value < least:
            raise UsageError(f"{name} is {value}; accepted: an integer from {least}")


def _plan(mode: str, episodes: int, epochs: int) -> Plan:
    from corl.solvers.bandits.sequoia.learning import Plan

    return Plan(episodes, epochs, updates=2, rate=1e-3, target_every=20 if mode == "paper" else 0, tau=_TAU)


def _prepare(instance: BanditInstance, choice: str, based: bool) -> None:
    """Compile: learn and act for a moment on a tiny instance of the kind."""
    from corl.problems.bandits.fluid import solve_fluid
    from corl.solvers.bandits.sequoia.learning import Learner
    from corl.solvers.bandits.warm import tiny, warm_up

    warm_up(instance)
    small = tiny(instance)
    learner = Learner(small, _plan("paper", 1, 1), 0, choice, getattr(solve_fluid(small), "worth", None) if based else None)
    for _ in learner.pretrain():
        pass
    learner.episode(0)


def _learned(instance: BanditInstance, run: Run, plan: Plan, choice: str, worth: Any) -> NetworkPolicy | None:
    """The best network that was met on the way; None where the time was too short to compare any."""
    from corl.solvers.bandits.sequoia.learning import Learner, OutOfTime

    learner = Learner(instance, plan, run.seed, choice, worth, lambda: _late(run))
    best, earned, done = None, None, 0
    try:
        for _ in learner.pretrain():
            if _late(run):
                return None
        best, earned = _better(learner, None, None)
        while done < plan.episodes and run.budget(1):
            learner.episode(done)
            done += 1
            if done % (plan.target_every or 20) == 0 or done == plan.episodes:
                best, earned = _better(learner, best, earned)
    except OutOfTime:
        pass
    return best


def _better(learner: Learner, best: NetworkPolicy | None, earned: Any) -> tuple[NetworkPolicy, Any]:
    """The present network or the best so far, and what it earned in trials.

    A network over a table must lead by a standard error: it begins as the table's policy.
    """
    import numpy as np

    now = learner.snapshot()
    found = learner.trial(now)
    if best is None:
        return now, found
    ahead = found - earned
    doubt = 0.0 if learner.worth is None else float(ahead.std(ddof=1) / np.sqrt(len(ahead)))
    return (now, found) if ahead.mean() > doubt else (best, earned)


def _late(run: Run) -> bool:
    """Whether learning must end (that all iterations are done is no reason to stop comparing)."""
    return run.interrupted or (run.time_limit is not None and run.elapsed > _SHARE * run.time_limit)


def _report(run: Run, policy: NetworkPolicy | None, bound: float | None) -> None:
    from corl.solvers.bandits.fluid import report_bound
    from corl.solvers.bandits.rehearsal import rehearse

    if policy is not None and rehearse(policy, run, _ROWS):
        run.report(policy)
    if bound is not None:
        report_bound(run, bound)

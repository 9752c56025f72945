"""Solvers that learn a Q-network over states and combinatorial actions, for the one instance and inside the clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.problems.bandits.instance import BanditInstance
    from corl.problems.bandits.policy import BanditPolicy
    from corl.run import Run
    from corl.solvers.bandits.sequoia.learning import Learner, LearningSettings

__all__ = ["IterativeDqn", "Sequoia"]

_SHARE = 0.6  # of the time limit, for learning: the rest is for playing the instance's episodes
_TAU = 1e-6  # of the target network in the public release


@dataclass(frozen=True)
class Sequoia(Solver):
    """Deep Q-learning whose best action is exact: a look at all feasible ones, or a mixed-integer program (Xu et al., ICLR 2025).

    The network learns for the one instance, inside the time limit: `episodes` of them, or what fits in 60 % of it. Of the myopic
    policy (the fluid one with base="fluid") and the networks after pretraining and after every target the one is reported that
    earns most in 20 episodes of the learner's own, whose luck is not that of the episodes which judge it; the first where
    there is no time for that.
    """

    mode: str = option(
        "paper",
        "The target network: paper, renewed every 20 episodes; release, follows by 1e-6 a step, as in the public code.",
        choices=("paper", "release"),
    )
    base: str = option(
        "none",
        "fluid: the network learns a residual over the worths of the fluid relaxation, beginning at 0.",
        choices=("none", "fluid"),
    )
    actions: str = option(
        "auto",
        """How the best action is found: list, a look at all; highs or scip, mixed-integer programs; auto: list up to 100,000
        actions, highs beyond.""",
        choices=("auto", "list", "highs", "scip"),
    )
    episodes: int = option(60, "Of learning; fewer where 60 % of the time limit is over.", low=0, scale="log")
    epochs: int = option(60, "Of pretraining on one-step rewards.", low=1, scale="log")

    iteration: ClassVar[str] = "an episode of learning"
    preparation_size: ClassVar[int] = 2
    title: ClassVar[str] = "SEQUOIA: deep Q-learning with exact combinatorial actions"

    def prepare(self, instance: BanditInstance) -> None:
        _prepare(instance, "list" if self.actions == "auto" else self.actions, self.base == "fluid")

    def solve(self, instance: BanditInstance, run: Run) -> None:
        from corl.deadline import in_time
        from corl.solvers.bandits.fluid import report_bound
        from corl.solvers.bandits.policies.fluid_relaxation import solve_fluid
        from corl.solvers.bandits.policies.tables import TablePolicy

        settings = _settings(self.mode, self.episodes, self.epochs)
        if self.base == "none":
            _report(run, TablePolicy(instance, instance.rewards[None]), settings, self.actions, None)
            return
        found = None
        with in_time(run):
            found = solve_fluid(instance)
        if found is not None:
            _report(run, TablePolicy(instance, found.worth), settings, self.actions, found.worth)
        report_bound(run, found)


@dataclass(frozen=True)
class IterativeDqn(Solver):
    """The same network, learning and choice, but an action is built pick by pick, each the one that raises its value most.

    (The iterative DQN baseline of Xu, Wilder, Khalil & Tambe, ICLR 2025.)
    """

    episodes: int = option(60, "Of learning; fewer where 60 % of the time limit is over.", low=0, scale="log")
    epochs: int = option(60, "Of pretraining on one-step rewards.", low=1, scale="log")

    iteration: ClassVar[str] = "an episode of learning"
    preparation_size: ClassVar[int] = 2
    title: ClassVar[str] = "Deep Q-learning with actions built pick by pick"

    def prepare(self, instance: BanditInstance) -> None:
        _prepare(instance, "iterative", False)

    def solve(self, instance: BanditInstance, run: Run) -> None:
        from corl.solvers.bandits.policies.tables import IterativePolicy

        first = IterativePolicy(instance, instance.rewards[None])
        _report(run, first, _settings("paper", self.episodes, self.epochs), "iterative", None)


def _settings(mode: str, episodes: int, epochs: int) -> LearningSettings:
    from corl.solvers.bandits.sequoia.learning import LearningSettings

    return LearningSettings(episodes, epochs, updates=2, rate=1e-3, target_every=20 if mode == "paper" else 0, tau=_TAU)


def _prepare(instance: BanditInstance, choice: str, based: bool) -> None:
    """Compile: learn and act for a moment on a tiny instance of the kind."""
    from corl import registry
    from corl.solvers.bandits.policies.fluid_relaxation import solve_fluid
    from corl.solvers.bandits.sequoia.learning import Learner
    from corl.solvers.bandits.warm import warm_up

    warm_up(instance)
    small = registry.problem("bandits").warm_up_instance(instance)
    learner = Learner(small, _settings("paper", 1, 1), 0, choice, solve_fluid(small).worth if based else None)
    learner.pretrain()
    learner.episode(0)


def _report(run: Run, first: BanditPolicy, settings: LearningSettings, choice: str, worth: Any) -> None:
    """Report `first` or what was learned, whichever the learner's own episodes prefer; nothing where no policy is judged in time.

    The instance's episodes choose nothing: a policy is played in them (`first` before there is another) and then reported.
    """
    from corl.deadline import in_time
    from corl.problems.bandits.evaluation import outcome_of

    instance, ready = first.instance, None
    with in_time(run):
        outcome_of(instance, first)
        ready = first
        chosen = _chosen(run, first, settings, choice, worth)
        outcome_of(instance, chosen)
        ready = chosen
    if ready is not None:
        run.report(ready)


def _chosen(run: Run, first: BanditPolicy, settings: LearningSettings, choice: str, worth: Any) -> BanditPolicy:
    """`first` or the best network that was met on the way, inside the time for learning."""
    from corl.deadline import in_time
    from corl.problems.bandits.constraints.listing import every_action
    from corl.solvers.bandits.sequoia.learning import Learner

    best, done = first, 0
    with in_time(run, _SHARE):
        if choice == "auto":
            choice = "highs" if every_action(first.instance.constraint) is None else "list"
        learner = Learner(first.instance, settings, run.seed, choice, worth)
        earned = learner.trial(first)
        learner.pretrain()
        best, earned = _better(learner, best, earned)
        while done < settings.episodes and run.budget(1):
            learner.episode(done)
            done += 1
            if done % (settings.target_every or 20) == 0 or done == settings.episodes:
                best, earned = _better(learner, best, earned)
    return best


def _better(learner: Learner, best: BanditPolicy, earned: NDArray[np.float64]) -> tuple[BanditPolicy, NDArray[np.float64]]:
    """The present network or the best policy so far, and what it earned in trials.

    A network over a table must lead by a standard error: it begins as the table's policy.
    """
    now = learner.snapshot()
    found = learner.trial(now)
    ahead = found - earned
    doubt = 0.0 if learner.worth is None else float(ahead.std(ddof=1) / len(ahead) ** 0.5)
    return (now, found) if ahead.mean() > doubt else (best, earned)

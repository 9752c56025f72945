"""Solvers that train a Q-network over states and combinatorial actions, for one instance and within the time limit."""

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

_SHARE = 0.6  # of the time limit, for training: the rest is for simulating the instance's episodes
_TAU = 1e-6  # of the target network in the public release


@dataclass(frozen=True)
class Sequoia(Solver):
    """Deep Q-learning with an exactly best action: from a list of all, or by a mixed-integer program (Xu et al., ICLR 2025).

    The network is trained for the one instance, within the time limit: for `episodes`, or for 60 % of the time. Candidates are
    the myopic policy (the fluid one with base="fluid"), the network after pretraining, and the network after every renewal of the
    target. The one with the largest reward in 20 episodes of the learner's own is reported; these have other random numbers than
    the episodes that judge it. Without time for that, the first policy is reported.
    """

    mode: str = option(
        "paper",
        "The target network: paper, renewed every 20 episodes; release, follows by 1e-6 a step, as in the public code.",
        choices=("paper", "release"),
    )
    base: str = option(
        "none",
        "fluid: the network learns a residual over the values of the fluid relaxation, beginning at 0.",
        choices=("none", "fluid"),
    )
    actions: str = option(
        "auto",
        """How the best action is found: list, by evaluating all; highs or scip, by mixed-integer programs; auto: list up to
        100,000 actions, highs above.""",
        choices=("auto", "list", "highs", "scip"),
    )
    episodes: int = option(60, "Episodes of training; fewer if 60 % of the time limit ends first.", low=0, scale="log")
    epochs: int = option(60, "Epochs of pretraining on one-step rewards.", low=1, scale="log")

    iteration: ClassVar[str] = "an episode of learning"
    alike: ClassVar[int] = 2
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
            _report(run, TablePolicy(instance, found.level_values), settings, self.actions, found.level_values)
        report_bound(run, found)


@dataclass(frozen=True)
class IterativeDqn(Solver):
    """The same network and training, but an action is built pick by pick, each the one that raises its value most.

    (The iterative DQN baseline of Xu, Wilder, Khalil & Tambe, ICLR 2025.)
    """

    episodes: int = option(60, "Episodes of training; fewer if 60 % of the time limit ends first.", low=0, scale="log")
    epochs: int = option(60, "Epochs of pretraining on one-step rewards.", low=1, scale="log")

    iteration: ClassVar[str] = "an episode of learning"
    alike: ClassVar[int] = 2
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
    """Compile, by training and acting for a moment on a tiny instance of the kind."""
    from corl import registry
    from corl.solvers.bandits.policies.fluid_relaxation import solve_fluid
    from corl.solvers.bandits.sequoia.learning import Learner
    from corl.solvers.bandits.warm_up import warm_up

    warm_up(instance)
    small = registry.problem("bandits").miniature(instance)
    learner = Learner(small, _settings("paper", 1, 1), 0, choice, solve_fluid(small).level_values if based else None)
    learner.pretrain()
    learner.episode(0)


def _report(run: Run, first: BanditPolicy, settings: LearningSettings, choice: str, level_values: Any) -> None:
    """Report `first` or the trained policy, by rewards in the learner's own episodes; nothing if no policy is judged in time.

    The instance's episodes are not used for this choice: a policy is simulated in them and then reported.
    """
    from corl.deadline import in_time
    from corl.problems.bandits.evaluation import outcome_of

    instance, ready = first.instance, None
    with in_time(run):
        outcome_of(instance, first)
        ready = first
        chosen = _chosen(run, first, settings, choice, level_values)
        outcome_of(instance, chosen)
        ready = chosen
    if ready is not None:
        run.report(ready)


def _chosen(run: Run, first: BanditPolicy, settings: LearningSettings, choice: str, level_values: Any) -> BanditPolicy:
    """Return `first` or the best network during training, within the time for training."""
    from corl.deadline import in_time
    from corl.problems.bandits.constraints.listing import every_action
    from corl.solvers.bandits.sequoia.learning import Learner

    best, done = first, 0
    with in_time(run, _SHARE):
        if choice == "auto":
            choice = "highs" if every_action(first.instance.constraint) is None else "list"
        learner = Learner(first.instance, settings, run.seed, choice, level_values)
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
    """Return the current network or the best policy so far, and its rewards in trials.

    A network over a table must be better by a standard error, because it begins as the table's policy.
    """
    now = learner.snapshot()
    found = learner.trial(now)
    ahead = found - earned
    doubt = 0.0 if learner.level_values is None else float(ahead.std(ddof=1) / len(ahead) ** 0.5)
    return (now, found) if ahead.mean() > doubt else (best, earned)

"""Solvers that train a Q-network over states and combinatorial actions for one instance, within the time limit.

A trial simulates a policy in episodes that the learner draws, the same for all policies, so that their rewards can be compared
(`Learner.trial`).
"""

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

_TRAINING_SHARE = 0.6  # of the time limit; the remaining time is for simulating the instance's episodes
_TAU = 1e-6  # the rate at which the target network follows the network in the authors' public code


@dataclass(frozen=True)
class Sequoia(Solver):
    """Deep Q-learning that finds the action of highest value exactly: from a list of all actions, or by an integer program.

    The network is trained for one instance, for `episodes` or 60 % of the time limit. The candidates are a policy without
    learning (the myopic one; with base="fluid" the fluid one), the network after pretraining, and the network after every
    renewal of the target network. The candidate with the largest reward in 20 episodes is reported. The random numbers of these
    differ from those of the instance's episodes, on which the reported policy is evaluated. Without time for the comparison,
    the policy without learning is reported. After Xu et al., ICLR 2025.
    """

    mode: str = option(
        "paper",
        """The target network. paper: it is replaced by the network every 20 episodes; release: it moves towards the network by a
        fraction of 1e-6 per step, as in the authors' public code.""",
        choices=("paper", "release"),
    )
    base: str = option(
        "none",
        """fluid: the network learns what to add to the values of the fluid relaxation, initially 0; none: it learns the values
        themselves.""",
        choices=("none", "fluid"),
    )
    actions: str = option(
        "auto",
        """How the best action is found. list: by evaluating all feasible actions; highs, scip: by mixed-integer programs; auto:
        list if there are at most 100,000 actions, otherwise highs.""",
        choices=("auto", "list", "highs", "scip"),
    )
    episodes: int = option(60, "Episodes of training; fewer if 60 % of the time limit ends first.", low=0, scale="log")
    epochs: int = option(60, "Epochs of pretraining on one-step rewards.", low=1, scale="log")

    iteration: ClassVar[str] = "an episode of learning"
    preparation_size: ClassVar[int] = 2  # sizes from 2 on need the same preparation (Solver.preparation_size)
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
        fluid = None
        with in_time(run):
            fluid = solve_fluid(instance)
        if fluid is not None:
            _report(run, TablePolicy(instance, fluid.level_values), settings, self.actions, fluid.level_values)
        report_bound(run, fluid)


@dataclass(frozen=True)
class IterativeDqn(Solver):
    """Sequoia's network and training, but actions are built greedily, by adding the entry that raises the value most.

    This is the iterative DQN baseline of Xu, Wilder, Khalil & Tambe (ICLR 2025).
    """

    episodes: int = option(60, "Episodes of training; fewer if 60 % of the time limit ends first.", low=0, scale="log")
    epochs: int = option(60, "Epochs of pretraining on one-step rewards.", low=1, scale="log")

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


def _prepare(instance: BanditInstance, choice: str, with_fluid: bool) -> None:
    """Compile all kernels, by training for one episode on a tiny instance with the same kind of constraint."""
    from corl import registry
    from corl.solvers.bandits.policies.fluid_relaxation import solve_fluid
    from corl.solvers.bandits.sequoia.learning import Learner
    from corl.solvers.bandits.warm_up import warm_up

    warm_up(instance)
    small = registry.problem("bandits").warm_up_instance(instance)
    learner = Learner(small, _settings("paper", 1, 1), 0, choice, solve_fluid(small).level_values if with_fluid else None)
    learner.pretrain()
    learner.episode(0)


def _report(run: Run, first: BanditPolicy, settings: LearningSettings, choice: str, level_values: Any) -> None:
    """Report the policy with the best trial, `first` if there is no time for trials, nothing if there is not even time for it.

    The instance's episodes play no part in the choice. They are simulated here, within the time limit, only because reporting a
    policy evaluates it (`outcome_of` caches the result).
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
    """Train for at most 60 % of the time limit; return `first` or a snapshot of the network, whichever has the best trial."""
    from corl.deadline import in_time
    from corl.problems.bandits.constraints.listing import every_action
    from corl.solvers.bandits.sequoia.learning import Learner

    best, episodes_done = first, 0
    with in_time(run, _TRAINING_SHARE):
        if choice == "auto":
            choice = "highs" if every_action(first.instance.constraint) is None else "list"
        learner = Learner(first.instance, settings, run.seed, choice, level_values)
        best_rewards = learner.trial(first)
        learner.pretrain()
        best, best_rewards = _better(learner, best, best_rewards)
        while episodes_done < settings.episodes and run.budget(1):
            learner.episode(episodes_done)
            episodes_done += 1
            if episodes_done % (settings.target_every or 20) == 0 or episodes_done == settings.episodes:
                best, best_rewards = _better(learner, best, best_rewards)
    return best


def _better(learner: Learner, best: BanditPolicy, best_rewards: NDArray[np.float64]) -> tuple[BanditPolicy, NDArray[np.float64]]:
    """Return the current network or the best policy so far, whichever has the larger mean reward, and its rewards.

    A network that learns what to add to the fluid values begins as the fluid policy. It must therefore be better by more than the
    standard error of the mean difference.
    """
    current = learner.snapshot()
    rewards = learner.trial(current)
    lead = rewards - best_rewards
    required = 0.0 if learner.level_values is None else float(lead.std(ddof=1) / len(lead) ** 0.5)
    return (current, rewards) if lead.mean() > required else (best, best_rewards)

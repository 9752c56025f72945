"""Policy gradient, the recipe `any.policy-gradient`: sampled episodes that are better than a baseline become likelier.

REINFORCE with the greedy-rollout baseline of Kool, van Hoof & Welling (ICLR 2019), ReMax (Li et al., ICML 2024; Rennie et al.,
CVPR 2017 called it self-critical) and the shared baseline over several starts of POMO (Kwon et al., NeurIPS 2020).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from corl.errors import UsageError
from corl.learning.loop import Loop, PolicyRecipe
from corl.options import option

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from corl.adapter import Problem
    from corl.decoding.play import DecisionStep
    from corl.environment import Environment
    from corl.learning.episodes import Choice, Choose, Episodes
    from corl.learning.replay import CollateInputs
    from corl.learning.session import Training
    from corl.learning.source import Source
    from corl.networks.policy import Arrays, NetworkPolicy

__all__ = ["GreedyRollout", "Moves", "PolicyGradient", "Starts", "advantages", "choice", "loss", "roll_out", "shared_baseline"]

_PART = 4096  # moves in one forward pass
_EMPTY_LOG = -100.0  # the log probability of an empty slot, finite so that its product with probability 0 is 0 and not NaN
_SIGNIFICANCE = 0.05  # significance level of the test by which a better policy becomes the baseline (Kool et al., section 4)


@dataclass(frozen=True)
class PolicyGradient(PolicyRecipe):
    """REINFORCE on new instances in every step, with one of three baselines.

    This process plays all episodes of a step at once, on the GPU if there is one; workers are not used.
    """

    start: str = option("", "A checkpoint to continue from; empty: a new network of `width`, `layers` and `heads`.")
    baseline: Literal["multi-start", "greedy-rollout", "remax"] = option(
        "multi-start",
        "What an episode is compared with. multi-start: the mean of its instance's episodes, which begin in different states if "
        "the problem has several (POMO); greedy-rollout: the likeliest actions of the best policy so far (Kool et al.); remax: "
        "the likeliest actions of the current policy.",
    )
    batch: int = option(32, "New instances per step.", low=1, scale="log")
    samples: int = option(8, "Episodes per instance; at least 2 with the multi-start baseline.", low=1, scale="log")
    entropy: float = option(0.0, "Weight of the policy's entropy.", low=0)
    updates: int = option(1, "Optimiser steps on the episodes of one step; above 1 they are steps of mirror descent.", low=1)
    proximity: float = option(
        0.1,
        "If `updates` is above 1: weight of the divergence from the policy that played the episodes.",
        above=0,
        scale="log",
    )
    every: int = option(10, "Steps between two validations.", low=1)
    watch: int = option(
        64,
        'Validation instances, never trained on, solved by the likeliest actions: for the curve "greedy", and for the test '
        "whether the current policy becomes the greedy-rollout baseline; 0: none.",
        low=0,
    )

    title: ClassVar[str] = "policy gradient: REINFORCE with a multi-start, greedy-rollout or ReMax baseline"
    step: ClassVar[str] = "`samples` episodes of each of `batch` new instances, then the optimiser steps on them"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.baseline == "multi-start" and self.samples < 2:
            raise UsageError("option samples is 1; accepted: an integer from 2 with the multi-start baseline")
        if self.baseline == "greedy-rollout" and self.watch < 2:
            raise UsageError(f"option watch is {self.watch}; accepted: an integer from 2 with the greedy-rollout baseline")

    def train(self, training: Training) -> None:
        loop = Loop(self, training)
        problem, network = training.problem, loop.network
        rollout = GreedyRollout(problem, network, loop.validation.instances) if self.baseline == "greedy-rollout" else None
        loop.manage(**({"rollout": rollout} if rollout else {}))

        def play() -> tuple[tuple[Episodes, NDArray[np.float32]] | None, dict[str, float]]:
            if rollout is not None and training.step and training.step % self.every == 0:
                rollout.update(network.eval())
            starts = self._starts(loop.source, training.step)
            episodes = roll_out(problem, starts, network.eval(), training.generator(2, training.step))
            baseline = self._baseline(problem, starts, episodes, network, rollout)
            curves = loop.validate([episodes], every=self.every)
            return (episodes, advantages(episodes, baseline)) if episodes.moves else None, curves

        def learn(played: tuple[Episodes, NDArray[np.float32]]) -> dict[str, float]:
            network.train()
            return {"loss": self._update(loop, *played)}

        loop.run(play, learn)

    def _starts(self, source: Source, step: int) -> Starts:
        """Return the starts of a step's episodes."""
        import numpy as np

        instances = source.instances(step * self.batch, self.batch)
        which = np.repeat(np.arange(self.batch), self.samples)
        keys = np.tile(np.arange(self.samples, dtype=np.uint64), self.batch)
        if self.baseline != "multi-start":  # all episodes of an instance are compared with one rollout, so they start as it does
            keys[:] = 0
        return Starts(instances, which, keys)

    def _baseline(
        self, problem: Problem, starts: Starts, episodes: Episodes, network: NetworkPolicy, rollout: GreedyRollout | None
    ) -> NDArray[np.float64]:
        """Return the baseline of each episode, float64 [E]."""
        if self.baseline == "multi-start":
            return shared_baseline(episodes.objective, starts.which)
        greedy_starts = Starts(starts.instances, starts.which[:: self.samples], starts.keys[:: self.samples])
        greedy = rollout(greedy_starts) if rollout is not None else roll_out(problem, greedy_starts, network, None).objective
        return greedy.repeat(self.samples)

    def _update(self, loop: Loop, episodes: Episodes, advantage: NDArray[np.float32]) -> float:
        """Make the optimiser steps on a step's episodes; return the loss of the last one, per move.

        `advantage` is float32 [M], for each move.
        """
        import numpy as np

        from corl.learning.optimise import optimiser_step
        from corl.learning.replay import Replay

        replay = Replay(len(advantage))
        replay.add(episodes)
        proximity = self.proximity if self.updates > 1 else 0.0
        value = 0.0
        for _ in range(self.updates):
            loop.optimiser.zero_grad()
            value = 0.0
            for first in range(0, len(advantage), _PART):
                at = np.arange(first, min(first + _PART, len(advantage)))
                moves = Moves(replay.collate_inputs(at), replay.field("slot", at), replay.field("policy", at), advantage[at])
                with loop.training.autocast():
                    total = loss(loop.network, moves, entropy=self.entropy, proximity=proximity)
                (total / len(advantage)).backward()  # type: ignore[no-untyped-call]
                value += total.item() / len(advantage)
            optimiser_step(loop.optimiser, self.rate, loop.training.fraction)
        return value


def loss(network: NetworkPolicy, moves: Moves, *, entropy: float, proximity: float) -> Tensor:
    """Return the loss of N moves: the sum of - advantage * log probability - `entropy` * the policy's entropy.

    With `proximity` above 0, it is the loss of mirror descent policy optimisation (Tomar et al., ICLR 2022, equation 8): the log
    probability is replaced by the ratio of the probabilities in the current policy and in the policy that played the episodes,
    and `proximity` * KL(current policy || policy that played) is added.
    """
    import torch

    device = next(network.parameters()).device
    slot, weights, played_policy = (torch.from_numpy(array).to(device) for array in (moves.slot, moves.advantage, moves.policy))
    log_policy = network(network.collate(*moves.inputs))[0].float().log_softmax(dim=1).clamp_min(_EMPTY_LOG)
    policy = log_policy.exp()
    log_taken = log_policy.gather(1, slot.long()[:, None]).squeeze(1)
    entropies = -(policy * log_policy).sum(dim=1)
    if proximity == 0.0:
        plain: Tensor = -(weights * log_taken).sum() - entropy * entropies.sum()
        return plain
    log_played = played_policy.log().clamp_min(_EMPTY_LOG)
    ratio = (log_taken - log_played.gather(1, slot.long()[:, None]).squeeze(1)).exp()
    divergence = (policy * (log_policy - log_played)).sum(dim=1)
    total: Tensor = -(weights * ratio).sum() + proximity * divergence.sum() - entropy * entropies.sum()
    return total


class Starts(NamedTuple):
    """The starts of E episodes."""

    instances: Sequence[Any]
    """The instances, each of which may have several episodes."""
    which: NDArray[np.int64]
    """[E] the instance of each episode, an index into `instances`."""
    keys: NDArray[np.uint64]
    """[E] the keys for `Environment.reset`."""


class Moves(NamedTuple):
    """N moves to learn from."""

    inputs: CollateInputs
    """The network's features of the moves' states."""
    slot: NDArray[np.integer]
    """[N] the slot of the action taken."""
    policy: NDArray[np.float32]
    """[N, K] the probabilities of the policy that played."""
    advantage: NDArray[np.float32]
    """[N] the advantage of the episode, see `advantages`."""


def choice(network: NetworkPolicy, environment: Environment, random: np.random.Generator | None) -> Choose:
    """Return a `choose` for `record`: samples of a network's policy, or its likeliest actions if `random` is None."""
    import numpy as np
    from scipy.special import softmax

    from corl.learning.episodes import Choice

    evaluator = network.on(environment)

    def choose(decision: DecisionStep, observed: Arrays) -> Choice:
        logits, _ = evaluator.evaluate(decision.view)
        policy = softmax(logits.astype(np.float64), axis=1)
        if random is None:
            return Choice(policy.argmax(axis=1), policy.astype(np.float32), np.zeros(len(policy)))
        drawn = (np.cumsum(policy, axis=1) <= random.random((len(policy), 1))).sum(axis=1)
        last = policy.shape[1] - 1 - (policy[:, ::-1] > 0).argmax(axis=1)  # by rounding, a random number may exceed all sums
        return Choice(np.minimum(drawn, last), policy.astype(np.float32), np.zeros(len(policy)))

    return choose


def roll_out(problem: Problem, starts: Starts, network: NetworkPolicy, random: np.random.Generator | None) -> Episodes:
    """Return the episodes that a policy plays from `starts`: samples or, if `random` is None, its likeliest actions."""
    import numpy as np

    from corl.learning.episodes import record

    rows = np.arange(len(starts.which))
    environment = problem.environment(starts.instances, len(rows), name=network.environment)
    base = environment.reset(rows, starts.which, starts.keys)
    return record(network, environment, rows, base, choice(network, environment, random))


def shared_baseline(objective: NDArray[np.float64], which: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return POMO's baseline: for each episode the mean objective value of all episodes of its instance, float64 [E].

    Args:
        objective: float64 [E], the objective values.
        which: int64 [E], the index of each episode's instance.
    """
    import numpy as np

    means: NDArray[np.float64] = np.bincount(which, objective) / np.maximum(np.bincount(which), 1)
    return means[which]


class GreedyRollout:
    """The baseline of Kool et al.: the objective value that the likeliest actions of the best policy so far lead to.

    The current policy replaces the best one if it is significantly better on fixed instances (one-sided paired t-test, 5 %).
    """

    def __init__(self, problem: Problem, network: NetworkPolicy, instances: Sequence[Any]) -> None:
        import numpy as np

        self.problem = problem
        self.network = copy.deepcopy(network).eval().requires_grad_(False)
        self._fixed = Starts(instances, np.arange(len(instances)), np.zeros(len(instances), np.uint64))

    def __call__(self, starts: Starts) -> NDArray[np.float64]:
        """Return the objective values of the baseline's episodes from the given starts, float64 [E]."""
        return roll_out(self.problem, starts, self.network, None).objective

    def update(self, network: NetworkPolicy) -> bool:
        """Copy the weights of `network` if it is significantly better; return whether it is."""
        from scipy.stats import ttest_rel

        current = roll_out(self.problem, self._fixed, network, None).objective
        best = roll_out(self.problem, self._fixed, self.network, None).objective
        if not current.mean() > best.mean() or ttest_rel(current, best).pvalue / 2 >= _SIGNIFICANCE:
            return False
        self.network.load_state_dict(network.state_dict())
        return True

    def state_dict(self) -> dict[str, Any]:
        """Return the state for a snapshot."""
        return dict(self.network.state_dict())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""
        self.network.load_state_dict(state)


def advantages(episodes: Episodes, baseline: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the advantage of every move, float32 [M]: the objective value of its episode minus the baseline.

    Differences are first divided by the "scale" of the episode's first state, as instances differ in size, and then by their root
    mean square over the episodes.
    """
    import numpy as np

    lengths = episodes.lengths
    first = np.minimum(np.cumsum(lengths) - lengths, lengths.sum() - 1)
    scaled = (episodes.objective - baseline) / episodes.observed["scale"][first]
    root_mean_square = float(np.sqrt((scaled**2).mean()))
    differs = root_mean_square > 1e-9  # smaller differences are rounding
    return np.repeat(scaled / root_mean_square if differs else 0.0 * scaled, lengths).astype(np.float32)

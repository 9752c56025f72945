"""Policy gradient: episodes sampled from the policy, made likelier where they beat a baseline.

REINFORCE with the greedy-rollout baseline of Kool, van Hoof & Welling (ICLR 2019), ReMax (Li et al., ICML 2024; Rennie et al.,
CVPR 2017 called it self-critical) and the shared baseline over several starts of POMO (Kwon et al., NeurIPS 2020).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from torch import Tensor

from corl.adapter import Problem
from corl.decoding.play import Turn
from corl.environment import Environment
from corl.learning.episodes import Choice, Choose, Episodes, record
from corl.learning.replay import Sight
from corl.networks.policy import Arrays, Policy

__all__ = ["GreedyRollout", "Moves", "Starts", "advantages", "choice", "loss", "roll_out", "shared_baseline"]

_NEVER = -100.0  # stands for the log probability of an empty slot, whose products must be 0 and not NaN
_SIGNIFICANCE = 0.05  # of the test by which a better policy becomes the baseline (Kool et al., section 4)


class Starts(NamedTuple):
    """E episodes to play."""

    instances: Sequence[Any]
    which: NDArray[np.int64]
    """[E] the instance of each."""
    keys: NDArray[np.uint64]
    """[E] as `Environment.reset` takes them."""


class Moves(NamedTuple):
    """N moves to learn from."""

    sight: Sight
    slot: NDArray[np.integer]
    """[N] what was done."""
    policy: NDArray[np.float32]
    """[N, K] the policy that did it."""
    advantage: NDArray[np.float32]
    """[N]"""


def choice(network: Policy, environment: Environment, random: np.random.Generator | None) -> Choose:
    """A `choose` for `record`: samples of a network's policy, or with None its likeliest actions."""
    evaluator = network.on(environment)

    def choose(turn: Turn, seen: Arrays) -> Choice:
        logits, _ = evaluator.evaluate(turn.view)
        policy = softmax(logits.astype(np.float64), axis=1)
        if random is None:
            return Choice(policy.argmax(axis=1), policy.astype(np.float32), np.zeros(len(policy)))
        below = (np.cumsum(policy, axis=1) <= random.random((len(policy), 1))).sum(axis=1)
        likely = policy.shape[1] - 1 - (policy[:, ::-1] > 0).argmax(axis=1)  # rounding may leave a draw above all sums
        return Choice(np.minimum(below, likely), policy.astype(np.float32), np.zeros(len(policy)))

    return choose


def roll_out(problem: Problem, starts: Starts, network: Policy, random: np.random.Generator | None) -> Episodes:
    """The episodes that a policy plays from `starts`; `objective` is of whole solutions, higher is better."""
    rows = np.arange(len(starts.which))
    environment = problem.environment(starts.instances, len(rows), name=network.environment)
    base = environment.reset(rows, starts.which, starts.keys)
    return record(network, environment, rows, base, choice(network, environment, random))


def shared_baseline(objective: NDArray[np.float64], which: NDArray[np.int64]) -> NDArray[np.float64]:
    """POMO's: the mean objective of the episodes of the same instance, [E]."""
    means: NDArray[np.float64] = np.bincount(which, objective) / np.maximum(np.bincount(which), 1)
    return means[which]


class GreedyRollout:
    """Kool et al.'s baseline: what the best policy so far gets by its likeliest actions.

    It becomes the present policy where that is better on fixed instances, by a one-sided paired t-test at 5 %.
    """

    def __init__(self, problem: Problem, network: Policy, instances: Sequence[Any]) -> None:
        self.problem = problem
        self.network = copy.deepcopy(network).eval().requires_grad_(False)
        self._watched = Starts(instances, np.arange(len(instances)), np.zeros(len(instances), np.uint64))

    def __call__(self, starts: Starts) -> NDArray[np.float64]:
        """The objectives from the same starts, [E]."""
        return roll_out(self.problem, starts, self.network, None).objective

    def update(self, network: Policy) -> bool:
        """Take over `network` if it is significantly better; returns whether it was."""
        from scipy.stats import ttest_rel

        ours = roll_out(self.problem, self._watched, network, None).objective
        theirs = roll_out(self.problem, self._watched, self.network, None).objective
        if not ours.mean() > theirs.mean() or ttest_rel(ours, theirs).pvalue / 2 >= _SIGNIFICANCE:
            return False
        self.network.load_state_dict(network.state_dict())
        return True

    def state_dict(self) -> dict[str, Any]:
        """What a snapshot holds of it."""
        return dict(self.network.state_dict())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        self.network.load_state_dict(state)


def advantages(episodes: Episodes, baseline: NDArray[np.float64]) -> NDArray[np.float32]:
    """objective - baseline for every move [M], in units of the episode's first state, then of their root mean square."""
    lengths = episodes.lengths
    first = np.minimum(np.cumsum(lengths) - lengths, lengths.sum() - 1)
    units = (episodes.objective - baseline) / episodes.seen["scale"][first]
    size = float(np.sqrt((units**2).mean()))
    return np.repeat(units / size if size > 1e-9 else 0.0 * units, lengths).astype(np.float32)  # below 1e-9: rounding


def loss(network: Policy, moves: Moves, *, entropy: float, proximity: float) -> Tensor:
    """The sum over N moves of - advantage * log probability - `entropy` * the policy's entropy, to be minimised.

    With `proximity` above 0, a step of mirror descent policy optimisation (Tomar et al., ICLR 2022, equation 8): the
    log probability gives way to the ratio to the policy that played, and `proximity` * KL(policy || that one) is added.
    """
    device = next(network.parameters()).device
    slot, gained, before = (torch.from_numpy(array).to(device) for array in (moves.slot, moves.advantage, moves.policy))
    log_policy = network(network.collate(*moves.sight))[0].float().log_softmax(dim=1).clamp_min(_NEVER)
    policy = log_policy.exp()
    taken = log_policy.gather(1, slot.long()[:, None]).squeeze(1)
    spread = -(policy * log_policy).sum(dim=1)
    if proximity == 0.0:
        plain: Tensor = -(gained * taken).sum() - entropy * spread.sum()
        return plain
    log_before = before.log().clamp_min(_NEVER)
    ratio = (taken - log_before.gather(1, slot.long()[:, None]).squeeze(1)).exp()
    divergence = (policy * (log_policy - log_before)).sum(dim=1)
    total: Tensor = -(gained * ratio).sum() + proximity * divergence.sum() - entropy * spread.sum()
    return total

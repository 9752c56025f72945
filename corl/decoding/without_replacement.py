"""Sampling of different action sequences in rounds, each of which is a stochastic beam search.

W. Kool, H. van Hoof & M. Welling, Stochastic beams and where to find them: the Gumbel-top-k trick for sampling sequences
without replacement, ICML 2019 (section 4.1, algorithm 1; appendix B.3 for the arithmetic). J. Pirnay & D. G. Grimm,
Self-improvement for neural combinatorial optimization: sample without replacement, but improve, 2024, for the rounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corl.decoding.beam import Frontier, best_of_each, chunks
from corl.decoding.decode import Decoded, StartStates
from corl.decoding.evaluator import CountedEvaluator
from corl.decoding.noise import gumbels, stream_keys
from corl.decoding.sequence_trees import SequenceTrees
from corl.environment import Environment
from corl.options import Options, option

__all__ = ["Sampler", "WithoutReplacement"]


@dataclass(frozen=True)
class WithoutReplacement(Options):
    """Sampling without replacement: `rounds` rounds of `width` different samples; one round is a stochastic beam search."""

    width: int = option(16, "Samples of each entry per round.", low=1)
    rounds: int = option(1, "The greatest number of rounds; sampling ends earlier if all sequences were sampled.", low=1)
    temperature: float = option(1.0, "Logits are divided by the temperature.", above=0, scale="log")

    def run(self, evaluator: CountedEvaluator, entries: StartStates, found: Decoded) -> None:
        """Use `width` rows for each entry; as many entries are decoded at a time as the pool (the environment) has rows for."""
        exhausted = True
        for part in chunks(evaluator, entries, self.width, f"a beam of width {self.width}"):
            sampler = Sampler(evaluator, part, self.temperature)
            for _ in range(self.rounds):
                sampler.round(self.width, found)
                if sampler.exhausted:
                    break
            exhausted &= sampler.exhausted
        found.exhausted = exhausted


class Sampler:
    """Sampler of solutions without replacement, round after round."""

    def __init__(self, evaluator: CountedEvaluator, entries: StartStates, temperature: float = 1.0) -> None:
        self.evaluator, self.entries, self.temperature = evaluator, entries, temperature
        self.trees = SequenceTrees(len(entries.number), evaluator.environment.width)
        self.unexhausted = np.arange(len(entries.number))
        """int64: the entries that have sequences which were not sampled yet."""
        self.rounds = 0
        """The number of rounds so far."""

    @property
    def exhausted(self) -> bool:
        """Whether every sequence of every entry was sampled."""
        return not self.unexhausted.size

    def round(self, width: int, found: Decoded) -> None:
        """Sample `width` further sequences of each entry, or all remaining ones, by one stochastic beam search.

        The pool must have `width` rows for each entry.
        """
        environment, entries = self.evaluator.environment, self.entries.part(self.unexhausted)
        beam = _Beam(Frontier.roots(environment, entries), self.trees, self.unexhausted)
        streams, time = stream_keys(entries.streams, self.rounds), 0
        while True:
            actions = beam.states.offered(environment)
            live = np.flatnonzero(~beam.states.over)
            if not live.size:
                break
            beam.evaluate(self.evaluator, actions, live, self.temperature)
            beam.perturb(live, streams, time)
            beam.advance(environment, actions, width)
            time += 1
        beam.states.record(environment, entries, np.arange(len(beam.states.entry)), found)
        sampled = beam.parent >= 0  # an episode without any step has no sequence whose probability could be removed
        self.trees.spend(beam.parent[sampled], beam.slot[sampled])
        self.unexhausted = self.unexhausted[self.trees.remaining(self.unexhausted) > -np.inf]
        self.rounds += 1


class _Beam:
    """The M states of a stochastic beam, each with its node in the trees and its perturbed log probability."""

    def __init__(self, states: Frontier, trees: SequenceTrees, entries: NDArray[np.int64]) -> None:
        self.states, self.trees = states, trees
        count = len(states.entry)
        self.mass = trees.remaining(entries)
        """[M] phi in the paper: the log of the state's remaining probability."""
        self.perturbed = self.mass.copy()
        """[M] G in the paper: phi + Gumbel noise, the largest G of all leaves below the state. At the root any number serves."""
        self.node = trees.roots[entries]
        """[M] the state's node; -1 before its first visit."""
        self.parent = np.full(count, -1, np.int64)
        """[M] the node of the state's parent; -1 at a root."""
        self.slot = entries.copy()
        """[M] the slot of the parent that led to the state; at a root the entry."""
        self.scores = np.empty((0, 0))
        """[M, K] G of each child; -inf if there is no such child."""
        self.log_probabilities = np.empty((0, 0))
        """[M, K] the policy's log probability of each action."""

    def evaluate(
        self, evaluator: CountedEvaluator, actions: NDArray[np.int32], live: NDArray[np.int64], temperature: float
    ) -> None:
        """Evaluate those unfinished states (`live`) that have no node yet, and store the log probabilities in new nodes."""
        new = live[self.node[live] < 0]
        if new.size:
            log_probabilities = evaluator.log_probabilities(self.states.row[new], actions[new], temperature)
            self.node[new] = self.trees.extend(self.parent[new], self.slot[new], self.mass[new], log_probabilities)

    def perturb(self, live: NDArray[np.int64], streams: NDArray[np.uint64], time: int) -> None:
        """Set `scores` and `log_probabilities`: draw G for the children so that the largest is the parent's G.

        The arithmetic is that of appendix B.3 of Kool et al. A finished state is its own only child.

        Args:
            live: int64, the indices of the unfinished states.
            streams: uint64 [E], keys of the noise of the entries.
            time: The number of actions taken so far.
        """
        entry, width = self.states.entry, self.trees.log_remaining.shape[1]
        self.scores = np.full((len(entry), width), -np.inf)
        self.scores[self.states.over, 0] = self.perturbed[self.states.over]
        self.log_probabilities = np.zeros_like(self.scores)
        self.log_probabilities[live] = self.trees.log_probability[self.node[live]]
        rank = np.arange(len(entry)) - np.searchsorted(entry, entry)
        noise = gumbels(stream_keys(streams[entry[live]], rank[live]), time, width)
        drawn = self.trees.log_remaining[self.node[live]] + noise
        bound, top = self.perturbed[live][:, None], drawn.max(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            v = bound - drawn + np.log1p(-np.exp(drawn - top))
            conditional = bound - np.maximum(v, 0.0) - np.log1p(np.exp(-np.abs(v)))
        self.scores[live] = np.where(np.isneginf(drawn), -np.inf, conditional)

    def advance(self, environment: Environment, actions: NDArray[np.int32], width: int) -> None:
        """Replace the states by the `width` children of highest G of each entry."""
        count = actions.shape[1]
        chosen = best_of_each(np.repeat(self.states.entry, count), self.scores.ravel(), width)
        parent, slot = np.divmod(chosen, count)
        finished = self.states.over[parent]
        self.states = self.states.advance(environment, parent, actions[parent, slot], self.log_probabilities[parent, slot])
        self.perturbed = self.scores[parent, slot]
        parent_node, node = self.parent[parent], self.node[parent]
        valid_node = np.maximum(node, 0)
        self.mass = np.where(finished, self.mass[parent], self.trees.log_remaining[valid_node, slot])
        self.parent, self.slot = np.where(finished, parent_node, node), np.where(finished, self.slot[parent], slot)
        self.node = np.where(finished, -1, self.trees.child[valid_node, slot]).astype(np.int64)

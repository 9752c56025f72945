"""Self-improvement: sample solutions without replacement, keep the best of each instance, imitate them.

Pirnay & Grimm, Self-improvement for neural combinatorial optimization: sample without replacement, but improve (TMLR 2024).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.decoding import CountedEvaluator, Decoder, decode
from corl.learning.episodes import Episodes
from corl.learning.imitation import follow
from corl.learning.source import Source
from corl.networks.policy import Policy

__all__ = ["Lessons", "improve"]

_EVERY = 2**31  # states of a solution that are kept: all with a choice


class Lessons(NamedTuple):
    """The best of what was sampled."""

    episodes: Episodes
    """Those that lead to the best solutions."""
    best: NDArray[np.float64]
    """[E] the best objective of each instance, its negative where the problem minimises."""
    mean: NDArray[np.float64]
    """[E] the mean objective of its samples, likewise."""


def improve(source: Source, network: Policy, first: int, count: int, sampling: Decoder, rows: int) -> Lessons:
    """Sample solutions of the `count` instances from number `first` on, and make lessons of the best of each.

    sampling: a decoder that samples, in a pool of so many rows.
    """
    problem, instances = source.problem, source.instances(first, count)
    evaluator = CountedEvaluator(problem.environment(instances, rows, name=network.environment), network)
    seed = int(np.random.SeedSequence([source.seed, 3, first]).generate_state(1)[0])
    found = decode(sampling, evaluator, range(count), seed=seed)
    best, total = found.best(count), np.array(found.total)
    mean = np.bincount(found.entry, total) / np.bincount(found.entry, minlength=count)
    random, plans = np.random.default_rng([source.seed, 4, first]), [found.actions[i] for i in best]
    episodes = follow(network, problem, instances, plans, np.zeros(count, np.uint64), _EVERY, random)
    return Lessons(episodes, total[best], mean)

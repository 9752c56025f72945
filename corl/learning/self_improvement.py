"""Self-improvement: sample solutions without replacement, keep the best of each instance, imitate them.

Pirnay & Grimm, Self-improvement for neural combinatorial optimization: sample without replacement, but improve (TMLR 2024).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.learning.imitation import lessons
from corl.learning.selfplay import Source
from corl.networks.policy import Policy
from corl.search.decoding import Evaluator, WithoutReplacement, decode

__all__ = ["Lessons", "improve"]


class Lessons(NamedTuple):
    """The best of what was sampled."""

    moves: dict[str, NDArray[Any]]
    """The states of the best solutions, as corl.learning.imitation.lessons gives them."""
    best: NDArray[np.float64]
    """[E] the best objective of each instance, its negative where the problem minimises."""
    mean: NDArray[np.float64]
    """[E] the mean objective of its samples, likewise."""


def improve(source: Source, network: Policy, first: int, count: int, sampling: WithoutReplacement) -> Lessons:
    """Sample solutions of the `count` instances from number `first` on, and make lessons of the best of each."""
    problem, instances = source.problem, source.instances(first, count)
    evaluator = Evaluator(problem.environment(instances, count * sampling.width), network)
    seed = int(np.random.SeedSequence([source.seed, 3, first]).generate_state(1)[0])
    found = decode(sampling, evaluator, range(count), seed=seed)
    best, total = found.best(count), np.array(found.total)
    mean = np.bincount(found.entry, total) / np.bincount(found.entry, minlength=count)
    every, random = 2**31, np.random.default_rng([source.seed, 4, first])
    moves = lessons(problem, instances, [found.solutions[i] for i in best], network.tokens, every, random)
    return Lessons(moves, total[best], mean)

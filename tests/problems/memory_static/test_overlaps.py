"""The question whether any two of many buffers overlap, beside the definition."""

from __future__ import annotations

import numpy as np

from corl.problems.memory_static.generators import large
from corl.problems.memory_static.instance import first_overlap
from corl.problems.memory_static.overlaps import any_overlap


def test_the_kernel_agrees_with_pairs(random_instance, overlap):
    """At random offsets of small instances, of which some overlap and some do not."""
    answers = []
    for seed in range(400):
        instance = random_instance(2 + seed % 6, seed, "plain")
        offsets = np.random.default_rng(seed).integers(0, 20, instance.n)
        solid = instance.size > 0
        arrays = (instance.lower[solid], instance.upper[solid], offsets[solid], instance.size[solid])
        answers.append(overlap(instance, offsets.tolist()))
        assert (any_overlap(*arrays) if solid.any() else False) == answers[-1], seed
    assert 40 < sum(answers) < 360


def test_many_buffers():
    """Of 60,000, stacked one on the other, none overlap; one moved a unit down does, and the sweep names the pair."""
    instance = large(size=60_000, seed=1)
    offsets = np.cumsum(instance.size) - instance.size
    assert first_overlap(instance.lower, instance.upper, offsets, instance.size) is None
    following = np.flatnonzero((instance.lower[:-1] < instance.upper[1:]) & (instance.lower[1:] < instance.upper[:-1]))
    k = int(following[0]) + 1
    offsets[k] -= 1
    assert sorted(first_overlap(instance.lower, instance.upper, offsets, instance.size)) == [k - 1, k]

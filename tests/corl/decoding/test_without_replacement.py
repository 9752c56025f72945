"""Sampling without replacement: distinct, with the right probabilities, to the last sequence."""

from __future__ import annotations

import numpy as np
import pytest

from corl.decoding import Beam, WithoutReplacement, decode


def sequences(found):
    """The action sequences found, as tuples."""
    return [tuple(actions.tolist()) for actions in found.actions]


@pytest.fixture
def probabilities(instances, evaluator):
    """An instance with 24 tours, and each sequence's probability under the policy."""
    (instance,) = instances(5)
    found = decode(Beam(24), evaluator([instance], 24), [0])
    return instance, {key: np.exp(p) for key, p in zip(sequences(found), found.log_probability)}


@pytest.mark.parametrize(("width", "rounds"), [(24, 1), (30, 1), (7, 4), (5, 9), (1, 24)])
def test_all_sequences_are_found_once(instances, evaluator, width, rounds):
    """In rounds of any width each sequence is sampled once, and then it is over, whatever rounds are left."""
    found = decode(WithoutReplacement(width, rounds), evaluator(instances(5, 4), 60), [0, 1])
    assert found.exhausted
    for entry, count in ((0, 24), (1, 6)):
        mine = [actions for e, actions in zip(found.entry, sequences(found)) if e == entry]
        assert len(mine) == len(set(mine)) == count


def test_prefixes_are_shown_once(instances, evaluator):
    """Over all rounds the network sees each prefix with a choice at most once: 1 + 4 + 4 * 3 of the tours of five cities."""
    tool = evaluator(instances(5), 8)
    decode(WithoutReplacement(3, 8), tool, [0])
    assert tool.rows == 1 + 4 + 4 * 3


@pytest.mark.parametrize(("width", "rounds"), [(2, 1), (1, 2)])
def test_pairs_have_the_right_probabilities(probabilities, evaluator, width, rounds):
    """The first two samples, of one round or of two, are p(a) p(b) / (1 - p(a)) for the ordered pair (chi-squared)."""
    instance, p = probabilities
    keys = sorted(p, key=p.get, reverse=True)
    tool = evaluator([instance], 4000)
    runs = 6000
    found = decode(WithoutReplacement(width, rounds), tool, [0] * runs, seed=2)
    pairs: dict[int, list[tuple]] = {}
    for entry, key in zip(found.entry, sequences(found)):
        pairs.setdefault(entry, []).append(key)
    expected, seen = np.zeros((24, 24)), np.zeros((24, 24))
    for i, a in enumerate(keys):
        for j, b in enumerate(keys):
            expected[i, j] = 0.0 if i == j else runs * p[a] * p[b] / (1.0 - p[a])
    for a, b in pairs.values():
        seen[keys.index(a), keys.index(b)] += 1
    assert seen[expected == 0.0].sum() == 0
    large = expected >= 5.0
    statistic = ((seen - expected)[large] ** 2 / expected[large]).sum()
    rest, seen_rest = expected[~large].sum(), seen[~large].sum()
    statistic += (seen_rest - rest) ** 2 / rest
    freedom = large.sum()
    assert freedom > 30 and statistic < freedom + 3.5 * np.sqrt(2 * freedom)


def test_log_probabilities_are_of_the_policy(probabilities, evaluator):
    """What is reported of a sample is its probability under the policy, not what was left of it."""
    instance, p = probabilities
    found = decode(WithoutReplacement(4, 6), evaluator([instance], 4), [0])
    assert {key: np.exp(q) for key, q in zip(sequences(found), found.log_probability)} == pytest.approx(p)


def test_sharp_policies_do_not_break_it(instances, evaluator):
    """Where a handful of tours have nearly all probability, the rest is still sampled, each once."""
    tool = evaluator(instances(6), 40)
    tool.policy.sharpness = 300.0
    found = decode(WithoutReplacement(16, 8), tool, [0])
    assert found.exhausted and len(set(sequences(found))) == 120 == len(found.entry)

"""corl.problems.tsp.features_matrix: the features do not change where the tours do not."""

from __future__ import annotations

import numpy as np
import pytest

from corl.errors import UsageError
from corl.problems.tsp.environment import TspEnvironment
from corl.problems.tsp.features_matrix import matrix
from corl.problems.tsp.generators import asymmetric, uniform
from corl.problems.tsp.instance import TspInstance


def random_matrix(n, seed):
    """Costs without ties: one assignment is best."""
    costs = np.random.default_rng(seed).random((n, n)) * 1000.0
    np.fill_diagonal(costs, 0.0)
    return costs


def played(costs, start, cities, level="actions"):
    """The tokens after going through `cities` from `start`, and the cities of the tokens."""
    environment = TspEnvironment([TspInstance("a", "EXPLICIT", matrix=costs, symmetric=False)], 1, width=len(costs) - 1)
    environment.reset([0], [0], np.array([start], np.uint64))
    for city in cities:
        environment.step([0], [0], [city])
    seen = environment.observe([0])
    return matrix(seen, level), np.where(seen["mask"][0], seen["cities"][0], -9)


def same(one, other, where):
    """Whether tokens `where` of the other are those of the one."""
    pairs = np.allclose(one.pairs[0], other.pairs[0][np.ix_(where, where)], atol=1e-4)
    return pairs and np.array_equal(one.mask[0], other.mask[0, where]) and np.allclose(one.x[0], other.x[0, where], atol=1e-4)


def places(cities, others):
    """Where the cities of tokens stand among others; the origin and the destination may be one city."""
    n = len(cities)
    return [others.tolist().index(city) if city >= 0 and k < n - 2 else k for k, city in enumerate(cities)]


@pytest.mark.parametrize("steps", [0, 7, 12, 22])
def test_numbers_added_to_rows_and_columns_are_not_seen(steps):
    """Numbers added to rows and columns, and a scale, leave the tokens as they are; raw costs notice them."""
    random, costs = np.random.default_rng(steps), random_matrix(25, 3)
    cities = random.permutation(np.arange(1, 25))[:steps]
    other = 7.0 * (costs + random.integers(-1000, 1000, 25)[:, None] + random.integers(-1000, 1000, 25))
    (tokens, at), (shifted, found) = played(costs, 0, cities), played(other, 0, cities)
    assert same(tokens, shifted, places(at, found))
    (raw, at), (raw_shifted, found) = played(costs, 0, cities, "raw"), played(other, 0, cities, "raw")
    assert not same(raw, raw_shifted, places(at, found))


@pytest.mark.parametrize("steps", [0, 9, 20])
def test_renumbered_cities_look_the_same(steps):
    """Tokens are those of the cities, whatever their numbers."""
    random, costs = np.random.default_rng(1), random_matrix(26, 4)
    number = random.permutation(26)
    other = np.empty_like(costs)
    other[np.ix_(number, number)] = costs
    cities = random.permutation(np.arange(1, 26))[:steps]
    (tokens, at), (renumbered, found) = played(costs, 0, cities), played(other, number[0], number[cities])
    assert same(tokens, renumbered, places(np.where(at >= 0, number[at], at), found))


@pytest.mark.parametrize("level", ["raw", "reduced", "flags", "actions"])
def test_features_are_finite_to_the_end(level):
    """Nothing is NaN or infinite, on matrices with ties, zeros and negative costs alike; masked tokens are zero."""
    random = np.random.default_rng(2)
    costs = [random.integers(-3, 3, (n, n)).astype(float) for n in (2, 3, 9, 40)]
    costs.append(np.zeros((8, 8)))
    environment = TspEnvironment([TspInstance("a", "EXPLICIT", matrix=each, symmetric=False) for each in costs], 5, 20)
    rows = np.arange(5)
    environment.reset(rows, rows)
    for _ in range(40):
        tokens = matrix(environment.observe(rows), level)
        assert all(np.isfinite(array).all() for array in (tokens.x, tokens.pairs, tokens.scale))
        assert (tokens.scale > 0).all() and not tokens.x[~tokens.mask].any() and not tokens.pairs[~tokens.mask].any()
        actions = environment.actions(rows)
        assert np.array_equal(tokens.mask[:, :-2].any(axis=1), actions[:, 0] >= 0)
        assert (tokens.mask[:, :-2].sum(axis=1) <= 16).all()
        live = actions[:, 0] >= 0
        environment.step(rows[live], rows[live], actions[live, 0])


def test_scale_is_the_length_to_come():
    """The unit of values is within 8 % of the length of the tour that the rule of the least estimate builds."""
    environment = TspEnvironment([asymmetric(size=40, seed=s) for s in range(4)], 4)
    rows = np.arange(4)
    environment.reset(rows, rows)
    first, gone = matrix(environment.observe(rows)).scale, np.zeros(4)
    while environment.actions(rows)[0, 0] >= 0:
        seen = environment.observe(rows)
        estimate = np.where(seen["mask"][:, :-2], seen["actions"][..., 0] + seen["actions"][..., 2], np.inf)
        gone -= environment.step(rows, rows, seen["cities"][rows, estimate.argmin(axis=1)])
    assert (np.abs(gone / first - 1.0) < 0.08).all()


def test_coordinates_are_refused():
    """Without a matrix there is nothing to see."""
    environment = TspEnvironment([uniform(size=5)], 1)
    environment.reset([0], [0])
    with pytest.raises(UsageError, match="given by a matrix"):
        matrix(environment.observe([0]))

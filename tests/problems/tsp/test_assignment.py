"""corl.problems.tsp.assignment and remainder: optimal assignments, feasible prices, and what actions make of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from corl.problems.tsp.assignment import assign_rows, assignment_of, reduce_columns
from corl.problems.tsp.environment import TspEnvironment
from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.remaining_assignment import new_remainder, relax, try_action


def random_matrix(n, seed):
    """Whole costs below 100: with many ties."""
    matrix = np.random.default_rng(seed).integers(-20, 100, (n, n)).astype(float)
    np.fill_diagonal(matrix, 0.0)
    return matrix


def least(matrix, forced=None):
    """SciPy's assignment: its cost without the diagonal, and with node 0 sent to `forced`."""
    costs = matrix + np.where(np.eye(len(matrix)) > 0, 1e7, 0.0)
    if forced is not None:
        costs[0, np.arange(len(matrix)) != forced] = 1e7
    return costs[linear_sum_assignment(costs)].sum()


def remainder(n, seed, cities):
    """The remainder of a tour through cities[:-1] to cities[-1], warm from the prices of all."""
    matrix = random_matrix(n, seed)
    whole = assignment_of(matrix)
    work = new_remainder(n + 1)
    m = len(cities) - 1
    work.city[: m + 1] = cities
    heads = [*cities[1:-1], cities[-1]]
    work.out[:m], work.into[0], work.into[1:m] = whole.out[cities[:-1]], whole.into[cities[-1]], whole.into[cities[1:-1]]
    node = {city: k + 1 for k, city in enumerate(heads[:-1])} | {cities[-1]: 0}
    successors = [node.get(whole.successor[city], -1) for city in cities[:-1]]
    work.head[:m] = [-1 if head == k else head for k, head in enumerate(successors)]
    relax(work, matrix, m)
    small = matrix[np.ix_(cities[:-1], [cities[-1], *cities[1:-1]])]
    return work, m, small


@pytest.mark.parametrize("n", [2, 3, 10, 60])
def test_assignment_equals_scipy(n):
    """The assignment problem's value is SciPy's, its prices are feasible, and it leaves the diagonal alone."""
    matrix = random_matrix(n, 6)
    out, into = np.empty(n), np.empty(n)
    column_of, row_of = np.empty(n, np.int32), np.empty(n, np.int32)
    reduce_columns(matrix, out, into, column_of, row_of)
    row = 0
    while row < n:  # in parts of one row
        row = assign_rows(matrix, out, into, column_of, row_of, row, 0)
    reduced = matrix + np.where(np.eye(n) > 0, 1e7, 0.0) - out[:, None] - into
    assert out.sum() + into.sum() == least(matrix)
    assert (reduced >= -1e-9).all()
    assert (column_of != np.arange(n)).all() and np.array_equal(np.sort(column_of), np.arange(n))
    assert np.array_equal(assignment_of(matrix).successor, column_of)


@pytest.mark.parametrize(("n", "left"), [(5, 2), (12, 3), (20, 9), (60, 40)])
def test_remainder_is_relaxed(n, left):
    """Warm from prices of the whole, the remainder's assignment is optimal, its reduced costs are nonnegative and tight."""
    random = np.random.default_rng(n)
    work, m, small = remainder(n, n, random.permutation(n)[: left + 1])
    assert m == left
    assert work.out[:m].sum() + work.into[:m].sum() == pytest.approx(least(small))
    assert (work.cost[:m, :m] >= 0.0).all() and np.isinf(np.diag(work.cost)[:m]).all()
    assert work.cost[np.arange(m), work.head[:m]] == pytest.approx(np.zeros(m))
    at = work.head[0]
    while at:
        assert work.cycle[at] == 0
        at = work.head[at]


@pytest.mark.parametrize("seed", range(4))
def test_actions_are_tried(seed):
    """For every next city: the assignment that must go there, by SciPy; the successors tried are that assignment."""
    random = np.random.default_rng(seed)
    work, m, small = remainder(15, seed, random.permutation(15)[:12])
    base = least(small)
    for node in range(1, m):
        regret, cycles, joining = try_action(work, m, node)
        assert regret == pytest.approx(least(small, forced=node) - base)
        if node != work.head[0]:
            trial = work.trial[0, :m]
            assert trial[0] == node and np.array_equal(np.sort(trial), np.arange(m))
            assert small[np.arange(m), trial].sum() - base == pytest.approx(regret)
            assert cycles == work.trial[1, :m].max()
        assert joining >= 0.0 and (joining == 0.0 or cycles > 0)


def test_environment_shows_the_remainder():
    """What is observed: reduced costs are nonnegative and zero to listed successors, bounds and regrets are SciPy's."""
    instance = TspInstance("a", "EXPLICIT", matrix=random_matrix(30, 3), symmetric=False)
    environment = TspEnvironment([instance], 1, width=30)
    environment.reset([0], [0], np.array([7], np.uint64))
    random = np.random.default_rng(3)
    for _ in range(27):
        seen = environment.observe([0])
        listed = environment.actions([0])[0]
        m = int(seen["remaining"][0])
        order = [k for k in range(30) if seen["mask"][0, k] and k < 29]
        origin, destination = seen["cities"][0, -2:]
        tails, heads = [origin, *listed[order]], [destination, *listed[order]]
        small = instance.matrix[np.ix_(tails, heads)]
        assert seen["bound"][0] == pytest.approx(least(small)) and len(order) == m
        prices = seen["prices"][0]
        reduced = small - prices[[29, *order], 0][:, None] - prices[[30, *order], 1] + np.where(np.eye(m + 1) > 0, 1e7, 0.0)
        assert (reduced > -1e-9).all()
        successors = [heads.index(city) for city in seen["successors"][0, [29, *order]]]
        assert reduced[np.arange(m + 1), successors] == pytest.approx(np.zeros(m + 1))
        assert seen["actions"][0, order[0], 0] == pytest.approx(least(small, forced=1) - least(small))
        assert seen["joints"][0, 29, order[0]] == pytest.approx(
            np.inf if 0 in (successors[0] - 1, successors[1]) else reduced[0, successors[1]] + reduced[1, successors[0]]
        )
        environment.step([0], [0], [random.choice(listed[order])])

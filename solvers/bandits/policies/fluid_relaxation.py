"""The fluid relaxation of a bandit: a linear program over the probabilities of the arms' states and levels (HiGHS).

The level of an arm is what it gets at a time: 0 leaves it alone, 1 of two levels is a pull (see BanditInstance). At every time,
the constraint holds only in expectation. The program's value therefore bounds the expected reward of every policy.
Its dual values are the prices of the levels: the price of a level of an arm at a time is what the other arms lose by it
(Brown & Smith, Management Science 66, 2020; for a budget, Whittle 1988 and Weber & Weiss 1990).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array

from corl.deadline import program_solved
from corl.errors import SolverError
from corl.problems.bandits.instance import BanditInstance

__all__ = ["FluidSolution", "solve_fluid"]


class FluidSolution(NamedTuple):
    """An optimal solution of the relaxation."""

    bound: float
    """The value of the relaxation: no policy's expected mean reward per step is higher."""
    level_values: NDArray[np.float64]
    """[T, J, A, S] the value if arm j, in state s, gets level a at time t: its weighted reward plus its `value` at t + 1."""
    value: NDArray[np.float64]
    """[T + 1, J, S] the expected reward of an arm from a time on, minus the prices of its levels; at T, solve_fluid's `after`."""


class _Layout(NamedTuple):
    """The columns of the program.

    First mu[t, j, a, s], the probability that arm j is in state s and gets level a at time t; then z[t], the point of the
    constraint's relaxation (`Constraint.relaxation`) at time t.
    """

    first: NDArray[np.int64]
    """[J, A, S] the column of mu[0, j, a, s]; -1 if arm j has no such level or state."""
    chances: int
    """The number of columns of mu at one time."""
    shares: int
    """The number of columns of z at one time."""
    times: int
    """The number of times."""

    def mu(self, time: int) -> int:
        """Return the first column of mu at a time."""
        return time * self.chances

    def z(self, time: int) -> int:
        """Return the first column of z at a time."""
        return self.times * self.chances + time * self.shares


def solve_fluid(
    instance: BanditInstance,
    begin: NDArray[np.float64] | None = None,
    *,
    start: int = 0,
    after: NDArray[np.float64] | None = None,
    steps: int | None = None,
) -> FluidSolution:
    """Return a solution of the relaxation over the times start, start + 1, ... Raises OutOfTime.

    Args:
        instance: The instance.
        begin: float64 [J, S], probabilities of the states at the start; None: their frequencies over the episodes.
        start: The first time.
        after: float64 [J, S], the values of the arms after the last step; None: 0.
        steps: The number of times; None: all up to the horizon.
    """
    weights = instance.weights[start : None if steps is None else start + steps]
    after = np.zeros(instance.rewards[:, 0].shape) if after is None else after
    relaxation = instance.constraint.relaxation()
    exists = instance.exists
    first = np.full(exists.shape, -1, np.int64)
    first[exists] = np.arange(exists.sum())
    layout = _Layout(first, int(exists.sum()), relaxation.inequalities.shape[1], len(weights))
    begin = initial_chances(instance) if begin is None else begin
    flow, flow_right = _flow(instance, layout, begin)
    link, where = _links(instance, layout, relaxation.chance)
    inequalities = _repeated(relaxation.inequalities, layout)
    cost = np.zeros(layout.times * (layout.chances + layout.shares))
    for time, weight in enumerate(weights):
        cost[layout.mu(time) : layout.mu(time) + layout.chances] = -weight * instance.rewards[exists]
    cost[layout.mu(len(weights) - 1) : layout.mu(len(weights))] -= np.einsum("jasn,jn->jas", instance.transitions, after)[exists]
    equal = _stacked(flow, link)
    equal_right = np.concatenate([flow_right, np.zeros(link.shape[0])])
    limit = np.tile(relaxation.limit, layout.times)
    result = program_solved(
        inequalities.nnz + equal.nnz, linprog, cost, inequalities, limit, equal, equal_right, bounds=(0, None), method="highs"
    )
    if result.x is None:
        raise SolverError(f"HiGHS could not solve the fluid relaxation: {result.message}")
    prices = np.zeros((layout.times, *exists.shape[:2]))
    prices[where] = -result.eqlin.marginals[flow.shape[0] :]
    return FluidSolution(-float(result.fun), *_level_values(instance, prices, weights, after))


def initial_chances(instance: BanditInstance) -> NDArray[np.float64]:
    """Return the share of the episodes in which each arm begins in each state, float64 [J, S]."""
    states = instance.rewards.shape[2]
    return (instance.initial[:, :, None] == np.arange(states)).mean(axis=0)  # type: ignore[no-any-return]


def _flow(instance: BanditInstance, layout: _Layout, begin: NDArray[np.float64]) -> tuple[csr_array, NDArray[np.float64]]:
    """Return the equations of flow (matrix, right-hand side), with a row for each (t, j, s).

    The probabilities of the states are `begin` at time 0; later ones follow from the transitions.
    """
    row_of = np.full(begin.shape, -1, np.int64)
    exists = instance.exists[:, 0]
    row_of[exists] = np.arange(exists.sum())
    rows = int(exists.sum())
    arm, level, state = np.nonzero(instance.exists)
    column = layout.first[arm, level, state]
    leaving = coo_array((np.ones(len(arm)), (row_of[arm, state], column)), shape=(rows, layout.chances))
    from_arm, from_level, from_state, to = np.nonzero(instance.transitions * instance.exists[..., None])
    chances = instance.transitions[from_arm, from_level, from_state, to]
    entering = coo_array(
        (chances, (row_of[from_arm, to], layout.first[from_arm, from_level, from_state])), shape=(rows, layout.chances)
    )
    parts = [(leaving, t, t) for t in range(layout.times)] + [(-entering, t, t - 1) for t in range(1, layout.times)]
    data = np.concatenate([part.data for part, _, _ in parts])
    i = np.concatenate([part.coords[0] + t * rows for part, t, _ in parts])
    j = np.concatenate([part.coords[1] + layout.mu(t) for part, _, t in parts])
    matrix = csr_array((data, (i, j)), shape=(layout.times * rows, layout.times * (layout.chances + layout.shares)))
    return matrix, np.concatenate([begin[exists], np.zeros((layout.times - 1) * rows)])


def _links(instance: BanditInstance, layout: _Layout, chance: csr_array) -> tuple[csr_array, tuple[NDArray, ...]]:
    """Return the equations that link mu and z, with a row for each (t, j, a > 0), and the indices of the rows in [T, J, A].

    Row (t, j, a) says that mu and z give level a of arm j the same probability at time t.
    """
    arms, levels = instance.exists.shape[:2]
    pairs = np.argwhere(instance.exists[:, 1:, 0])
    place = np.full((arms, levels), -1, np.int64)
    place[pairs[:, 0], pairs[:, 1] + 1] = np.arange(len(pairs))
    arm, level, state = np.nonzero(instance.exists)
    acts = level > 0
    by_mu = coo_array(
        (np.ones(acts.sum()), (place[arm[acts], level[acts]], layout.first[arm[acts], level[acts], state[acts]])),
        shape=(len(pairs), layout.chances),
    )
    by_z = -chance[pairs[:, 0] * (levels - 1) + pairs[:, 1]].tocoo()
    data, i, j = [], [], []
    for time in range(layout.times):
        for part, begin in ((by_mu, layout.mu(time)), (by_z, layout.z(time))):
            data.append(part.data)
            i.append(part.coords[0] + time * len(pairs))
            j.append(part.coords[1] + begin)
    shape = (layout.times * len(pairs), layout.times * (layout.chances + layout.shares))
    matrix = csr_array((np.concatenate(data), (np.concatenate(i), np.concatenate(j))), shape=shape)
    times = np.repeat(np.arange(layout.times), len(pairs))
    return matrix, (times, np.tile(pairs[:, 0], layout.times), np.tile(pairs[:, 1] + 1, layout.times))


def _repeated(inequalities: csr_array, layout: _Layout) -> csr_array:
    """Return the inequalities of the constraint's relaxation for every time."""
    part = inequalities.tocoo()
    i = np.concatenate([part.coords[0] + t * inequalities.shape[0] for t in range(layout.times)])
    j = np.concatenate([part.coords[1] + layout.z(t) for t in range(layout.times)])
    shape = (layout.times * inequalities.shape[0], layout.times * (layout.chances + layout.shares))
    return csr_array((np.tile(part.data, layout.times), (i, j)), shape=shape)


def _stacked(upper: csr_array, lower: csr_array) -> csr_array:
    from scipy.sparse import vstack

    return csr_array(vstack([upper, lower]))


def _level_values(
    instance: BanditInstance, prices: NDArray[np.float64], weights: NDArray[np.float64], after: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return `level_values` and `value` of FluidSolution, by backward induction for each arm alone, at the prices of its levels.

    prices: float64 [T, J, A].
    """
    times, arms, levels = prices.shape
    level_values = np.zeros((times, arms, levels, instance.rewards.shape[2]))
    value = np.zeros((times + 1, arms, instance.rewards.shape[2]))
    value[times] = after
    for time in range(times - 1, -1, -1):
        level_values[time] = weights[time] * instance.rewards + np.einsum("jasn,jn->jas", instance.transitions, value[time + 1])
        priced = np.where(instance.exists, level_values[time] - prices[time][:, :, None], -np.inf)
        value[time] = np.where(instance.exists[:, 0], priced.max(axis=1), 0.0)
    return level_values, value

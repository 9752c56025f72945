"""The fluid relaxation: arms in chances, the constraint kept in expectation at every time. A linear program (HiGHS).

Its value is a bound on what any policy earns in expectation; its prices say what a level of an arm costs the others at a
time (Brown & Smith, Management Science 66, 2020; for a budget, Whittle 1988 and Weber & Weiss 1990).
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
    """What the relaxation earns: no policy's expected mean reward a step is higher."""
    worth: NDArray[np.float64]
    """[T, J, A, S] of giving a level in a state at a time: its reward, and what the arm then earns under the prices to come."""
    value: NDArray[np.float64]
    """[T + 1, J, S] what an arm earns from a time on under the prices, those paid; at T what was given to come after."""


class _Layout(NamedTuple):
    """Columns: mu[t, j, a, s], the chance of a level in a state, then z[t] of the constraint's relaxation."""

    first: NDArray[np.int64]
    """[J, A, S] columns at time 0, -1 where there is none."""
    chances: int
    """Of mu at one time."""
    shares: int
    """Of z at one time."""
    times: int

    def mu(self, time: int) -> int:
        """Where mu of a time begins."""
        return time * self.chances

    def z(self, time: int) -> int:
        """Where z of a time begins."""
        return self.times * self.chances + time * self.shares


def solve_fluid(
    instance: BanditInstance,
    begin: NDArray[np.float64] | None = None,
    *,
    start: int = 0,
    after: NDArray[np.float64] | None = None,
    steps: int | None = None,
) -> FluidSolution:
    """The relaxation over the times start, start + 1, ... (`steps` of them; to the horizon) from the chances `begin` [J, S].

    begin: the mean of the episodes' beginnings unless given; after [J, S]: what arms are worth behind the last step (nothing).
    Columns: the times, each with the levels and states of all arms. Raises OutOfTime.
    """
    weights = instance.weights[start : None if steps is None else start + steps]
    after = np.zeros(instance.rewards[:, 0].shape) if after is None else after
    relaxation = instance.constraint.relaxation()
    there = instance.there
    first = np.full(there.shape, -1, np.int64)
    first[there] = np.arange(there.sum())
    layout = _Layout(first, int(there.sum()), relaxation.above.shape[1], len(weights))
    begin = initial_chances(instance) if begin is None else begin
    flow, flow_right = _flow(instance, layout, begin)
    link, where = _links(instance, layout, relaxation.chance)
    above = _repeated(relaxation.above, layout)
    cost = np.zeros(layout.times * (layout.chances + layout.shares))
    for time, weight in enumerate(weights):
        cost[layout.mu(time) : layout.mu(time) + layout.chances] = -weight * instance.rewards[there]
    cost[layout.mu(len(weights) - 1) : layout.mu(len(weights))] -= np.einsum("jasn,jn->jas", instance.transitions, after)[there]
    equal = _stacked(flow, link)
    right = np.concatenate([flow_right, np.zeros(link.shape[0])])
    limit = np.tile(relaxation.limit, layout.times)
    found = program_solved(above.nnz + equal.nnz, linprog, cost, above, limit, equal, right, bounds=(0, None), method="highs")
    if found.x is None:
        raise SolverError(f"HiGHS could not solve the fluid relaxation: {found.message}")
    prices = np.zeros((layout.times, *there.shape[:2]))
    prices[where] = -found.eqlin.marginals[flow.shape[0] :]
    return FluidSolution(-float(found.fun), *_worth(instance, prices, weights, after))


def initial_chances(instance: BanditInstance) -> NDArray[np.float64]:
    """[J, S] how often each arm begins in each state, over the episodes."""
    states = instance.rewards.shape[2]
    return (instance.initial[:, :, None] == np.arange(states)).mean(axis=0)  # type: ignore[no-any-return]


def _flow(instance: BanditInstance, layout: _Layout, begin: NDArray[np.float64]) -> tuple[csr_array, NDArray[np.float64]]:
    """An arm is somewhere at time 0, and where it went at every later time: rows (t, j, s)."""
    row_of = np.full(begin.shape, -1, np.int64)
    inside = instance.there[:, 0]
    row_of[inside] = np.arange(inside.sum())
    rows = int(inside.sum())
    arm, level, state = np.nonzero(instance.there)
    column = layout.first[arm, level, state]
    here = coo_array((np.ones(len(arm)), (row_of[arm, state], column)), shape=(rows, layout.chances))
    a, b, c, to = np.nonzero(instance.transitions * instance.there[..., None])
    chances = instance.transitions[a, b, c, to]
    gone = coo_array((chances, (row_of[a, to], layout.first[a, b, c])), shape=(rows, layout.chances))
    parts = [(here, t, t) for t in range(layout.times)] + [(-gone, t, t - 1) for t in range(1, layout.times)]
    data = np.concatenate([part.data for part, _, _ in parts])
    i = np.concatenate([part.coords[0] + t * rows for part, t, _ in parts])
    j = np.concatenate([part.coords[1] + layout.mu(t) for part, _, t in parts])
    matrix = csr_array((data, (i, j)), shape=(layout.times * rows, layout.times * (layout.chances + layout.shares)))
    return matrix, np.concatenate([begin[inside], np.zeros((layout.times - 1) * rows)])


def _links(instance: BanditInstance, layout: _Layout, chance: csr_array) -> tuple[csr_array, tuple[NDArray, ...]]:
    """Level a > 0 of arm j has at time t the chance that z gives it: rows (t, j, a), and their places in [T, J, A]."""
    arms, levels = instance.there.shape[:2]
    pairs = np.argwhere(instance.there[:, 1:, 0])
    place = np.full((arms, levels), -1, np.int64)
    place[pairs[:, 0], pairs[:, 1] + 1] = np.arange(len(pairs))
    arm, level, state = np.nonzero(instance.there)
    acts = level > 0
    taken = coo_array(
        (np.ones(acts.sum()), (place[arm[acts], level[acts]], layout.first[arm[acts], level[acts], state[acts]])),
        shape=(len(pairs), layout.chances),
    )
    given = -chance[pairs[:, 0] * (levels - 1) + pairs[:, 1]].tocoo()
    data, i, j = [], [], []
    for time in range(layout.times):
        for part, begin in ((taken, layout.mu(time)), (given, layout.z(time))):
            data.append(part.data)
            i.append(part.coords[0] + time * len(pairs))
            j.append(part.coords[1] + begin)
    shape = (layout.times * len(pairs), layout.times * (layout.chances + layout.shares))
    matrix = csr_array((np.concatenate(data), (np.concatenate(i), np.concatenate(j))), shape=shape)
    times = np.repeat(np.arange(layout.times), len(pairs))
    return matrix, (times, np.tile(pairs[:, 0], layout.times), np.tile(pairs[:, 1] + 1, layout.times))


def _repeated(above: csr_array, layout: _Layout) -> csr_array:
    """The constraint's rows at every time."""
    part = above.tocoo()
    i = np.concatenate([part.coords[0] + t * above.shape[0] for t in range(layout.times)])
    j = np.concatenate([part.coords[1] + layout.z(t) for t in range(layout.times)])
    shape = (layout.times * above.shape[0], layout.times * (layout.chances + layout.shares))
    return csr_array((np.tile(part.data, layout.times), (i, j)), shape=shape)


def _stacked(upper: csr_array, lower: csr_array) -> csr_array:
    from scipy.sparse import vstack

    return csr_array(vstack([upper, lower]))


def _worth(
    instance: BanditInstance, prices: NDArray[np.float64], weights: NDArray[np.float64], after: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Backwards through time: each arm alone, paying the price of its level. See FluidSolution: worth and value."""
    times, arms, levels = prices.shape
    worth = np.zeros((times, arms, levels, instance.rewards.shape[2]))
    value = np.zeros((times + 1, arms, instance.rewards.shape[2]))
    value[times] = after
    for time in range(times - 1, -1, -1):
        worth[time] = weights[time] * instance.rewards + np.einsum("jasn,jn->jas", instance.transitions, value[time + 1])
        priced = np.where(instance.there, worth[time] - prices[time][:, :, None], -np.inf)
        value[time] = np.where(instance.there[:, 0], priced.max(axis=1), 0.0)
    return worth, value

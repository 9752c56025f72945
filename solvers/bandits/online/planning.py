"""The value of a pull in each state of arms with given transitions: Whittle's index, or the fluid relaxation at its price.

Both follow the curve of an arm: the optimal policy as a function of the price of a pull. At price minus infinity every state is
pulled; with rising price, one state after the other is left alone, at its index (the adaptive greedy algorithm, see
`corl.solvers.bandits.whittle_index`). Given the price, the fluid relaxation decouples into the arms (Whittle 1988; Hawkins, MIT,
2003). With one price for all times, an infinite horizon and a discount, its optimal price is therefore where the arms'
expected discounted pulls together are those that the budget pays for: a quantile of the arms' indices, found by one sort and no
linear program. This is exact if arms are indexable, as all arms with two states are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.jit import kernel

__all__ = ["FLUID", "WHITTLE", "pull_values"]

WHITTLE, FLUID = 0, 1
"""The planners."""
_TINY = 1e-12


@kernel
def pull_values(
    chances: Any, rewards: Any, states: Any, discount: Any, budget: Any, planner: Any, values: Any, later: Any
) -> Any:
    """Write the value of a pull of each arm in each state to `values`, in place; return the price of a pull in the relaxation.

    Args:
        chances: float64 [J, 2, S, S], transition probabilities without (index 0) and with a pull (1).
        rewards: float64 [J, 2, S].
        states: int32 [J], the current states of the arms.
        discount: Above 0 and below 1.
        budget: The number of pulls in a step.
        planner: WHITTLE or FLUID.
        values: float64 [J, S], the result: with WHITTLE the index; with FLUID what a pull adds to the value of the arm, if
            later pulls have the price of the relaxation.
        later: float64 [J, S], a result: the value of the arm in each state, if pulls have that price.
    """
    arms, _, size, _ = chances.shape
    table, pulled = np.empty((size, size + 2)), np.empty(size, np.bool_)
    breaks, drops = np.empty(arms * size), np.empty(arms * size)
    for j in range(arms):
        at = j * size
        _curve(
            chances[j], rewards[j], discount, states[j], table, pulled, values[j], breaks[at : at + size], drops[at : at + size]
        )
    price = _price(breaks, drops, budget / (1.0 - discount))
    for j in range(arms):
        for s in range(size):
            pulled[s] = values[j, s] > price
        _evaluate(chances[j], rewards[j], discount, pulled, table)
        for s in range(size):
            later[j, s] = table[s, size] - price * table[s, size + 1]
            if planner == FLUID:
                gain, fall = _gain(chances[j], rewards[j], discount, table, s)
                values[j, s] = gain - price * (fall - 1.0)
    return price


@kernel
def _price(breaks: Any, drops: Any, affordable: Any) -> Any:
    """Return the lowest price, at least 0, at which the arms' discounted pulls are at most `affordable`."""
    order = np.argsort(breaks)
    total = 0.0
    for k in range(len(order) - 1, -1, -1):
        total += drops[order[k]]
        if total > affordable:
            return max(0.0, breaks[order[k]])
    return 0.0


@kernel
def _curve(
    chances: Any, rewards: Any, discount: Any, begin: Any, table: Any, pulled: Any, index: Any, breaks: Any, drops: Any
) -> None:
    """Write an arm's indices [S], sorted breakpoints [S], and by how much pulls from state `begin` fall at each [S], in place."""
    size = len(index)
    pulled[:] = True
    _evaluate(chances, rewards, discount, pulled, table)
    price, pulls = -np.inf, 1.0 / (1.0 - discount)
    for k in range(size):
        lowest, found = np.inf, -1
        for s in range(size):
            if pulled[s]:
                gain, fall = _gain(chances, rewards, discount, table, s)
                if fall > _TINY and gain / fall < lowest:
                    lowest, found = gain / fall, s
        if found < 0:  # pulls in the other states have no price at which they stop
            for s in range(size):
                if pulled[s]:
                    found = s
            lowest = price
        price = max(price, lowest)
        pulled[found] = False
        index[found] = price
        _evaluate(chances, rewards, discount, pulled, table)
        breaks[k], drops[k] = price, pulls - table[begin, size + 1]
        pulls = table[begin, size + 1]


@kernel(inline=True)
def _gain(chances: Any, rewards: Any, discount: Any, table: Any, s: Any) -> Any:
    """Return (gain, fall): in state s, a pull at price p is better than none by gain - p * fall, if later decisions are fixed."""
    size = rewards.shape[1]
    gain, fall = rewards[1, s] - rewards[0, s], 1.0
    for k in range(size):
        step = discount * (chances[1, s, k] - chances[0, s, k])
        gain += step * table[k, size]
        fall += step * table[k, size + 1]
    return gain, fall


@kernel
def _evaluate(chances: Any, rewards: Any, discount: Any, pulled: Any, table: Any) -> None:
    """Write the discounted rewards and pulls of the policy `pulled` [S] to the last two columns of `table` [S, S + 2], in place.

    Gaussian elimination; the matrix is diagonally dominant, so that no pivoting is needed.
    """
    size = len(pulled)
    for s in range(size):
        a = 1 if pulled[s] else 0
        for k in range(size):
            table[s, k] = -discount * chances[a, s, k]
        table[s, s] += 1.0
        table[s, size], table[s, size + 1] = rewards[a, s], float(a)
    for k in range(size):
        scale = 1.0 / table[k, k]
        for c in range(k + 1, size + 2):
            table[k, c] *= scale
        for s in range(size):
            if s != k:
                factor = table[s, k]
                for c in range(k + 1, size + 2):
                    table[s, c] -= factor * table[k, c]

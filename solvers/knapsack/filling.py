"""Greedy filling in a given order, and the linear relaxation with its dual prices and bound."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from corl.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from corl.problems.knapsack.instance import KnapsackInstance

__all__ = ["fill", "fill_all", "linear_bound", "prices"]

_MAX_COEFFICIENTS = 5_000_000  # greatest number of weights for the linear programme; with more, one capacity alone is considered
_SECONDS_PER_COEFFICIENT = 5e-7  # seconds per weight before HiGHS checks its time limit for the first time
_CORE_SIZE = 10_000  # number of items with which HiGHS needs 0.2 s; with 200,000 items it does not check its time limit for 10 s


@kernel
def _fill(weights: NDArray[np.float64], left: NDArray[np.float64], taken: NDArray[np.bool_]) -> None:
    """Take the items 0, 1, ... that fit, in place.

    Args:
        weights: float64 [k, m].
        left: float64 [m], the unused part of each capacity; reduced by the items taken.
        taken: bool [k], set for the items taken.
    """
    for i in range(len(weights)):
        fits = True
        for c in range(len(left)):
            if weights[i, c] > left[c]:
                fits = False
                break
        if fits:
            taken[i] = True
            for c in range(len(left)):
                left[c] -= weights[i, c]


def fill(weights: NDArray[np.float64], capacity: float) -> NDArray[np.bool_]:
    """Return bool [k]: which items the greedy filling of one capacity takes; `weights`, [k], are in the order of filling."""
    taken = np.zeros(len(weights), bool)
    _fill(weights.reshape(-1, 1), np.array([capacity]), taken)
    return taken


def fill_all(instance: KnapsackInstance, order: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the items, int32 [k], sorted, that are taken if all items are tried in the order `order`, int64 [n]."""
    taken = np.zeros(len(order), bool)
    _fill(np.ascontiguousarray(instance.weights.T[order]), instance.capacities * (1.0 + 5e-10), taken)
    return np.sort(order[taken]).astype(np.int32)


def prices(instance: KnapsackInstance, seconds: float = np.inf) -> NDArray[np.float64] | None:
    """Return dual prices of the capacities in the linear relaxation, float64 [m], not negative.

    If the linear programme would be too large, only the capacity whose relaxation gives the least bound has a price; the prices
    of the other capacities are 0. Returns None if `seconds` do not suffice for the linear programme.
    """
    fitting = (instance.weights <= instance.capacities[:, None]).all(axis=0) & (instance.values > 0)
    values, weights = instance.values[fitting], instance.weights[:, fitting]
    if instance.m > 1 and weights.size <= _MAX_COEFFICIENTS and len(values):
        if seconds < _SECONDS_PER_COEFFICIENT * weights.size:
            return None
        try:
            price = _dual_prices(values, weights, instance.capacities, time.perf_counter() + seconds)
        except TimeoutError:
            return None
        if price is not None:
            return price
    single_prices = [np.zeros(instance.m)]
    for i in range(instance.m):
        single_prices.append(np.zeros(instance.m))
        single_prices[-1][i] = _break_density(values, weights[i], float(instance.capacities[i]))
    return min(single_prices, key=lambda price: _lagrangian_bound(instance, price))


def _dual_prices(
    values: NDArray[np.float64], weights: NDArray[np.float64], capacities: NDArray[np.float64], deadline: float
) -> NDArray[np.float64] | None:
    """Return dual prices of: max values x, weights x <= capacities, 0 <= x <= 1; None if HiGHS finds none. Raises TimeoutError.

    With many items, linear programmes of the core are solved: of the items whose value is nearest to the price of their weights
    (Balas and Zemel, Operations Research 28, 1980). The first prices come from a sample of the items. An item outside the core is
    taken if its value exceeds the price of its weights. This is repeated until the new prices decide every such item in the same
    way.
    """
    n, core_size = len(values), _CORE_SIZE
    if n <= 2 * core_size:
        return _linear_programme(values, weights, capacities, deadline)
    sample = np.arange(0, n, n // core_size)
    price = _linear_programme(values[sample], weights[:, sample], capacities * (len(sample) / n), deadline)
    while price is not None and core_size < n:
        gains = values - price @ weights
        core_items = np.sort(np.argpartition(np.abs(gains), core_size)[:core_size])
        taken = gains > 0
        taken[core_items] = False
        remaining = capacities - weights[:, taken].sum(axis=1)
        if (remaining < 0).any():
            core_size *= 2
            continue
        price = _linear_programme(values[core_items], weights[:, core_items], remaining, deadline)
        if price is not None and not np.delete((values - price @ weights > 0) != taken, core_items).any():
            return price
        core_size += core_size // 4  # a growing core ends the loop
    return _linear_programme(values, weights, capacities, deadline)


def _linear_programme(
    values: NDArray[np.float64], weights: NDArray[np.float64], capacities: NDArray[np.float64], deadline: float
) -> NDArray[np.float64] | None:
    """Return what `_dual_prices` returns, computed by HiGHS on all given items at once."""
    from scipy.optimize import linprog

    seconds = deadline - time.perf_counter()
    if seconds <= 0:
        raise TimeoutError
    limit = {"time_limit": seconds} if seconds < np.inf else {}
    solved = linprog(-values, weights, capacities, bounds=(0.0, 1.0), method="highs", options=limit)
    if solved.status == 1:
        raise TimeoutError
    return np.maximum(0.0, -np.asarray(solved.ineqlin.marginals)) if solved.status == 0 else None


def _break_density(values: NDArray[np.float64], weights: NDArray[np.float64], capacity: float) -> float:
    """Return the density (value over weight) of the first item, by density, that no longer fits; 0 if all items fit.

    This is the dual price of the capacity, if there is no other capacity.
    """
    positive = weights > 0
    with np.errstate(over="ignore"):  # weights may be as small as 1e-320
        density = np.minimum(values[positive] / weights[positive], np.finfo(np.float64).max)
    order = np.argsort(-density, kind="stable")
    break_position = int(np.searchsorted(np.cumsum(weights[positive][order]), capacity, "right"))
    return float(density[order[break_position]]) if break_position < len(order) else 0.0


def _lagrangian_bound(instance: KnapsackInstance, price: NDArray[np.float64]) -> float:
    """Return the value of the Lagrangian relaxation at the given prices: an upper bound if no price is negative."""
    fitting = (instance.weights <= instance.capacities[:, None]).all(axis=0)
    gains = instance.values[fitting] - price @ instance.weights[:, fitting]
    return float(price @ instance.capacities + np.maximum(0.0, gains).sum())


def linear_bound(instance: KnapsackInstance, price: NDArray[np.float64]) -> float:
    """Return a proven upper bound from the given prices, float64 [m], rounded down if all values are integers."""
    bound = _lagrangian_bound(instance, price) * (1.0 + 1e-12)
    return float(np.floor(bound + 1e-9)) if instance.integral else bound

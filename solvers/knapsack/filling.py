"""Greedy filling by density, and the linear relaxation."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from corl.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from corl.problems.knapsack.instance import KnapsackInstance

__all__ = ["fill", "fill_all", "linear_bound", "prices"]

_MOST = 5_000_000  # entries of the weights up to which the linear programme is solved; above, each capacity is relaxed alone
_READ = 5e-7  # seconds per entry before the time limit is checked for the first time
_CORE = 10_000  # items of a linear programme that HiGHS solves in 0.2 s; with 200,000 it does not check its time limit for 10 s


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
    """Return which items the greedy filling takes, bool [k]; weights are [k], in the order of filling."""
    taken = np.zeros(len(weights), bool)
    _fill(weights.reshape(-1, 1), np.array([capacity]), taken)
    return taken


def fill_all(instance: KnapsackInstance, order: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the items that the greedy filling in this order takes, int32 [k], sorted."""
    taken = np.zeros(len(order), bool)
    _fill(np.ascontiguousarray(instance.weights.T[order]), instance.capacities * (1.0 + 5e-10), taken)
    return np.sort(order[taken]).astype(np.int32)


def prices(instance: KnapsackInstance, seconds: float = np.inf) -> NDArray[np.float64] | None:
    """Return dual prices of the capacities in the linear relaxation, float64 [m], not negative; exact for one capacity.

    If the linear programme would be too large, only the capacity with the tightest relaxation has a price, and the others have 0.
    Returns None if `seconds` do not suffice for the linear programme.
    """
    usable = (instance.weights <= instance.capacities[:, None]).all(axis=0) & (instance.values > 0)
    values, weights = instance.values[usable], instance.weights[:, usable]
    if instance.m > 1 and weights.size <= _MOST and len(values):
        if seconds < _READ * weights.size:
            return None
        try:
            price = _dual_prices(values, weights, instance.capacities, time.perf_counter() + seconds)
        except TimeoutError:
            return None
        if price is not None:
            return price
    alone = [np.zeros(instance.m)]
    for i in range(instance.m):
        alone.append(np.zeros(instance.m))
        alone[-1][i] = _price(values, weights[i], float(instance.capacities[i]))
    return min(alone, key=lambda price: _relaxed(instance, price))


def _dual_prices(
    values: NDArray[np.float64], weights: NDArray[np.float64], capacities: NDArray[np.float64], deadline: float
) -> NDArray[np.float64] | None:
    """Return dual prices of max values x, weights x <= capacities, 0 <= x <= 1; None if HiGHS has none. Raises TimeoutError.

    With many items only the core is solved: the items whose value is nearest to the price of their weights (Balas and Zemel,
    Operations Research 28, 1980). A sample gives the first prices; the other items are taken or left by the sign of value minus
    price, and the core is solved again until its prices agree with all signs.
    """
    n, core = len(values), _CORE
    if n <= 2 * core:
        return _linear_programme(values, weights, capacities, deadline)
    sample = np.arange(0, n, n // core)
    price = _linear_programme(values[sample], weights[:, sample], capacities * (len(sample) / n), deadline)
    while price is not None and core < n:
        gains = values - price @ weights
        inside = np.sort(np.argpartition(np.abs(gains), core)[:core])
        taken = gains > 0
        taken[inside] = False
        left = capacities - weights[:, taken].sum(axis=1)
        if (left < 0).any():
            core *= 2
            continue
        price = _linear_programme(values[inside], weights[:, inside], left, deadline)
        if price is not None and not np.delete((values - price @ weights > 0) != taken, inside).any():
            return price
        core += core // 4  # so that it ends
    return _linear_programme(values, weights, capacities, deadline)


def _linear_programme(
    values: NDArray[np.float64], weights: NDArray[np.float64], capacities: NDArray[np.float64], deadline: float
) -> NDArray[np.float64] | None:
    """Return the same as `_dual_prices`, by HiGHS on all items."""
    from scipy.optimize import linprog

    seconds = deadline - time.perf_counter()
    if seconds <= 0:
        raise TimeoutError
    limit = {"time_limit": seconds} if seconds < np.inf else {}
    solved = linprog(-values, weights, capacities, bounds=(0.0, 1.0), method="highs", options=limit)
    if solved.status == 1:
        raise TimeoutError
    return np.maximum(0.0, -np.asarray(solved.ineqlin.marginals)) if solved.status == 0 else None


def _price(values: NDArray[np.float64], weights: NDArray[np.float64], capacity: float) -> float:
    """Return the density of the break item of a knapsack with one capacity; 0 if all items fit."""
    heavy = weights > 0
    with np.errstate(over="ignore"):  # weights may be as small as 1e-320
        density = np.minimum(values[heavy] / weights[heavy], np.finfo(np.float64).max)
    order = np.argsort(-density, kind="stable")
    full = int(np.searchsorted(np.cumsum(weights[heavy][order]), capacity, "right"))
    return float(density[order[full]]) if full < len(order) else 0.0


def _relaxed(instance: KnapsackInstance, price: NDArray[np.float64]) -> float:
    """Return the Lagrangian relaxation of the capacities at these prices: an upper bound for any non-negative prices."""
    usable = (instance.weights <= instance.capacities[:, None]).all(axis=0)
    gains = instance.values[usable] - price @ instance.weights[:, usable]
    return float(price @ instance.capacities + np.maximum(0.0, gains).sum())


def linear_bound(instance: KnapsackInstance, price: NDArray[np.float64]) -> float:
    """Return a proven upper bound at the prices, rounded down if all values are integers."""
    bound = _relaxed(instance, price) * (1.0 + 1e-12)
    return float(np.floor(bound + 1e-9)) if instance.integral else bound

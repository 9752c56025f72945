"""Random instances, identical for a seed on every machine (NumPy's PCG64 streams).

Classes and ranges are those of D. Pisinger, Where are the hard knapsack problems?, Computers & Operations Research 32, 2005,
section 3. Instances with several capacities are those of P. Chu and J. Beasley, Journal of Heuristics 4, 1998, section 4.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.knapsack.instance import KnapsackInstance

__all__ = [
    "GENERATORS", "almost_strongly_correlated", "inverse_strongly_correlated", "multi", "strongly_correlated", "subset_sum",
    "uniform", "unit", "weakly_correlated",
]  # fmt: skip

_MAX_SIZE = 1_000_000  # greatest number of items, and greatest value of the option `capacity`
_MAX_SPAN = 100_000_000  # greatest value or weight


def uniform(*, size: int = 1000, span: int = 1000, fill: float = 0.5, seed: int = 0) -> KnapsackInstance:
    """Return uncorrelated items, integers uniform in 1..span. The capacity is the share `fill` of the sum of all weights."""
    _check(size, span, fill)
    random = np.random.default_rng(seed)
    weights, values = random.integers(1, span, (2, size), endpoint=True)
    return _instance("uniform", size, span, fill, seed, values, weights)


def weakly_correlated(*, size: int = 1000, span: int = 1000, fill: float = 0.5, seed: int = 0) -> KnapsackInstance:
    """Return items whose values are uniform within span / 10 of their weights, and at least 1."""
    _check(size, span, fill)
    random = np.random.default_rng(seed)
    weights = random.integers(1, span, size, endpoint=True)
    values = np.maximum(1, weights + random.integers(-(span // 10), span // 10, size, endpoint=True))
    return _instance("weakly-correlated", size, span, fill, seed, values, weights)


def strongly_correlated(*, size: int = 1000, span: int = 1000, fill: float = 0.5, seed: int = 0) -> KnapsackInstance:
    """Return items whose value is the weight plus span / 10: many have nearly the same density, hard for branch and bound."""
    _check(size, span, fill)
    weights = np.random.default_rng(seed).integers(1, span, size, endpoint=True)
    return _instance("strongly-correlated", size, span, fill, seed, weights + span // 10, weights)


def inverse_strongly_correlated(*, size: int = 1000, span: int = 1000, fill: float = 0.5, seed: int = 0) -> KnapsackInstance:
    """Return items whose weight is the value plus span / 10: a fixed charge on every item."""
    _check(size, span, fill)
    values = np.random.default_rng(seed).integers(1, span, size, endpoint=True)
    return _instance("inverse-strongly-correlated", size, span, fill, seed, values, values + span // 10)


def almost_strongly_correlated(*, size: int = 1000, span: int = 1000, fill: float = 0.5, seed: int = 0) -> KnapsackInstance:
    """Return items whose values are uniform within span / 500 of the weight plus span / 10."""
    _check(size, span, fill)
    random = np.random.default_rng(seed)
    weights = random.integers(1, span, size, endpoint=True)
    values = np.maximum(1, weights + span // 10 + random.integers(-(span // 500), span // 500, size, endpoint=True))
    return _instance("almost-strongly-correlated", size, span, fill, seed, values, weights)


def subset_sum(*, size: int = 1000, span: int = 1000, fill: float = 0.5, seed: int = 0) -> KnapsackInstance:
    """Return items whose value is the weight: the bound is the capacity, and the question is whether items can fill it."""
    _check(size, span, fill)
    weights = np.random.default_rng(seed).integers(1, span, size, endpoint=True)
    return _instance("subset-sum", size, span, fill, seed, weights, weights)


def multi(*, size: int = 100, constraints: int = 5, fill: float = 0.5, seed: int = 0) -> KnapsackInstance:
    """Return items with several weights, in 0..1000, and values up to 500 above an item's mean weight (Chu and Beasley)."""
    _check(size, 1000, fill)
    if not 1 <= constraints <= 1000:
        raise UsageError(f"constraints: {constraints} is not accepted; accepted: 1 to 1,000")
    random = np.random.default_rng(seed)
    weights = random.integers(0, 1000, (constraints, size), endpoint=True)
    values = np.floor(weights.mean(axis=0) + 500.0 * random.random(size))
    comment = f"corl generate knapsack multi --option size={size} --option constraints={constraints} --option fill={fill!r}"
    return KnapsackInstance(
        f"multi-{size}x{constraints}",
        values,
        weights.astype(np.float64),
        np.floor(fill * weights.sum(axis=1)),
        comment=f"{comment} --seed {seed}",
    )


def unit(*, size: int = 200, capacity: float = 25.0, seed: int = 0) -> KnapsackInstance:
    """Return items with real values and weights in [0, 1), such as KP50, KP100 and KP200 of the learning literature.

    In the literature, these have capacities of 12.5, 25 and 25.
    """
    _check(size, 1, 0.5)
    if not 0.0 <= capacity <= _MAX_SIZE:
        raise UsageError(f"capacity: {capacity} is not accepted; accepted: 0 to {_MAX_SIZE:,}")
    weights, values = np.random.default_rng(seed).random((2, size))
    comment = f"corl generate knapsack unit --option size={size} --option capacity={capacity!r} --seed {seed}"
    return KnapsackInstance(f"unit-{size}", values, weights[None, :], np.array([capacity]), comment=comment)


GENERATORS: dict[str, Callable[..., KnapsackInstance]] = {
    "uniform": uniform,
    "weakly-correlated": weakly_correlated,
    "strongly-correlated": strongly_correlated,
    "inverse-strongly-correlated": inverse_strongly_correlated,
    "almost-strongly-correlated": almost_strongly_correlated,
    "subset-sum": subset_sum,
    "multi": multi,
    "unit": unit,
}


def _check(size: int, span: int, fill: float) -> None:
    """Raise UsageError for an option outside its range."""
    if not 1 <= size <= _MAX_SIZE:
        raise UsageError(f"size: {size} is not accepted; accepted: 1 to {_MAX_SIZE:,}")
    if not 1 <= span <= _MAX_SPAN:
        raise UsageError(f"span: {span} is not accepted; accepted: 1 to {_MAX_SPAN:,}")
    if not 0.0 <= fill <= 1.0:
        raise UsageError(f"fill: {fill} is not accepted; accepted: 0 to 1")


def _instance(
    kind: str, size: int, span: int, fill: float, seed: int, values: NDArray[np.int64], weights: NDArray[np.int64]
) -> KnapsackInstance:
    comment = f"corl generate knapsack {kind} --option size={size} --option span={span} --option fill={fill!r} --seed {seed}"
    capacity = np.array([np.floor(fill * weights.sum())])
    return KnapsackInstance(
        f"{kind}-{size}", values.astype(np.float64), weights[None, :].astype(np.float64), capacity, comment=comment
    )

"""Times that cost something or depend on the hour, by brute force: whole times one by one, and a drive simulated leg by leg."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

__all__ = ["latest_below", "reach", "soft_cost"]

_BEYOND = 60  # whole times after the last window and the whole drive that are tried too


def soft_cost(
    windows: Sequence[tuple[float, float]], times: Sequence[float], service: Sequence[float], soft: Sequence[tuple[float, float]],
    rates: Sequence[tuple[float, float]], rate: float,
) -> float:  # fmt: skip
    """The least cost of duration, earliness and lateness of one route over all whole times; inf if none keeps the windows.

    windows, service, soft and rates are those of the nodes of the path; times are the travel times between them.
    """
    finite = [time for pair in (*windows, *soft) for time in pair if math.isfinite(time)]
    grid = np.arange(int(max(finite, default=0.0) + sum(times) + sum(service)) + _BEYOND, dtype=float)
    cost = np.where((grid >= windows[0][0]) & (grid <= windows[0][1]), -rate * grid, math.inf)
    for k, way in enumerate(times):
        far = int(way + service[k])
        cost = np.concatenate([np.full(far, math.inf), np.minimum.accumulate(cost)[: len(grid) - far]])
        (begin, end), (early, late) = soft[k + 1], rates[k + 1]
        cost = cost + early * np.maximum(0.0, begin - grid)
        if late and math.isfinite(end):
            cost = cost + late * np.maximum(0.0, grid - end)
        cost = np.where((grid >= windows[k + 1][0]) & (grid <= windows[k + 1][1]), cost, math.inf)
    return float((cost + rate * grid).min())


def reach(time: float, starts: Sequence[float], ways: Sequence[float]) -> float:
    """When a vehicle that departs at `time` arrives: in each period it covers the share of the way that the period's time allows.

    starts: when each period begins; ways: the travel time of the whole leg in each period.
    """
    covered = 0.0
    for k, way in enumerate(ways):
        ends = starts[k + 1] if k + 1 < len(starts) else math.inf
        if time >= ends:
            continue
        if way == 0.0 or covered + (ends - time) / way >= 1.0:
            return time + (1.0 - covered) * way
        covered += (ends - time) / way
        time = ends
    raise AssertionError("the last period never ends")


def latest_below(value: Callable[[float], float], bound: float, low: float, high: float) -> float:
    """The greatest argument at which a function that never falls is at most `bound`, or `low`, by halving."""
    if value(high) <= bound or value(low) > bound:
        return high if value(high) <= bound else low
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if value(middle) <= bound else (low, middle)
    return low

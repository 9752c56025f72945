"""Lower bounds of the permutation flow shop, from one machine and from pairs of machines."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from corl.problems.flowshop.instance import FlowShopInstance

__all__ = ["lower_bound"]

_MAX_CELLS = 100_000_000  # jobs x machines^2 up to which all pairs of machines give a bound in seconds


def lower_bound(instance: FlowShopInstance, stopped: Callable[[], bool] = lambda: False) -> float:
    """Return the best lower bound found before `stopped` returns True; set-ups are ignored.

    Total completion time: one machine processes the jobs in ascending order of their durations, and each job ends after its tail
    (its durations on the later machines) without waiting. Makespan: the smallest head (durations on the earlier machines), plus
    the optimum of a pair of machines with the machines between them as time lags, plus the smallest tail (B. Lageweg, J. Lenstra
    and A. Rinnooy Kan, Operations Research 26, 1978). For large instances only pairs of adjacent machines and pairs with the
    busiest machine are tried.
    """
    duration = instance.duration
    heads = np.cumsum(duration, axis=1) - duration
    tails = duration.sum(axis=1, keepdims=True) - heads - duration
    if instance.objective == "total_completion_time":
        ends = np.cumsum(np.sort(duration, axis=0), axis=0).sum(axis=0) + instance.jobs * heads.min(axis=0)
        return float((ends + tails.sum(axis=0)).max())
    best = max(float(duration.sum(axis=1).max()), float((heads.min(axis=0) + duration.sum(axis=0) + tails.min(axis=0)).max()))
    busiest = int(duration.sum(axis=0).argmax())
    all_pairs = instance.jobs * instance.machines**2 <= _MAX_CELLS
    for first in range(instance.machines):
        for second in range(first + 1, instance.machines):
            if all_pairs or second == first + 1 or busiest in (first, second):
                if stopped():
                    return best
                lag = heads[:, second] - heads[:, first] - duration[:, first]
                ends = _two_machines(duration[:, first], lag, duration[:, second])
                best = max(best, float(heads[:, first].min() + ends + tails[:, second].min()))
    return best


def _two_machines(a: NDArray[np.int64], lag: NDArray[np.int64], b: NDArray[np.int64]) -> int:
    """Return the optimal makespan of two machines with time lags between them (L. Mitten, Management Science 5, 1959).

    An optimal sequence is given by Johnson's rule for the durations a + lag and lag + b.

    Args:
        a: int64 [n], durations on the first machine.
        lag: int64 [n], the minimum time between the end on the first machine and the start on the second.
        b: int64 [n], durations on the second machine.
    """
    in_front = a <= b
    key = np.where(in_front, a + lag, -(lag + b))
    order = np.lexsort((key, ~in_front))
    remaining = np.cumsum(b[order][::-1])[::-1]
    return int((np.cumsum(a[order]) + lag[order] + remaining).max())

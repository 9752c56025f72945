"""Lower bounds of the permutation flow shop, from one machine and from pairs of machines."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from corl.problems.flowshop.instance import FlowShopInstance

__all__ = ["lower_bound"]

_CELLS = 100_000_000  # pairs of machines times jobs, beyond which only neighbours and the busiest machine are paired


def lower_bound(instance: FlowShopInstance, stopped: Callable[[], bool] = lambda: False) -> float:
    """The best bound found before `stopped` says so; set-ups count as nothing.

    Total completion time: the jobs of a machine in the order of their durations there, each going on to its end without waiting.
    Makespan: of every pair of machines the best that these can do alone, with what lies between them as time lags (B. Lageweg,
    J. Lenstra and A. Rinnooy Kan, Operations Research 26, 1978), after the least head and before the least tail.
    """
    duration = instance.duration
    heads = np.cumsum(duration, axis=1) - duration
    tails = duration.sum(axis=1, keepdims=True) - heads - duration
    if instance.objective == "total_completion_time":
        ends = np.cumsum(np.sort(duration, axis=0), axis=0).sum(axis=0) + instance.jobs * heads.min(axis=0)
        return float((ends + tails.sum(axis=0)).max())
    best = max(float(duration.sum(axis=1).max()), float((heads.min(axis=0) + duration.sum(axis=0) + tails.min(axis=0)).max()))
    busiest = int(duration.sum(axis=0).argmax())
    everything = instance.jobs * instance.machines**2 <= _CELLS
    for first in range(instance.machines):
        for second in range(first + 1, instance.machines):
            if everything or second == first + 1 or busiest in (first, second):
                if stopped():
                    return best
                lag = heads[:, second] - heads[:, first] - duration[:, first]
                ends = _two_machines(duration[:, first], lag, duration[:, second])
                best = max(best, float(heads[:, first].min() + ends + tails[:, second].min()))
    return best


def _two_machines(a: NDArray[np.int64], lag: NDArray[np.int64], b: NDArray[np.int64]) -> int:
    """The least makespan of two machines with a time lag between them (L. Mitten, Management Science 5, 1959): Johnson's rule for
    a + lag and lag + b."""
    early = a <= b
    key = np.where(early, a + lag, -(lag + b))
    order = np.lexsort((key, ~early))
    behind = np.cumsum(b[order][::-1])[::-1]
    return int((np.cumsum(a[order]) + lag[order] + behind).max())

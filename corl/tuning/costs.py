"""Costs of runs: the gap at the end of a run, or the area under the gap while the clock ran. Both are in 0..1, lower is better.

The gap is Berthold's primal gap to the reference of the instance: its best known value, if one is given and no run was better,
otherwise the best value of any run of the tuning. A run without a solution has the gap 1.

The area is over the logarithm of time, from a hundredth of the limit to the limit: a second counts ten times as much at 1 s as
at 10 s. Over plain time, the last half of a run would be half of the area, and early solutions would not count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from corl.benchmark.reporting.measures import primal_gap, primal_integral
from corl.record import Record

__all__ = ["OBJECTIVES", "cost", "references"]

OBJECTIVES = ("final", "anytime")
"""The gap at the end; the area under the gap."""
_BEGIN = 0.01  # share of the time limit at which the area begins


def references(records: Iterable[Record]) -> dict[str, float]:
    """Return instance -> the value that gaps are measured from: the better of the given one and of those of all runs."""
    found: dict[str, float] = {}
    for record in records:
        better = min if record.sense == "min" else max
        values = [record.objective if record.outcome == "ok" else None, record.reference, found.get(record.instance)]
        if known := [value for value in values if value is not None]:
            found[record.instance] = better(known)
    return found


def cost(record: Record, reference: Mapping[str, float], objective: str) -> float:
    """Return the cost of a run.

    Args:
        record: The run.
        reference: As from `references`.
        objective: One of OBJECTIVES; "anytime" needs a time limit.
    """
    best = reference.get(record.instance)
    if record.outcome != "ok" or best is None:
        return 1.0
    if objective == "final":
        return float(primal_gap(np.nan if record.objective is None else record.objective, best, record.sense))
    assert record.time_limit is not None
    points = np.array(record.trace or ((record.runtime or 0.0, record.objective, None),), float)
    begin = _BEGIN * record.time_limit
    places = np.log(np.clip(points[:, 0], begin, record.time_limit) / begin) / math.log(1 / _BEGIN)
    gaps = primal_gap(points[:, 1], best, record.sense)
    return float(primal_integral(places, gaps, np.zeros(len(places), int), 1, 1.0)[0])

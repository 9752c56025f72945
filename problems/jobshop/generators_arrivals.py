"""Random shops whose jobs arrive over time."""

from __future__ import annotations

import numpy as np

from corl.errors import UsageError
from corl.problems.jobshop.instance import JobShopInstance, from_jobs

__all__ = ["arrivals"]

_LARGEST = 1_000_000  # operations
_LOADS, _TIGHTNESS = (0.8, 0.95), (1.5, 4.0)


def arrivals(*, size: int = 100, machines: int = 10, load: float = 0.0, tightness: float = 0.0, seed: int = 0) -> JobShopInstance:
    """Return `size` jobs that arrive one by one, for the total weighted tardiness (after Holthaus and Rajendran, IJPE 48, 1997).

    A job has 2 to `machines` operations on different machines, with durations uniform in 1..49. The weights of jobs are 1, 2 or
    4, mostly 2.

    Args:
        size: The number of jobs.
        machines: The number of machines.
        load: The share of time for which machines are busy in the long run; times between arrivals are exponential. 0: drawn
            from 0.8 to 0.95.
        tightness: A job is due this many times its own work after its arrival. 0: drawn from 1.5 to 4, once for all jobs.
        seed: Of all random numbers.
    """
    if not (size >= 1 and machines >= 1 and size * machines <= _LARGEST):
        raise UsageError(f"size, machines: {size} x {machines} is not accepted; accepted: from 1, up to {_LARGEST:,} operations")
    if not (load == 0.0 or 0.01 <= load <= 2.0):
        raise UsageError(f"load: {load} is not accepted; accepted: 0.01 to 2, or 0")
    if not 0.0 <= tightness <= 1000.0:
        raise UsageError(f"tightness: {tightness} is not accepted; accepted: 0 to 1000")
    random = np.random.default_rng(seed)
    drawn = random.uniform(*_LOADS), random.uniform(*_TIGHTNESS)
    busy, allowed = load or drawn[0], tightness or drawn[1]
    rows = []
    for _ in range(size):
        order = random.permutation(machines)[: int(random.integers(min(2, machines), machines, endpoint=True))]
        rows.append([[(int(machine), int(random.integers(1, 50)))] for machine in order])
    work = np.array([sum(duration for ((_, duration),) in row) for row in rows])
    gap = 25.0 * (min(2, machines) + machines) / 2.0 / (machines * busy)  # a job's mean work per machine, divided by the load
    release = np.floor(np.cumsum(random.exponential(gap, size))).astype(np.int64)
    comment = f"corl generate jobshop arrivals --option size={size} --option machines={machines} "
    comment += f"--option load={load} --option tightness={tightness} --seed {seed}"
    return from_jobs(
        rows,
        machines,
        name=f"arrivals-{size}x{machines}",
        release=release,
        due=release + np.floor(allowed * work).astype(np.int64),
        weight=random.choice([1, 2, 2, 2, 4], size),
        objective="weighted_tardiness",
        comment=comment,
    )

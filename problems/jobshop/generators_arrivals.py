"""Random shops whose jobs arrive over time."""

from __future__ import annotations

import numpy as np

from corl.errors import UsageError
from corl.problems.jobshop.instance import JobShopInstance, from_jobs

__all__ = ["arrivals"]

_LARGEST = 1_000_000  # operations
_LOADS, _TIGHTNESS = (0.8, 0.95), (1.5, 4.0)


def arrivals(*, size: int = 100, machines: int = 10, load: float = 0.0, tightness: float = 0.0, seed: int = 0) -> JobShopInstance:
    """`size` jobs that arrive one by one, for the total weighted tardiness (after Holthaus and Rajendran, IJPE 48, 1997).

    A job has two operations to as many as there are machines, on different ones, of 1 to 49 each. Times between arrivals are
    exponential, so that machines are busy for the share `load` of the time in the long run; 0: 0.8 to 0.95, drawn. A job is due
    `tightness` times its own work after it arrives; 0: 1.5 to 4, drawn once for all. A job weighs 1, 2 or 4, most 2.
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
    gap = 25.0 * (min(2, machines) + machines) / 2.0 / (machines * busy)  # of a job's mean work, the share of one machine
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

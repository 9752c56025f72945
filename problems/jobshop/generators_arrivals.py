"""Random shops whose jobs arrive over time."""

from __future__ import annotations

import numpy as np

from corl.errors import UsageError
from corl.problems.jobshop.instance import JobShopInstance, from_jobs

__all__ = ["arrivals"]

_MAX_OPERATIONS = 1_000_000
_LOAD_RANGE, _TIGHTNESS_RANGE = (0.8, 0.95), (1.5, 4.0)


def arrivals(*, size: int = 100, machines: int = 10, load: float = 0.0, tightness: float = 0.0, seed: int = 0) -> JobShopInstance:
    """Return jobs that arrive one by one, for the total weighted tardiness (after Holthaus and Rajendran, IJPE 48, 1997).

    A job has 2 to `machines` operations on different machines, with durations uniform in 1..49. The times between arrivals are
    exponential. Weights are 1, 2 or 4, with probabilities 0.2, 0.6 and 0.2.

    Args:
        size: The number of jobs.
        machines: The number of machines.
        load: The share of the time for which a machine is busy in the long run; if 0, uniform in 0.8..0.95.
        tightness: The time from a job's arrival to its due date, divided by the job's total duration; if 0, uniform in 1.5..4,
            one value for all jobs.
        seed: The seed of all random numbers.
    """
    if not (size >= 1 and machines >= 1 and size * machines <= _MAX_OPERATIONS):
        raise UsageError(
            f"size, machines: {size} x {machines} is not accepted; accepted: from 1, up to {_MAX_OPERATIONS:,} operations"
        )
    if not (load == 0.0 or 0.01 <= load <= 2.0):
        raise UsageError(f"load: {load} is not accepted; accepted: 0.01 to 2, or 0")
    if not 0.0 <= tightness <= 1000.0:
        raise UsageError(f"tightness: {tightness} is not accepted; accepted: 0 to 1000")
    random = np.random.default_rng(seed)
    random_load, random_tightness = random.uniform(*_LOAD_RANGE), random.uniform(*_TIGHTNESS_RANGE)
    busy_share, due_factor = load or random_load, tightness or random_tightness
    rows = []
    for _ in range(size):
        order = random.permutation(machines)[: int(random.integers(min(2, machines), machines, endpoint=True))]
        rows.append([[(int(machine), int(random.integers(1, 50)))] for machine in order])
    work = np.array([sum(duration for ((_, duration),) in row) for row in rows])
    mean_work = 25.0 * (min(2, machines) + machines) / 2.0  # of a job: the mean duration times the mean number of operations
    release = np.floor(np.cumsum(random.exponential(mean_work / (machines * busy_share), size))).astype(np.int64)
    comment = f"corl generate jobshop arrivals --option size={size} --option machines={machines} "
    comment += f"--option load={load} --option tightness={tightness} --seed {seed}"
    return from_jobs(
        rows,
        machines,
        name=f"arrivals-{size}x{machines}",
        release=release,
        due=release + np.floor(due_factor * work).astype(np.int64),
        weight=random.choice([1, 2, 2, 2, 4], size),
        objective="weighted_tardiness",
        comment=comment,
    )

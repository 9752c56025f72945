"""FlowShopInstance: the data of one permutation flow shop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError

__all__ = ["HORIZON", "LARGEST_OPERATIONS", "LARGEST_SETUPS", "OBJECTIVES", "FlowShopInstance"]

HORIZON = 10**9
"""The largest accepted total: the sum of all durations plus, for each operation, the longest set-up before it.

Every completion time is then an int32.
"""
LARGEST_OPERATIONS = 10_000_000  # the largest number of operations, n * m
LARGEST_SETUPS = 20_000_000  # the largest number of set-up times, m * (n + 1) * n
OBJECTIVES = ("makespan", "total_completion_time")


@dataclass(frozen=True, eq=False)
class FlowShopInstance:
    """n jobs that visit m machines in the same order; every machine processes the jobs in the same sequence.

    A machine may be set up for a job before the job arrives. Times are integers from 0; n * m is at most LARGEST_OPERATIONS.
    The constructor raises InputError naming the field.
    """

    name: str
    duration: NDArray[np.int64]
    """int64 [n, m]: the duration of each job on each machine."""
    setup: NDArray[np.int64] | None = None
    """int64 [m, n + 1, n]: setup[i, a, b] is the set-up time of machine i between job a and job b directly after it.

    setup[i, n, b] is the set-up time before job b if b is the first job. The constructor also takes [m, n, n], without set-ups
    before first jobs. The diagonal (a = b) is ignored.
    """
    objective: Literal["makespan", "total_completion_time"] = "makespan"
    """The objective: the makespan, or the sum of the jobs' completion times."""
    comment: str = ""

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise InputError(f"{self.objective!r} is not known; accepted: {', '.join(OBJECTIVES)}", field="objective")
        duration = _times(self.duration, "durations", 2)
        jobs, machines = duration.shape
        if duration.size > LARGEST_OPERATIONS:
            message = f"{jobs:,} jobs on {machines:,} machines; accepted: up to {LARGEST_OPERATIONS:,} operations"
            raise InputError(message, field="durations")
        object.__setattr__(self, "duration", duration)
        longest = 0
        if self.setup is not None:
            setup = _times(self.setup, "setups", 3)
            if setup.shape == (machines, jobs, jobs):
                setup = np.concatenate([setup, np.zeros((machines, 1, jobs), np.int64)], axis=1)
            if setup.shape != (machines, jobs + 1, jobs):
                accepted = f"[{machines}, {jobs}, {jobs}] or [{machines}, {jobs + 1}, {jobs}]"
                raise InputError(f"shape {list(setup.shape)} is not accepted; accepted: {accepted}", field="setups")
            if setup.size > LARGEST_SETUPS:
                raise InputError(f"{setup.size:,} numbers; accepted: up to {LARGEST_SETUPS:,}", field="setups")
            object.__setattr__(self, "setup", setup)
            longest = int(setup.max(axis=1).sum())
        if (total := int(duration.sum()) + longest) > HORIZON:
            message = f"all durations with their longest set-ups add up to {total:,}; accepted: {HORIZON:,}"
            raise InputError(message, field="durations")

    @property
    def jobs(self) -> int:
        """The number of jobs, n."""
        return len(self.duration)

    @property
    def machines(self) -> int:
        """The number of machines, m."""
        return int(self.duration.shape[1])


def _times(given: object, field: str, dimensions: int) -> NDArray[np.int64]:
    """Return `given` as a contiguous int64 array. Raises InputError unless it is an array of times with so many dimensions."""
    try:
        array = np.asarray(given)
    except ValueError:  # rows of different lengths
        array = np.zeros(0)
    if array.ndim != dimensions or array.dtype.kind not in "iu" or not array.size:
        raise InputError(f"accepted: an array of integers in {dimensions} dimensions", field=field)
    if not (array.min() >= 0 and array.max() <= HORIZON):
        worst = array[(array < 0) | (array > HORIZON)][0]
        raise InputError(f"{worst} is not accepted; accepted: 0 to {HORIZON:,}", field=field)
    return np.ascontiguousarray(array, np.int64)

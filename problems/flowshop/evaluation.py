"""The judge: the completion times of a sequence, and its objective value. It shares no code with the solvers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.flowshop.instance import FlowShopInstance

__all__ = ["check", "completion", "objective"]


def objective(instance: FlowShopInstance, solution: Any) -> float:
    """Return the makespan or the total completion time. Raises Infeasible unless `solution` has each job once."""
    ends = completion(instance, check(instance, solution))[:, -1]
    return float(ends.max() if instance.objective == "makespan" else ends.sum())


def check(instance: FlowShopInstance, solution: Any) -> NDArray[np.int64]:
    """Return `solution` as int64 [n]. Raises Infeasible, naming the first fault, unless it has each job once."""
    try:
        jobs = np.asarray(solution)
    except ValueError:  # rows of different lengths
        raise Infeasible("a solution is a list of jobs") from None
    if jobs.ndim != 1 or jobs.dtype.kind not in "iu":
        raise Infeasible(f"a solution is a list of jobs, not an array of {jobs.dtype} of shape {list(jobs.shape)}")
    if (outside := (jobs < 0) | (jobs >= instance.jobs)).any():
        raise Infeasible(f"there is no job {jobs[outside.argmax()]}; accepted: 0 to {instance.jobs - 1}")
    counts = np.bincount(jobs, minlength=instance.jobs)
    if (counts != 1).any():
        job = int((counts != 1).argmax())
        raise Infeasible(f"job {job} is done {counts[job]} times; accepted: once")
    return jobs.astype(np.int64)


def completion(instance: FlowShopInstance, sequence: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return when each job of a sequence ends on each machine, int64 [n, m] in the order of the sequence.

    The recursion for the k-th job on machine i is C[k, i] = max(C[k - 1, i] + set-up, C[k, i - 1]) + duration. For each machine
    all k are computed at once: C[k, i] is `busy` (the time if the machine never waited for a job) plus the longest delay that one
    of the first k jobs causes by arriving late.
    """
    ends = np.zeros(instance.duration.shape, np.int64)
    ready = np.zeros(instance.jobs, np.int64)  # when each job reaches the machine
    before = np.append(instance.jobs, sequence[:-1])
    for i in range(instance.machines):
        duration = instance.duration[sequence, i]
        setup = np.zeros_like(duration) if instance.setup is None else instance.setup[i, before, sequence]
        busy = np.cumsum(duration + setup)
        delays = np.maximum(ready + duration - busy, 0)
        ends[:, i] = ready = busy + np.maximum.accumulate(delays)
    return ends

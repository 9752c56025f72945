"""Non-delay dispatching as an event simulation with a queue of jobs at each machine.

Whenever operations end, each free machine starts the operation of the highest priority in its queue. 100,000 operations take a
tenth of a second.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.heap import heap_pop, heap_push
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.rng import uniform
from corl.solvers.jobshop.dispatch.rules import ATC, LOOK_AHEAD, priority

__all__ = ["Queues"]

_MAX_COMPARED = 1000  # jobs of a queue whose priorities are compared, those that wait longest; bounds the time of a decision


class Queues:
    """Builds non-delay schedules of one instance without choices of machines: `run` builds a schedule, `schedule` returns it."""

    def __init__(self, instance: JobShopInstance, look_ahead: float = LOOK_AHEAD) -> None:
        """Allocate the arrays; `look_ahead` is the look-ahead factor of the rules atc and covert."""
        self._look_ahead = look_ahead
        self._instance, jobs, n = instance, instance.jobs, instance.operations
        duration = instance.choice_duration.astype(np.int64)
        total = np.cumsum(duration)
        total_to_job_end = total[instance.first[1:] - 1][instance.job]
        due = np.zeros(jobs, np.int64) if instance.due is None else instance.due
        work_left = total_to_job_end - total + duration
        self._shop = (instance.first, instance.choice_machine, duration, work_left, instance.release, due, instance.weight)
        self._start, self._end = np.zeros(n, np.int64), np.zeros(jobs, np.int64)
        self._position, self._next_waiting = np.zeros(jobs, np.int32), np.zeros(jobs, np.int32)
        self._ends = np.zeros((2, instance.machines), np.int32)
        self._busy = np.zeros(instance.machines, np.int32)
        self._heap_time, self._heap_job = np.zeros(jobs + 1, np.int64), np.zeros(jobs + 1, np.int32)

    def run(self, rule: int, noise: float, random: NDArray[np.uint64]) -> float:
        """Build a schedule by a rule and return its objective value. For the arguments see `Dispatcher.run`."""
        queues = (self._position, self._next_waiting, self._ends, self._busy)
        _build(self._shop, queues, self._heap_time, self._heap_job, rule, noise, self._look_ahead, random, self._start, self._end)
        instance = self._instance
        if instance.objective == "makespan":
            return float(self._end.max())
        assert instance.due is not None
        return float((instance.weight * np.maximum(0, self._end - instance.due)).sum())

    def schedule(self) -> Schedule:
        """Return the schedule that was built last."""
        return Schedule(self._start.copy(), self._instance.choice_machine)


@kernel
def _build(shop, queues, heap_time, heap_job, rule, noise, look_ahead, random, start, end):
    """Write a schedule of N operations in J jobs on M machines to `start`, and the ends of the jobs to `end`.

    A heap holds the next event of each job: its release, then the end of each of its operations.

    Args:
        shop: The instance as (first [J + 1], machine [N], duration [N], work_left [N], release [J], due [J], weight [J]); `first`
            is the first operation of each job, `work_left` the sum of the durations from an operation to the end of its job.
        queues: Work arrays (position [J], next_waiting [J], ends [2, M], busy [M]), overwritten. position: the index, within its
            job, of the operation that waits or runs. next_waiting: the next job in the same queue, or -1. ends: the first and the
            last job of each machine's queue, or -1. busy: 0 if the machine runs an operation, -1 if it is free.
        heap_time: int64 [J + 1], a work array: the times of the events.
        heap_job: int32 [J + 1], a work array: the jobs of the events.
        rule: Index into RULES.
        noise: Priorities are multiplied by random factors, uniform in 1..1 + noise.
        look_ahead: The look-ahead factor of the rules atc and covert.
        random: uint64 [1], the state of the random number generator.
        start: int64 [N], the start times are written here.
        end: int64 [J], the ends of the jobs are written here.
    """
    first, machine, duration, release = shop[0], shop[1], shop[2], shop[4]
    at, _, ends, busy = queues
    jobs = len(release)
    ends[:], busy[:], at[:] = -1, -1, -1
    count = np.int64(0)  # not the literal 0, for which Numba would compile another version of `heap_push`
    for j in range(jobs):
        count = heap_push(heap_time, heap_job, count, release[j], j, True)
    while count > 0:
        now = heap_time[0]
        to_serve = -1  # first of a linked list of free machines that may start an operation; busy[m] = -3 - (next machine, or -1)
        while count > 0 and heap_time[0] == now:
            j = heap_job[0]
            count = heap_pop(heap_time, heap_job, count, True)
            if at[j] >= 0:
                m = machine[first[j] + at[j]]
                busy[m] = -3 - to_serve
                to_serve = m
            end[j], at[j] = now, at[j] + 1
            if first[j] + at[j] < first[j + 1]:
                m = machine[first[j] + at[j]]
                _enqueue(queues, m, j)
                if busy[m] == -1:
                    busy[m] = -3 - to_serve
                    to_serve = m
        while to_serve >= 0:
            m = to_serve
            to_serve, busy[m] = -3 - busy[m], -1
            if ends[0, m] < 0:
                continue
            j = _dequeue(shop, queues, m, now, rule, noise, look_ahead, random, end)
            i = first[j] + at[j]
            start[i], busy[m] = now, 0
            count = heap_push(heap_time, heap_job, count, now + duration[i], j, True)


@kernel
def _enqueue(queues, m, j):
    """Append job j to the queue of machine m."""
    _, next_waiting, ends, _ = queues
    if ends[0, m] < 0:
        ends[0, m] = j
    else:
        next_waiting[ends[1, m]] = j
    ends[1, m], next_waiting[j] = j, -1


@kernel
def _dequeue(shop, queues, m, now, rule, noise, look_ahead, random, ready):
    """Remove the job of the highest priority from the queue of machine m, and return the job.

    Ties are broken by the larger remaining work of the job, then by its lower number. ready: int64 [J], when each job's previous
    operation ended. The other arguments are those of `_build`.
    """
    first, _, duration, work_left, release, due, weight = shop
    at, next_waiting, ends, _ = queues
    total, count, j = 0, 0, ends[0, m]
    while j >= 0 and count < _MAX_COMPARED and rule == ATC:
        total, count, j = total + duration[first[j] + at[j]], count + 1, next_waiting[j]
    mean = total / max(1, count)
    best, chosen, before_chosen, before, count, j = -1.0, -1, -1, -1, 0, ends[0, m]
    while j >= 0 and count < _MAX_COMPARED:
        i = first[j] + at[j]
        operations_left, job_end = first[j + 1] - i, release[j] + work_left[first[j]]
        value = priority(
            rule, duration[i], work_left[i], operations_left, ready[j], job_end, due[j], weight[j], now, mean, look_ahead
        )
        if noise > 0.0:
            value *= 1.0 + noise * uniform(random)
        better = value > best
        if value == best:
            other = work_left[first[chosen] + at[chosen]]
            better = work_left[i] > other or (work_left[i] == other and j < chosen)
        if better:
            best, chosen, before_chosen = value, j, before
        before, count, j = j, count + 1, next_waiting[j]
    if before_chosen < 0:
        ends[0, m] = next_waiting[chosen]
    else:
        next_waiting[before_chosen] = next_waiting[chosen]
    if ends[1, m] == chosen:
        ends[1, m] = before_chosen
    return chosen

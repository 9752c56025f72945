"""Dispatching without delay by queues: time jumps from one end of an operation to the next, and a machine that is free takes
the job of the highest priority among those that wait for it. 100,000 operations take a tenth of a second.
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

_LOOKED_AT = 1000  # jobs at most, those that wait longest


class Queues:
    """Builds schedules of one instance without choices, one at a time."""

    def __init__(self, instance: JobShopInstance, look: float = LOOK_AHEAD) -> None:
        """`look`: the look-ahead of atc and covert."""
        self._look = look
        self._instance, jobs, n = instance, instance.jobs, instance.operations
        duration = instance.choice_duration.astype(np.int64)
        total = np.cumsum(duration)
        through = total[instance.first[1:] - 1][instance.job]  # of all durations up to the end of the job
        due = np.zeros(jobs, np.int64) if instance.due is None else instance.due
        rest = through - total + duration
        self._shop = (instance.first, instance.choice_machine, duration, rest, instance.release, due, instance.weight)
        self._start, self._end = np.zeros(n, np.int64), np.zeros(jobs, np.int64)
        self._at, self._behind = np.zeros(jobs, np.int32), np.zeros(jobs, np.int32)
        self._ends = np.zeros((2, instance.machines), np.int32)
        self._busy = np.zeros(instance.machines, np.int32)
        self._heap_time, self._heap_job = np.zeros(jobs + 1, np.int64), np.zeros(jobs + 1, np.int32)

    def run(self, rule: int, noise: float, random: NDArray[np.uint64]) -> float:
        """Build a schedule by a rule (an index into RULES), priorities multiplied by 1 to 1 + noise; returns its objective."""
        queues = (self._at, self._behind, self._ends, self._busy)
        _build(self._shop, queues, self._heap_time, self._heap_job, rule, noise, self._look, random, self._start, self._end)
        instance = self._instance
        if instance.objective == "makespan":
            return float(self._end.max())
        assert instance.due is not None
        return float((instance.weight * np.maximum(0, self._end - instance.due)).sum())

    def schedule(self) -> Schedule:
        """The schedule built last."""
        return Schedule(self._start.copy(), self._instance.choice_machine)


@kernel
def _build(shop, queues, times, waiting, rule, noise, look, random, start, end):
    """A schedule into `start` and the ends of the jobs into `end`.

    The heap (times, waiting) holds every job's next event: its release, then the end of the operation that it is in.
    """
    first, machine, duration, release = shop[0], shop[1], shop[2], shop[4]
    at, _, ends, busy = queues
    jobs = len(release)
    ends[:], busy[:], at[:] = -1, -1, -1
    count = np.int64(0)  # a literal 0 would make signatures of its own
    for j in range(jobs):
        count = heap_push(times, waiting, count, release[j], j, True)
    while count > 0:
        now = times[0]
        touched = -1  # the free machines to look at, chained through `busy`: -3 - next
        while count > 0 and times[0] == now:
            j = waiting[0]
            count = heap_pop(times, waiting, count, True)
            if at[j] >= 0:
                m = machine[first[j] + at[j]]
                busy[m] = -3 - touched
                touched = m
            end[j], at[j] = now, at[j] + 1
            if first[j] + at[j] < first[j + 1]:
                m = machine[first[j] + at[j]]
                _append(queues, m, j)
                if busy[m] == -1:
                    busy[m] = -3 - touched
                    touched = m
        while touched >= 0:
            m = touched
            touched, busy[m] = -3 - busy[m], -1
            if ends[0, m] < 0:
                continue
            j = _take(shop, queues, m, now, rule, noise, look, random, end)
            i = first[j] + at[j]
            start[i], busy[m] = now, 0
            count = heap_push(times, waiting, count, now + duration[i], j, True)


@kernel
def _append(queues, m, j):
    """Job j behind the queue of machine m."""
    _, behind, ends, _ = queues
    if ends[0, m] < 0:
        ends[0, m] = j
    else:
        behind[ends[1, m]] = j
    ends[1, m], behind[j] = j, -1


@kernel
def _take(shop, queues, m, now, rule, noise, look, random, ready):
    """Take the job of the highest priority out of the queue of machine m: of equals that with more work left, the lower one."""
    first, _, duration, rest, release, due, weight = shop
    at, behind, ends, _ = queues
    total, count, j = 0, 0, ends[0, m]
    while j >= 0 and count < _LOOKED_AT and rule == ATC:
        total, count, j = total + duration[first[j] + at[j]], count + 1, behind[j]
    mean = total / max(1, count)
    best, chosen, before_chosen, before, count, j = -1.0, -1, -1, -1, 0, ends[0, m]
    while j >= 0 and count < _LOOKED_AT:
        i = first[j] + at[j]
        left, whole = first[j + 1] - i, release[j] + rest[first[j]]
        value = priority(rule, duration[i], rest[i], left, ready[j], whole, due[j], weight[j], now, mean, look)
        if noise > 0.0:
            value *= 1.0 + noise * uniform(random)
        better = value > best
        if value == best:
            other = rest[first[chosen] + at[chosen]]
            better = rest[i] > other or (rest[i] == other and j < chosen)
        if better:
            best, chosen, before_chosen = value, j, before
        before, count, j = j, count + 1, behind[j]
    if before_chosen < 0:
        ends[0, m] = behind[chosen]
    else:
        behind[before_chosen] = behind[chosen]
    if ends[1, m] == chosen:
        ends[1, m] = before_chosen
    return chosen

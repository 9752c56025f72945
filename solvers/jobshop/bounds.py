"""Lower bounds: the longest job, and on every machine the one-machine problem with heads and tails and preemption.

The last is solved by Jackson's preemptive schedule (Carlier, European Journal of Operational Research 11, 1982, section 3).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["lower_bound", "preemptive_makespan"]

_ASK_EVERY = 1024  # events of a machine between two looks at whether to stop


def _never() -> bool:
    return False


def lower_bound(instance: JobShopInstance, stopped: Callable[[], bool] = _never) -> int:
    """A proven bound on the objective: of the makespan, or of the weighted tardiness (jobs that never wait).

    Of rules only release times and what is fixed count. Once `stopped` says so, machines not yet looked at are left out: 100,000
    operations take a fifth of a second.
    """
    shortest = instance.shortest.astype(np.int64)
    total = np.cumsum(shortest)
    before_job = np.append(0, total)[instance.first[:-1]]
    head = total - shortest - before_job[instance.job] + instance.release[instance.job]
    if instance.rules is not None:
        head = _later(instance, head, shortest)
    tail = total[instance.first[1:] - 1][instance.job] - total
    end = (head + shortest)[instance.first[1:] - 1]
    if instance.objective != "makespan":
        assert instance.due is not None
        return int((instance.weight * np.maximum(0, end - instance.due)).sum())
    bound = int(end.max())
    counts = np.diff(instance.choice_first)
    bound = max(bound, _load(instance, shortest, head, tail))
    fixed = np.flatnonzero(counts == 1)
    machine = instance.choice_machine[instance.choice_first[fixed]]
    order = np.argsort(machine, kind="stable")
    for group in np.split(fixed[order], np.flatnonzero(np.diff(machine[order])) + 1):
        if stopped():
            break
        if len(group):
            heads, durations, tails = (part[group].tolist() for part in (head, shortest, tail))
            bound = max(bound, preemptive_makespan(heads, durations, tails, stopped))
    return bound


def _later(instance: JobShopInstance, head: np.ndarray, shortest: np.ndarray) -> np.ndarray:
    """The heads with what the rules say of starts: release times of operations, and what is fixed."""
    assert instance.rules is not None
    lowest = np.maximum(head, instance.rules.lowest(instance))
    if instance.rules.fixed_start is not None:
        lowest = np.maximum(lowest, instance.rules.fixed_start)
    reached = lowest - head  # along a job, what is behind an operation comes as much later
    opening = np.zeros(instance.operations, bool)
    opening[instance.first[:-1]] = True
    for i in np.flatnonzero(~opening).tolist():
        reached[i] = max(reached[i], reached[i - 1])
    return np.asarray(head + reached)


def _load(instance: JobShopInstance, shortest: np.ndarray, head: np.ndarray, tail: np.ndarray) -> int:
    """All work, evenly spread over all machines, between the least head and the least tail."""
    return int(head.min() + tail.min()) - int(-shortest.sum() // instance.machines)


def preemptive_makespan(heads: list[int], durations: list[int], tails: list[int], stopped: Callable[[], bool] = _never) -> int:
    """The largest end + tail on one machine where work may be interrupted: always go on with the largest tail.

    Once `stopped` says so, the largest of what has ended by then, which is less or the same.
    """
    arriving = sorted(zip(heads, durations, tails))
    waiting: list[list[int]] = []  # [-tail, work left]
    now, value, k, events = 0, 0, 0, 0
    while k < len(arriving) or waiting:
        events += 1
        if events % _ASK_EVERY == 0 and stopped():
            break
        if not waiting:
            now = max(now, arriving[k][0])
        while k < len(arriving) and arriving[k][0] <= now:
            heapq.heappush(waiting, [-arriving[k][2], arriving[k][1]])
            k += 1
        most = waiting[0][1]
        done = most if k == len(arriving) else min(most, arriving[k][0] - now)
        now += done
        waiting[0][1] -= done
        if waiting[0][1] == 0:
            value = max(value, now - heapq.heappop(waiting)[0])
    return value

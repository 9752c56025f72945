"""Lower bounds: the longest job, the total work, and for each machine the preemptive one-machine problem with heads and tails.

The head of an operation is its earliest start, its tail the least time from the operation's end to the job's end. The one-machine
problem is solved by Jackson's preemptive schedule (Carlier, European Journal of Operational Research 11, 1982, section 3).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from corl.problems.jobshop.resources import least_work

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["lower_bound", "preemptive_makespan"]

_CHECK_INTERVAL = 1024  # events of a machine between two calls of `stopped`


def _never() -> bool:
    return False


def lower_bound(instance: JobShopInstance, stopped: Callable[[], bool] = _never) -> int:
    """Return a proven lower bound of the objective value.

    The bound of the weighted tardiness assumes that no job waits. Of the side constraints only earliest starts, fixed
    operations and resources are considered. 100,000 operations take a fifth of a second.

    Args:
        instance: The instance.
        stopped: Once it returns True, the remaining machines are omitted; the bound is then valid, but weaker.
    """
    shortest = instance.shortest.astype(np.int64)
    total = np.cumsum(shortest)
    before_job = np.append(0, total)[instance.first[:-1]]
    head = total - shortest - before_job[instance.job] + instance.release[instance.job]
    if instance.rules is not None:
        head = _constrained_heads(instance, head, shortest)
    tail = total[instance.first[1:] - 1][instance.job] - total
    end = (head + shortest)[instance.first[1:] - 1]
    if instance.objective != "makespan":
        assert instance.due is not None
        return int((instance.weight * np.maximum(0, end - instance.due)).sum())
    bound = int(end.max())
    counts = np.diff(instance.choice_first)
    bound = max(bound, _total_work_bound(instance, shortest, head, tail), _resource_bound(instance, head, tail))
    bound = bound if stopped() else max(bound, _stage_bound(instance, shortest, head, tail))
    one_choice = np.flatnonzero(counts == 1)
    machine = instance.choice_machine[instance.choice_first[one_choice]]
    order = np.argsort(machine, kind="stable")
    for group in np.split(one_choice[order], np.flatnonzero(np.diff(machine[order])) + 1):
        if stopped():
            break
        if len(group):
            heads, durations, tails = (part[group].tolist() for part in (head, shortest, tail))
            bound = max(bound, preemptive_makespan(heads, durations, tails, stopped))
    return bound


def _constrained_heads(instance: JobShopInstance, head: np.ndarray, shortest: np.ndarray) -> np.ndarray:
    """Return the heads, int64 [N] for N operations, raised to the earliest and the fixed starts of the side constraints."""
    assert instance.rules is not None
    lowest = np.maximum(head, instance.rules.lowest(instance))
    if instance.rules.fixed_start is not None:
        lowest = np.maximum(lowest, instance.rules.fixed_start)
    delay = lowest - head  # a delayed operation delays all later ones of its job
    is_first = np.zeros(instance.operations, bool)
    is_first[instance.first[:-1]] = True
    for i in np.flatnonzero(~is_first).tolist():
        delay[i] = max(delay[i], delay[i - 1])
    return np.asarray(head + delay)


def _total_work_bound(instance: JobShopInstance, shortest: np.ndarray, head: np.ndarray, tail: np.ndarray) -> int:
    """Return the smallest head, plus the total work divided by the number of machines, plus the smallest tail.

    shortest, head, tail: int64 [N], the least duration, the head and the tail of each operation.
    """
    return int(head.min() + tail.min()) - int(-shortest.sum() // instance.machines)


def _stage_bound(instance: JobShopInstance, shortest: np.ndarray, head: np.ndarray, tail: np.ndarray) -> int:
    """Return the largest bound of a stage: of all operations with the same eligible machines, of which there are several.

    If m machines process them, the machines' first operations are different, and so are the last ones. The makespan is then at
    least the work, the m smallest heads and the m smallest tails, divided by m; the stage may use any m of its machines. The
    arguments are as in `_total_work_bound`; the bound is 0 without choices of machines.
    """
    stages: dict[bytes, list[int]] = {}
    for i in np.flatnonzero(np.diff(instance.choice_first) > 1).tolist():
        machines = instance.choice_machine[instance.choice_first[i] : instance.choice_first[i + 1]]
        stages.setdefault(machines.tobytes(), []).append(i)
    bound = 0
    for key, operations in stages.items():
        most = min(len(operations), len(key) // instance.choice_machine.itemsize)
        heads, tails = (np.cumsum(np.sort(part[operations])[:most]) for part in (head, tail))
        bounds = -(-(int(shortest[operations].sum()) + heads + tails) // np.arange(1, most + 1))
        bound = max(bound, int(bounds.min()))
    return bound


def _resource_bound(instance: JobShopInstance, head: np.ndarray, tail: np.ndarray) -> int:
    """Return the largest over all resources of the smallest head, plus the work divided by the units, plus the smallest tail.

    The work of an operation on a resource is the product of its units and its duration; heads and tails are those of operations
    with work. head, tail: int64 [N] as in `_total_work_bound`. The bound is 0 without resources.
    """
    bound = 0
    if instance.rules is not None and instance.rules.capacity is not None:
        for r, capacity in enumerate(instance.rules.capacity.tolist()):
            work = least_work(instance, r)
            if capacity and work.any():
                bound = max(bound, int(head[work > 0].min() + tail[work > 0].min()) - int(-work.sum() // capacity))
    return bound


def preemptive_makespan(heads: list[int], durations: list[int], tails: list[int], stopped: Callable[[], bool] = _never) -> int:
    """Return the makespan of Jackson's preemptive schedule on one machine: the largest sum of an operation's end and its tail.

    At any time the schedule processes the available operation with the largest tail.

    Args:
        heads: The head of each operation.
        durations: The duration of each operation.
        tails: The tail of each operation.
        stopped: Once it returns True, the operations that have not ended are ignored; the result is then still a valid bound.
    """
    by_head = sorted(zip(heads, durations, tails))
    available: list[list[int]] = []  # a heap of [-tail, remaining duration]
    now, value, k, events = 0, 0, 0, 0
    while k < len(by_head) or available:
        events += 1
        if events % _CHECK_INTERVAL == 0 and stopped():
            break
        if not available:
            now = max(now, by_head[k][0])
        while k < len(by_head) and by_head[k][0] <= now:
            heapq.heappush(available, [-by_head[k][2], by_head[k][1]])
            k += 1
        remaining = available[0][1]
        processed = remaining if k == len(by_head) else min(remaining, by_head[k][0] - now)
        now += processed
        available[0][1] -= processed
        if available[0][1] == 0:
            value = max(value, now - heapq.heappop(available)[0])
    return value

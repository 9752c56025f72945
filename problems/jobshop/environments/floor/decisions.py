"""The decisions of the environment "floor" that build a schedule as good as a given one, as examples for imitation learning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.jobshop.environments.floor.environment import FloorEnvironment
from corl.problems.jobshop.evaluation import check, ends
from corl.problems.jobshop.instance import JobShopInstance, Schedule

__all__ = ["decisions"]


def decisions(instance: JobShopInstance, solution: Any) -> NDArray[np.int64]:
    """Return the actions of FloorEnvironment, int64 [steps], that start the operations in the order of a schedule.

    Each machine has its operations in the same order as in the schedule, and starts each as soon as possible; or as soon as in
    the schedule, if all machines would otherwise be idle while a job waits. Raises Infeasible if `solution` is not a feasible
    schedule, and UsageError if all machines are idle in it while a job waits.
    """
    schedule = check(instance, solution)
    try:
        return _followed(instance, schedule, False)
    except UsageError:
        return _followed(instance, schedule, True)


def _followed(instance: JobShopInstance, schedule: Schedule, punctual: bool) -> NDArray[np.int64]:
    """Return the actions.

    punctual: Whether no operation starts earlier than in the schedule as long as another one may start, or waiting is possible.
    """
    environment = FloorEnvironment([instance], 1, len(instance.choice_machine) + 1)
    owner = np.repeat(np.arange(instance.operations), np.diff(instance.choice_first))
    wanted = np.append(instance.choice_machine == schedule.machine[owner], False)
    owner, rank = np.append(owner, 0), _ranks(instance, schedule)
    taken = list[int]()
    while (listed := environment.actions([0])[0])[0] >= 0:
        listed = listed[listed >= 0]
        open_operations = np.arange(instance.operations) >= environment.state.next[0][instance.job]
        least = np.full(instance.machines, instance.operations)
        np.minimum.at(least, schedule.machine[open_operations], rank[open_operations])
        turn = wanted[listed] & (rank[owner[listed]] == least[schedule.machine[owner[listed]]])
        waits = listed[-1] == len(instance.choice_machine)
        if punctual:
            due = turn & (schedule.start[owner[listed]] <= environment.observe([0])["now"][0])
            turn = due if waits or due.any() else turn
        if turn.any():
            taken.append(int(listed[turn.argmax()]))
        elif waits:
            taken.append(int(listed[-1]))
        else:
            taken.append(_undone(instance, environment, listed))
        environment.step([0], [0], taken[-1:])
    return np.array(taken, np.int64)


def _ranks(instance: JobShopInstance, schedule: Schedule) -> NDArray[np.int64]:
    """Return int64 [operations]: the place of each by start and end, equal for operations with the same times."""
    times = np.stack([schedule.start, ends(instance, schedule)])
    order = np.lexsort(times[::-1])
    rank = np.empty(instance.operations, np.int64)
    rank[order] = np.append(0, np.cumsum((np.diff(times[:, order]) != 0).any(axis=0)))
    return rank


def _undone(instance: JobShopInstance, environment: FloorEnvironment, listed: NDArray[np.int32]) -> int:
    """Return a listed action that the next breakdown of its machine undoes. Raises UsageError if there is none."""
    seen = environment.observe([0])
    spells = None if instance.rules is None else instance.rules.spells
    for k, action in enumerate(listed.tolist()):
        now = int(seen["now"][0])
        end = now + int(seen["setup"][0, k] + seen["duration"][0, k])
        if spells is not None and any(now < begin < end for begin, _ in spells(int(seen["machine"][0, k]))):
            return int(action)
    raise UsageError(
        "the environment floor has no decisions of this schedule; accepted: one that is never idle while a job waits"
    )

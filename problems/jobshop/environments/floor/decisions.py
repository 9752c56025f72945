"""The decisions of the environment "floor" that build a schedule as good as a given one, as examples for imitation learning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.jobshop.environments.floor.environment import FloorEnvironment
from corl.problems.jobshop.evaluation import check, ends
from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["decisions"]


def decisions(instance: JobShopInstance, solution: Any) -> NDArray[np.int64]:
    """Return the actions of FloorEnvironment, int64 [steps], that start the operations in the order of a schedule.

    Each machine has its operations in the same order as in the schedule, and starts each as soon as possible. Raises Infeasible
    if `solution` is not a feasible schedule, and UsageError if all machines would be idle while a job waits.
    """
    schedule = check(instance, solution)
    environment = FloorEnvironment([instance], 1, len(instance.choice_machine) + 1)
    owner = np.repeat(np.arange(instance.operations), np.diff(instance.choice_first))
    wanted = np.append(instance.choice_machine == schedule.machine[owner], False)
    owner = np.append(owner, 0)
    order = np.lexsort((ends(instance, schedule), schedule.start))
    rank = np.empty(instance.operations, np.int64)  # equal for operations that start and end at the same times
    times = np.stack([schedule.start, ends(instance, schedule)])[:, order]
    rank[order] = np.append(0, np.cumsum((np.diff(times) != 0).any(axis=0)))
    taken = list[int]()
    while (listed := environment.actions([0])[0])[0] >= 0:
        listed = listed[listed >= 0]
        open_operations = np.arange(instance.operations) >= environment.state.next[0][instance.job]
        least = np.full(instance.machines, instance.operations)
        np.minimum.at(least, schedule.machine[open_operations], rank[open_operations])
        turn = wanted[listed] & (rank[owner[listed]] == least[schedule.machine[owner[listed]]])
        if turn.any():
            taken.append(int(listed[turn.argmax()]))
        elif listed[-1] == len(instance.choice_machine):
            taken.append(int(listed[-1]))
        else:
            taken.append(_undone(instance, environment, listed))
        environment.step([0], [0], taken[-1:])
    return np.array(taken, np.int64)


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

"""The decisions that build a given schedule, or one in which no operation ends later, as examples for imitation learning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.jobshop.environment import JobShopEnvironment
from corl.problems.jobshop.evaluation import check
from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["decisions"]


def decisions(instance: JobShopInstance, solution: Any) -> NDArray[np.int64]:
    """Return actions of JobShopEnvironment, int64 [operations], by which no operation ends later than in `solution`.

    Each step considers the machine on which an operation can end first (Giffler and Thompson). If the operation that `solution`
    sequences next there can start before this end, it is taken. Otherwise the operation that can end first is taken, even if
    `solution` processes it later or on another machine: it delays no other operation. Raises Infeasible if `solution` is not a
    feasible schedule.
    """
    start, machine = check(instance, solution)
    environment = JobShopEnvironment([instance], 1, width=len(instance.choice_machine))
    owner = np.repeat(np.arange(instance.operations), np.diff(instance.choice_first))
    chosen = np.flatnonzero(instance.choice_machine == machine[owner])
    end = start + instance.choice_duration[chosen]
    order = np.lexsort((end, start, machine))
    queues = np.split(order, np.searchsorted(machine[order], np.arange(1, instance.machines)))
    done, actions = np.zeros(instance.operations, bool), np.empty(instance.operations, np.int64)
    for step in range(instance.operations):
        listed = environment.actions([0])[0]
        listed = listed[listed >= 0]
        m = instance.choice_machine[listed[0]]
        while len(queues[m]) and done[queues[m][0]]:  # taken in an earlier step, maybe on another machine
            queues[m] = queues[m][1:]
        choice = chosen[queues[m][0]] if len(queues[m]) else -1
        if choice not in listed:
            observed = environment.observe([0])
            choice = listed[(observed["start"] + observed["duration"])[0, : len(listed)].argmin()]
        environment.step([0], [0], [choice])
        done[owner[choice]], actions[step] = True, choice
    return actions

"""From a schedule to the decisions that build it, or one whose jobs end no later: what imitation learns from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.jobshop.environment import JobShopEnvironment
from corl.problems.jobshop.evaluation import check
from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["decisions"]


def decisions(instance: JobShopInstance, solution: Any) -> NDArray[np.int64]:
    """The choices, int64 [operations], of JobShopEnvironment, by which no operation ends later than in `solution`.

    Of the machine on which something can end first, that is next which the schedule has next there. Where this cannot start
    before that end, what ends first goes before it, though the schedule may have it elsewhere: it is in nobody's way. Raises
    Infeasible for what is no schedule.
    """
    start, machine = check(instance, solution)
    environment = JobShopEnvironment([instance], 1, width=len(instance.choice_machine))
    owner = np.repeat(np.arange(instance.operations), np.diff(instance.choice_first))
    chosen = np.flatnonzero(instance.choice_machine == machine[owner])
    end = start + instance.choice_duration[chosen]
    order = np.lexsort((end, start, machine))
    queues = np.split(order, np.searchsorted(machine[order], np.arange(1, instance.machines)))
    done, taken = np.zeros(instance.operations, bool), np.empty(instance.operations, np.int64)
    for step in range(instance.operations):
        listed = environment.actions([0])[0]
        listed = listed[listed >= 0]
        m = instance.choice_machine[listed[0]]
        while len(queues[m]) and done[queues[m][0]]:  # those that went before it or elsewhere
            queues[m] = queues[m][1:]
        wished = chosen[queues[m][0]] if len(queues[m]) else -1
        if wished not in listed:
            seen = environment.observe([0])
            wished = listed[(seen["start"] + seen["duration"])[0, : len(listed)].argmin()]
        environment.step([0], [0], [wished])
        done[owner[wished]], taken[step] = True, wished
    return taken

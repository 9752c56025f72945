"""The decisions of the environment "floor" that build a given schedule, as examples for imitation learning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.jobshop.environments.floor.environment import FloorEnvironment
from corl.problems.jobshop.evaluation import check
from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["decisions"]


def decisions(instance: JobShopInstance, solution: Any) -> NDArray[np.int64]:
    """Return the actions of FloorEnvironment, int64 [steps], that build a schedule.

    Raises Infeasible if `solution` is not a feasible schedule, and UsageError if an operation or its set-up does not begin at an
    event (an arrival, the end of an operation, the begin or end of a breakdown), or if all machines are idle while a job waits.
    """
    start, machine = check(instance, solution)
    environment = FloorEnvironment([instance], 1, len(instance.choice_machine) + 1)
    owner = np.repeat(np.arange(instance.operations), np.diff(instance.choice_first))
    wanted, taken = np.append(instance.choice_machine == machine[owner], False), list[int]()
    while (listed := environment.actions([0])[0])[0] >= 0:
        seen = environment.observe([0])
        begins = np.append(start[owner], -1)[listed] - seen["setup"][0] == seen["now"][0]
        chosen = np.flatnonzero((listed >= 0) & wanted[listed] & begins)
        if len(chosen):
            taken.append(int(listed[chosen[0]]))
        elif len(instance.choice_machine) in listed and not _is_overdue(listed, wanted, start[owner], seen):
            taken.append(len(instance.choice_machine))
        else:
            raise UsageError("the environment floor has no decisions of this schedule; accepted: one that begins all at events")
        environment.step([0], [0], taken[-1:])
    return np.array(taken, np.int64)


def _is_overdue(listed: NDArray[np.int32], wanted: NDArray[np.bool_], start: NDArray[np.int64], seen: Any) -> bool:
    """Return whether a listed operation should have begun already."""
    late = np.append(start, 2**62)[listed] - seen["setup"][0] < seen["now"][0]
    return bool(((listed >= 0) & wanted[listed] & late).any())

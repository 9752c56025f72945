"""The decisions of the environment "arriving" that build a given non-delay schedule; imitation learns from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.jobshop.environments.arriving.environment import ArrivingEnvironment
from corl.problems.jobshop.evaluation import check
from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["decisions"]

_TRIES = 1000  # the most orders tried of operations of duration zero


def decisions(instance: JobShopInstance, solution: Any) -> NDArray[np.int64]:
    """Return the actions of ArrivingEnvironment, int64 [operations], that build a schedule.

    Operations of duration zero may allow several orders at one time, not all of which can be completed; they are searched by
    backtracking. Raises Infeasible if `solution` is not a feasible schedule, and UsageError if a machine waits while a job waits
    for it.
    """
    start, machine = check(instance, solution)
    environment = ArrivingEnvironment([instance], 1, len(instance.choice_machine))
    owner = np.repeat(np.arange(instance.operations), np.diff(instance.choice_first))
    wanted = instance.choice_machine == machine[owner]
    options: list[list[int]] = []  # the possible choices of each step; the last one is taken
    for _ in range(_TRIES):
        environment.reset([0], [0])
        for choices in options:
            environment.step([0], [0], choices[-1:])
        while len(options) < instance.operations:
            listed = environment.actions([0])[0]
            listed = listed[(listed >= 0) & wanted[listed]]
            begin = listed[start[owner[listed]] == environment.observe([0])["now"][0]]
            if not len(begin):
                break
            # operations of duration zero are taken first
            options.append(begin[np.argsort(-instance.choice_duration[begin], kind="stable")].tolist())
            environment.step([0], [0], options[-1][-1:])
        if len(options) == instance.operations:
            return np.array([choices[-1] for choices in options])
        while options and len(options[-1]) == 1:
            options.pop()
        if not options:
            break
        options[-1].pop()
    raise UsageError("the environment arriving has no decisions of a schedule with delays; accepted: one without")

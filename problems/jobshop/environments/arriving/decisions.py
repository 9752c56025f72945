"""The decisions of the environment "arriving" that build a given non-delay schedule, as examples for imitation learning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.jobshop.environments.arriving.environment import ArrivingEnvironment
from corl.problems.jobshop.evaluation import check
from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["decisions"]

_MAX_TRIES = 1000  # limit of backtracking; operations of duration zero have many orders


def decisions(instance: JobShopInstance, solution: Any) -> NDArray[np.int64]:
    """Return the actions of ArrivingEnvironment, int64 [operations], that build a schedule.

    If operations of duration zero start at the same time on a machine, only some of their orders may lead to the whole schedule;
    an order is found by backtracking. Raises Infeasible if `solution` is not a feasible schedule, and UsageError if it is no
    non-delay schedule (a machine is idle while a job waits for it).
    """
    start, machine = check(instance, solution)
    environment = ArrivingEnvironment([instance], 1, len(instance.choice_machine))
    owner = np.repeat(np.arange(instance.operations), np.diff(instance.choice_first))
    wanted = instance.choice_machine == machine[owner]
    options: list[list[int]] = []  # for each step the actions that are not refuted yet; the last one is taken
    for _ in range(_MAX_TRIES):
        environment.reset([0], [0])
        for choices in options:
            environment.step([0], [0], choices[-1:])
        while len(options) < instance.operations:
            listed = environment.actions([0])[0]
            listed = listed[(listed >= 0) & wanted[listed]]
            begin = listed[start[owner[listed]] == environment.observe([0])["now"][0]]
            if not len(begin):
                break
            # ascending by duration from the end of the list, so that operations of duration zero are tried first
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

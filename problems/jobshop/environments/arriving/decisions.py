"""From a schedule without delays to the decisions of the environment "arriving" that build it: what imitation learns from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.jobshop.environments.arriving.environment import ArrivingEnvironment
from corl.problems.jobshop.evaluation import check
from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["decisions"]

_TRIES = 1000  # of orders in which operations that take no time may have gone


def decisions(instance: JobShopInstance, solution: Any) -> NDArray[np.int64]:
    """The choices, int64 [operations], of ArrivingEnvironment that build a schedule.

    Where operations take no time, several orders may look alike, not all of which go on; the last such choice is then another.
    Raises Infeasible for what is no schedule, and UsageError for one in which a machine waits while a job waits for it.
    """
    start, machine = check(instance, solution)
    environment = ArrivingEnvironment([instance], 1, len(instance.choice_machine))
    owner = np.repeat(np.arange(instance.operations), np.diff(instance.choice_first))
    wanted = instance.choice_machine == machine[owner]
    open_: list[list[int]] = []  # what may begin at each step, the last of which is taken
    for _ in range(_TRIES):
        environment.reset([0], [0])
        for able in open_:
            environment.step([0], [0], able[-1:])
        while len(open_) < instance.operations:
            listed = environment.actions([0])[0]
            listed = listed[(listed >= 0) & wanted[listed]]
            begin = listed[start[owner[listed]] == environment.observe([0])["now"][0]]
            if not len(begin):
                break
            # of several one that takes no time goes first
            open_.append(begin[np.argsort(-instance.choice_duration[begin], kind="stable")].tolist())
            environment.step([0], [0], open_[-1][-1:])
        if len(open_) == instance.operations:
            return np.array([able[-1] for able in open_])
        while open_ and len(open_[-1]) == 1:
            open_.pop()
        if not open_:
            break
        open_[-1].pop()
    raise UsageError("the environment arriving has no decisions of a schedule with delays; accepted: one without")

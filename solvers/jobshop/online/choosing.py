"""`decision`: what starts now on a shop floor, chosen one by one by a function of the environment "floor"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from corl.online.stream import Decision
from corl.problems.jobshop.environments.floor.environment import FloorEnvironment

__all__ = ["decision"]


def decision(knowledge: Any, chooser: Callable[[FloorEnvironment], Callable[[], int]]) -> Decision:
    """Return the decision of a policy that plays the environment "floor", for what is known.

    Args:
        knowledge: What is known (`Known`).
        chooser: Returns, for an environment whose row 0 is the present state, a function that returns the policy's action there;
            -1 at the end of the day.
    """
    from corl.problems.jobshop.online.known import environment_row

    row = environment_row(knowledge)
    choose, starts = chooser(row.environment), list[dict[str, int]]()
    while row.environment.state.now[0] == knowledge.now and (action := choose()) >= 0:
        start = row.start(action)
        if start is None:
            break
        starts.append(start)
        row.environment.step([0], [0], [action])
    return {"start": starts}

"""Conversion of a plan into actions of the mallocGame (README.md, "The game") that approximate the plan."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.problems.memory.environment import MappingEnvironment
from corl.problems.memory.instance import IN, MappingInstance, MappingPlan
from corl.problems.memory.pool import COPY, COPY_KEEP, KEEP, PASS

__all__ = ["decisions"]

_PREFERENCES = {
    KEEP: (KEEP, COPY_KEEP),
    COPY: (COPY,),
    PASS: (),
}  # wanted action -> actions in order of preference; the first legal one is taken, and PASS if none is legal


def decisions(instance: MappingInstance, solution: MappingPlan) -> NDArray[np.int64]:
    """Return the actions, int64 [number of decisions], of a game that keeps and copies the same tensors as `solution`.

    The game itself chooses when copies begin. So it may have no room for a tensor that the plan keeps; then the action is PASS.
    """
    wanted = _wanted(instance, solution)
    environment, row = MappingEnvironment([instance], 1), np.zeros(1, np.int64)
    environment.reset(row, 0)
    taken: list[int] = []
    while (legal := environment.actions(row)[0])[0] >= 0:
        preference = wanted[int(environment.state.current_access[0])]
        action = next((action for action in _PREFERENCES[int(preference)] if action in legal), PASS)
        if preference == KEEP and action == PASS and COPY in legal:
            action = COPY
        environment.step(row, row, np.array([action]))
        taken.append(action)
    return np.array(taken, np.int64)


def _wanted(instance: MappingInstance, plan: MappingPlan) -> NDArray[np.int64]:
    """Return the action that the plan takes at each access, int64 [A].

    KEEP the tensor in fast memory to its next use, COPY it for this use only, or PASS.
    """
    places: dict[int, list[tuple[int, int]]] = {}  # tensor -> spans of operations at which fast memory holds its data
    arrives = {(t, low): end for t, direction, low, end in plan.copies.tolist() if direction == IN}
    for t, low, high, _ in plan.residencies.tolist():
        places.setdefault(t, []).append((arrives.get((t, low), low), high))
    following = np.full(len(instance.access_op), -1, np.int64)
    latest: dict[int, int] = {}
    for a, t in enumerate(instance.access_tensor.tolist()):
        if t in latest:
            following[latest[t]] = a
        latest[t] = a
    wanted = np.full(len(following), PASS, np.int64)
    for a, (t, op) in enumerate(zip(instance.access_tensor.tolist(), instance.access_op.tolist())):
        for begin, end in places.get(t, ()):
            if begin <= op < end:
                continues = following[a] >= 0 and instance.access_op[following[a]] < end
                keeps = continues or (following[a] < 0 and bool(instance.access_write[a]))
                wanted[a] = KEEP if keeps else COPY
    return wanted

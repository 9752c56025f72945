"""The judge of renewable resources: at no time do operations occupy more units of a resource than there are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.jobshop.instance import JobShopInstance
from corl.problems.jobshop.rules import SideConstraints

__all__ = ["check_resources", "usage"]

_Integers = NDArray[np.int64]


def check_resources(
    instance: JobShopInstance,
    rules: SideConstraints,
    start: _Integers,
    machine: NDArray[np.int32],
    end: _Integers,
    place: Callable[[int], str],
) -> None:
    """Raise Infeasible, naming the first time at which a resource is overloaded and an operation that starts there.

    Args:
        instance: The instance.
        rules: Its side constraints, with resources.
        start: int64 [O], start times.
        machine: int32 [O], machines.
        end: int64 [O], end times.
        place: A function that returns the label of an operation for messages.
    """
    assert rules.capacity is not None
    for r, capacity in enumerate(rules.capacity.tolist()):
        times, units = usage(instance, rules, r, start, machine, end)
        if (over := units > capacity).any():
            k = int(over.argmax())
            starting = np.flatnonzero((start == times[k]) & (end > start) & (_demand(instance, rules, r, machine) > 0))
            occupied = f"then {units[k]} units of resource {rules.resource_label(r)} are occupied"
            raise Infeasible(f"{place(int(starting[0]))} starts at {times[k]}; {occupied}; accepted: up to {capacity}")


def usage(
    instance: JobShopInstance,
    rules: SideConstraints,
    resource: int,
    start: _Integers,
    machine: NDArray[np.int32],
    end: _Integers,
) -> tuple[_Integers, _Integers]:
    """Return (times, units): `units[k]` units of a resource are occupied from `times[k]` to `times[k + 1]`.

    The times ascend strictly, no two consecutive units are equal, and the last ones are 0. Arguments as in `check_resources`.
    """
    demand = _demand(instance, rules, resource, machine)
    occupies = (demand > 0) & (end > start)
    times = np.concatenate([start[occupies], end[occupies]])
    changes = np.concatenate([demand[occupies], -demand[occupies]])
    distinct, at = np.unique(times, return_inverse=True)
    change = np.bincount(at, changes, len(distinct)).astype(np.int64)
    return distinct[change != 0], np.cumsum(change[change != 0])


def _demand(instance: JobShopInstance, rules: SideConstraints, resource: int, machine: NDArray[np.int32]) -> _Integers:
    """Return the units of a resource that each operation needs on its machine, int64 [O]."""
    assert rules.demand is not None
    chosen = instance.choice_machine == np.repeat(machine, np.diff(instance.choice_first))
    return np.asarray(rules.demand[chosen, resource])

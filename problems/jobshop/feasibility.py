"""Why a job shop plainly has no solution: an operation that fits nowhere, or fixed operations that break a rule by themselves."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from corl.problems.jobshop.evaluation_rules import next_available
from corl.problems.jobshop.instance import JobShopInstance
from corl.problems.jobshop.rules import FOREVER, Rules

__all__ = ["impossible"]


def impossible(instance: JobShopInstance) -> str:
    """The first such reason; "" where there is none (there may still be no solution)."""
    rules = instance.rules
    if rules is None:
        return ""
    return _fits_nowhere(instance, rules) or (_fixed_against_each_other(instance, rules) if len(rules.fixed) else "")


def _fits_nowhere(instance: JobShopInstance, rules: Rules) -> str:
    """An operation for which no machine that can do it is available long enough, from when it may start on."""
    lowest = rules.lowest(instance)
    if rules.unavailable is None:
        return ""
    gone = np.zeros(instance.machines, bool)
    gone[rules.unavailable[rules.unavailable[:, 2] == FOREVER, 0]] = True
    for i in np.flatnonzero(np.logical_and.reduceat(gone[instance.choice_machine], instance.choice_first[:-1])).tolist():
        if all(next_available(rules, machine, int(lowest[i]), length) is None for machine, length in instance.choices(i)):
            return f"{_place(instance, i)} fits into no time in which a machine that can do it is available"
    return ""


def _fixed_against_each_other(instance: JobShopInstance, rules: Rules) -> str:
    assert rules.fixed_start is not None and rules.fixed_machine is not None
    lowest, end = rules.lowest(instance), {}
    for i in rules.fixed.tolist():
        start, machine = int(rules.fixed_start[i]), int(rules.fixed_machine[i])
        length = dict(instance.choices(i))[machine]
        end[i] = start + length
        if start < lowest[i]:
            return f"{_place(instance, i)} is fixed at {start}; it may start from {lowest[i]}"
        if next_available(rules, machine, start, length) != start:
            return f"{_place(instance, i)} is fixed at {start}, and its machine is not available until it ends at {end[i]}"
    for a, b in pairwise(rules.fixed.tolist()):
        if instance.job[a] == instance.job[b]:
            between = int(instance.shortest[a + 1 : b].sum())
            if end[a] + between > rules.fixed_start[b]:
                before = end[a] + between
                return f"{_place(instance, b)} is fixed at {rules.fixed_start[b]}; what comes before it ends at {before}"
    order = rules.fixed[np.lexsort((rules.fixed_start[rules.fixed], rules.fixed_machine[rules.fixed]))].tolist()
    for a, b in pairwise(order):
        if rules.fixed_machine[a] == rules.fixed_machine[b] and end[a] > rules.fixed_start[b]:
            return f"{_place(instance, a)} and {_place(instance, b)} are fixed at the same time on one machine"
    return ""


def _place(instance: JobShopInstance, operation: int) -> str:
    job = int(instance.job[operation])
    return f"operation {operation - int(instance.first[job])} of job {job}"

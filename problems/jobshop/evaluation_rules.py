"""The judge of an instance's side constraints: earliest starts, no-wait, calendars, set-ups, fixed operations, and resources."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.jobshop.evaluation_blocking import check_blocking, departures
from corl.problems.jobshop.evaluation_resources import check_resources
from corl.problems.jobshop.evaluation_resumable import is_resumable, resumable_span
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.problems.jobshop.rules import FOREVER, SideConstraints

__all__ = ["check_rules", "earliest_span", "early_by", "next_available", "setup_begin", "setups_before"]

_Integers = NDArray[np.int64]


def check_rules(
    instance: JobShopInstance, start: _Integers, machine: NDArray[np.int32], end: _Integers, place: Callable[[int], str]
) -> None:
    """Check the side constraints of a schedule that satisfies all other constraints.

    Raises Infeasible, naming the first violated constraint.

    Args:
        instance: The instance; its `rules` are not None.
        start: int64 [O], start times.
        machine: int32 [O], machines.
        end: int64 [O], when the operations end.
        place: A function that returns the label of an operation for messages.
    """
    rules = instance.rules
    assert rules is not None
    if (wrong := start < (lowest := rules.lowest(instance))).any():
        i = int(wrong.argmax())
        raise Infeasible(f"{place(i)} starts at {start[i]}; accepted: from {lowest[i]}")
    for i in np.flatnonzero(rules.no_wait).tolist() if rules.no_wait is not None else ():
        if start[i] != end[i - 1]:
            required = f"{end[i - 1]}, when the operation before it ends, since it must not wait"
            raise Infeasible(f"{place(i)} starts at {start[i]}; accepted: {required}")
    if rules.fixed_start is not None and rules.fixed_machine is not None:
        for i in rules.fixed:
            if start[i] != rules.fixed_start[i] or machine[i] != rules.fixed_machine[i]:
                where, frozen = (instance.machine_label(int(m)) for m in (machine[i], rules.fixed_machine[i]))
                fixed = f"it is fixed to start at {rules.fixed_start[i]} on machine {frozen}"
                raise Infeasible(f"{place(i)} starts at {start[i]} on machine {where}; {fixed}")
    _check_spells(instance, rules, start, machine, end, place)
    if rules.blocking is not None:
        check_blocking(rules, start, machine, end, place)
    if rules.setups is not None:
        _check_setups(instance, rules, start, machine, end, place)
    if rules.capacity is not None:
        check_resources(instance, rules, start, machine, end, place)


def _check_spells(
    instance: JobShopInstance,
    rules: SideConstraints,
    start: _Integers,
    machine: NDArray[np.int32],
    end: _Integers,
    place: Callable[[int], str],
) -> None:
    """Raise Infeasible if an operation runs while its machine is not available; arguments as in `check_rules`."""
    if rules.unavailable is None:
        return
    order = np.argsort(machine, kind="stable")
    break_machine = rules.unavailable[:, 0]
    spans = np.searchsorted(machine[order], break_machine), np.searchsorted(machine[order], break_machine + 1)
    for (_, begin, stop), first, last in zip(rules.unavailable.tolist(), *spans):
        on_machine = order[first:last]
        wrong = (start[on_machine] < stop) & (end[on_machine] > begin)
        if rules.resumable is not None and stop < FOREVER:  # it may stop at the break, but not start in it
            wrong &= ~rules.resumable[on_machine] | (start[on_machine] >= begin)
        if wrong.any():
            i = int(on_machine[wrong.argmax()])
            on = f" {instance.machine_label(int(machine[i]))}" if instance.machine_names else ""
            until = "is not available from then on" if stop == FOREVER else f"is not available until {stop}"
            runs = f"from {start[i]} " + (f"to {end[i]}" if end[i] < FOREVER else "on")
            raise Infeasible(f"{place(i)} runs {runs}; at {max(begin, start[i])} its machine{on} {until}")


def _check_setups(
    instance: JobShopInstance, rules: SideConstraints, start: _Integers, machine: NDArray[np.int32], end: _Integers,
    place: Callable[[int], str],
) -> None:  # fmt: skip
    """Raise Infeasible if a set-up does not fit between two consecutive operations of a machine, or before its first operation.

    Arguments as in `check_rules`.
    """
    free = np.ones(instance.operations, bool)
    free[rules.fixed] = False
    leaves = departures(rules, start, end)
    for i, before, length in setups_before(instance, start, machine):
        # a job that stays on its machine for its next operation does not hinder the set-up for it
        begin = 0 if before < 0 else int(end[before] if i == before + 1 else leaves[before])
        begin = max(begin, rules.now if free[i] else 0)
        at = next_available(rules, int(machine[i]), begin, length)
        done = FOREVER if at is None else at + length
        if length and done > start[i]:
            which = "the first set-up of its machine" if before < 0 else f"the set-up after {place(before)}"
            raise Infeasible(f"{place(i)} starts at {start[i]}; {which} takes {length} and ends at {done} at the earliest")


def setups_before(instance: JobShopInstance, start: _Integers, machine: NDArray[np.int32]) -> list[tuple[int, int, int]]:
    """Return a triple for each operation, sorted by machine and start; empty if the instance has no set-ups.

    The triple is (operation, its predecessor on the machine or -1, the time of the set-up between the two).
    """
    rules = instance.rules
    if rules is None or rules.setups is None:
        return []
    family, found, before = rules.families(instance), [], -1
    for i in np.lexsort((start, machine)).tolist():
        m = int(machine[i])
        before = before if before >= 0 and machine[before] == m else -1
        if before >= 0:
            length = int(rules.setups[m, family[before], family[i]])
        else:
            length = 0 if rules.first_setups is None else int(rules.first_setups[m, family[i]])
        found.append((i, before, length))
        before = i
    return found


def setup_begin(instance: JobShopInstance, schedule: Schedule, operation: int, length: int) -> int:
    """Return the latest time at which a set-up of `length` before an operation of a feasible schedule can begin."""
    rules, m, end = instance.rules, int(schedule.machine[operation]), int(schedule.start[operation])
    assert rules is not None
    for closes, opens in reversed(rules.spells(m)):
        if end > closes and end - length < opens:
            end = closes
    return end - length


def next_available(rules: SideConstraints, machine: int, begin: int, length: int) -> int | None:
    """Return the earliest time, not before `begin`, from which the machine is available for `length` without a break.

    Returns None if the machine is never available for that long.
    """
    for closes, opens in rules.spells(machine):
        if begin < opens and begin + length > closes:
            begin = opens
    return None if begin == FOREVER else begin


def earliest_span(rules: SideConstraints, operation: int, machine: int, begin: int, length: int) -> tuple[int, int] | None:
    """Return (start, end) of an operation that starts as early as its machine is available, not before `begin`; or None."""
    if is_resumable(rules, operation):
        return resumable_span(rules.spells(machine), begin, length)
    start = next_available(rules, machine, begin, length)
    return None if start is None else (start, start + length)


def early_by(instance: JobShopInstance, end: _Integers) -> int:
    """Return the total weighted earliness of jobs that end at `end`, int64 [J]."""
    rules = instance.rules
    assert rules is not None and instance.due is not None
    early = instance.due if rules.early is None else rules.early
    weights = [1] * instance.jobs if rules.earliness is None else rules.earliness.tolist()
    dates = zip(weights, early.tolist(), end.tolist())
    return sum(weight * max(0, window_begin - end_of_job) for weight, window_begin, end_of_job in dates)

"""Quick proofs of infeasibility: an operation that fits nowhere, or fixed operations that violate a constraint by themselves."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from corl.problems.jobshop.evaluation_resumable import is_resumable, resumable_start
from corl.problems.jobshop.evaluation_rules import earliest_span, next_available
from corl.problems.jobshop.instance import JobShopInstance
from corl.problems.jobshop.resources import usable_choices
from corl.problems.jobshop.rules import FOREVER, SideConstraints

__all__ = ["impossible"]


def impossible(instance: JobShopInstance) -> str:
    """Return the first proof of infeasibility that is found, in words; "" if none is (the instance may still be infeasible)."""
    rules = instance.rules
    if rules is None:
        return ""
    if reason := _needs_too_much(instance, rules) or _fits_nowhere(instance, rules):
        return reason
    if not len(rules.fixed):
        return ""
    fixed = _Fixed(instance, rules)
    return fixed.check_each() or fixed.check_machines() or fixed.check_resources() or fixed.check_jobs()


def _needs_too_much(instance: JobShopInstance, rules: SideConstraints) -> str:
    """Return a message about an operation that needs more units of a resource than there are, whatever its machine, or ""."""
    if rules.capacity is None or rules.demand is None:
        return ""
    for i in np.flatnonzero(~np.logical_or.reduceat(usable_choices(instance), instance.choice_first[:-1])).tolist():
        c = int(instance.choice_first[i])
        r = int((rules.demand[c] > rules.capacity).argmax())
        units = f"{rules.demand[c, r]} units of resource {rules.resource_label(r)}"
        machine = instance.machine_label(int(instance.choice_machine[c]))
        return f"{instance.place_of(i)} needs {units} on machine {machine}; there are {rules.capacity[r]}"
    return ""


def _fits_nowhere(instance: JobShopInstance, rules: SideConstraints) -> str:
    """Return a message about an operation for which no machine is available long enough after its earliest start, or ""."""
    lowest = rules.lowest(instance)
    if rules.unavailable is None:
        return ""
    down_for_good = np.zeros(instance.machines, bool)
    down_for_good[rules.unavailable[rules.unavailable[:, 2] == FOREVER, 0]] = True
    # only operations whose machines are all down for good: any other fits after its machine's last break
    usable = usable_choices(instance)
    without_machine = np.logical_and.reduceat(~usable | down_for_good[instance.choice_machine], instance.choice_first[:-1])
    for i in np.flatnonzero(without_machine).tolist():
        able = zip(instance.choices(i), usable[instance.choice_first[i] : instance.choice_first[i + 1]].tolist())
        if all(earliest_span(rules, i, m, int(lowest[i]), length) is None for (m, length), usable_here in able if usable_here):
            return f"{instance.place_of(i)} does not fit into any time in which an eligible machine is available"
    return ""


class _Fixed:
    """The fixed operations of an instance, and the times that they leave to the other operations, which are called free.

    The checks return a message, or "" if they find no fault.
    """

    def __init__(self, instance: JobShopInstance, rules: SideConstraints) -> None:
        assert rules.fixed_start is not None and rules.fixed_machine is not None
        self._instance, self._rules = instance, rules
        self._lowest: list[int] = rules.lowest(instance).tolist()
        self._machine = {i: int(rules.fixed_machine[i]) for i in rules.fixed.tolist()}
        self._start = {i: int(rules.fixed_start[i]) for i in self._machine}
        self._length = {i: dict(instance.choices(i))[machine] for i, machine in self._machine.items()}
        self._span = {i: earliest_span(rules, i, self._machine[i], start, self._length[i]) for i, start in self._start.items()}
        self._end = {i: self._start[i] + self._length[i] if span is None else span[1] for i, span in self._span.items()}
        self._leaves = {i: self._start[i + 1] if self._blocks(i) and i + 1 in self._start else self._end[i] for i in self._start}

    def check_each(self) -> str:
        """Check that no fixed operation starts too early, or while its machine is not available."""
        for i, start in self._start.items():
            if start < self._lowest[i]:
                return f"{self._words(i)}; it may start from {self._lowest[i]}"
            span = self._span[i]
            if span is None or span[0] != start:
                return f"{self._words(i)}, and its machine is not available until it ends at {start + self._length[i]}"
        return ""

    def check_machines(self) -> str:
        """Check that the fixed operations of a machine do not overlap, and that the set-ups between them fit.

        A set-up that does not fit is no proof if a free operation fits between the two, because it may change the set-up.
        """
        for machine, sequence in self._sequences.items():
            before = -1
            for i in sequence:
                if before >= 0 and self._leaves[before] > self._start[i]:
                    first, second = self._instance.place_of(before), self._instance.place_of(i)
                    if self._end[before] <= self._start[i]:
                        return f"{self._words(i)}; the job of {first} stays on its machine until {self._leaves[before]}"
                    return f"{first} and {second} are fixed at the same time on one machine"
                done = 0 if self._rules.setups is None else self._set_up(machine, before, i)
                if done > self._start[i] and not any(self._fits_between(machine, before, k, i) for k in self._able(machine)):
                    when = "never" if done == FOREVER else f"at {done} at the earliest"
                    return f"{self._words(i)}; its machine is set up for it {when}"
                before = i
        return ""

    def check_resources(self) -> str:
        """Check that the fixed operations occupy no more units of a resource at any time than there are."""
        instance, rules = self._instance, self._rules
        if rules.capacity is None or rules.demand is None:
            return ""
        chosen = {i: instance.choice_first[i] + [m for m, _ in instance.choices(i)].index(k) for i, k in self._machine.items()}
        for r, capacity in enumerate(rules.capacity.tolist()):
            for i, start in self._start.items():
                running = [k for k in chosen if self._start[k] <= start < self._end[k]]
                units = sum(int(rules.demand[chosen[k], r]) for k in running)
                if i in running and units > capacity:
                    needed = f"fixed operations then need {units} units of resource {rules.resource_label(r)}"
                    return f"{self._words(i)}; {needed}, and there are {capacity}"
        return ""

    def check_jobs(self) -> str:
        """Check that the job predecessors of each fixed operation can end in time; with no-wait, exactly at its start."""
        for job in sorted({int(self._instance.job[i]) for i in self._start}):
            ready, i, end_operation = 0, int(self._instance.first[job]), int(self._instance.first[job + 1])
            while i < end_operation:
                after = i + 1  # operations i to after - 1 follow each other without waiting
                while after < end_operation and self._rules.no_wait is not None and self._rules.no_wait[after]:
                    after += 1
                fixed = [k for k in range(i, after) if k in self._start]
                reason, ready = self._fixed_run(i, after, fixed, ready) if fixed else self._free_run(i, after, ready)
                if reason:
                    return reason
                i = after
        return ""

    def _free_run(self, first: int, after: int, ready: int) -> tuple[str, int]:
        """Return (message, the earliest end of free operations first..after - 1 of a job, which start no earlier than `ready`).

        The operations may wait for each other here even if they are no-wait, which is a relaxation.
        """
        for i in range(first, after):
            begin, found = max(ready, self._lowest[i]), FOREVER
            for machine, length in self._instance.choices(i):
                span = self._first_span(i, machine, begin, length)
                found = found if span is None else min(found, span[1])
            if found == FOREVER:
                return f"{self._instance.place_of(i)} does not fit into any time in which an eligible machine is free", 0
            ready = found
        return "", ready

    def _fixed_run(self, first: int, after: int, fixed: list[int], ready: int) -> tuple[str, int]:
        """Return what `_free_run` returns, for operations that follow each other without waiting, of which `fixed` are fixed.

        The possible starts of the first operation are computed backwards from the first fixed one, the possible ends of the last
        operation forwards from it.
        """
        starts = {self._start[fixed[0]]}
        for i in range(fixed[0] - 1, first - 1, -1):
            starts = {start for end in starts for machine, length in self._instance.choices(i)
                      if (start := self._start_for(i, machine, end, length)) is not None}  # fmt: skip
        if not any(start >= ready for start in starts):
            return f"{self._words(fixed[0])}; the operations before it end at {ready} or not exactly in time", 0
        ends = {self._end[fixed[0]]}
        for i in range(fixed[0] + 1, after):
            if i in self._start:
                if self._start[i] not in ends:
                    return f"{self._words(i)}; without waiting it starts at {_or(ends)}", 0
                ends = {self._end[i]}
                continue
            ends = {span[1] for start in ends for machine, length in self._instance.choices(i)
                    if (span := self._first_span(i, machine, start, length)) is not None
                    and span[0] == start >= self._lowest[i]}  # fmt: skip
            if not ends:
                return f"{self._instance.place_of(i)} cannot follow the fixed operation before it without waiting", 0
        return "", min(ends)

    # ---------------------------------------------------------------- machines
    @cached_property
    def _sequences(self) -> dict[int, list[int]]:
        """The fixed operations of each machine, sorted by time."""
        sequences: dict[int, list[int]] = {}
        for i in sorted(self._start, key=lambda i: (self._start[i], self._end[i])):
            sequences.setdefault(self._machine[i], []).append(i)
        return sequences

    def _blocks(self, i: int) -> bool:
        return self._rules.blocking is not None and bool(self._rules.blocking[i])

    def _first_span(self, i: int, machine: int, begin: int, length: int) -> tuple[int, int] | None:
        """Return (start, end) of the free operation i on a machine, as early as it fits, not before `begin`; None if nowhere."""
        span = earliest_span(self._rules, i, machine, begin, length)
        for fixed in self._sequences.get(machine, []):
            if span is not None and span[0] < self._leaves[fixed] and span[1] > self._start[fixed]:
                span = earliest_span(self._rules, i, machine, self._leaves[fixed], length)
        return span

    def _start_for(self, i: int, machine: int, end: int, length: int) -> int | None:
        """Return the start with which the free operation i ends exactly at `end` on a machine; None if it cannot."""
        start = end - length
        if is_resumable(self._rules, i):
            start = resumable_start(self._rules.spells(machine), end, length)
        return start if start >= self._lowest[i] and self._first_span(i, machine, start, length) == (start, end) else None

    def _able(self, machine: int) -> list[int]:
        """Return the free operations that the machine can process."""
        owner = np.repeat(np.arange(self._instance.operations), np.diff(self._instance.choice_first))
        return [i for i in owner[self._instance.choice_machine == machine].tolist() if i not in self._start]

    def _set_up(self, machine: int, before: int, i: int) -> int:
        """Return the earliest time at which the machine is set up for operation i, directly after `before` (-1: first)."""
        rules, families = self._rules, self._rules.families(self._instance)
        assert rules.setups is not None
        begin = 0
        if before >= 0:
            begin = self._end[before] if before == i - 1 else self._leaves[before]
        if i not in self._start:
            begin = max(begin, rules.now)
        if before >= 0:
            length = int(rules.setups[machine, families[before], families[i]])
        else:
            length = 0 if rules.first_setups is None else int(rules.first_setups[machine, families[i]])
        at = next_available(rules, machine, begin, length) if length else begin
        return FOREVER if at is None else at + length

    def _fits_between(self, machine: int, before: int, other: int, i: int) -> bool:
        """Return whether the free operation `other` fits between the fixed operations `before` and `i` of a machine."""
        begin = max(self._lowest[other], self._set_up(machine, before, other))
        span = self._first_span(other, machine, begin, dict(self._instance.choices(other))[machine])
        return span is not None and span[1] <= self._start[i]

    def _words(self, i: int) -> str:
        return f"{self._instance.place_of(i)} is fixed at {self._start[i]}"


def _or(times: set[int]) -> str:
    return " or ".join(map(str, sorted(times)))

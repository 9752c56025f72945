"""Quick proofs of infeasibility: an operation that fits nowhere, or fixed operations that violate a constraint by themselves."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from corl.problems.jobshop.evaluation_rules import next_available
from corl.problems.jobshop.instance import JobShopInstance
from corl.problems.jobshop.rules import FOREVER, SideConstraints

__all__ = ["impossible"]


def impossible(instance: JobShopInstance) -> str:
    """Return the first such reason; "" if there is none (the instance may still be infeasible)."""
    rules = instance.rules
    if rules is None:
        return ""
    if reason := _fits_nowhere(instance, rules):
        return reason
    if not len(rules.fixed):
        return ""
    fixed = _Fixed(instance, rules)
    return fixed.alone() or fixed.on_machines() or fixed.in_jobs()


def _fits_nowhere(instance: JobShopInstance, rules: SideConstraints) -> str:
    """Return a message about an operation for which no machine is available long enough after its earliest start, or ""."""
    lowest = rules.lowest(instance)
    if rules.unavailable is None:
        return ""
    gone = np.zeros(instance.machines, bool)
    gone[rules.unavailable[rules.unavailable[:, 2] == FOREVER, 0]] = True
    for i in np.flatnonzero(np.logical_and.reduceat(gone[instance.choice_machine], instance.choice_first[:-1])).tolist():
        if all(next_available(rules, machine, int(lowest[i]), length) is None for machine, length in instance.choices(i)):
            return f"{instance.place_of(i)} does not fit into any time in which an eligible machine is available"
    return ""


class _Fixed:
    """The fixed operations of an instance, and the times that remain for the others.

    The checks return a message, or "" if they find no fault.
    """

    def __init__(self, instance: JobShopInstance, rules: SideConstraints) -> None:
        assert rules.fixed_start is not None and rules.fixed_machine is not None
        self._instance, self._rules = instance, rules
        self._lowest: list[int] = rules.lowest(instance).tolist()
        self._machine = {i: int(rules.fixed_machine[i]) for i in rules.fixed.tolist()}
        self._start = {i: int(rules.fixed_start[i]) for i in self._machine}
        self._end = {i: self._start[i] + dict(instance.choices(i))[machine] for i, machine in self._machine.items()}

    def alone(self) -> str:
        """Check that no fixed operation starts too early, or while its machine is not available."""
        for i, start in self._start.items():
            if start < self._lowest[i]:
                return f"{self._words(i)}; it may start from {self._lowest[i]}"
            if next_available(self._rules, self._machine[i], start, self._end[i] - start) != start:
                return f"{self._words(i)}, and its machine is not available until it ends at {self._end[i]}"
        return ""

    def on_machines(self) -> str:
        """Check that fixed operations of a machine do not overlap, and that set-ups between them fit."""
        for machine, line in self._lines.items():
            before = -1
            for i in line:
                if before >= 0 and self._end[before] > self._start[i]:
                    first, second = self._instance.place_of(before), self._instance.place_of(i)
                    return f"{first} and {second} are fixed at the same time on one machine"
                done = 0 if self._rules.setups is None else self._set_up(machine, before, i)
                if done > self._start[i] and not any(self._fits_between(machine, before, k, i) for k in self._able(machine)):
                    when = "never" if done == FOREVER else f"at {done} at the earliest"
                    return f"{self._words(i)}; its machine is set up for it {when}"
                before = i
        return ""

    def in_jobs(self) -> str:
        """Check that the job predecessors of fixed operations can end in time, and exactly in time without waiting."""
        for job in sorted({int(self._instance.job[i]) for i in self._start}):
            ready, i, close = 0, int(self._instance.first[job]), int(self._instance.first[job + 1])
            while i < close:
                after = i + 1
                while after < close and self._rules.no_wait is not None and self._rules.no_wait[after]:
                    after += 1
                pinned = [k for k in range(i, after) if k in self._start]
                reason, ready = self._pinned_run(i, after, pinned, ready) if pinned else self._free_run(i, after, ready)
                if reason:
                    return reason
                i = after
        return ""

    def _free_run(self, first: int, after: int, ready: int) -> tuple[str, int]:
        """Return (message, earliest end of operations first..after - 1 of a job if the first starts from `ready` on).

        Waiting is allowed here, which is a relaxation.
        """
        for i in range(first, after):
            begin, found = max(ready, self._lowest[i]), FOREVER
            for machine, length in self._instance.choices(i):
                start = self._first_time(machine, begin, length)
                found = found if start is None else min(found, start + length)
            if found == FOREVER:
                return f"{self._instance.place_of(i)} does not fit into any time in which an eligible machine is free", 0
            ready = found
        return "", ready

    def _pinned_run(self, first: int, after: int, pinned: list[int], ready: int) -> tuple[str, int]:
        """`_free_run` for operations that follow each other without waiting, of which `pinned` are fixed."""
        starts = {self._start[pinned[0]]}
        for i in range(pinned[0] - 1, first - 1, -1):
            starts = {end - length for end in starts for machine, length in self._instance.choices(i)
                      if self._allowed(i, machine, end - length, length)}  # fmt: skip
        if not any(start >= ready for start in starts):
            return f"{self._words(pinned[0])}; the operations before it end at {ready} or not exactly in time", 0
        ends = {self._end[pinned[0]]}
        for i in range(pinned[0] + 1, after):
            if i in self._start:
                if self._start[i] not in ends:
                    return f"{self._words(i)}; without waiting it starts at {_or(ends)}", 0
                ends = {self._end[i]}
                continue
            ends = {start + length for start in ends for machine, length in self._instance.choices(i)
                    if self._allowed(i, machine, start, length)}  # fmt: skip
            if not ends:
                return f"{self._instance.place_of(i)} cannot follow the fixed operation before it without waiting", 0
        return "", min(ends)

    # ---------------------------------------------------------------- machines
    @cached_property
    def _lines(self) -> dict[int, list[int]]:
        """The fixed operations of each machine, by time."""
        lines: dict[int, list[int]] = {}
        for i in sorted(self._start, key=lambda i: (self._start[i], self._end[i])):
            lines.setdefault(self._machine[i], []).append(i)
        return lines

    @cached_property
    def _closed(self) -> dict[int, list[tuple[int, int]]]:
        """The intervals (from, to) of each machine in which no free operation can run, by time."""
        lines = {machine: [(self._start[i], self._end[i]) for i in line] for machine, line in self._lines.items()}
        return {machine: sorted([*lines.get(machine, []), *((a, b) for a, b in self._rules.spells(machine))])
                for machine in range(self._instance.machines)}  # fmt: skip

    def _first_time(self, machine: int, begin: int, length: int) -> int | None:
        """Return the earliest start of a free operation on a machine, from `begin` on; None if there is none."""
        for closes, opens in self._closed[machine]:
            if begin < opens and begin + length > closes:
                begin = opens
        return None if begin == FOREVER else begin

    def _allowed(self, i: int, machine: int, start: int, length: int) -> bool:
        return start >= self._lowest[i] and self._first_time(machine, start, length) == start

    def _able(self, machine: int) -> list[int]:
        """Return the free operations that the machine can process."""
        owner = np.repeat(np.arange(self._instance.operations), np.diff(self._instance.choice_first))
        return [i for i in owner[self._instance.choice_machine == machine].tolist() if i not in self._start]

    def _set_up(self, machine: int, before: int, i: int) -> int:
        """Return the earliest time at which the machine is set up for an operation after `before` (-1: as its first)."""
        rules, families = self._rules, self._rules.families(self._instance)
        assert rules.setups is not None
        begin = self._end[before] if before >= 0 else 0
        if i not in self._start:
            begin = max(begin, rules.now)
        if before >= 0:
            length = int(rules.setups[machine, families[before], families[i]])
        else:
            length = 0 if rules.first_setups is None else int(rules.first_setups[machine, families[i]])
        at = next_available(rules, machine, begin, length) if length else begin
        return FOREVER if at is None else at + length

    def _fits_between(self, machine: int, before: int, other: int, i: int) -> bool:
        """Return whether the free operation `other` fits between two fixed ones, so that the set-up between these differs."""
        begin = max(self._lowest[other], self._set_up(machine, before, other))
        length = dict(self._instance.choices(other))[machine]
        at = self._first_time(machine, begin, length)
        return at is not None and at + length <= self._start[i]

    def _words(self, i: int) -> str:
        return f"{self._instance.place_of(i)} is fixed at {self._start[i]}"


def _or(times: set[int]) -> str:
    return " or ".join(map(str, sorted(times)))

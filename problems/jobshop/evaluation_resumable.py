"""When resumable operations end: they stop at the breaks of their machine and continue after them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from corl.problems.jobshop.rules import FOREVER, SideConstraints

__all__ = ["is_resumable", "resumable_span", "resumable_start", "resumed_ends", "worked_intervals"]

_Integers = NDArray[np.int64]


def is_resumable(rules: SideConstraints | None, operation: int) -> bool:
    """Return whether an operation stops at breaks and continues after them."""
    return rules is not None and rules.resumable is not None and bool(rules.resumable[operation])


def resumed_ends(rules: SideConstraints | None, start: _Integers, machine: NDArray[np.int32], duration: _Integers) -> _Integers:
    """Return when each operation ends, int64 [O]: its start and its duration, plus the breaks at which it stops.

    An operation that meets a break that never ends, ends after FOREVER.

    Args:
        rules: The side constraints of the instance, or None.
        start: int64 [O], start times.
        machine: int32 [O], machines.
        duration: int64 [O], durations on these machines.
    """
    end = start + duration
    if rules is None or rules.resumable is None or rules.unavailable is None:
        return end
    operations = np.flatnonzero(rules.resumable)
    operations = operations[np.argsort(machine[operations], kind="stable")]
    machines = machine[operations]
    for m, closes, opens in rules.unavailable.tolist():  # by machine, then by time: an end grows from break to break
        mine = operations[np.searchsorted(machines, m) : np.searchsorted(machines, m + 1)]
        end[mine[(start[mine] < closes) & (end[mine] > closes)]] += opens - closes
    return end


def resumable_span(spells: Sequence[Sequence[int]], begin: int, length: int) -> tuple[int, int] | None:
    """Return (start, end) of a resumable operation that starts as early as possible, not before `begin`; None if it never ends.

    Args:
        spells: [from, to] for each break of the machine, sorted by time.
        begin: The earliest start.
        length: The duration without breaks.
    """
    start, end = begin, begin + length
    for closes, opens in spells:
        if start < closes < end:
            end += opens - closes
        elif start < opens and start + min(length, 1) > closes:
            start, end = opens, opens + length
    return None if end > FOREVER or start >= FOREVER else (start, end)


def resumable_start(spells: Sequence[Sequence[int]], end: int, length: int) -> int:
    """Return the latest start with which a resumable operation ends at `end` or earlier; arguments as in `resumable_span`."""
    for closes, opens in reversed(spells):
        if end >= opens and end - length >= opens:
            break
        if end > closes:
            length, end = length - max(0, end - opens), closes
    return end - length


def worked_intervals(
    rules: SideConstraints | None, operation: int, machine: int, start: int, end: int
) -> Iterator[tuple[int, int]]:
    """Yield (from, to) for each time in which an operation that runs from `start` to `end` is processed, without the breaks."""
    for closes, opens in rules.spells(machine) if rules is not None and is_resumable(rules, operation) else ():
        if start < closes < end:
            yield start, closes
        if closes < end:
            start = max(start, opens)
    yield start, end

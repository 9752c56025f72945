"""Choices of machines for units with a fixed operation, such that the unit's operations follow each other without waiting.

A unit is a run of operations of one job without waiting. If one of the operations is fixed, the times of the others depend only
on their machines. Such units of several operations are called pinned.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from corl.problems.jobshop.evaluation_resumable import resumable_span, resumable_start
from corl.problems.jobshop.rules import FOREVER
from corl.solvers.jobshop.placing.shop import Shop

__all__ = ["pinned_choices"]


def pinned_choices(shop: Shop) -> Iterator[NDArray[np.int64]]:
    """Yield possible choices for all pinned units together, int64 [O]: a choice for each of their operations, -1 for others.

    Breaks and fixed operations of the machines are respected. Set-ups and conflicts between two pinned units are not, so that
    some of the choices yielded are infeasible.
    """
    busy, pinned_units = _busy(shop), []
    for first, after in zip(shop.unit[:-1].tolist(), shop.unit[1:].tolist()):
        fixed = np.flatnonzero(shop.fixed_start[first:after] >= 0) + first
        if len(fixed) and after > first + 1:
            pinned_units.append((first, int(fixed[0]), after))
    for chosen in _combinations(shop, busy, pinned_units):
        choices = np.where(shop.fixed_start >= 0, shop.fixed_choice, -1)
        for i, choice in chosen.items():
            choices[i] = choice
        yield choices


def _combinations(shop: Shop, busy: list[list[tuple[int, int]]], units: list[tuple[int, int, int]]) -> Iterator[dict[int, int]]:
    """Yield combinations of choices, as {operation: choice}, for all `units`; the choices of the last unit vary fastest.

    Args:
        shop: The Shop of the instance.
        busy: For each machine the intervals (from, to) in which it processes a fixed operation.
        units: Pinned units as (first operation, a fixed operation, operation after the last).
    """
    if not units:
        yield {}
        return
    first, fixed, after = units[0]
    start = int(shop.fixed_start[fixed])
    end = _span(shop, fixed, int(shop.fixed_choice[fixed]), start, 1)[1]
    for earlier in _extensions(shop, busy, range(fixed - 1, first - 1, -1), start, -1, set()):
        for later in _extensions(shop, busy, range(fixed + 1, after), end, 1, set()):
            for other_units in _combinations(shop, busy, units[1:]):
                yield earlier | later | other_units


def _extensions(
    shop: Shop, busy: list[list[tuple[int, int]]], operations: range, time: int, sign: int, dead_ends: set[tuple[int, int]]
) -> Iterator[dict[int, int]]:
    """Yield choices, as {operation: choice}, with which `operations` follow each other without waiting; depth-first search.

    Args:
        shop: The Shop of the instance.
        busy: For each machine the intervals (from, to) in which it processes a fixed operation.
        operations: Consecutive operations of a job, ascending if `sign` is 1, descending if `sign` is -1.
        time: The start of operations[0] if `sign` is 1, its end if `sign` is -1.
        sign: The direction in time, 1 or -1.
        dead_ends: Pairs (operation, time) that are known to yield nothing; extended in place.
    """
    if not operations:
        yield {}
        return
    i, any_yielded = operations[0], False
    fixed = int(shop.fixed_choice[i])
    for c in [fixed] if fixed >= 0 else range(int(shop.choice_offset[i]), int(shop.choice_offset[i + 1])):
        start, end = _span(shop, i, c, time, sign)
        next_time = end if sign > 0 else start
        closed = busy[int(shop.machine[c])] + ([] if shop.resumable[i] else _breaks(shop, int(shop.machine[c])))
        fits = start >= shop.lowest[i] and not any(start < b and end > a for a, b in closed)
        fits = fits and time == (start if sign > 0 else end)
        if (start == shop.fixed_start[i] if fixed >= 0 else fits) and (i + sign, next_time) not in dead_ends:
            for other_choices in _extensions(shop, busy, operations[1:], next_time, sign, dead_ends):
                any_yielded = True
                yield {i: c} | other_choices
    if not any_yielded:
        dead_ends.add((i, time))


def _span(shop: Shop, i: int, c: int, time: int, sign: int) -> tuple[int, int]:
    """Return (start, end) of operation i with choice c that starts at `time` if `sign` is 1, or ends there if it is -1.

    A resumable operation may not be able to: then it starts later, or ends earlier.
    """
    length = int(shop.duration[c])
    if not shop.resumable[i]:
        return (time, time + length) if sign > 0 else (time - length, time)
    spells = _breaks(shop, int(shop.machine[c]))
    begin = time if sign > 0 else resumable_start(spells, time, length)
    return resumable_span(spells, begin, length) or (begin, FOREVER)


def _breaks(shop: Shop, machine: int) -> list[tuple[int, int]]:
    """Return (from, to) for each break of a machine."""
    a, b = shop.break_offset[machine], shop.break_offset[machine + 1]
    return list(zip(shop.closes[a:b].tolist(), shop.opens[a:b].tolist()))


def _busy(shop: Shop) -> list[list[tuple[int, int]]]:
    """Return for each machine the intervals (from, to) in which it processes a fixed operation."""
    busy: list[list[tuple[int, int]]] = [[] for _ in shop.has_setups]
    for i in np.flatnonzero(shop.fixed_start >= 0).tolist():
        c, start = int(shop.fixed_choice[i]), int(shop.fixed_start[i])
        busy[int(shop.machine[c])].append(_span(shop, i, c, start, 1))
    return busy

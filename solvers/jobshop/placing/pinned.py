"""Choices of machines for units of several operations of which one is fixed, such that all fit around it without waiting."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from corl.solvers.jobshop.placing.shop import Shop

__all__ = ["pinned_choices"]


def pinned_choices(shop: Shop) -> Iterator[NDArray[np.int64]]:
    """Yield possible choices for all such units, as arrays int64 [O]: a choice for each of their operations, -1 for others.

    Breaks and fixed operations of the machines are respected; set-ups and conflicts between units are not, so that some of the
    choices yielded are infeasible.
    """
    busy, runs = _busy(shop), []
    for first, after in zip(shop.unit[:-1].tolist(), shop.unit[1:].tolist()):
        pinned = np.flatnonzero(shop.fixed_start[first:after] >= 0) + first
        if len(pinned) and after > first + 1:
            runs.append((first, int(pinned[0]), after))
    for chosen in _combinations(shop, busy, runs):
        choices = np.where(shop.fixed_start >= 0, shop.fixed_choice, -1)
        for i, choice in chosen.items():
            choices[i] = choice
        yield choices


def _combinations(shop: Shop, busy: list[list[tuple[int, int]]], runs: list[tuple[int, int, int]]) -> Iterator[dict[int, int]]:
    """Yield combinations of choices, operation -> choice, for all `runs`; the choices of the last run vary first.

    Args:
        shop: Shop of the instance.
        busy: The intervals in which each machine is not available.
        runs: Units as (first operation, a fixed operation, operation after the last).
    """
    if not runs:
        yield {}
        return
    first, pinned, after = runs[0]
    start = int(shop.fixed_start[pinned])
    end = start + int(shop.duration[shop.fixed_choice[pinned]])
    for earlier in _extensions(shop, busy, range(pinned - 1, first - 1, -1), start, -1, set()):
        for later in _extensions(shop, busy, range(pinned + 1, after), end, 1, set()):
            for others in _combinations(shop, busy, runs[1:]):
                yield earlier | later | others


def _extensions(
    shop: Shop, busy: list[list[tuple[int, int]]], operations: range, time: int, sign: int, dead_ends: set[tuple[int, int]]
) -> Iterator[dict[int, int]]:
    """Yield choices, operation -> choice, for `operations` without waiting, depth first.

    Args:
        shop: Shop of the instance.
        busy: The intervals in which each machine is not available.
        operations: Consecutive operations, ascending if `sign` is 1, descending if it is -1.
        time: When the first of them begins (`sign` 1) or ends (`sign` -1).
        sign: The direction in time.
        dead_ends: Pairs (operation, time) known to have no continuation; extended in place.
    """
    if not operations:
        yield {}
        return
    i, found = operations[0], False
    fixed = int(shop.fixed_choice[i])
    for c in [fixed] if fixed >= 0 else range(int(shop.choice_at[i]), int(shop.choice_at[i + 1])):
        length = int(shop.duration[c])
        start, other = (time, time + length) if sign > 0 else (time - length, time - length)
        free = start >= shop.lowest[i] and not any(start < b and start + length > a for a, b in busy[int(shop.machine[c])])
        if (start == shop.fixed_start[i] if fixed >= 0 else free) and (i + sign, other) not in dead_ends:
            for rest in _extensions(shop, busy, operations[1:], other, sign, dead_ends):
                found = True
                yield {i: c} | rest
    if not found:
        dead_ends.add((i, time))


def _busy(shop: Shop) -> list[list[tuple[int, int]]]:
    """Return the intervals (from, to) of each machine in which it has a break or processes a fixed operation."""
    busy = [list(zip(shop.closes[a:b].tolist(), shop.opens[a:b].tolist())) for a, b in zip(shop.break_at, shop.break_at[1:])]
    for i in np.flatnonzero(shop.fixed_start >= 0).tolist():
        c, start = int(shop.fixed_choice[i]), int(shop.fixed_start[i])
        busy[int(shop.machine[c])].append((start, start + int(shop.duration[c])))
    return busy

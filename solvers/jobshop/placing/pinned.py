"""The machines of runs without waiting of which something is fixed: those with which all of a run follows right away."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from corl.solvers.jobshop.placing.shop import Shop

__all__ = ["pinned_choices"]


def pinned_choices(shop: Shop) -> Iterator[NDArray[np.int64]]:
    """int64 [O], one array after the other: a choice for each operation of such a run, -1 for every other.

    Breaks and what is fixed on the machines are taken into account; set-ups and other runs are not, so that some do not fit.
    """
    busy, runs = _busy(shop), []
    for first, after in zip(shop.unit[:-1].tolist(), shop.unit[1:].tolist()):
        pinned = np.flatnonzero(shop.fixed_start[first:after] >= 0) + first
        if len(pinned) and after > first + 1:
            runs.append((first, int(pinned[0]), after))
    for chosen in _together(shop, busy, runs):
        choices = np.where(shop.fixed_start >= 0, shop.fixed_choice, -1)
        for i, choice in chosen.items():
            choices[i] = choice
        yield choices


def _together(shop: Shop, busy: list[list[tuple[int, int]]], runs: list[tuple[int, int, int]]) -> Iterator[dict[int, int]]:
    """Choices for all runs (first operation, one that is fixed, operation after the last); those of the last run change first."""
    if not runs:
        yield {}
        return
    first, pinned, after = runs[0]
    start = int(shop.fixed_start[pinned])
    end = start + int(shop.duration[shop.fixed_choice[pinned]])
    for earlier in _chains(shop, busy, range(pinned - 1, first - 1, -1), start, -1, set()):
        for later in _chains(shop, busy, range(pinned + 1, after), end, 1, set()):
            for others in _together(shop, busy, runs[1:]):
                yield earlier | later | others


def _chains(
    shop: Shop, busy: list[list[tuple[int, int]]], operations: range, time: int, sign: int, dead: set[tuple[int, int]]
) -> Iterator[dict[int, int]]:
    """Choices for `operations`, the first of which begins (sign 1) or ends (-1) at `time`; depth first.

    dead: (operation, time) from which nothing follows; extended in place.
    """
    if not operations:
        yield {}
        return
    i, found = operations[0], False
    fixed = int(shop.fixed_choice[i])
    for c in [fixed] if fixed >= 0 else range(int(shop.begin[i]), int(shop.begin[i + 1])):
        length = int(shop.duration[c])
        start, other = (time, time + length) if sign > 0 else (time - length, time - length)
        free = start >= shop.lowest[i] and not any(start < b and start + length > a for a, b in busy[int(shop.machine[c])])
        if (start == shop.fixed_start[i] if fixed >= 0 else free) and (i + sign, other) not in dead:
            for rest in _chains(shop, busy, operations[1:], other, sign, dead):
                found = True
                yield {i: c} | rest
    if not found:
        dead.add((i, time))


def _busy(shop: Shop) -> list[list[tuple[int, int]]]:
    """[from, to] of each machine in which it is not available, or does what is fixed."""
    busy = [list(zip(shop.closes[a:b].tolist(), shop.opens[a:b].tolist())) for a, b in zip(shop.break_at, shop.break_at[1:])]
    for i in np.flatnonzero(shop.fixed_start >= 0).tolist():
        c, start = int(shop.fixed_choice[i]), int(shop.fixed_start[i])
        busy[int(shop.machine[c])].append((start, start + int(shop.duration[c])))
    return busy

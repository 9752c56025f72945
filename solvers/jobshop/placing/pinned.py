"""The machines of runs without waiting of which something is fixed: those with which all of a run follows right away."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.solvers.jobshop.placing.shop import Shop

__all__ = ["pinned_choices"]


def pinned_choices(shop: Shop) -> NDArray[np.int64] | None:
    """int64 [O]: a choice for each operation of such a run, -1 for every other; None where a run has no such choices.

    Breaks and what is fixed on the machines are taken into account, set-ups and other runs are not.
    """
    chosen, busy = np.where(shop.fixed_start >= 0, shop.fixed_choice, -1), _busy(shop)
    for first, after in zip(shop.unit[:-1].tolist(), shop.unit[1:].tolist()):
        pinned = np.flatnonzero(shop.fixed_start[first:after] >= 0) + first
        if len(pinned) and after > first + 1:
            start = int(shop.fixed_start[pinned[0]])
            end = start + int(shop.duration[shop.fixed_choice[pinned[0]]])
            before = _chain(shop, busy, range(int(pinned[0]) - 1, first - 1, -1), start, -1)
            behind = _chain(shop, busy, range(int(pinned[0]) + 1, after), end, 1)
            if before is None or behind is None:
                return None
            for i, choice in (before | behind).items():
                chosen[i] = choice
    return chosen


def _chain(shop: Shop, busy: list[list[tuple[int, int]]], operations: range, time: int, sign: int) -> dict[int, int] | None:
    """A choice for each of `operations`, the first of which begins (sign 1) or ends (-1) at `time`; depth first."""
    if not operations:
        return {}
    i, tried = operations[0], set()
    fixed = int(shop.fixed_choice[i])
    for c in [fixed] if fixed >= 0 else range(int(shop.begin[i]), int(shop.begin[i + 1])):
        length = int(shop.duration[c])
        start, other = (time, time + length) if sign > 0 else (time - length, time - length)
        free = start >= shop.lowest[i] and not any(start < b and start + length > a for a, b in busy[int(shop.machine[c])])
        if (start != shop.fixed_start[i] if fixed >= 0 else not free) or other in tried:
            continue
        tried.add(other)
        if (rest := _chain(shop, busy, operations[1:], other, sign)) is not None:
            return {i: c} | rest
    return None


def _busy(shop: Shop) -> list[list[tuple[int, int]]]:
    """[from, to] of each machine in which it is not available, or does what is fixed."""
    busy = [list(zip(shop.closes[a:b].tolist(), shop.opens[a:b].tolist())) for a, b in zip(shop.break_at, shop.break_at[1:])]
    for i in np.flatnonzero(shop.fixed_start >= 0).tolist():
        c, start = int(shop.fixed_choice[i]), int(shop.fixed_start[i])
        busy[int(shop.machine[c])].append((start, start + int(shop.duration[c])))
    return busy

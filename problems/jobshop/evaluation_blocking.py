"""The judge of blocking: how long a job stays on a machine, and whether the moves of jobs at one time have an order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.jobshop.rules import SideConstraints

__all__ = ["check_blocking", "departures"]

_Integers = NDArray[np.int64]


def departures(rules: SideConstraints | None, start: _Integers, end: _Integers) -> _Integers:
    """Return when each operation's job leaves its machine, int64 [O]: at its end or, if it blocks, at the next start."""
    if rules is None or rules.blocking is None:
        return end
    leaves = end.copy()
    blocking = np.flatnonzero(rules.blocking)
    leaves[blocking] = start[blocking + 1]
    return leaves


def check_blocking(
    rules: SideConstraints, start: _Integers, machine: NDArray[np.int32], end: _Integers, place: Callable[[int], str]
) -> None:
    """Raise Infeasible if a machine takes a job while another blocks it, or if jobs exchange machines without `swap`.

    Arguments as in `evaluation_rules.check_rules`; `end` is int64 [O], when the operations end.
    """
    assert rules.blocking is not None
    leaves = departures(rules, start, end)
    order = np.lexsort((start, machine))
    before, after = order[:-1], order[1:]
    same = machine[before] == machine[after]
    if (wrong := same & (leaves[before] > start[after])).any():
        a, b = int(before[wrong][0]), int(after[wrong][0])
        raise Infeasible(f"{place(b)} starts at {start[b]}; the job of {place(a)} stays on its machine until {leaves[a]}")
    if rules.swap:
        return
    # a move waits for another of the same time: operation b starts when the job of operation a leaves b's machine for a + 1
    waits = same & rules.blocking[before] & (leaves[before] == start[after]) & (after != before + 1)
    moves_first = dict(zip(after[waits].tolist(), (before[waits] + 1).tolist()))
    for first in sorted(moves_first):
        visited, i = {first}, moves_first.get(first)
        while i is not None and i not in visited:
            visited.add(i)
            i = moves_first.get(i)
        if i == first:
            cycle = " and ".join(place(k) for k in sorted(visited))
            raise Infeasible(f"{cycle} exchange machines at {start[first]}; accepted: moves to free machines in turn")

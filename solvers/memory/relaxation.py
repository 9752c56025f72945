"""A lower bound by a linear program: fractions of tensors in fast memory, its capacity, and bandwidth of copies over time."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from corl.problems.memory.instance import MappingInstance

__all__ = ["most_served", "relaxation"]

_WHOLE = 12  # accesses of an operation up to which all subsets are enumerated
_CELLS = 2**20  # subsets at a time
_MIB = float(2**20)  # units of bytes; times are in microseconds, so that coefficients are near 1
_MARGIN = 1e-6  # relative margin for the engine's tolerances
_LARGE = 4  # of tensors above 1/k of fast memory, k - 1 fit at a time: rows for k up to this


def most_served(instance: MappingInstance) -> NDArray[np.float64]:
    """Return an upper bound on the bytes of each operation's accesses that fast memory can serve, float64 [O].

    Its tensors must fit into fast memory at once. Tensors of alias groups count as size 0, since an output may replace an input.
    With many accesses it is a fractional knapsack.
    """
    fitting, room = instance.sizes[instance.access_tensor] <= instance.machine.fast_bytes, float(instance.machine.fast_bytes)
    tensors, count = instance.access_tensor[fitting], instance.access_bytes[fitting].astype(float)
    size = np.where(instance.group[tensors] >= 0, 0, instance.sizes[tensors]).astype(float)
    counts = np.bincount(instance.access_op[fitting], minlength=instance.ops)
    first, found = np.cumsum(counts) - counts, np.zeros(instance.ops)
    for m in np.unique(counts[counts <= _WHOLE]).tolist():
        chosen = ((np.arange(2**m) >> np.arange(m)[:, None]) & 1).astype(float)
        these = np.flatnonzero(counts == m)
        for part in np.array_split(these, -(-len(these) * 2**m // _CELLS)):
            rows = first[part, None] + np.arange(m)
            found[part] = np.where(size[rows] @ chosen <= room, count[rows] @ chosen, 0.0).max(axis=1)
    for i in np.flatnonzero(counts > _WHOLE).tolist():
        its, value = (part[first[i] : first[i] + counts[i]] for part in (size, count))
        best = np.argsort(-value / np.maximum(its, 1e-9), kind="stable")
        before = np.cumsum(its[best]) - its[best]
        found[i] = (np.clip((room - before) / np.maximum(its[best], 1e-9), 0.0, 1.0) * value[best]).sum()
    return found


class _Rows:
    """Rows a x <= b of a sparse linear program, and its columns."""

    def __init__(self) -> None:
        self.columns = 0
        self._entries: tuple[list[int], list[int], list[float]] = ([], [], [])
        self.right: list[float] = []
        self.low: list[float] = []
        self.high: list[float] = []

    def variable(self, low: float = 0.0, high: float = np.inf) -> int:
        """Add a variable and return its column."""
        self.low.append(low)
        self.high.append(high)
        self.columns += 1
        return self.columns - 1

    def at_most(self, terms: list[tuple[int, float]], right: float) -> None:
        """Add the row sum(coefficient x variable) <= right."""
        rows, columns, values = self._entries
        for column, value in terms:
            rows.append(len(self.right))
            columns.append(column)
            values.append(value)
        self.right.append(right)

    def minimise(self, columns: list[int], seconds: float) -> float | None:
        """Return the minimal sum of some variables; None if the engine does not find it in that time."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_matrix

        rows, places, values = self._entries
        cost = np.zeros(self.columns)
        cost[columns] = 1.0
        matrix = csr_matrix((values, (rows, places)), shape=(len(self.right), self.columns))
        bounds = np.column_stack([self.low, self.high])
        options = {} if seconds == math.inf else {"time_limit": seconds}
        result = linprog(cost, A_ub=matrix, b_ub=self.right, bounds=bounds, method="highs", options=options)
        return float(result.fun) if result.status == 0 else None


def relaxation(instance: MappingInstance, window: int = 6, remaining: Callable[[], float] = lambda: math.inf) -> float | None:
    """Return the linear program's optimum in microseconds, a lower bound; None if it is not found in the `remaining` seconds.

    Every plan has a counterpart: x, the share of an access that fast memory serves; k, the share that was kept since the access
    before; and bytes of copies into fast memory during each operation, which take room from then on, up to `window` operations
    before their access (earlier copies take bandwidth, and room only within the window). Tensors of alias groups take no room.
    Writing back takes bandwidth at any time. An operation's time includes the stall after it. Two kinds of rows cut off
    fractions: fast memory serves at most as much of an operation as whole tensors that fit; only few large tensors fit at a time.
    """
    lp, machine, n, at_first = _Rows(), instance.machine, instance.ops, remaining()
    slow, fast = machine.slow_bandwidth / _MIB / 1e6, machine.fast_bandwidth / _MIB / 1e6
    copying = min(machine.copy_bandwidth / _MIB / 1e6, fast)
    overhead, total = 1e6 * machine.overhead, np.bincount(instance.access_op, instance.access_bytes / _MIB, n)
    time = [lp.variable(overhead + 1e6 * float(instance.compute[i])) for i in range(n)]
    served: list[list[tuple[int, float]]] = [[] for _ in range(n)]  # (x, MiB) of the accesses of an operation
    room: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    moved: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    early: dict[int, list[tuple[int, float]]] = defaultdict(list)  # operation -> copies before it that take no room
    back: list[tuple[int, float]] = []
    binary: set[int] = set()  # columns of x and k, which are 0 or 1 in a plan
    for t in range(instance.tensors):
        if not remaining():
            return None
        if instance.sizes[t] <= machine.fast_bytes:
            binary.update(_tensor(lp, instance, t, window, (served, room, moved, early, back)))
    idle = []  # MiB idle up to the end of each operation, not used by copies at a known time
    most = most_served(instance)
    for i in range(n):
        if not remaining():
            return None
        weight = 1.0 / slow - 1.0 / fast
        lp.at_most([(time[i], -1.0)] + [(x, -size * weight) for x, size in served[i]], -overhead - total[i] / slow)
        lp.at_most(moved[i] + [(time[i], -copying)], 0.0)
        lp.at_most(room[i], machine.fast_bytes / _MIB)
        lp.at_most(served[i], float(most[i]) / _MIB)
        _conflict_rows(lp, room[i], machine.fast_bytes / _MIB, binary)
        idle.append(lp.variable())
        before = [(idle[i - 1], -1.0)] if i else []
        used = [(x, -size) for x, size in served[i]] + moved[i] + [(time[i], -slow)]
        lp.at_most([(idle[i], 1.0), *before, *used], -total[i])
    waiting: list[tuple[int, float]] = []
    for i in sorted(early):
        waiting += early[i]
        if i < n:
            lp.at_most([*waiting, (idle[i - 1], -1.0)], 0.0)
    lp.at_most([*waiting, *back, (idle[-1], -1.0)], 0.0)
    left = remaining()
    if left < at_first - left:  # the engine cannot be stopped in its presolve, which takes up to as long as all this took
        return None
    found = lp.minimise(time, left)
    return None if found is None else found * (1.0 - _MARGIN)


def _conflict_rows(lp: _Rows, room: list[tuple[int, float]], capacity: float, binary: set[int]) -> None:
    """Add rows for the tensors (column, MiB) that want room at once: how many large ones fit, and which exclude each other."""
    for k in range(2, _LARGE + 1):
        large = [(column, 1.0) for column, size in room if size > capacity / k * (1.0 + 1e-9)]
        if len(large) >= k:
            lp.at_most(large, k - 1.0)
    for column, size in room:
        if column in binary and 2.0 * size <= capacity:
            against = [(other, 1.0) for other, its in room if its + size > capacity * (1.0 + 1e-9)]
            if against:
                lp.at_most([(column, 1.0), *against], 1.0)


def _tensor(lp: _Rows, instance: MappingInstance, t: int, window: int, parts: Any) -> list[int]:
    """Add the variables of a tensor to the lists of `relaxation`, `parts`; return the columns of x and k of its accesses."""
    served, room, moved, early, back = parts
    accesses = np.flatnonzero(instance.access_tensor == t).tolist()
    ops = instance.access_op[accesses].tolist()
    size, made = float(instance.sizes[t]) / _MIB, int(instance.definition[t])
    weight = 0.0 if instance.group[t] >= 0 else size
    shares: list[int] = []
    kept: list[int] = []
    for k, (a, op) in enumerate(zip(accesses, ops)):
        x = lp.variable(0.0, 1.0)
        served[op].append((x, float(instance.access_bytes[a]) / _MIB))
        room[op].append((x, weight))
        sources = []
        if k:
            keep = lp.variable(0.0, 1.0)
            lp.at_most([(keep, 1.0), (shares[-1], -1.0)], 0.0)
            for i in range(ops[k - 1] + 1, op):
                room[i].append((keep, weight))
            kept.append(keep)
            sources.append((keep, -1.0))
        if op != made:
            sources += _prefetch(lp, op, made + 1, window, (size, weight), (room, moved, early))
            lp.at_most([(x, 1.0), *sources], 0.0)
        shares.append(x)
    if made >= 0 and ops:
        write_back = lp.variable(0.0, 1.0)
        if instance.kinds[t] == "output":
            lp.at_most([(shares[0], 1.0), (write_back, -1.0)], 0.0)
        for keep in kept:
            lp.at_most([(shares[0], 1.0), (keep, -1.0), (write_back, -1.0)], 0.0)
        back.append((write_back, size))
    return shares + kept


def _prefetch(lp: _Rows, op: int, first: int, window: int, sizes: tuple[float, float], parts: Any) -> list[tuple[int, float]]:
    """Add variables for shares of a tensor that are copied in before `op`, from operation `first` on; return sources of its x."""
    (size, weight), (room, moved, early) = sizes, parts
    begin, sources = max(first, op - window), []
    if size == 0.0:
        return [(lp.variable(0.0, 1.0), -1.0)]
    if begin > first:
        share = lp.variable(0.0, 1.0)
        early[begin].append((share, size))
        sources.append((share, -1.0))
        for i in range(begin, op):
            room[i].append((share, weight))
    for i in range(begin, op):
        share = lp.variable(0.0, 1.0)
        moved[i].append((share, size))
        sources.append((share, -1.0))
        for later in range(i, op):
            room[later].append((share, weight))
    return sources

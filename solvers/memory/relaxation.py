"""A lower bound by a linear program over shares of tensors in fast memory, with its capacity and the bandwidth of copies."""

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

_MAX_ENUMERATED = 12  # the largest number of accesses of an operation for which all subsets are enumerated
_SUBSETS_PER_BLOCK = 2**20  # subsets that are considered at a time, which limits memory
_MIB = float(2**20)  # the linear program counts MiB and microseconds, so that coefficients are near 1
_MARGIN = 1e-6  # relative margin by which the bound is lowered, for tolerances of the LP solver
_MAX_K = 4  # of the tensors larger than 1 / k of fast memory, k - 1 fit at a time: there are rows for k = 2 to this k


def most_served(instance: MappingInstance) -> NDArray[np.float64]:
    """Return an upper bound on the bytes of each operation's accesses that fast memory can serve, float64 [O].

    The tensors of these accesses must fit into fast memory at the same time. Tensors of alias groups count as size 0, since an
    output may replace an input. If the operation has many accesses, the bound is that of a fractional knapsack.
    """
    fitting, room = instance.sizes[instance.access_tensor] <= instance.machine.fast_bytes, float(instance.machine.fast_bytes)
    tensors, count = instance.access_tensor[fitting], instance.access_bytes[fitting].astype(float)
    size = np.where(instance.group[tensors] >= 0, 0, instance.sizes[tensors]).astype(float)
    counts = np.bincount(instance.access_op[fitting], minlength=instance.ops)
    first, served = np.cumsum(counts) - counts, np.zeros(instance.ops)
    for m in np.unique(counts[counts <= _MAX_ENUMERATED]).tolist():
        subsets = ((np.arange(2**m) >> np.arange(m)[:, None]) & 1).astype(float)  # [m, 2**m], one column per subset
        ops = np.flatnonzero(counts == m)
        for part in np.array_split(ops, -(-len(ops) * 2**m // _SUBSETS_PER_BLOCK)):
            rows = first[part, None] + np.arange(m)
            served[part] = np.where(size[rows] @ subsets <= room, count[rows] @ subsets, 0.0).max(axis=1)
    for i in np.flatnonzero(counts > _MAX_ENUMERATED).tolist():
        sizes, values = (part[first[i] : first[i] + counts[i]] for part in (size, count))
        densest = np.argsort(-values / np.maximum(sizes, 1e-9), kind="stable")
        before = np.cumsum(sizes[densest]) - sizes[densest]
        served[i] = (np.clip((room - before) / np.maximum(sizes[densest], 1e-9), 0.0, 1.0) * values[densest]).sum()
    return served


class _LinearProgram:
    """A sparse linear program under construction: variables with bounds (columns), and rows a x <= b."""

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
        """Return the minimal sum of the variables `columns`; None if HiGHS does not find it within `seconds`."""
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
    """Return the linear program's optimum in microseconds, a lower bound; None if it is not found in the remaining time.

    Every plan is a solution of the linear program. The variables of an access are x, the share that fast memory serves, and k,
    the share that is kept in fast memory since the tensor's previous access. For each of the last `window` operations before the
    access there is also the share that is copied into fast memory during this operation and takes room from then until the
    access. One more share is copied before these operations: it takes bandwidth at some earlier time, but room only during these
    operations. Copies to slow memory take bandwidth at any time.
    Tensors of alias groups take no room. The duration of an operation includes the stall after it.

    Two kinds of rows exclude some solutions with fractions: fast memory serves an operation at most as many bytes as it could
    with whole tensors that fit into it together (`most_served`), and only few large tensors fit at a time.

    Args:
        instance: The instance.
        window: The number of operations before an access for which copies are modelled one by one.
        remaining: Returns the seconds that are left.
    """
    lp, machine, n, seconds_at_first = _LinearProgram(), instance.machine, instance.ops, remaining()
    slow, fast = machine.slow_bandwidth / _MIB / 1e6, machine.fast_bandwidth / _MIB / 1e6
    copying = min(machine.copy_bandwidth / _MIB / 1e6, fast)
    overhead, total = 1e6 * machine.overhead, np.bincount(instance.access_op, instance.access_bytes / _MIB, n)
    time = [lp.variable(overhead + 1e6 * float(instance.compute[i])) for i in range(n)]
    # lists of (column, MiB), most of them per operation
    served: list[list[tuple[int, float]]] = [[] for _ in range(n)]  # x of the operation's accesses
    room: list[list[tuple[int, float]]] = [[] for _ in range(n)]  # shares that take room in fast memory
    moved: list[list[tuple[int, float]]] = [[] for _ in range(n)]  # copies into fast memory during the operation
    early: dict[int, list[tuple[int, float]]] = defaultdict(list)  # copies into fast memory at any time before the operation
    back: list[tuple[int, float]] = []  # copies to slow memory
    binary: set[int] = set()  # columns of x and k, which are 0 or 1 in a plan
    for t in range(instance.tensors):
        if not remaining():
            return None
        if instance.sizes[t] <= machine.fast_bytes:
            binary.update(_tensor(lp, instance, t, window, (served, room, moved, early, back)))
    idle = []  # columns: MiB of bandwidth, left over by accesses and `moved` copies up to the end of each operation
    max_served = most_served(instance)
    for i in range(n):
        if not remaining():
            return None
        saving = 1.0 / slow - 1.0 / fast  # microseconds per MiB
        lp.at_most([(time[i], -1.0)] + [(x, -size * saving) for x, size in served[i]], -overhead - total[i] / slow)
        lp.at_most(moved[i] + [(time[i], -copying)], 0.0)
        lp.at_most(room[i], machine.fast_bytes / _MIB)
        lp.at_most(served[i], float(max_served[i]) / _MIB)
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
    seconds_left = remaining()
    if seconds_left < seconds_at_first - seconds_left:  # HiGHS's presolve cannot be stopped, and may take as long as all this
        return None
    optimum = lp.minimise(time, seconds_left)
    return None if optimum is None else optimum * (1.0 - _MARGIN)


def _conflict_rows(lp: _LinearProgram, room: list[tuple[int, float]], capacity: float, binary: set[int]) -> None:
    """Add rows for the shares that take room at an operation: how many large tensors fit, and which exclude each other.

    Args:
        lp: The linear program.
        room: (column, MiB) of each share.
        capacity: MiB of fast memory.
        binary: The columns that are 0 or 1 in every plan.
    """
    for k in range(2, _MAX_K + 1):
        large = [(column, 1.0) for column, size in room if size > capacity / k * (1.0 + 1e-9)]
        if len(large) >= k:
            lp.at_most(large, k - 1.0)
    for column, size in room:
        if column in binary and 2.0 * size <= capacity:
            excluded = [(other, 1.0) for other, other_size in room if other_size + size > capacity * (1.0 + 1e-9)]
            if excluded:
                lp.at_most([(column, 1.0), *excluded], 1.0)


def _tensor(lp: _LinearProgram, instance: MappingInstance, t: int, window: int, parts: Any) -> list[int]:
    """Add the variables and rows of a tensor; return the columns of x and k of its accesses.

    parts: the lists served, room, moved, early and back of `relaxation`, to which the variables are appended.
    """
    served, room, moved, early, back = parts
    accesses = np.flatnonzero(instance.access_tensor == t).tolist()
    ops = instance.access_op[accesses].tolist()
    size, made = float(instance.sizes[t]) / _MIB, int(instance.definition[t])
    room_taken = 0.0 if instance.group[t] >= 0 else size
    shares: list[int] = []
    kept: list[int] = []
    for k, (a, op) in enumerate(zip(accesses, ops)):
        x = lp.variable(0.0, 1.0)
        served[op].append((x, float(instance.access_bytes[a]) / _MIB))
        room[op].append((x, room_taken))
        sources = []
        if k:
            keep = lp.variable(0.0, 1.0)
            lp.at_most([(keep, 1.0), (shares[-1], -1.0)], 0.0)
            for i in range(ops[k - 1] + 1, op):
                room[i].append((keep, room_taken))
            kept.append(keep)
            sources.append((keep, -1.0))
        if op != made:
            sources += _prefetch(lp, op, made + 1, window, (size, room_taken), (room, moved, early))
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


def _prefetch(
    lp: _LinearProgram, op: int, first: int, window: int, sizes: tuple[float, float], parts: Any
) -> list[tuple[int, float]]:
    """Add variables for the shares of a tensor that are copied into fast memory for an access.

    Args:
        lp: The linear program.
        op: The operation of the access.
        first: The first operation with which a copy may begin.
        window: As in `relaxation`.
        sizes: (MiB of the tensor, MiB of room that it takes).
        parts: The lists room, moved and early of `relaxation`.

    Returns:
        (column, -1) of each share, the terms that limit x of the access.
    """
    (size, room_taken), (room, moved, early) = sizes, parts
    begin, sources = max(first, op - window), []
    if size == 0.0:
        return [(lp.variable(0.0, 1.0), -1.0)]
    if begin > first:
        share = lp.variable(0.0, 1.0)
        early[begin].append((share, size))
        sources.append((share, -1.0))
        for i in range(begin, op):
            room[i].append((share, room_taken))
    for i in range(begin, op):
        share = lp.variable(0.0, 1.0)
        moved[i].append((share, size))
        sources.append((share, -1.0))
        for later in range(i, op):
            room[later].append((share, room_taken))
    return sources

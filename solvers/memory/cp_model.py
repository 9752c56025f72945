"""Memory mapping as a model for CP-SAT: residencies are rectangles, and copies are flows through idle bandwidth.

A residency is a stay of a tensor in fast memory that serves one or more consecutive accesses of the tensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corl.problems.memory.instance import MappingInstance, MappingPlan

__all__ = ["Model"]

_TICKS = 2**34
"""The run time with everything in slow memory, in ticks, the model's unit of time. Rounding costs about 1e-10 of that run time
per operation or access.

With 2**36, the presolve of OR-Tools 9 called a model infeasible that CP-SAT solves without presolve.
"""


@dataclass
class _Residency:
    """A possible residency of a tensor; it exists if its literal (a Boolean variable of the model) is true."""

    tensor: int
    literal: Any
    low: Any
    """Variable: the first operation."""
    high: Any
    """Variable: the operation after the last."""
    offset: Any
    """Variable: the offset in bytes."""
    copied_before: int | None
    """The operation before which the copy into fast memory ends; None: the residency begins with the tensor's definition."""
    overwritten: list[Any] = field(default_factory=list)
    """Literals, one for each output of the alias group that may be written over this residency."""


class Model:
    """The CP-SAT model of an instance.

    The unit of time is a tick; bytes are counted as the ticks in which slow memory moves them. An operation may take longer than
    its computation and its accesses need, which models a stall after it. Numbers are rounded so that for every plan the model has
    a solution that takes at most one tick longer per operation. So the model's optimum minus one tick per operation is a lower
    bound. If the copy engine is as fast as slow memory, and slow memory is not faster than fast memory, the model's optimum is
    the instance's, up to rounding.
    """

    def __init__(self, instance: MappingInstance, slow_seconds: float) -> None:
        """Build the model; `slow_seconds` is the run time with everything in slow memory."""
        from ortools.sat.python import cp_model

        self.instance, self.model = instance, cp_model.CpModel()
        self.tick = slow_seconds / _TICKS
        n = instance.ops
        self._definition = instance.definition.tolist()
        self._moved: list[list[Any]] = [[] for _ in range(n)]  # per operation: variables, ticks that copies move during it
        self._max_moved = [0] * n  # per operation: an upper bound on the sum of these ticks
        self._slow: list[list[Any]] = [[] for _ in range(n)]  # per operation: ticks of accesses to slow memory
        self._fast: list[list[Any]] = [[] for _ in range(n)]  # per operation: (bytes, literal) of accesses to fast memory
        self._residencies: list[_Residency] = []
        self._served: dict[int, list[Any]] = {}  # tensor -> for each access, the literal that fast memory serves it
        self._uncovered: list[tuple[Any, int, Any, int]] = []  # (literal, operation, offset, size): part of an overwritten input
        self._copies_out: list[tuple[int, Any, Any]] = []  # (tensor, literal, operation before which the copy out ends)
        for t in range(instance.tensors):
            self._tensor(t)
        for g in range(int(instance.group.max(initial=-1)) + 1):
            self._group([t for t in range(instance.tensors) if instance.group[t] == g])
        self._places()
        self._times()

    def bound(self, value: float) -> float:
        """Return the bound on the instance's objective, in microseconds, that follows from a bound on the model's objective."""
        return 1e6 * (value - self.instance.ops - 1) * self.tick

    def plan(self, value: Callable[[Any], int]) -> MappingPlan:
        """Return the plan of a solution of the model; `value` returns the value of a variable."""
        import numpy as np

        from corl.problems.memory.instance import IN, OUT, MappingPlan

        residencies, copies = [], []
        for residency in self._residencies:
            if value(residency.literal):
                low = value(residency.low)
                residencies.append((residency.tensor, low, value(residency.high), value(residency.offset)))
                if residency.copied_before is not None:
                    copies.append((residency.tensor, IN, low, residency.copied_before))
        for t, literal, end in self._copies_out:
            if value(literal):
                copies.append((t, OUT, self._definition[t] + 1, value(end)))
        return MappingPlan(*(np.array(rows, np.int64).reshape(-1, 4) for rows in (residencies, copies)))

    def _ticks(self, count: float) -> int:
        """Return the ticks that slow memory needs to move `count` bytes, rounded down."""
        return math.floor(count / self.instance.machine.slow_bandwidth / self.tick)

    def _tensor(self, t: int) -> None:
        """Add a tensor: its possible residencies, its copies, and the literals that fast memory serves its accesses."""
        instance, model, n = self.instance, self.model, self.instance.ops
        accesses = [int(a) for a in (instance.access_tensor == t).nonzero()[0]]
        ops = [int(instance.access_op[a]) for a in accesses]
        size, capacity, definition = int(instance.sizes[t]), instance.machine.fast_bytes, self._definition[t]
        served: list[Any] = []  # for each access, the literal that fast memory serves it
        starts: list[Any] = []  # for each access, the literal that a residency begins for it
        spans: list[tuple[Any, Any, Any]] = []  # for each access, (literal, low, high) of the residency that begins for it
        for k, op in enumerate(ops):
            start = model.new_bool_var("") if size <= capacity else model.new_constant(0)
            keep = model.new_bool_var("") if k and size <= capacity else model.new_constant(0)
            literal = model.new_bool_var("")
            model.add(start + keep == literal)
            if k:
                model.add_implication(keep, served[-1])
            starts.append(start)
            served.append(literal)
            if op == definition:
                low, high = model.new_constant(definition), model.new_int_var(definition + 1, n, "")
            else:
                low, high = self._copied_in(t, start, op), model.new_int_var(op + 1, n, "")
            spans.append((start, low, high))
            if size <= capacity:
                offset = model.new_int_var(0, capacity - size, "")
                self._residencies.append(_Residency(t, start, low, high, offset, None if op == definition else op))
        for k in range(len(ops)):
            self._chain(ops, starts, served, spans, k)
        if definition >= 0:
            self._copied_out(t, ops, served, spans[0])
        self._served[t] = served
        for a, op, literal in zip(accesses, ops, served):
            count = int(instance.access_bytes[a])
            self._slow[op].append(self._ticks(count) * (1 - literal))
            self._fast[op].append((count, literal))

    def _group(self, members: list[int]) -> None:
        """Add an alias group: fast memory serves all accesses of its members or none; an output may be written over an input."""
        served = [literal for t in members for literal in self._served[t]]
        for one, other in pairwise(served):
            self.model.add(one == other)
        instance = self.instance
        for new in (each for each in self._residencies if each.tensor in members and each.copied_before is None):
            op = self._definition[new.tensor]
            reads = instance.access_tensor[instance.access_first[op] : instance.access_first[op + 1]].tolist()
            inputs = [t for t in reads if t in members and t != new.tensor]
            for old in self._residencies:
                if old.tensor in inputs and (old.copied_before is None or old.copied_before <= op):
                    self._in_place(old, new, op)

    def _in_place(self, old: _Residency, new: _Residency, op: int) -> None:
        """Add a literal: operation `op` writes its output, residency `new`, over its input, residency `old`, which ends there."""
        model, instance = self.model, self.instance
        overwritten = model.new_bool_var("")
        model.add_implication(overwritten, old.literal)
        model.add_implication(overwritten, new.literal)
        model.add(old.high == op + 1).only_enforce_if(overwritten)
        model.add(old.offset == new.offset).only_enforce_if(overwritten)
        old.overwritten.append(overwritten)
        excess = int(instance.sizes[old.tensor] - instance.sizes[new.tensor])
        if excess > 0:  # a larger input still takes memory above the output
            start = old.offset + int(instance.sizes[new.tensor])
            self._uncovered.append((overwritten, op, start, excess))

    def _places(self) -> None:
        """Add the residencies as rectangles that do not overlap.

        The rectangle of a residency that is overwritten ends an operation earlier; the output's rectangle takes its place.
        """
        model, rows = self.model, []
        for each in self._residencies:
            size, end = int(self.instance.sizes[each.tensor]), each.high
            if each.overwritten:
                model.add_at_most_one(each.overwritten)
                end = model.new_int_var(0, self.instance.ops, "")
                model.add(end == each.high - sum(each.overwritten))
            x = model.new_optional_interval_var(each.low, model.new_int_var(1, self.instance.ops, ""), end, each.literal, "")
            rows.append((x, model.new_optional_fixed_size_interval_var(each.offset, size, each.literal, ""), size))
        for literal, op, start, size in self._uncovered:
            x = model.new_optional_fixed_size_interval_var(op, 1, literal, "")
            rows.append((x, model.new_optional_fixed_size_interval_var(start, size, literal, ""), size))
        if rows:
            model.add_no_overlap_2d([x for x, _, _ in rows], [y for _, y, _ in rows])
            model.add_cumulative([x for x, _, _ in rows], [size for _, _, size in rows], self.instance.machine.fast_bytes)

    def _chain(self, ops: list[int], starts: list[Any], served: list[Any], spans: list[Any], k: int) -> None:
        """Let a residency that begins for access k last up to the last access that it serves without interruption.

        It is interrupted by an access that is not served, or for which another residency begins. For k = 0, the literal that
        all accesses are served by this residency is kept in `_served_throughout`.
        """
        model, continues = self.model, starts[k]
        for j in range(k + 1, len(ops)):
            model.add(spans[j][1] >= spans[k][2]).only_enforce_if([starts[k], starts[j]])
            further = model.new_bool_var("")  # served without interruption from k to j
            model.add_implication(further, continues)
            model.add_implication(further, served[j])
            model.add_implication(further, starts[j].negated())
            model.add_bool_or([continues.negated(), served[j].negated(), starts[j], further])
            model.add(spans[k][2] >= ops[j] + 1).only_enforce_if(further)
            if k == 0:
                self._served_throughout = further
            continues = further

    def _copied_in(self, t: int, literal: Any, op: int) -> Any:
        """Add a copy of tensor t into fast memory for operation `op`, made if `literal` holds.

        Returns the variable of the operation with which the copy begins.
        """
        model = self.model
        size = self._ticks(int(self.instance.sizes[t]))
        earliest = self._definition[t] + 1
        begun = [model.new_bool_var("") for _ in range(earliest, op)]  # whether the copy has begun with this operation
        for one, other in pairwise(begun):
            model.add_implication(one, other)
        low = model.new_int_var(min(earliest, op), op, "")
        model.add(low == op - sum(begun))
        if not begun:
            model.add(literal == 0)
            return low
        model.add(begun[-1] == literal)
        self._flow(size, literal, begun, earliest)
        return low

    def _copied_out(self, t: int, ops: list[int], served: list[Any], span: tuple[Any, Any, Any]) -> None:
        """Add the copy to slow memory of a tensor that is defined in fast memory and needed in slow memory.

        The copy ends within the tensor's first residency, whose (literal, low, high) are `span`, and before the first access that
        slow memory serves.
        """
        model, n, definition = self.model, self.instance.ops, self._definition[t]
        start, _, high = span
        size = self._ticks(int(self.instance.sizes[t]))
        needed = model.new_bool_var("")
        if self.instance.kinds[t] == "output":
            model.add(needed == start)
        elif len(ops) == 1:
            return
        else:
            model.add(needed >= start - self._served_throughout)
            model.add_implication(needed, start)
        running = [model.new_bool_var("") for _ in range(definition + 1, n)]
        for one, other in pairwise(running):
            model.add_implication(other, one)
        end = model.new_int_var(definition + 1, n, "")
        model.add(end == definition + 1 + sum(running))
        model.add(high >= end).only_enforce_if(needed)
        if not running:
            model.add(needed == 0)
            return
        model.add(running[0] == needed)
        self._flow(size, needed, running, definition + 1)
        self._copies_out.append((t, needed, end))
        for op, literal in zip(ops[1:], served[1:]):
            model.add(end <= op).only_enforce_if([start, literal.negated()])

    def _flow(self, size: int, literal: Any, active: list[Any], first: int) -> None:
        """Add a copy of `size` ticks, made if `literal` holds; active[k] says whether it runs during operation first + k."""
        parts = []
        for k, active_here in enumerate(active):
            part = self.model.new_int_var(0, size, "")
            self.model.add(part <= size * active_here)
            self._moved[first + k].append(part)
            self._max_moved[first + k] += size
            parts.append(part)
        self.model.add(sum(parts) == size * literal)

    def _times(self) -> None:
        """Add the time of each operation, limit copies to the idle bandwidth, and minimise the sum of times."""
        instance, model = self.instance, self.model
        machine, times = instance.machine, []
        share = machine.copy_bandwidth / machine.slow_bandwidth
        for i in range(instance.ops):
            time = model.new_int_var(0, self._max_moved[i] + 4 * _TICKS, "")
            overhead = math.floor(machine.overhead / self.tick)
            slow = sum(self._slow[i])
            fast = sum(math.floor(count / machine.fast_bandwidth / self.tick) * literal for count, literal in self._fast[i])
            model.add(time >= overhead + math.floor(float(instance.compute[i]) / self.tick))
            model.add(time >= overhead + slow + fast)
            if self._moved[i]:
                model.add(sum(self._moved[i]) <= time - slow)
                if share < 1.0:
                    model.add(1000 * sum(self._moved[i]) <= math.ceil(1000 * share) * time + 1000)
            times.append(time)
        model.minimize(sum(times))

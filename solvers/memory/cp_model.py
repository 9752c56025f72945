"""Memory mapping as a model for CP-SAT: runs of accesses as rectangles, copies as flows through idle bandwidth."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corl.problems.memory.instance import MappingInstance, MappingPlan

__all__ = ["Model"]

_TICKS = 2**34  # per run time with everything in slow memory: rounding costs about 1e-10 per operation or access
# (with 2**36 the engine's presolve, of OR-Tools 9, called a model infeasible that it solves without)


@dataclass
class _Run:
    """A residency of a tensor, if the literal holds."""

    tensor: int
    literal: Any
    low: Any
    high: Any
    offset: Any
    end: int | None
    """The operation before which the copy in ends; None: the tensor is defined there."""
    over: list[Any] = field(default_factory=list)
    """Literals: an operation writes its output over this residency."""


class Model:
    """The CP-SAT model of an instance.

    Time, and bytes as the time in which slow memory moves them, are counted in ticks. Rounding is such that every plan has a
    counterpart that takes at most one tick longer per operation. An operation may take longer than its roofline, which models a
    stall after it. So the optimum, less one tick per operation, is a lower bound. If copies are as fast as slow memory, and this
    is not faster than fast memory, it is the optimum of the instance up to rounding.
    """

    def __init__(self, instance: MappingInstance, slow_seconds: float) -> None:
        """Build the model; `slow_seconds` is the run time with everything in slow memory."""
        from ortools.sat.python import cp_model

        self.instance, self.model = instance, cp_model.CpModel()
        self.tick = slow_seconds / _TICKS
        n = instance.ops
        self._made = instance.definition.tolist()
        self._moved: list[list[Any]] = [[] for _ in range(n)]  # per operation, the ticks that copies move during it
        self._longest = [0] * n
        self._slow: list[list[Any]] = [[] for _ in range(n)]
        self._fast: list[list[Any]] = [[] for _ in range(n)]
        self._runs: list[_Run] = []
        self._served: dict[int, list[Any]] = {}  # tensor -> for each access, whether fast memory serves it
        self._rest: list[tuple[Any, int, Any, int]] = []  # literal, operation, offset, size: uncovered input
        self._outs: list[tuple[int, Any, Any]] = []  # tensor, literal, end of the copy out
        for t in range(instance.tensors):
            self._tensor(t)
        for g in range(int(instance.group.max(initial=-1)) + 1):
            self._group([t for t in range(instance.tensors) if instance.group[t] == g])
        self._places()
        self._times()

    def bound(self, value: float) -> float:
        """Return the bound on the objective in microseconds that follows from one on the model's."""
        return 1e6 * (value - self.instance.ops - 1) * self.tick

    def plan(self, value: Callable[[Any], int]) -> MappingPlan:
        """Return the plan of a solution of the model."""
        import numpy as np

        from corl.problems.memory.instance import IN, OUT, MappingPlan

        residencies, copies = [], []
        for run in self._runs:
            if value(run.literal):
                residencies.append((run.tensor, value(run.low), value(run.high), value(run.offset)))
                if run.end is not None:
                    copies.append((run.tensor, IN, value(run.low), run.end))
        for t, literal, stop in self._outs:
            if value(literal):
                copies.append((t, OUT, self._made[t] + 1, value(stop)))
        return MappingPlan(*(np.array(rows, np.int64).reshape(-1, 4) for rows in (residencies, copies)))

    def _ticks(self, count: float) -> int:
        """Return the ticks that slow memory needs to move `count` bytes, rounded down."""
        return math.floor(count / self.instance.machine.slow_bandwidth / self.tick)

    def _tensor(self, t: int) -> None:
        """Add the runs of a tensor, its copies, and the memory that serves its accesses."""
        instance, model, n = self.instance, self.model, self.instance.ops
        accesses = [int(a) for a in (instance.access_tensor == t).nonzero()[0]]
        ops = [int(instance.access_op[a]) for a in accesses]
        size, capacity, made = int(instance.sizes[t]), instance.machine.fast_bytes, self._made[t]
        served: list[Any] = []
        starts: list[Any] = []
        runs: list[tuple[Any, Any, Any]] = []
        for k, op in enumerate(ops):
            start = model.new_bool_var("") if size <= capacity else model.new_constant(0)
            keep = model.new_bool_var("") if k and size <= capacity else model.new_constant(0)
            literal = model.new_bool_var("")
            model.add(start + keep == literal)
            if k:
                model.add_implication(keep, served[-1])
            starts.append(start)
            served.append(literal)
            low, high = (model.new_constant(made), model.new_int_var(made + 1, n, "")) if op == made else (None, None)
            if op != made:
                low, high = self._copied_in(t, start, op), model.new_int_var(op + 1, n, "")
            runs.append((start, low, high))
            if size <= capacity:
                offset = model.new_int_var(0, capacity - size, "")
                self._runs.append(_Run(t, start, low, high, offset, None if op == made else op))
        for k in range(len(ops)):
            self._chain(ops, starts, served, runs, k)
        if made >= 0:
            self._copied_out(t, ops, served, runs[0])
        self._served[t] = served
        for a, op, literal in zip(accesses, ops, served):
            count = int(instance.access_bytes[a])
            self._slow[op].append(self._ticks(count) * (1 - literal))
            self._fast[op].append((count, literal))

    def _group(self, members: list[int]) -> None:
        """Add an alias group: all accesses are served from fast memory, or none; outputs may lie on inputs."""
        served = [literal for t in members for literal in self._served[t]]
        for one, other in pairwise(served):
            self.model.add(one == other)
        instance = self.instance
        for new in (run for run in self._runs if run.tensor in members and run.end is None):
            at = self._made[new.tensor]
            reads = instance.access_tensor[instance.access_first[at] : instance.access_first[at + 1]].tolist()
            old = [t for t in reads if t in members and t != new.tensor]
            for run in self._runs:
                if run.tensor in old and (run.end is None or run.end <= at):
                    self._in_place(run, new, at)

    def _in_place(self, run: _Run, new: _Run, at: int) -> None:
        """Add a literal: operation `at` writes its output over the run of an input that ends with it."""
        model, instance = self.model, self.instance
        over = model.new_bool_var("")
        model.add_implication(over, run.literal)
        model.add_implication(over, new.literal)
        model.add(run.high == at + 1).only_enforce_if(over)
        model.add(run.offset == new.offset).only_enforce_if(over)
        run.over.append(over)
        beyond = int(instance.sizes[run.tensor] - instance.sizes[new.tensor])
        if beyond > 0:  # the rest of the input still takes its place
            start = run.offset + int(instance.sizes[new.tensor])
            self._rest.append((over, at, start, beyond))

    def _places(self) -> None:
        """Add the runs as rectangles that do not overlap; one that is written over ends an operation earlier."""
        model, rows = self.model, []
        for run in self._runs:
            size, reach = int(self.instance.sizes[run.tensor]), run.high
            if run.over:
                model.add_at_most_one(run.over)
                reach = model.new_int_var(0, self.instance.ops, "")
                model.add(reach == run.high - sum(run.over))
            x = model.new_optional_interval_var(run.low, model.new_int_var(1, self.instance.ops, ""), reach, run.literal, "")
            rows.append((x, model.new_optional_fixed_size_interval_var(run.offset, size, run.literal, ""), size))
        for over, at, start, size in self._rest:
            x = model.new_optional_fixed_size_interval_var(at, 1, over, "")
            rows.append((x, model.new_optional_fixed_size_interval_var(start, size, over, ""), size))
        if rows:
            model.add_no_overlap_2d([x for x, _, _ in rows], [y for _, y, _ in rows])
            model.add_cumulative([x for x, _, _ in rows], [size for _, _, size in rows], self.instance.machine.fast_bytes)

    def _chain(self, ops: list[int], starts: list[Any], served: list[Any], runs: list[Any], k: int) -> None:
        """Let a run that begins at access k continue over the next ones until one is not served or begins its own run."""
        model, alive = self.model, starts[k]
        for j in range(k + 1, len(ops)):
            model.add(runs[j][1] >= runs[k][2]).only_enforce_if([starts[k], starts[j]])
            further = model.new_bool_var("")  # served without interruption from k to j
            model.add_implication(further, alive)
            model.add_implication(further, served[j])
            model.add_implication(further, starts[j].negated())
            model.add_bool_or([alive.negated(), served[j].negated(), starts[j], further])
            model.add(runs[k][2] >= ops[j] + 1).only_enforce_if(further)
            if k == 0:
                self._served_throughout = further
            alive = further

    def _copied_in(self, t: int, literal: Any, op: int) -> Any:
        """Add a copy for access `op`; return the variable of its begin."""
        model, made = self.model, self._made[t]
        size = self._ticks(int(self.instance.sizes[t]))
        earliest = made + 1
        begun = [model.new_bool_var("") for _ in range(earliest, op)]
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

    def _copied_out(self, t: int, ops: list[int], served: list[Any], run: tuple[Any, Any, Any]) -> None:
        """Add the copy out of a tensor defined in fast memory and needed in slow memory: within its run and before that need."""
        model, n, made = self.model, self.instance.ops, self._made[t]
        start, _, high = run
        size = self._ticks(int(self.instance.sizes[t]))
        needed = model.new_bool_var("")
        if self.instance.kinds[t] == "output":
            model.add(needed == start)
        elif len(ops) == 1:
            return
        else:
            model.add(needed >= start - self._served_throughout)
            model.add_implication(needed, start)
        running = [model.new_bool_var("") for _ in range(made + 1, n)]
        for one, other in pairwise(running):
            model.add_implication(other, one)
        stop = model.new_int_var(made + 1, n, "")
        model.add(stop == made + 1 + sum(running))
        model.add(high >= stop).only_enforce_if(needed)
        if not running:
            model.add(needed == 0)
            return
        model.add(running[0] == needed)
        self._flow(size, needed, running, made + 1)
        self._outs.append((t, needed, stop))
        for op, literal in zip(ops[1:], served[1:]):
            model.add(stop <= op).only_enforce_if([start, literal.negated()])

    def _flow(self, size: int, literal: Any, active: list[Any], first: int) -> None:
        """Move `size` ticks during the operations from `first` on whose literals `active` are true, if the copy is made."""
        parts = []
        for k, literal_here in enumerate(active):
            part = self.model.new_int_var(0, size, "")
            self.model.add(part <= size * literal_here)
            self._moved[first + k].append(part)
            self._longest[first + k] += size
            parts.append(part)
        self.model.add(sum(parts) == size * literal)

    def _times(self) -> None:
        """Add the time of each operation, limit copies to the idle bandwidth, and minimise the sum of times."""
        instance, model = self.instance, self.model
        machine, times = instance.machine, []
        share = machine.copy_bandwidth / machine.slow_bandwidth
        for i in range(instance.ops):
            time = model.new_int_var(0, self._longest[i] + 4 * _TICKS, "")
            over = math.floor(machine.overhead / self.tick)
            slow = sum(self._slow[i])
            fast = sum(math.floor(count / machine.fast_bandwidth / self.tick) * literal for count, literal in self._fast[i])
            model.add(time >= over + math.floor(float(instance.compute[i]) / self.tick))
            model.add(time >= over + slow + fast)
            if self._moved[i]:
                model.add(sum(self._moved[i]) <= time - slow)
                if share < 1.0:
                    model.add(1000 * sum(self._moved[i]) <= math.ceil(1000 * share) * time + 1000)
            times.append(time)
        model.minimize(sum(times))

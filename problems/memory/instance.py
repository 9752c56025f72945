"""MappingInstance: a scheduled program of operations and tensors, and the machine that runs it; MappingPlan, a solution."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError

__all__ = ["FROM_SLOW", "IN", "KINDS", "OUT", "Machine", "MappingInstance", "MappingPlan", "Op", "from_program"]

KINDS = ("input", "weight", "activation", "output")
"""The kinds of tensors. Inputs and weights are in slow memory at the start, outputs must be there at the end."""
FROM_SLOW = ("input", "weight")
IN, OUT = 0, 1
"""Directions of a copy: into fast memory, out to slow memory."""
LARGEST = 2**50
"""The limit on bytes of a tensor, access or memory, so that sums over a program stay exact in float64."""
_LARGEST_RATE = 1e30  # the limit on rates, and on an operation's floating-point operations
_MAX_OPS = 10**6


@dataclass(frozen=True)
class Machine:
    """A processor with a small fast and a large slow memory. Raises InputError, naming the field.

    The defaults are typical of a large accelerator.
    """

    fast_bytes: int = 8 * 2**20
    """Capacity of the fast memory."""
    fast_bandwidth: float = 8e12
    """Bandwidth of the fast memory in bytes per second, shared by operations and copies."""
    slow_bandwidth: float = 8e11
    """Bandwidth of the slow memory in bytes per second, shared by operations and copies."""
    copy_bandwidth: float = 8e11
    """The largest rate of the copy engine, in bytes per second."""
    matrix_flops: float = 1e14
    """Peak rate of operations on the matrix unit, in floating-point operations per second."""
    vector_flops: float = 4e12
    """Peak rate of all other operations, in floating-point operations per second."""
    overhead: float = 0.0
    """Fixed seconds added to every operation."""

    def __post_init__(self) -> None:
        if not _whole(self.fast_bytes, LARGEST):
            raise InputError(f"accepted: an integer from 0 to {LARGEST:,}", field="machine.fast_bytes")
        for field in ("fast_bandwidth", "slow_bandwidth", "copy_bandwidth", "matrix_flops", "vector_flops"):
            if not _real(getattr(self, field), 1e-30):
                raise InputError(f"accepted: a number above 0, up to {_LARGEST_RATE:g}", field=f"machine.{field}")
        if not _real(self.overhead, 0.0):
            raise InputError("accepted: a number from 0", field="machine.overhead")

    @property
    def copy_rate(self) -> float:
        """The rate of a copy in bytes per second while no operation runs."""
        return min(self.copy_bandwidth, self.slow_bandwidth, self.fast_bandwidth)


class Op(NamedTuple):
    """One operation, for `from_program`."""

    name: str
    matrix: bool
    """Whether the operation runs on the matrix unit."""
    flops: float
    """Floating-point operations."""
    reads: Sequence[tuple[int, int]]
    """(number of the tensor, bytes) of each tensor that the operation reads."""
    writes: Sequence[tuple[int, int]]
    """(number of the tensor, bytes) of each tensor that the operation writes."""


class MappingPlan(NamedTuple):
    """A solution: when and where tensors are in fast memory, and when copies run. Operations are numbered from 0."""

    residencies: NDArray[np.int64]
    """int64 [R, 4]: tensor, first operation, operation after the last, offset in fast memory in bytes."""
    copies: NDArray[np.int64]
    """int64 [C, 4]: tensor, direction (IN, OUT), operation with which the copy may begin, operation before which it must end."""


@dataclass(frozen=True, eq=False)
class MappingInstance:
    """A program of O operations in the order in which they run, with T tensors, and a machine. Raises InputError.

    The accesses of operation i are `access_first[i]` to `access_first[i + 1] - 1`, reads before writes. A tensor is written by at
    most one operation, which comes before all operations that read the tensor; no operation writes inputs and weights. For the
    tensors of one alias group, either all accesses are served from fast memory, or none.
    """

    name: str
    machine: Machine
    op_names: tuple[str, ...]
    """[O], the operations' names, which need not be different."""
    matrix: NDArray[np.bool_]
    """bool [O], whether the operation runs on the matrix unit."""
    flops: NDArray[np.float64]
    """float64 [O], floating-point operations."""
    tensor_names: tuple[str, ...]
    """[T], all different."""
    sizes: NDArray[np.int64]
    """int64 [T], bytes of each tensor."""
    kinds: tuple[str, ...]
    """[T], each one of KINDS."""
    access_first: NDArray[np.int32]
    """int32 [O + 1], the index of each operation's first access; the last entry is the number of accesses."""
    access_tensor: NDArray[np.int32]
    """int32 [accesses], the tensor that is read or written."""
    access_bytes: NDArray[np.int64]
    """int64 [accesses], bytes that are moved between the processor and the tensor's memory."""
    access_write: NDArray[np.bool_]
    """bool [accesses], True for a write, False for a read."""
    group: NDArray[np.int32]
    """int32 [T], the number of the tensor's alias group; -1: none."""
    comment: str = ""
    """Free text, kept in files."""

    def __post_init__(self) -> None:
        ops, tensors, accesses = len(self.op_names), len(self.tensor_names), len(self.access_tensor)
        if not 1 <= ops <= _MAX_OPS:
            raise InputError(f"accepted: 1 to {_MAX_OPS:,} operations", field="ops")
        lengths = {"matrix": ops, "flops": ops, "sizes": tensors, "kinds": tensors, "access_first": ops + 1}
        lengths |= {"access_bytes": accesses, "access_write": accesses, "group": tensors}
        for field, length in lengths.items():
            if len(getattr(self, field)) != length:
                raise InputError(f"{len(getattr(self, field))} entries; accepted: {length}", field=field)
        self._check_values()
        self._check_order()

    def _check_values(self) -> None:
        """Check the range of numbers, the kinds of tensors, and that names of tensors are different."""
        for i, flops in enumerate(self.flops.tolist()):
            if not _real(flops, 0.0):
                raise InputError(f"{flops} is not accepted; accepted: a number from 0", field=f"ops[{i}].flops")
        for what, values in (("tensors[{}].size", self.sizes), ("access_bytes[{}]", self.access_bytes)):
            wrong = np.flatnonzero((values < 0) | (values > LARGEST))
            if wrong.size:
                message = f"{values[wrong[0]]} is not accepted; accepted: an integer from 0 to {LARGEST:,}"
                raise InputError(message, field=what.format(wrong[0]))
        for t, kind in enumerate(self.kinds):
            if kind not in KINDS:
                raise InputError(f"{kind!r} is not known; accepted: {', '.join(KINDS)}", field=f"tensors[{t}].kind")
        if len(set(self.tensor_names)) < len(self.tensor_names):
            again = next(name for k, name in enumerate(self.tensor_names) if name in self.tensor_names[:k])
            raise InputError(f"two tensors are called {again[:60]!r}; accepted: each name once", field="tensors")

    def _check_order(self) -> None:
        """Check that every tensor is written at most once, before it is read, and that no operation accesses a tensor twice."""
        exists = [kind in FROM_SLOW for kind in self.kinds]
        for i in range(self.ops):
            accessed: set[int] = set()
            for a in range(int(self.access_first[i]), int(self.access_first[i + 1])):
                t, write = int(self.access_tensor[a]), bool(self.access_write[a])
                field = f"ops[{i}].{'writes' if write else 'reads'}"
                name = repr(self.tensor_names[t][:60])
                if t in accessed:
                    raise InputError(f"tensor {name} twice; accepted: each once in an operation", field=field)
                accessed.add(t)
                if write and exists[t]:
                    why = f"has kind {self.kinds[t]}" if self.kinds[t] in FROM_SLOW else "is written by an earlier operation"
                    raise InputError(f"tensor {name} {why}; accepted: tensors that no earlier operation writes", field=field)
                if not write and not exists[t]:
                    message = f"tensor {name} is read before it exists; accepted: inputs, weights, tensors written before"
                    raise InputError(message, field=field)
                exists[t] |= write
        for t, kind in enumerate(self.kinds):
            if kind == "output" and not exists[t]:
                raise InputError("an output that no operation writes", field=f"tensors[{t}]")

    # ---------------------------------------------------------------- derived data
    @property
    def ops(self) -> int:
        """The number of operations."""
        return len(self.op_names)

    @property
    def tensors(self) -> int:
        """The number of tensors."""
        return len(self.tensor_names)

    @property
    def access_op(self) -> NDArray[np.int32]:
        """The operation of each access, int32 [accesses]."""
        return np.repeat(np.arange(self.ops, dtype=np.int32), np.diff(self.access_first))

    @property
    def definition(self) -> NDArray[np.int32]:
        """The operation that writes each tensor, int32 [T]; -1 for inputs, weights and tensors that no operation writes."""
        made = np.full(self.tensors, -1, np.int32)
        made[self.access_tensor[self.access_write]] = self.access_op[self.access_write]
        return made

    @property
    def compute(self) -> NDArray[np.float64]:
        """The seconds of each operation's floating-point operations at the peak rate of its unit, float64 [O]."""
        return np.asarray(self.flops / np.where(self.matrix, self.machine.matrix_flops, self.machine.vector_flops))

    def with_machine(self, machine: Machine, name: str | None = None) -> MappingInstance:
        """Return the same program on another machine. `name`: the new instance's name; None: unchanged."""
        return replace(self, machine=machine, name=self.name if name is None else name)


def from_program(
    ops: Sequence[Op],
    tensors: Sequence[tuple[str, int, str]],
    machine: Machine | None = None,
    *,
    aliases: Iterable[Iterable[int]] = (),
    name: str = "",
    comment: str = "",
) -> MappingInstance:
    """Return the instance of a program. Raises InputError.

    Args:
        ops: Operations in the order in which they run.
        tensors: (name, size in bytes, kind) of each tensor.
        machine: The machine; None: the default one.
        aliases: The alias groups, each a collection of tensor numbers.
        name: The instance's name.
        comment: Free text, kept in files.
    """
    accesses = [[(*access, False) for access in op.reads] + [(*access, True) for access in op.writes] for op in ops]
    flat = [access for row in accesses for access in row]
    for i, row in enumerate(accesses):
        for t, _, write in row:
            if not 0 <= t < len(tensors):
                message = f"there is no tensor {t}; accepted: 0 to {len(tensors) - 1}"
                raise InputError(message, field=f"ops[{i}].{'writes' if write else 'reads'}")
    group = np.full(len(tensors), -1, np.int32)
    for g, members in enumerate(aliases):
        for t in members:
            if not 0 <= t < len(tensors) or group[t] >= 0:
                raise InputError(f"tensor {t}; accepted: tensors of the program, each in one group", field=f"aliases[{g}]")
            group[t] = g
    return MappingInstance(
        name=name,
        machine=machine or Machine(),
        op_names=tuple(op.name for op in ops),
        matrix=np.array([op.matrix for op in ops], np.bool_),
        flops=np.array([op.flops for op in ops], np.float64),
        tensor_names=tuple(name for name, _, _ in tensors),
        sizes=np.array([size for _, size, _ in tensors], np.int64),
        kinds=tuple(kind for _, _, kind in tensors),
        access_first=np.cumsum([0, *map(len, accesses)]).astype(np.int32),
        access_tensor=np.array([t for t, _, _ in flat], np.int32),
        access_bytes=np.array([count for _, count, _ in flat], np.int64),
        access_write=np.array([write for _, _, write in flat], np.bool_),
        group=group,
        comment=comment,
    )


def _whole(value: Any, high: int, low: int = 0) -> bool:
    """Return whether a value is an integer from `low` to `high`."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(low <= value <= high)


def _real(value: Any, low: float) -> bool:
    """Return whether a value is a number from `low` to the largest accepted one."""
    return (
        isinstance(value, (int, float, np.integer, np.floating))
        and not isinstance(value, bool)
        and bool(low <= value <= _LARGEST_RATE)
    )

"""A recorded model before fusion: steps, one per ATen operation, that read and write versions of storages.

A version is the contents of a storage between two writes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

__all__ = ["Cost", "Recording", "Role", "Step", "Version", "View"]

Role = Literal["elementwise", "reduction", "other"]
"""How a step may be fused with others (fusion.py)."""


class View(NamedTuple):
    """The elements of a storage that a tensor refers to; strides and offset are in elements, as in PyTorch."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def elements(self) -> int:
        """The number of different elements. A stride of 0 repeats elements; other overlaps are not recognised."""
        count = 1
        for size, stride in zip(self.shape, self.strides):
            count *= size if stride or size == 0 else 1
        return count

    @property
    def packed(self) -> tuple[tuple[int, int], ...]:
        """The (size, stride) of each dimension except those of size 1, which do not affect the layout."""
        return tuple((size, stride) for size, stride in zip(self.shape, self.strides) if size != 1)


class Cost(NamedTuple):
    """The work of one ATen operation."""

    matrix: float
    """Floating-point operations on the matrix unit (a multiplication and an addition are two)."""
    vector: float
    """Floating-point operations on the vector unit."""
    role: Role
    """How the operation may be fused with others."""


@dataclass
class Version:
    """The contents of a storage between two writes."""

    name: str
    """The name of the program's tensor."""
    bytes: int
    """Bytes of the whole storage."""
    kind: str
    """One of corl.problems.memory.instance.KINDS."""
    origin: int = -1
    """The number of the version that this version updates in place, so that both share memory; -1: none."""
    constant: bool = False
    """Whether the contents depend on no input, weight or random number, so that they are computed before the program runs."""
    generated: bool = False
    """Whether the contents are one value or a range (zeros, full, arange), which readers generate instead of reading memory."""


@dataclass
class Step:
    """One ATen operation that moves bytes."""

    kind: str
    """The name of the operation, such as "conv2d"."""
    module: str
    """The dotted name of the sub-module that called it; "" for the model itself."""
    cost: Cost
    """The operation's work."""
    elements: int
    """The number of elements of the operation's first result."""
    reads: dict[int, dict[View, int]] = field(default_factory=dict)
    """Number of the version -> view -> bytes read. If a part of a version is overwritten in place, 0 bytes of it are read: the
    version is needed, because its other part stays."""
    writes: dict[int, int] = field(default_factory=dict)
    """Number of the version -> bytes written."""


@dataclass
class Recording:
    """A model's steps in the order in which they run, and the versions that they access; a version's number is its index."""

    name: str
    steps: list[Step]
    versions: list[Version]

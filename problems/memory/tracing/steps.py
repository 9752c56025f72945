"""A recorded model before fusion: steps (one ATen operation each) that read and write versions of storages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

__all__ = ["Cost", "Recording", "Role", "Step", "Version", "View"]

Role = Literal["elementwise", "reduction", "other"]
"""How a step may be fused (fusion.py)."""


class View(NamedTuple):
    """The elements of a storage that a tensor refers to; strides and offset are in elements, as in PyTorch."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def elements(self) -> int:
        """The number of different elements: strides of 0 repeat elements (other overlaps are not considered)."""
        count = 1
        for size, stride in zip(self.shape, self.strides):
            count *= size if stride or size == 0 else 1
        return count

    @property
    def packed(self) -> tuple[tuple[int, int], ...]:
        """Sizes and strides, without dimensions of size 1, which do not affect the layout."""
        return tuple((size, stride) for size, stride in zip(self.shape, self.strides) if size != 1)


class Cost(NamedTuple):
    """The work of one ATen operation."""

    matrix: float
    """Floating-point operations on the matrix unit (a multiplication and an addition are two)."""
    vector: float
    """Floating-point operations on the vector unit."""
    role: Role


@dataclass
class Version:
    """The contents of a storage between two writes."""

    name: str
    bytes: int
    """Bytes of the whole storage."""
    kind: str
    """One of corl.problems.memory.instance.KINDS."""
    origin: int = -1
    """The version that this one updates in place, which shares its memory; -1: none."""
    constant: bool = False
    """Whether it depends on no input, weight or random number, so that it is computed before the program runs."""
    generated: bool = False
    """Whether it is a constant of one value or a range (zeros, full, arange), which its readers generate."""


@dataclass
class Step:
    """One ATen operation that moves bytes."""

    kind: str
    """The name of the operation, such as "conv2d"."""
    module: str
    """The dotted name of the sub-module that called it; "" for the model itself."""
    cost: Cost
    elements: int
    """The number of elements of its first result."""
    reads: dict[int, dict[View, int]] = field(default_factory=dict)
    """Version -> view -> bytes. 0 bytes are read of a version that is only needed because a part of it is kept."""
    writes: dict[int, int] = field(default_factory=dict)
    """Version -> bytes."""


@dataclass
class Recording:
    """A model's steps in the order in which they run, and the versions that they access, by number."""

    name: str
    steps: list[Step]
    versions: list[Version]

"""What a recorded model is before fusion: steps (one ATen operation each) that read and write versions of storages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

__all__ = ["Cost", "Recording", "Role", "Step", "Version", "View"]

Role = Literal["elementwise", "reduction", "other"]
"""How a step may be fused (fusion.py)."""


class View(NamedTuple):
    """Which elements of a storage a tensor shows, as PyTorch counts them."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def elements(self) -> int:
        """How many different elements there are, where strides of 0 repeat some (and no others overlap)."""
        count = 1
        for size, stride in zip(self.shape, self.strides):
            count *= size if stride or size == 0 else 1
        return count

    @property
    def packed(self) -> tuple[tuple[int, int], ...]:
        """Sizes and strides without the dimensions of one element, which lay nothing out."""
        return tuple((size, stride) for size, stride in zip(self.shape, self.strides) if size != 1)


class Cost(NamedTuple):
    """The work of one ATen operation."""

    matrix: float
    """Floating-point operations of the matrix unit (a multiplication and an addition are two)."""
    vector: float
    """Those of the vector unit."""
    role: Role


@dataclass
class Version:
    """The contents of a storage between two writes."""

    name: str
    bytes: int
    """Of the whole storage."""
    kind: str
    """Of corl.problems.memory.instance.KINDS."""
    origin: int = -1
    """The version that this one updates in place, which shares its memory; -1: none."""
    constant: bool = False
    """Whether it depends on no input, weight or random number: computed before the program runs."""
    generated: bool = False
    """Whether it is one value or a range (zeros, full, arange), which its readers make themselves; a constant as well."""


@dataclass
class Step:
    """One ATen operation that moves bytes."""

    kind: str
    """What it is called: "conv2d"."""
    module: str
    """The sub-module that called it, dotted; "" for the model itself."""
    cost: Cost
    elements: int
    """Elements of its first result."""
    reads: dict[int, dict[View, int]] = field(default_factory=dict)
    """Version -> view -> bytes. Nothing is read from a version that is there only because the rest of it stays."""
    writes: dict[int, int] = field(default_factory=dict)
    """Version -> bytes."""


@dataclass
class Recording:
    """A model's steps in the order in which they run, and the versions that they access by number."""

    name: str
    steps: list[Step]
    versions: list[Version]

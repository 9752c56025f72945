"""BranchingInstance: a program to be solved by a small tree; BranchingTree: a tree that proves its optimum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.problems.milp.instance import MilpInstance
from corl.problems.milp.scaling import Scaled, scaled, unreliable

__all__ = ["BranchingInstance", "BranchingTree"]


@dataclass(frozen=True, eq=False)
class BranchingInstance:
    """A program. Its integer variables must have finite limits (InputError otherwise), so that every tree is finite."""

    program: MilpInstance

    def __post_init__(self) -> None:
        endless = self.program.integer & ~(np.isfinite(self.program.lower) & np.isfinite(self.program.upper))
        if endless.any():
            name = self.program.names[int(endless.argmax())]
            raise InputError("an integer variable without limits; accepted: both limits finite", field=name[:40])
        if reason := unreliable(self.scaled.program):
            raise InputError(f"linear programming cannot hold it: {reason}")

    @cached_property
    def scaled(self) -> Scaled:
        """The program in its own units; this is the one that is solved."""
        return scaled(self.program)

    @property
    def name(self) -> str:
        """The name of the program."""
        return self.program.name

    @property
    def integers(self) -> int:
        """The number of integer variables."""
        return int(self.program.integer.sum())


@dataclass(frozen=True, eq=False)
class BranchingTree:
    """A branch-and-bound tree of N nodes and its incumbent. Preorder: a node, the first child's subtree, the second child's."""

    variable: NDArray[np.int32]
    """[N] the variable a node branches on; -1 for a leaf."""
    floor: NDArray[np.float64]
    """[N] f, an integer: the children have x <= f and x >= f + 1. 0 for a leaf."""
    up_first: NDArray[np.bool_]
    """[N] whether the first child is the one with x >= f + 1."""
    incumbent: NDArray[np.float64] | None
    """[n] the best solution; None if the tree proves that there is none."""

    @property
    def nodes(self) -> int:
        """The number of nodes, N."""
        return len(self.variable)

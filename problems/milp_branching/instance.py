"""BranchingInstance: a program to be solved by branch and bound; BranchingTree: a tree that proves its optimum."""

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
    """A mixed-integer program. Raises InputError if an integer variable has no finite limits: its trees may be infinite."""

    program: MilpInstance

    def __post_init__(self) -> None:
        if self.program.conditions is not None:
            raise InputError("semi-continuous variables, ordered sets or indicators; accepted: linear rows and integer variables")
        unlimited = self.program.integer & ~(np.isfinite(self.program.lower) & np.isfinite(self.program.upper))
        if unlimited.any():
            name = self.program.names[int(unlimited.argmax())]
            raise InputError("an integer variable without limits; accepted: both limits finite", field=name[:40])
        if reason := unreliable(self.scaled.program):
            raise InputError(f"linear programming cannot hold it: {reason}")

    @cached_property
    def scaled(self) -> Scaled:
        """The program divided by its units (problems/milp/scaling.py); its relaxations are the ones that are solved."""
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
    """A branch-and-bound tree of N nodes and its incumbent, a solution.

    Nodes are in preorder: a node, then the subtree of its first child, then that of its second child.
    """

    variable: NDArray[np.int32]
    """[N] the variable x that each node branches on; -1 for a leaf."""
    floor: NDArray[np.float64]
    """[N] an integer f: the down child has x <= f, the up child x >= f + 1. 0 for a leaf."""
    up_first: NDArray[np.bool_]
    """[N] whether the up child is the first child."""
    incumbent: NDArray[np.float64] | None
    """[n] the solution that the tree proves to be optimal; None if the tree proves that there is no solution."""

    @property
    def nodes(self) -> int:
        """The number of nodes, N."""
        return len(self.variable)

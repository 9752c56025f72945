"""Conversion of a tree into the environment's actions that lead to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.milp_branching.environment import BranchingEnvironment
from corl.problems.milp_branching.instance import BranchingInstance, BranchingTree

__all__ = ["decisions"]


def decisions(instance: BranchingInstance, solution: BranchingTree) -> NDArray[np.int64]:
    """Return the variables that a tree branches on, int64 [T], in preorder. Raises UsageError if the environment cannot build it.

    The environment searches depth first and takes the child nearer to the LP value first. A tree of another solver may take the
    other child first, or branch at a node that the environment would not branch on.
    """
    environment = BranchingEnvironment([instance], 1)
    taken = np.asarray(solution.variable, np.int64)
    taken = taken[taken >= 0]
    for j in taken.tolist():
        try:
            environment.step([0], [0], [j])
        except UsageError:
            raise UsageError("this tree is not one that the environment can grow, depth first to the nearer child") from None
    environment.solution(0)
    return taken

"""The branching decisions that lead the environment to a given tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.milp_branching.environment import BranchingEnvironment
from corl.problems.milp_branching.instance import BranchingInstance, BranchingTree

__all__ = ["decisions"]


def decisions(instance: BranchingInstance, solution: BranchingTree) -> NDArray[np.int64]:
    """Return the variables branched on, int64 [T], in preorder. Raises UsageError if the environment cannot build the tree.

    A tree of another solver may branch at a node that is integral for the environment, which searches depth first and takes the
    child nearer to the LP value first.
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

"""The judge of branch-and-bound trees, which solves the linear relaxations of the leaves itself.

A tree with an incumbent proves it optimal if two conditions hold. The incumbent is feasible for the program, by the judge of
`milp`. The relaxation of every leaf is infeasible, or better than the incumbent by at most 1e-6 * max(1, |objective value of the
incumbent|), for the program divided by its units (problems/milp/scaling.py). A tree without an incumbent proves infeasibility if
the relaxation of every leaf is infeasible. The order in which nodes were solved does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible, SolverError
from corl.problems.milp import evaluation as program_evaluation
from corl.problems.milp.instance import MilpInstance
from corl.problems.milp.scaling import integer_limits
from corl.problems.milp_branching.instance import BranchingInstance, BranchingTree
from corl.tolerance import FEASIBILITY

__all__ = ["Visited", "check", "leaf_bound", "nodes_of", "objective"]

_INFEASIBLE, _EITHER = 2, 4  # SciPy's statuses: infeasible; infeasible or unbounded


class Visited(NamedTuple):
    """A node of a tree whose nodes are numbered in preorder."""

    parent: int
    """The number of the parent, -1 for the root."""
    depth: int
    """The depth, 0 for the root."""
    variable: int
    """The variable that the node branches on, -1 for a leaf."""
    lower: NDArray[np.float64]
    """[n] the lower limits of the variables at the node."""
    upper: NDArray[np.float64]
    """[n] the upper limits of the variables at the node."""


def objective(instance: BranchingInstance, solution: Any) -> float:
    """Return the number of nodes of a tree, which must be a proof. Raises Infeasible as `check` does."""
    return float(len(check(instance, solution).variable))


def check(instance: BranchingInstance, solution: Any) -> BranchingTree:
    """Return the tree, if it is a proof. Raises Infeasible otherwise, naming the first leaf that proves nothing."""
    if not isinstance(solution, BranchingTree):
        raise Infeasible("a solution is a BranchingTree")
    program, cost = instance.scaled.program, instance.scaled.cost
    sign, offset = -1.0 if program.sense == "max" else 1.0, instance.program.offset
    limit = np.inf
    if solution.incumbent is not None:
        value = sign * (program_evaluation.objective(instance.program, solution.incumbent) - offset) / cost
        limit = value - FEASIBILITY * max(1.0, abs(value))
    for k, node in enumerate(nodes_of(program, solution)):
        if node.variable < 0 and (bound := leaf_bound(program, node.lower, node.upper)) < limit:
            what = "feasible" if solution.incumbent is None else f"at {sign * bound * cost + offset!r}, better than the incumbent"
            raise Infeasible(f"node {k} is a leaf, but its relaxation is {what}")
    return solution


def nodes_of(program: MilpInstance, tree: BranchingTree) -> Iterator[Visited]:
    """Yield the nodes in preorder with their limits on x. Raises Infeasible if the arrays are not a tree of this program."""
    variable, floor, up_first = (np.asarray(part) for part in (tree.variable, tree.floor, tree.up_first))
    if variable.ndim != 1 or not variable.shape == floor.shape == up_first.shape or not len(variable):
        raise Infeasible("a tree has a variable, a floor and a first child for each of at least one node")
    unvisited = [(-1, 0, *integer_limits(program))]
    for k, (j, f, up) in enumerate(zip(variable.tolist(), floor.tolist(), up_first.tolist())):
        if not unvisited:
            raise Infeasible(f"node {k} comes after the end of the tree")
        parent, depth, lower, upper = unvisited.pop()
        yield Visited(parent, depth, j, lower, upper)
        if j < 0:
            continue
        if j >= program.n or not program.integer[j] or f != np.floor(f) or not lower[j] <= f < upper[j]:
            name = program.names[j] if j < program.n else j
            raise Infeasible(f"node {k} branches on {name} at {f!r}; accepted: an integer variable, within its limits there")
        below, above = upper.copy(), lower.copy()
        below[j], above[j] = f, f + 1.0
        children = [(k, depth + 1, lower, below), (k, depth + 1, above, upper)]  # down, up
        unvisited += children if up else children[::-1]
    if unvisited:
        raise Infeasible(f"the tree ends before {len(unvisited)} of its children")


def leaf_bound(program: MilpInstance, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> float:
    """Return the minimum of the linear relaxation with these limits on x, without the constant of the objective.

    The objective of a maximised program is negated. The minimum is inf if the relaxation is infeasible, and -inf if it is
    unbounded. Raises SolverError if HiGHS fails.

    Args:
        program: A program of n variables.
        lower: float64 [n], the lower limits of the variables.
        upper: float64 [n], the upper limits.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    if (lower > upper).any():
        return float("inf")
    sign = -1.0 if program.sense == "max" else 1.0
    rows = LinearConstraint(program.matrix, program.row_lower, program.row_upper) if program.m else None
    limits = Bounds(lower, upper)
    found = milp(sign * program.c, constraints=rows, bounds=limits)
    if found.status == _EITHER:  # infeasible or unbounded: feasible without an objective means unbounded
        found = milp(0.0 * program.c, constraints=rows, bounds=limits)
        if found.status == 0:
            return float("-inf")
    if found.status == 0:
        return float(found.fun)
    if found.status == _INFEASIBLE:
        return float("inf")
    if found.status == 3:
        return float("-inf")
    raise SolverError(f"HiGHS on a leaf: {found.message}")

"""Depth-first branch and bound on immutable states; a new state shares its unchanged parts with the previous one.

Of two children, the one nearer to the LP value is solved first; at a fraction of one half, the up child. A node is fathomed if
its relaxation is infeasible, no better than the incumbent, or integral. An integral relaxation better than the incumbent replaces
it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.milp.evaluation import objective
from corl.problems.milp.scaling import Scaled, integer_limits
from corl.problems.milp_branching.instance import BranchingTree
from corl.problems.milp_branching.relaxations import Relaxation, Relaxations

__all__ = ["FRACTIONAL", "Pseudocosts", "State", "branch", "candidates", "children", "recorded", "root"]

FRACTIONAL = 1e-6
"""An integer variable is a candidate if its LP value differs by more than this from an integer."""
_MIN_IMPROVEMENT = 1e-9  # by which relative amount a node's relaxation must be better than the incumbent


class Pseudocosts(NamedTuple):
    """The observed gains of the objective per unit of change of each branching variable; row 0 is for down, row 1 for up."""

    total: NDArray[np.float64]
    """[2, n] the sums of the gains."""
    observations: NDArray[np.int32]
    """[2, n] the numbers of observed gains."""


class _OpenNode(NamedTuple):
    """A node that waits to be solved, or that is solved and waits to be branched on."""

    lower: NDArray[np.float64]
    """[n] the lower limits of the variables."""
    upper: NDArray[np.float64]
    """[n] the upper limits of the variables."""
    depth: int
    """The depth, 0 for the root."""
    variable: int
    """The variable that the parent branched on; -1 for the root."""
    up: int
    """1 for the up child, 0 for the down child."""
    moved: float
    """How far the branching moved the variable: the distance from its LP value at the parent to the limit of this node."""
    objective: float
    """The objective value of the parent's LP."""


class State(NamedTuple):
    """A tree at a branching decision, or a complete tree if `node` is None."""

    node: _OpenNode | None
    """The node to branch at."""
    relaxation: Relaxation | None
    """The relaxation of `node`."""
    waiting: tuple[object, ...]
    """The nodes still to be solved, as a linked list: (next node, (node after that, (... ())))."""
    pending: int
    """The number of nodes in `waiting`."""
    log: tuple[object, ...]
    """(variable, floor, up first) of each finished node in preorder, as a linked list with the last entry first."""
    solved: int
    """The number of relaxations solved: the nodes of the tree so far."""
    value: float
    """The objective value of the incumbent, minimised and without the constant; inf without an incumbent."""
    incumbent: NDArray[np.float64] | None
    """[n] the best solution so far."""
    pseudocosts: Pseudocosts
    root_relaxation: Relaxation | None
    """The relaxation of the root."""


def root(relaxations: Relaxations) -> State:
    """Return the state at the first branching decision, or that of a complete tree if none is needed."""
    program = relaxations.program
    root_node = _OpenNode(*integer_limits(program), 0, -1, 0, 0.0, -np.inf)
    no_pseudocosts = Pseudocosts(np.zeros((2, program.n)), np.zeros((2, program.n), np.int32))
    state = State(None, None, (root_node, ()), 1, (), 0, np.inf, None, no_pseudocosts, None)
    return _proceed(relaxations, state)


def candidates(relaxations: Relaxations, state: State) -> NDArray[np.int32]:
    """Return the fractional integer variables, int32 [K], the most fractional first; empty for a complete tree."""
    if state.relaxation is None:
        return np.zeros(0, np.int32)
    assert state.node is not None
    distance = _fractions(relaxations, state.node, state.relaxation.x)
    fractional = np.flatnonzero(distance)
    return fractional[np.argsort(-distance[fractional], kind="stable")].astype(np.int32)


def children(state: State, variable: int) -> tuple[_OpenNode, _OpenNode]:
    """Return the down child and the up child of the current node."""
    node, relaxation = state.node, state.relaxation
    assert node is not None and relaxation is not None
    value = float(relaxation.x[variable])
    floor = np.floor(value)
    below, above = node.upper.copy(), node.lower.copy()
    below[variable], above[variable] = floor, floor + 1.0
    deeper = node.depth + 1
    return (
        _OpenNode(node.lower, below, deeper, variable, 0, value - floor, relaxation.objective),
        _OpenNode(above, node.upper, deeper, variable, 1, floor + 1.0 - value, relaxation.objective),
    )


def branch(relaxations: Relaxations, state: State, variable: int) -> State:
    """Return the state after branching on this candidate and solving nodes until the next decision."""
    down, up = children(state, variable)
    up_first = bool(up.moved <= 0.5)
    first, second = (up, down) if up_first else (down, up)
    entry = (variable, float(down.upper[variable]), up_first)
    changed = state._replace(
        waiting=(first, (second, state.waiting)), pending=state.pending + 2, log=(entry, state.log), node=None, relaxation=None
    )
    return _proceed(relaxations, changed)


def _proceed(relaxations: Relaxations, state: State) -> State:
    """Return the state after solving waiting nodes until one must be branched on, or no node is left."""
    waiting, log, solved, pending = state.waiting, state.log, state.solved, state.pending
    value, incumbent, pseudocosts, root_relaxation = state.value, state.incumbent, state.pseudocosts, state.root_relaxation
    current: tuple[_OpenNode, Relaxation] | None = None
    while waiting:
        node, waiting = waiting  # type: ignore[assignment]
        relaxed = relaxations.solve(node.lower, node.upper)  # type: ignore[attr-defined]
        solved, pending = solved + 1, pending - 1
        root_relaxation = relaxed if root_relaxation is None else root_relaxation
        pseudocosts = _updated(pseudocosts, node, relaxed)  # type: ignore[arg-type]
        if relaxed.objective < value - _MIN_IMPROVEMENT * max(1.0, abs(value) if np.isfinite(value) else 1.0):
            if _fractions(relaxations, node, relaxed.x).any():  # type: ignore[arg-type]
                current = node, relaxed  # type: ignore[assignment]
                break
            incumbent = _solution(relaxations, relaxed.x)
            value = relaxations.sign * float(relaxations.program.c @ incumbent)
        log = ((-1, 0.0, False), log)
    current_node, relaxation = current if current else (None, None)
    return State(current_node, relaxation, waiting, pending, log, solved, value, incumbent, pseudocosts, root_relaxation)


def _updated(pseudocosts: Pseudocosts, node: _OpenNode, relaxed: Relaxation) -> Pseudocosts:
    """Return the pseudocosts with the gain of the branching that led to `node`; unchanged if the node is infeasible."""
    if node.variable < 0 or not np.isfinite(relaxed.objective):
        return pseudocosts
    total, observations = pseudocosts.total.copy(), pseudocosts.observations.copy()
    total[node.up, node.variable] += max(0.0, relaxed.objective - node.objective) / node.moved
    observations[node.up, node.variable] += 1
    return Pseudocosts(total, observations)


def _fractions(relaxations: Relaxations, node: _OpenNode, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distances of the integer variables from the nearest integers, float64 [n]; 0 for the other variables.

    Distances up to FRACTIONAL count as 0. If all distances are that small, but rounding the integers violates a row, they are
    returned unchanged: with a coefficient of a million, a change of a millionth matters.
    """
    program = relaxations.program
    within = np.clip(x, node.lower, node.upper)  # removes rounding errors of the relaxation
    distance = np.where(program.integer, np.abs(within - np.round(within)), 0.0)
    if (distance > FRACTIONAL).any():
        return np.where(distance > FRACTIONAL, distance, 0.0)
    try:
        objective(program, np.where(program.integer, np.round(x), x))
    except Infeasible:
        return distance
    return np.zeros_like(distance)


def _solution(relaxations: Relaxations, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an integral LP solution with its integer variables rounded; unchanged if rounding would violate a row."""
    rounded = np.where(relaxations.program.integer, np.round(x), x)
    try:
        objective(relaxations.program, rounded)
    except Infeasible:
        return x
    return rounded


def recorded(state: State, scaled: Scaled) -> BranchingTree:
    """Return the tree of a complete state, with the incumbent as a solution of the unscaled program."""
    entries: list[tuple[int, float, bool]] = []
    log = state.log
    while log:
        entry, log = log  # type: ignore[assignment]
        entries.append(entry)  # type: ignore[arg-type]
    entries.reverse()
    variable, floor, up_first = zip(*entries)
    incumbent = None if state.incumbent is None else scaled.to_instance(state.incumbent)
    return BranchingTree(np.array(variable, np.int32), np.array(floor), np.array(up_first, np.bool_), incumbent)

"""Depth-first branch and bound on immutable states: a new state shares unchanged parts with the one it was made from.

The child nearer to the LP value is solved first (up at one half). A node is fathomed if its relaxation is infeasible, not better
than the incumbent, or integral; an integral relaxation becomes the incumbent.
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
"""An integer variable is a candidate if its LP value is further than this from an integer."""
_NO_BETTER = 1e-9  # relative improvement of the incumbent up to which a node is not better


class Pseudocosts(NamedTuple):
    """Observed gains of the objective per unit of change of each branching variable; row 0 is down, row 1 is up."""

    total: NDArray[np.float64]
    """[2, n] the sums of the gains."""
    observations: NDArray[np.int32]
    """[2, n] the numbers of gains."""


class _OpenNode(NamedTuple):
    """A node whose relaxation has not been solved."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    depth: int
    variable: int
    """The variable that the parent branched on; -1 for the root."""
    up: int
    """1 for the up child, 0 for the down child."""
    moved: float
    """The distance of the variable's LP value at the parent from the limits of this node."""
    objective: float
    """The LP objective of the parent."""


class State(NamedTuple):
    """A tree at a branching decision, or a complete tree if `node` is None."""

    node: _OpenNode | None
    """The node to branch at."""
    relaxation: Relaxation | None
    """The relaxation of `node`."""
    waiting: tuple[object, ...]
    """A linked list of the nodes still to be solved: (the next node, (the one after it, (... ()))."""
    pending: int
    """The number of nodes in `waiting`."""
    log: tuple[object, ...]
    """A linked list, last entry first, of (variable, floor, up first) of each finished node, in preorder."""
    solved: int
    """The number of relaxations solved: the nodes of the tree so far."""
    value: float
    """The objective value of the incumbent, minimised and without the constant; inf without an incumbent."""
    incumbent: NDArray[np.float64] | None
    pseudocosts: Pseudocosts
    root_relaxation: Relaxation | None
    """The relaxation of the root."""


def root(relaxations: Relaxations) -> State:
    """Return the state at the first branching decision."""
    program = relaxations.program
    begin = _OpenNode(*integer_limits(program), 0, -1, 0, 0.0, -np.inf)
    nothing = Pseudocosts(np.zeros((2, program.n)), np.zeros((2, program.n), np.int32))
    state = State(None, None, (begin, ()), 1, (), 0, np.inf, None, nothing, None)
    return _proceed(relaxations, state)


def candidates(relaxations: Relaxations, state: State) -> NDArray[np.int32]:
    """Return the fractional integer variables, int32 [K], most fractional first, ties by number; empty for a complete tree."""
    if state.relaxation is None:
        return np.zeros(0, np.int32)
    assert state.node is not None
    distance = _fractions(relaxations, state.node, state.relaxation.x)
    found = np.flatnonzero(distance)
    return found[np.argsort(-distance[found], kind="stable")].astype(np.int32)


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
    """Return the state after solving waiting nodes until one must be branched on, or none is left."""
    waiting, log, solved, pending = state.waiting, state.log, state.solved, state.pending
    value, incumbent, pseudocosts, first = state.value, state.incumbent, state.pseudocosts, state.root_relaxation
    current: tuple[_OpenNode, Relaxation] | None = None
    while waiting:
        node, waiting = waiting  # type: ignore[assignment]
        found = relaxations.solve(node.lower, node.upper)  # type: ignore[attr-defined]
        solved, pending = solved + 1, pending - 1
        first = found if first is None else first
        pseudocosts = _updated(pseudocosts, node, found)  # type: ignore[arg-type]
        if found.objective < value - _NO_BETTER * max(1.0, abs(value) if np.isfinite(value) else 1.0):
            if _fractions(relaxations, node, found.x).any():  # type: ignore[arg-type]
                current = node, found  # type: ignore[assignment]
                break
            incumbent = _solution(relaxations, found.x)
            value = relaxations.sign * float(relaxations.program.c @ incumbent)
        log = ((-1, 0.0, False), log)
    node_now, relaxation = current if current else (None, None)
    return State(node_now, relaxation, waiting, pending, log, solved, value, incumbent, pseudocosts, first)


def _updated(pseudocosts: Pseudocosts, node: _OpenNode, found: Relaxation) -> Pseudocosts:
    """Return the pseudocosts with the gain of the branching that led to `node`; unchanged if the node is infeasible."""
    if node.variable < 0 or not np.isfinite(found.objective):
        return pseudocosts
    total, observations = pseudocosts.total.copy(), pseudocosts.observations.copy()
    total[node.up, node.variable] += max(0.0, found.objective - node.objective) / node.moved
    observations[node.up, node.variable] += 1
    return Pseudocosts(total, observations)


def _fractions(relaxations: Relaxations, node: _OpenNode, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distances of the integer variables from the nearest integers, float64 [n]; 0 for the other variables.

    Distances up to FRACTIONAL count as 0. If all are that small, but rounding violates a row (with a coefficient of a million, a
    change of a millionth matters), the distances are returned as they are.
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
    """Return an integral LP solution with its integers rounded, or unchanged if rounding would violate a row."""
    rounded = np.where(relaxations.program.integer, np.round(x), x)
    try:
        objective(relaxations.program, rounded)
    except Infeasible:
        return x
    return rounded


def recorded(state: State, scaled: Scaled) -> BranchingTree:
    """Return the tree of a complete state, its incumbent in the units of the original program."""
    entries: list[tuple[int, float, bool]] = []
    log = state.log
    while log:
        entry, log = log  # type: ignore[assignment]
        entries.append(entry)  # type: ignore[arg-type]
    entries.reverse()
    variable, floor, up_first = zip(*entries)
    incumbent = None if state.incumbent is None else scaled.to_instance(state.incumbent)
    return BranchingTree(np.array(variable, np.int32), np.array(floor), np.array(up_first, np.bool_), incumbent)

"""Depth-first branch and bound as immutable states: a step shares with its state all that it does not change.

The first child is the one that the LP value is nearer to (up at one half); a node is fathomed where its relaxation is
infeasible, no better than the incumbent, or integral, which makes it one.
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
"""An integer variable whose LP value is further than this from an integer is a candidate."""
_NO_BETTER = 1e-9  # relative


class Pseudocosts(NamedTuple):
    """What branching on a variable did to the objective per unit that it moved: sums, and how many. [2, n]: down, up."""

    total: NDArray[np.float64]
    seen: NDArray[np.int32]


class _Waiting(NamedTuple):
    """A node whose relaxation has not been solved."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    depth: int
    variable: int
    """What its parent branched on; -1 for the root."""
    up: int
    moved: float
    """How far the parent's value of it is from this node's limits."""
    objective: float
    """The parent's."""


class State(NamedTuple):
    """A tree that is waiting for a branching decision or, where `node` is None, complete."""

    node: _Waiting | None
    relaxation: Relaxation | None
    """Of `node`."""
    waiting: tuple[object, ...]
    """The nodes still to be solved, as (the next, (the one after it, (... ()))."""
    pending: int
    """How many these are."""
    log: tuple[object, ...]
    """(variable, floor, up first) of the nodes done, the last first, nested in the same way."""
    solved: int
    """Relaxations solved: nodes of the tree."""
    value: float
    """Of the incumbent, minimised and without the constant; inf without one."""
    incumbent: NDArray[np.float64] | None
    pseudocosts: Pseudocosts
    root_relaxation: Relaxation | None
    """The root's."""


def root(relaxations: Relaxations) -> State:
    """The tree after its root is solved."""
    program = relaxations.program
    begin = _Waiting(*integer_limits(program), 0, -1, 0, 0.0, -np.inf)
    nothing = Pseudocosts(np.zeros((2, program.n)), np.zeros((2, program.n), np.int32))
    state = State(None, None, (begin, ()), 1, (), 0, np.inf, None, nothing, None)
    return _proceed(relaxations, state)


def candidates(relaxations: Relaxations, state: State) -> NDArray[np.int32]:
    """The fractional integer variables at the node, the most fractional first, of equals the first; none where it is complete."""
    if state.relaxation is None:
        return np.zeros(0, np.int32)
    assert state.node is not None
    distance = _fractions(relaxations, state.node, state.relaxation.x)
    found = np.flatnonzero(distance)
    return found[np.argsort(-distance[found], kind="stable")].astype(np.int32)


def children(state: State, variable: int) -> tuple[_Waiting, _Waiting]:
    """(the child with the smaller values, the one with the greater)."""
    node, relaxation = state.node, state.relaxation
    assert node is not None and relaxation is not None
    value = float(relaxation.x[variable])
    floor = np.floor(value)
    below, above = node.upper.copy(), node.lower.copy()
    below[variable], above[variable] = floor, floor + 1.0
    deeper = node.depth + 1
    return (
        _Waiting(node.lower, below, deeper, variable, 0, value - floor, relaxation.objective),
        _Waiting(above, node.upper, deeper, variable, 1, floor + 1.0 - value, relaxation.objective),
    )


def branch(relaxations: Relaxations, state: State, variable: int) -> State:
    """The tree when the node is branched on this candidate and every node is solved until the next decision."""
    down, up = children(state, variable)
    up_first = bool(up.moved <= 0.5)
    first, second = (up, down) if up_first else (down, up)
    entry = (variable, float(down.upper[variable]), up_first)
    changed = state._replace(
        waiting=(first, (second, state.waiting)), pending=state.pending + 2, log=(entry, state.log), node=None, relaxation=None
    )
    return _proceed(relaxations, changed)


def _proceed(relaxations: Relaxations, state: State) -> State:
    """Solve waiting nodes until one must be branched on, or none is left."""
    waiting, log, solved, pending = state.waiting, state.log, state.solved, state.pending
    value, incumbent, pseudocosts, first = state.value, state.incumbent, state.pseudocosts, state.root_relaxation
    current: tuple[_Waiting, Relaxation] | None = None
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


def _updated(pseudocosts: Pseudocosts, node: _Waiting, found: Relaxation) -> Pseudocosts:
    """With the gain of the branching that led to a node, if it is feasible."""
    if node.variable < 0 or not np.isfinite(found.objective):
        return pseudocosts
    total, seen = pseudocosts.total.copy(), pseudocosts.seen.copy()
    total[node.up, node.variable] += max(0.0, found.objective - node.objective) / node.moved
    seen[node.up, node.variable] += 1
    return Pseudocosts(total, seen)


def _fractions(relaxations: Relaxations, node: _Waiting, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far the integers are from whole numbers, float64 [n]; 0 for the others, and for all where x stands for a solution.

    What is nearer than FRACTIONAL counts as whole, unless all are so near and the whole numbers break a row: a coefficient of a
    million makes 1 of a millionth.
    """
    program = relaxations.program
    within = np.clip(x, node.lower, node.upper)  # but for the rounding of the relaxation it is
    distance = np.where(program.integer, np.abs(within - np.round(within)), 0.0)
    if (distance > FRACTIONAL).any():
        return np.where(distance > FRACTIONAL, distance, 0.0)
    try:
        objective(program, np.where(program.integer, np.round(x), x))
    except Infeasible:
        return distance
    return np.zeros_like(distance)


def _solution(relaxations: Relaxations, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """An integral LP solution with its integers rounded, or as it is where that would break a row."""
    rounded = np.where(relaxations.program.integer, np.round(x), x)
    try:
        objective(relaxations.program, rounded)
    except Infeasible:
        return x
    return rounded


def recorded(state: State, scaled: Scaled) -> BranchingTree:
    """The tree of a complete state; scaled: the program's units."""
    entries: list[tuple[int, float, bool]] = []
    log = state.log
    while log:
        entry, log = log  # type: ignore[assignment]
        entries.append(entry)  # type: ignore[arg-type]
    entries.reverse()
    variable, floor, up_first = zip(*entries)
    incumbent = None if state.incumbent is None else scaled.values(state.incumbent)
    return BranchingTree(np.array(variable, np.int32), np.array(floor), np.array(up_first, np.bool_), incumbent)

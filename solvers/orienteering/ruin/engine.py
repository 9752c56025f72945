"""The engine of `RuinRecreate`: several coolings, and the report of their best paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corl.problems.orienteering.evaluation import shortest_path
from corl.problems.orienteering.instance import OrienteeringInstance
from corl.rng import random_state
from corl.run import Run
from corl.solvers.orienteering.ruin.path import SCORE, insert, new_path
from corl.solvers.orienteering.ruin.search import CANDIDATES, ITERATION, MORE, PLANNED, PRICE, Search, advance, new_search
from corl.solvers.orienteering.ruin.space import Space, upper_bound

if TYPE_CHECKING:
    from corl.solvers.orienteering.ruin.solver import RuinRecreate

__all__ = ["solve"]


def solve(solver: RuinRecreate, instance: OrienteeringInstance, run: Run) -> None:
    """See `Solver.solve`."""
    if run.solution is None:
        first = shortest_path(instance)
        assert first is not None  # or the run would have ended at its start
        run.report(first)
    run.report_bound(upper_bound(instance))
    if run.should_stop:
        return
    space = Space(instance)
    if space.n > 2:
        _search(solver, space, run)


def _search(solver: RuinRecreate, space: Space, run: Run) -> None:
    """All coolings, the best path of which is reported."""
    best: Search | None = None
    neighbours = space.neighbours(solver.neighbours)
    for part in range(solver.coolings):
        search = _begin(solver, space, neighbours, run, part, best)
        _cool(solver, search, space, run, part, float(search.record[SCORE] if best is None else best.record[SCORE]))
        if best is None or search.record[SCORE] > MORE * best.record[SCORE]:
            best = search
        if run.should_stop:
            break
    assert best is not None
    run.report(space.path(best.best))


def _cool(solver: RuinRecreate, search: Search, space: Space, run: Run, part: int, reported: float) -> None:
    """One cooling, over its share of the budget; only paths that score more than `reported` are: of paths alike the first."""
    begin, end = part / solver.coolings, (part + 1) / solver.coolings
    planned = None
    if run.iterations is not None:
        planned = run.iterations * (part + 1) // solver.coolings - run.iterations * part // solver.coolings
        search.plan[PLANNED] = planned
    while True:
        left = None if planned is None else planned - int(search.counts[ITERATION])
        if end < 1.0 and (run.fraction >= end if left is None else left == 0):
            return
        steps = run.budget(left or None)  # after the last iteration it says so
        if not steps:
            return
        if planned is None and run.fraction > begin:
            search.plan[PLANNED] = max(1.0, search.counts[ITERATION] * (end - begin) / (run.fraction - begin))
        advance(search, steps)
        if search.record[SCORE] > MORE * reported and run.report_due:
            reported = float(search.record[SCORE])
            run.report(space.path(search.best))


def _begin(solver: RuinRecreate, space: Space, neighbours: NDArray[np.int32], run: Run, part: int, best: Search | None) -> Search:
    """The start of a cooling: the first from the incumbent, where its nodes all score, the last from the best so far, and
    the others from the direct way."""
    journal = max(space.n, 2 * CANDIDATES) + 2
    path, behind = new_path(space.metric, space.scores, journal), 0
    last = best is not None and part + 1 == solver.coolings
    known = space.path(best.best) if last and best is not None else run.solution if part == 0 else None
    inner = None if known is None else space.numbers(known)
    for node in [] if inner is None else inner.tolist():
        insert(path, node, behind)
        behind = node
    search = new_search(path, neighbours, random_state(run.seed, part))
    mean = float(space.scores[1:-1].mean())
    hot, excess = (min(solver.reheat, solver.hot), 0.2 * solver.excess) if last else (solver.hot, solver.excess)
    search.plan[:] = np.inf, hot * mean, solver.cold * mean, 0.0, space.limit, excess, space.limit
    if last and best is not None:
        search.plan[PRICE] = best.plan[PRICE]
    search.strings[:] = solver.longest, solver.strings
    return search

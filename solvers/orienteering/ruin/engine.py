"""The engine of `RuinRecreate`: several runs of simulated annealing (coolings), whose best paths are reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corl.problems.orienteering.evaluation import shortest_path
from corl.problems.orienteering.instance import OrienteeringInstance
from corl.rng import random_state
from corl.run import Run
from corl.solvers.orienteering.ruin.path import SCORE, insert, new_path
from corl.solvers.orienteering.ruin.search import BETTER, CANDIDATES, ITERATION, PLANNED, PRICE, PathSearch, advance, new_search
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
    """Do all coolings, and report the best path."""
    best: PathSearch | None = None
    neighbours = space.neighbours(solver.neighbours)
    for part in range(solver.coolings):
        search = _begin(solver, space, neighbours, run, part, best)
        _cool(solver, search, space, run, part, float(search.best_sums[SCORE] if best is None else best.best_sums[SCORE]))
        if best is None or search.best_sums[SCORE] > BETTER * best.best_sums[SCORE]:
            best = search
        if run.should_stop:
            break
    assert best is not None
    run.report(space.path(best.best))


def _cool(solver: RuinRecreate, search: PathSearch, space: Space, run: Run, part: int, reported: float) -> None:
    """Do one cooling within its share of the budget, and report paths that score more than `reported`.

    Args:
        solver: The options.
        search: The state of this cooling.
        space: The nodes of the instance.
        run: The run.
        part: The number of the cooling, from 0.
        reported: The best score reported so far.
    """
    begin, end = part / solver.coolings, (part + 1) / solver.coolings
    planned = None
    if run.iterations is not None:
        planned = run.iterations * (part + 1) // solver.coolings - run.iterations * part // solver.coolings
        search.schedule[PLANNED] = planned
    while True:
        left = None if planned is None else planned - int(search.counts[ITERATION])
        if end < 1.0 and (run.fraction >= end if left is None else left == 0):
            return
        steps = run.budget(left or None)  # 0 after the last iteration
        if not steps:
            return
        if planned is None and run.fraction > begin:
            search.schedule[PLANNED] = max(1.0, search.counts[ITERATION] * (end - begin) / (run.fraction - begin))
        advance(search, steps)
        if search.best_sums[SCORE] > BETTER * reported and run.report_due:
            reported = float(search.best_sums[SCORE])
            run.report(space.path(search.best))


def _begin(
    solver: RuinRecreate, space: Space, neighbours: NDArray[np.int32], run: Run, part: int, best: PathSearch | None
) -> PathSearch:
    """Return the state of a cooling at its start.

    The first cooling begins with the incumbent, if all its inner nodes score; the last of several begins with the best path of
    the others, `best`; all others begin with the direct way from start to end.
    """
    journal = max(space.n, 2 * CANDIDATES) + 2
    path, previous = new_path(space.metric, space.scores, journal), 0
    last = best is not None and part + 1 == solver.coolings
    known = space.path(best.best) if last and best is not None else run.solution if part == 0 else None
    inner = None if known is None else space.numbers(known)
    for node in [] if inner is None else inner.tolist():
        insert(path, node, previous)
        previous = node
    search = new_search(path, neighbours, random_state(run.seed, part))
    mean = float(space.scores[1:-1].mean())
    hot, excess = (min(solver.reheat, solver.hot), 0.2 * solver.excess) if last else (solver.hot, solver.excess)
    search.schedule[:] = np.inf, hot * mean, solver.cold * mean, 0.0, space.limit, excess, space.limit
    if last and best is not None:
        search.schedule[PRICE] = best.schedule[PRICE]
    search.strings[:] = solver.longest, solver.strings
    return search

"""The search of `RuinRecreate`: several coolings (runs of simulated annealing), whose best paths are reported."""

from __future__ import annotations

from dataclasses import replace
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

_FEW, _MANY = 4, 16  # numbers of coolings
_SMALL = 400  # greatest number of nodes for which there are many coolings
_ITERATIONS_PER_NODE = 1200  # the least number of iterations per node for many coolings
_SECONDS_PER_NODE = 7e-3  # the least time limit per node for many coolings: about as many iterations


def solve(solver: RuinRecreate, instance: OrienteeringInstance, run: Run) -> None:
    """Solve an instance with the options `solver`: see `Solver.solve`."""
    if run.solution is None:
        direct = shortest_path(instance)
        assert direct is not None  # an infeasible instance ends its run before
        run.report(direct)
    run.report_bound(upper_bound(instance))
    if run.should_stop:
        return
    space = Space(instance)
    if space.n > 2:
        _search(solver, space, run)


def _search(solver: RuinRecreate, space: Space, run: Run) -> None:
    """Make all coolings, and report the best path."""
    best: PathSearch | None = None
    neighbours, coolings = space.neighbours(solver.neighbours), solver.coolings or _coolings(space.n, run)
    solver = replace(solver, coolings=coolings)
    for number in range(coolings):
        search = _start_cooling(solver, space, neighbours, run, number, best)
        _cool(solver, search, space, run, number, float(search.best_sums[SCORE] if best is None else best.best_sums[SCORE]))
        if best is None or search.best_sums[SCORE] > BETTER * best.best_sums[SCORE]:
            best = search
        if run.should_stop:
            break
    assert best is not None
    run.report(space.path(best.best))


def _coolings(n: int, run: Run) -> int:
    """Return the number of coolings for n nodes: with few nodes, each takes little time, and their results differ much."""
    if run.iterations is not None:
        enough = run.iterations >= _ITERATIONS_PER_NODE * n
    else:
        enough = run.time_limit is None or run.time_limit >= _SECONDS_PER_NODE * n
    return _MANY if n <= _SMALL and enough else _FEW


def _cool(solver: RuinRecreate, search: PathSearch, space: Space, run: Run, number: int, reported: float) -> None:
    """Make one cooling within its share of the run, and report paths that score more than `reported`.

    Args:
        solver: The options.
        search: The state of this cooling.
        space: The nodes of the instance.
        run: The run.
        number: The number of the cooling, from 0.
        reported: The best score reported so far.
    """
    first_share, last_share = number / solver.coolings, (number + 1) / solver.coolings
    planned = None
    if run.iterations is not None:
        planned = run.iterations * (number + 1) // solver.coolings - run.iterations * number // solver.coolings
        search.schedule[PLANNED] = planned
    while True:
        iterations_left = None if planned is None else planned - int(search.counts[ITERATION])
        if last_share < 1.0 and (run.fraction >= last_share if iterations_left is None else iterations_left == 0):
            return
        steps = run.budget(iterations_left or None)  # 0 after the last iteration
        if not steps:
            return
        if planned is None and run.fraction > first_share:
            iterations = search.counts[ITERATION] * (last_share - first_share) / (run.fraction - first_share)
            search.schedule[PLANNED] = max(1.0, iterations)
        advance(search, steps)
        if search.best_sums[SCORE] > BETTER * reported and run.report_due:
            reported = float(search.best_sums[SCORE])
            run.report(space.path(search.best))


def _start_cooling(
    solver: RuinRecreate, space: Space, neighbours: NDArray[np.int32], run: Run, number: int, best: PathSearch | None
) -> PathSearch:
    """Return the state of a cooling at its start.

    The first cooling begins with the incumbent, unless that visits nodes that `space` leaves out. The last of several coolings
    begins with the best path of the others; the rest begin with the direct way from start to end.

    Args:
        solver: The options.
        space: The nodes of the instance.
        neighbours: int32 [N, K], the nearest other nodes of each node.
        run: The run.
        number: The number of the cooling, from 0.
        best: The best of the earlier coolings; None for the first one.
    """
    journal = max(space.n, 2 * CANDIDATES) + 2
    path, previous = new_path(space.metric, space.scores, journal), 0
    is_last = best is not None and number + 1 == solver.coolings
    initial = space.path(best.best) if is_last and best is not None else run.solution if number == 0 else None
    inner = None if initial is None else space.numbers(initial)
    for node in [] if inner is None else inner.tolist():
        insert(path, node, previous)
        previous = node
    search = new_search(path, neighbours, random_state(run.seed, number))
    mean = float(space.scores[1:-1].mean())
    first_temperature, excess = (min(solver.reheat, solver.hot), 0.2 * solver.excess) if is_last else (solver.hot, solver.excess)
    search.schedule[:] = np.inf, first_temperature * mean, solver.cold * mean, 0.0, space.limit, excess, space.limit, solver.kink
    if is_last and best is not None:
        search.schedule[PRICE] = best.schedule[PRICE]
    search.strings[:] = solver.longest, solver.strings
    return search

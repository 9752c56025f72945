"""`OrTools`: the branch and bound of Google OR-Tools' knapsack library."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.processes.workers import Workers
from corl.solver import Solver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.problems.knapsack.instance import KnapsackInstance
    from corl.run import Run

__all__ = ["OrTools"]

_MAX_DELAY = 1.0  # seconds for which the engine may run in this process, where it delays Ctrl-C
_MAX_SUM = 2.0**53  # greatest sum that both int64 and float64 represent exactly


@dataclass(frozen=True)
class OrTools(Solver):
    """OR-Tools' branch and bound for one or several capacities: integers only.

    The engine can only be stopped by its own time limit, and reports nothing before its end. Until then the greedy solution is
    the incumbent, and the engine may end at its limit without a better one. If the engine needs more than a second, it starts
    again in a separate process, which Ctrl-C can end.
    """

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit (corl.solver)
    preparation_size: ClassVar[int] = 2  # `prepare` distinguishes sizes and integers only below this number (corl.solver)
    engine: ClassVar[str] = "OR-Tools"
    title: ClassVar[str] = "OR-Tools' branch and bound for knapsacks; integers only"

    def accepts(self, instance: KnapsackInstance) -> str:
        import numpy as np

        arrays = (instance.values, instance.weights)
        if not all((array == np.floor(array)).all() for array in arrays):
            return "it needs values and weights that are integers"
        if max(float(instance.values.sum()), float(instance.weights.sum(axis=1).max())) >= _MAX_SUM:
            return "the sums of values or weights are too large for it"
        return ""

    def prepare(self, instance: KnapsackInstance) -> None:
        from ortools.algorithms.python import knapsack_solver  # noqa: F401

        from corl.solvers.knapsack.greedy import Greedy

        Greedy().prepare(instance)

    def solve(self, instance: KnapsackInstance, run: Run) -> None:
        from corl.solvers.knapsack.greedy import Greedy

        if run.solution is None:
            Greedy().solve(instance, run)
        if run.should_stop:
            return
        items, optimal = _search(instance, min(run.remaining, _MAX_DELAY))
        if not optimal and not run.should_stop:
            run.report(items)
            try:
                items, optimal = _search_in_process(instance, run)
            except _Interrupted:
                return
        run.report(items)
        if optimal:
            run.report_bound(run.problem.evaluate(instance, items))
        elif not run.should_stop:  # the engine's time limit ended shortly before that of the run
            run.stop("time_limit")


class _Interrupted(Exception):
    """Ctrl-C was pressed while the engine, which does not notice it, was running."""


def _search_in_process(instance: KnapsackInstance, run: Run) -> tuple[NDArray[np.int32], bool]:
    """Return the result of `_search` within the run's remaining time, from a process that can be killed. Raises _Interrupted."""

    def check_interrupt() -> None:
        if run.interrupted:
            raise _Interrupted

    with Workers(1, _make_worker, instance) as workers:
        workers.submit(None)
        workers.next(check_interrupt)
        workers.submit(run.remaining)
        items, optimal = workers.next(check_interrupt)
    return items, optimal


def _make_worker(instance: KnapsackInstance) -> Callable[[float | None], Any]:
    """Return the worker's function, with the engine imported: None -> None; a number of seconds -> the result of `_search`."""
    from ortools.algorithms.python import knapsack_solver  # noqa: F401

    return lambda seconds: None if seconds is None else _search(instance, seconds)


def _search(instance: KnapsackInstance, seconds: float) -> tuple[NDArray[np.int32], bool]:
    """Return the items of the engine's solution, int32 [k], and whether the engine has proved it optimal."""
    import numpy as np
    from ortools.algorithms.python import knapsack_solver

    solver_type = knapsack_solver.SolverType.KNAPSACK_MULTIDIMENSION_BRANCH_AND_BOUND_SOLVER
    solver = knapsack_solver.KnapsackSolver(solver_type, instance.name or "knapsack")
    solver.set_use_reduction(True)  # without it, uniform items take a hundred times as long
    if seconds < math.inf:
        solver.set_time_limit(max(0.01, seconds))
    # Items that do not fit alone are excluded: with them, the engine's bounds would be wrong.
    fitting = np.flatnonzero((instance.weights <= instance.capacities[:, None]).all(axis=0))
    if not len(fitting):
        return np.zeros(0, np.int32), True
    values, weights = instance.values[fitting].astype(np.int64), instance.weights[:, fitting].astype(np.int64)
    solver.init(values.tolist(), weights.tolist(), np.floor(instance.capacities).astype(np.int64).tolist())
    solver.solve()
    taken = [bool(solver.best_solution_contains(i)) for i in range(len(fitting))]
    return fitting[np.array(taken)].astype(np.int32), bool(solver.is_solution_optimal())

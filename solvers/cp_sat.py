"""OR-Tools' CP-SAT with the limits of a Run. A problem provides a `CpModel`, and a function from its variables to a solution."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from corl.errors import SolverError

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, CpSolver

    from corl.run import Run

__all__ = ["load_engine", "solve_model"]

_SEEDS = 2**31  # the number of different seeds that CP-SAT accepts
_ROUNDING = 1e-6  # assumed error of the engine's bounds, which are floating-point numbers


def load_engine() -> None:
    """Import CP-SAT and solve a model of one variable, for `Solver.prepare`."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    model.new_int_var(0, 1, "")
    cp_model.CpSolver().solve(model)


def solve_model(
    model: CpModel,
    run: Run,
    solution: Callable[[Callable[[Any], int]], Any],
    *,
    search_workers: int = 0,
    interleave: bool = False,
    bound: Callable[[float], float] | None = None,
    settings: Callable[[Any], object] | None = None,
) -> None:
    """Solve `model` until the engine finishes or the run must end; report solutions, bounds, and proven infeasibility.

    The engine's own handling of Ctrl-C is off, as the Run handles it. Raises SolverError for a model that the engine refuses.

    Args:
        model: The model.
        run: The run, whose limits, seed and workers are used, and which receives solutions and bounds.
        solution: Returns the solution in the problem's own form. Its argument is a function from a variable or literal of the
            model to its value.
        search_workers: Threads of the engine; 0: the run's workers.
        interleave: Whether the engine's workers take turns in one thread, so that the result is deterministic.
        bound: Function from the engine's bound on the model's objective to a bound on the problem's objective. None: the bound is
            rounded to the next integer, which is valid if both objectives are equal and integral.
        settings: Called with the engine's parameters, to change further ones.
    """
    from ortools.sat.python import cp_model

    found: deque[Any] = deque(maxlen=1)  # the latest solution and the latest bound that are not reported yet
    bounds: deque[float] = deque(maxlen=1)
    mapped = bound or (_up if run.problem.sense == "min" else _down)

    class Solutions(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            found.append(solution(self.value))

    solver = _engine(run, search_workers, interleave)
    if settings is not None:
        settings(solver.parameters)
    if model.has_objective():
        solver.best_bound_callback = bounds.append

    def poll() -> None:
        while found:
            run.report(found.pop())
        while bounds:
            run.report_bound(mapped(bounds.pop()))

    solutions = Solutions()
    status = run.call_interruptible(lambda: solver.solve(model, solutions), solver.stop_search, poll)
    if status == cp_model.MODEL_INVALID:
        raise SolverError(f"CP-SAT refuses the model: {model.validate()}")
    if status == cp_model.INFEASIBLE:
        run.report_infeasible()
        return
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        run.report(solution(solver.value))
        if model.has_objective():
            run.report_bound(mapped(solver.best_objective_bound))
    if status != cp_model.OPTIMAL and run.time_limit is not None:
        # The engine's clock may run out a moment before the run's. Without effect if the run has ended already.
        run.stop("time_limit")


def _engine(run: Run, search_workers: int, interleave: bool) -> CpSolver:
    """Return a CP-SAT solver with a run's limits and seed, whose own handling of Ctrl-C is off."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = search_workers or run.workers
    solver.parameters.interleave_search = interleave
    solver.parameters.random_seed = run.seed % _SEEDS
    solver.parameters.catch_sigint_signal = False
    if run.time_limit is not None:
        solver.parameters.max_time_in_seconds = max(0.01, run.remaining)
    return solver


def _up(bound: float) -> float:
    """Return the least integral objective value that a lower bound allows."""
    return float(math.ceil(bound - _ROUNDING))


def _down(bound: float) -> float:
    """Return the greatest integral objective value that an upper bound allows."""
    return float(math.floor(bound + _ROUNDING))

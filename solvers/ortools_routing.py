"""OR-Tools' routing search under a Run: any problem that can write itself as a `RoutingModel` needs only that and a way back."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corl.run import Run

__all__ = ["load_engine", "solve_model"]


def load_engine() -> None:
    """Import it, for `Solver.prepare`."""
    import ortools.constraint_solver.pywrapcp
    import ortools.constraint_solver.routing_enums_pb2  # noqa: F401


def solve_model(
    routing: Any,
    run: Run,
    solution: Callable[[Any], Any],
    *,
    first_solution: str = "PATH_CHEAPEST_ARC",
    metaheuristic: str = "GUIDED_LOCAL_SEARCH",
    routes: list[list[int]] | None = None,
) -> None:
    """Search until the engine is done or the run must end, and report what it finds.

    solution: from the model, the problem's own form of the engine's present solution. It must not hold the model: the engine
        holds it, and what holds one another across the two languages is never freed.
    first_solution, metaheuristic: the engine's names of its construction and its search.
    routes: nodes without the ends, a list a vehicle, to begin from instead of a construction.
    """
    found: deque[Any] = deque(maxlen=1)
    stop, model = [False], weakref.proxy(routing)
    routing.AddAtSolutionCallback(lambda: found.append(solution(model)))
    # The engine holds the interpreter's lock except inside callbacks; this one lets the other thread look at the clock.
    routing.AddSearchMonitor(routing.solver().CustomLimit(lambda: stop[0]))
    parameters = _parameters(run, first_solution, metaheuristic)

    def search() -> None:
        if routes is None:
            routing.SolveWithParameters(parameters)
        else:
            routing.CloseModelWithParameters(parameters)
            routing.SolveFromAssignmentWithParameters(routing.ReadAssignmentFromRoutes(routes, True), parameters)

    def poll() -> None:
        while found:
            run.report(found.pop())

    def cancel() -> None:
        stop[0] = True
        routing.CancelSearch()

    run.call_interruptible(search, cancel, poll)


def _parameters(run: Run, first_solution: str, metaheuristic: str) -> Any:
    from ortools.constraint_solver import pywrapcp
    from ortools.constraint_solver.routing_enums_pb2 import FirstSolutionStrategy, LocalSearchMetaheuristic

    parameters = pywrapcp.DefaultRoutingSearchParameters()
    parameters.first_solution_strategy = FirstSolutionStrategy.Value.Value(first_solution)
    parameters.local_search_metaheuristic = LocalSearchMetaheuristic.Value.Value(metaheuristic)
    if run.time_limit is not None:
        parameters.time_limit.FromMilliseconds(max(1, int(1000 * run.remaining)))
    return parameters

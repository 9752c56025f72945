"""OR-Tools' routing search with the limits of a Run. A problem provides a `RoutingModel` and a function from it to a solution."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corl.run import Run

__all__ = ["load_engine", "solve_model"]


def load_engine() -> None:
    """Import the routing library, for `Solver.prepare`."""
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
    """Search until the engine finishes or the run must end, and report every solution found.

    Args:
        routing: The engine's RoutingModel.
        run: The run, whose time limit is used, and which receives solutions.
        solution: Function from the model to the engine's current solution in the problem's own form. It must not hold a
            reference to the model: the engine holds the function, and a reference cycle across Python and C++ is never freed.
        first_solution: The engine's name of the construction heuristic.
        metaheuristic: The engine's name of the metaheuristic.
        routes: An initial solution that replaces the construction: for each vehicle the list of its nodes without start and end.
    """
    found: deque[Any] = deque(maxlen=1)  # the latest solution that is not reported yet
    stop, model = [False], weakref.proxy(routing)
    routing.AddAtSolutionCallback(lambda: found.append(solution(model)))
    # While the engine runs, other Python threads run only during its callbacks. This one lets `run` read its clock.
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

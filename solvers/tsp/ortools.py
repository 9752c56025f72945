"""`OrTools`: Google OR-Tools' routing library, the classical baseline that people reach for first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.problems.tsp.instance import TspInstance
    from corl.run import Run

__all__ = ["OrTools"]

_MOST_CITIES = 5000  # its n x n matrix goes through Python integers: about 7 s and 1 GB at 5000
_LARGEST = 2.0**40  # of a distance, so that sums stay far from int64's end
_STRATEGIES = ("PATH_CHEAPEST_ARC", "GLOBAL_CHEAPEST_ARC", "SAVINGS", "CHRISTOFIDES", "PARALLEL_CHEAPEST_INSERTION")
_METAHEURISTICS = ("GUIDED_LOCAL_SEARCH", "SIMULATED_ANNEALING", "TABU_SEARCH", "GREEDY_DESCENT")


@dataclass(frozen=True)
class OrTools(Solver):
    """OR-Tools' routing search: a construction, then local search under a metaheuristic. Symmetric and asymmetric.

    The engine wants an n x n matrix of integers: distances that are not integers are scaled so that the longest becomes
    2**40 and rounded; the lengths reported are the true ones. Handing the matrix over takes about 1 microsecond
    an entry and cannot be interrupted (ours never build one from coordinates). It takes no seed.
    """

    first_solution: str = "PATH_CHEAPEST_ARC"
    """PATH_CHEAPEST_ARC, GLOBAL_CHEAPEST_ARC, SAVINGS, CHRISTOFIDES or PARALLEL_CHEAPEST_INSERTION."""
    metaheuristic: str = "GUIDED_LOCAL_SEARCH"
    """GUIDED_LOCAL_SEARCH, SIMULATED_ANNEALING, TABU_SEARCH or GREEDY_DESCENT (stops in a local optimum)."""

    limit_free: ClassVar[bool] = True
    title: ClassVar[str] = "OR-Tools routing (guided local search), the classical baseline"

    def __post_init__(self) -> None:
        for field, accepted in (("first_solution", _STRATEGIES), ("metaheuristic", _METAHEURISTICS)):
            if getattr(self, field) not in accepted:
                raise UsageError(f"{field} is {getattr(self, field)!r}; accepted: {', '.join(accepted)}")

    def accepts(self, instance: TspInstance) -> str:
        if instance.n > _MOST_CITIES:
            return f"it needs an n x n matrix of Python integers, which we allow up to {_MOST_CITIES} cities, not {instance.n}"
        return ""

    def prepare(self, instance: TspInstance) -> None:
        import ortools.constraint_solver.pywrapcp
        import ortools.constraint_solver.routing_enums_pb2  # noqa: F401

        from corl.solvers.tsp.dense import compile_dense

        compile_dense(instance)

    def solve(self, instance: TspInstance, run: Run) -> None:
        import numpy as np

        tour = np.arange(instance.n) if run.solution is None else run.solution
        run.report(tour)
        if instance.n < 4 or run.should_stop:  # the engine asks for more than a handful of nodes in some strategies
            return self._few(instance, run)
        from corl.solvers.tsp.dense import scaled_matrix

        distances = scaled_matrix(instance, _LARGEST, lambda: run.should_stop)
        if distances is not None:
            self._search(distances.astype(np.int64), tour if run.warm_start is not None else None, run)

    def _few(self, instance: TspInstance, run: Run) -> None:
        """One to three cities have at most two tours."""
        import numpy as np

        if instance.n == 3:
            run.report(np.array([0, 2, 1]))

    def _search(self, distances: NDArray[np.int64], start: NDArray[np.integer] | None, run: Run) -> None:
        """Run the engine in a helper thread; its solutions are queued there and reported from this one."""
        from collections import deque

        import numpy as np
        from ortools.constraint_solver import pywrapcp

        n = len(distances)
        manager = pywrapcp.RoutingIndexManager(n, 1, 0)
        routing = pywrapcp.RoutingModel(manager)
        routing.SetArcCostEvaluatorOfAllVehicles(routing.RegisterTransitMatrix(distances.tolist()))
        if run.should_stop:
            return
        found: deque[list[int]] = deque(maxlen=1)
        stop = [False]
        routing.AddAtSolutionCallback(lambda: found.append(_tour(routing, manager, n)))
        # The engine holds the interpreter's lock except inside callbacks; this one lets the other thread look at the clock.
        routing.AddSearchMonitor(routing.solver().CustomLimit(lambda: stop[0]))
        parameters = self._parameters(run)

        def work() -> None:
            if start is None:
                routing.SolveWithParameters(parameters)
            else:
                at = int(np.flatnonzero(start == 0)[0])
                routing.CloseModelWithParameters(parameters)
                route = np.roll(start, -at)[1:].tolist()
                routing.SolveFromAssignmentWithParameters(routing.ReadAssignmentFromRoutes([route], True), parameters)

        def poll() -> None:
            while found:
                run.report(np.array(found.pop(), np.int32))

        def cancel() -> None:
            stop[0] = True
            routing.CancelSearch()

        run.call_interruptible(work, cancel, poll)

    def _parameters(self, run: Run) -> Any:
        from ortools.constraint_solver import pywrapcp
        from ortools.constraint_solver.routing_enums_pb2 import FirstSolutionStrategy, LocalSearchMetaheuristic

        parameters = pywrapcp.DefaultRoutingSearchParameters()
        parameters.first_solution_strategy = FirstSolutionStrategy.Value.Value(self.first_solution)
        parameters.local_search_metaheuristic = LocalSearchMetaheuristic.Value.Value(self.metaheuristic)
        if run.time_limit is not None:
            parameters.time_limit.FromMilliseconds(max(1, int(1000 * run.remaining)))
        return parameters


def _tour(routing: Any, manager: Any, n: int) -> list[int]:
    """The engine's present solution as cities in visiting order."""
    tour, index = [], routing.Start(0)
    for _ in range(n):
        tour.append(manager.IndexToNode(index))
        index = routing.NextVar(index).Value()
    return tour

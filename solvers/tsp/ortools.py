"""`OrTools`: Google OR-Tools' routing library, the usual classical baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.problems.tsp.instance import TspInstance
    from corl.run import Run

__all__ = ["OrTools"]

_MOST_CITIES = 5000  # the n x n matrix is passed as Python integers: about 7 s and 1 GB at 5000
_MOST_CITIES_HERE = 2000  # cities whose matrix is passed within half a second; larger instances get a child process
_LARGEST_DISTANCE = 2.0**40  # the longest scaled distance, so that sums of distances do not overflow int64


@dataclass(frozen=True)
class OrTools(Solver):
    """OR-Tools' routing search: a construction, then local search under a metaheuristic. Symmetric and asymmetric.

    OR-Tools takes an n x n matrix of integers. Distances that are not integers are scaled so that the longest becomes 2**40, and
    rounded; the reported lengths are those of the original distances. Passing the matrix takes about 1 microsecond per entry and
    cannot be interrupted; therefore instances of more than 2,000 cities are solved in a child process. OR-Tools takes no seed.
    """

    first_solution: Literal[
        "PATH_CHEAPEST_ARC", "GLOBAL_CHEAPEST_ARC", "SAVINGS", "CHRISTOFIDES", "PARALLEL_CHEAPEST_INSERTION"
    ] = option("PATH_CHEAPEST_ARC", "OR-Tools' construction of the first tour.")
    metaheuristic: Literal["GUIDED_LOCAL_SEARCH", "SIMULATED_ANNEALING", "TABU_SEARCH", "GREEDY_DESCENT"] = option(
        "GUIDED_LOCAL_SEARCH", "OR-Tools' metaheuristic; greedy descent stops in a local optimum."
    )

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit
    preparation_size: ClassVar[int] = 3  # sizes and integers from 3 on need the same preparation (Solver.preparation_size)
    engine: ClassVar[str] = "OR-Tools"
    title: ClassVar[str] = "OR-Tools routing (guided local search), the classical baseline"

    def accepts(self, instance: TspInstance) -> str:
        if instance.n > _MOST_CITIES:
            return f"it needs an n x n matrix of Python integers, which we allow up to {_MOST_CITIES} cities, not {instance.n}"
        return ""

    def own_process(self, instance: TspInstance) -> bool:
        return instance.n > _MOST_CITIES_HERE

    def prepare(self, instance: TspInstance) -> None:
        from corl.solvers.ortools_routing import load_engine
        from corl.solvers.tsp.distance_matrix import compile_dense

        load_engine()
        compile_dense(instance)

    def solve(self, instance: TspInstance, run: Run) -> None:
        import numpy as np

        tour = np.arange(instance.n) if run.solution is None else run.solution
        run.report(tour)
        if instance.n < 4 or run.should_stop:  # some strategies of OR-Tools fail with fewer than 4 cities
            return self._solve_tiny(instance, run)
        from corl.solvers.tsp.distance_matrix import scaled_matrix

        distances = scaled_matrix(instance, _LARGEST_DISTANCE, lambda: run.should_stop)
        if distances is not None:
            self._search(distances.astype(np.int64), tour if run.warm_start is not None else None, run)

    def _solve_tiny(self, instance: TspInstance, run: Run) -> None:
        """Solve an instance of at most three cities, which has at most two tours."""
        import numpy as np

        if instance.n == 3:
            run.report(np.array([0, 2, 1]))

    def _search(self, distances: NDArray[np.int64], start: NDArray[np.integer] | None, run: Run) -> None:
        """Run OR-Tools on int64 `distances` [n, n], from the tour `start` if it is not None, and report the tours found."""
        import numpy as np
        from ortools.constraint_solver import pywrapcp

        from corl.solvers.ortools_routing import solve_model

        n = len(distances)
        manager = pywrapcp.RoutingIndexManager(n, 1, 0)
        routing = pywrapcp.RoutingModel(manager)
        routing.SetArcCostEvaluatorOfAllVehicles(routing.RegisterTransitMatrix(distances.tolist()))
        if run.should_stop:
            return
        first = None if start is None else [np.roll(start, -int(np.flatnonzero(start == 0)[0]))[1:].tolist()]
        solve_model(
            routing,
            run,
            lambda model: _tour(model, manager, n),
            first_solution=self.first_solution,
            metaheuristic=self.metaheuristic,
            routes=first,
        )


def _tour(routing: Any, manager: Any, n: int) -> NDArray[np.int32]:
    """Return the routing model's current solution, int32 [n], the cities in visiting order."""
    import numpy as np

    tour, index = [], routing.Start(0)
    for _ in range(n):
        tour.append(manager.IndexToNode(index))
        index = routing.NextVar(index).Value()
    return np.array(tour, np.int32)

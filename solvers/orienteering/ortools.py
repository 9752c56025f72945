"""`OrTools`: Google OR-Tools' routing library with optional nodes, to compare with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.orienteering.instance import OrienteeringInstance
    from corl.run import Run

__all__ = ["OrTools"]

_MOST_NODES = 5000  # its n x n matrix goes through Python integers
_LARGEST = 2.0**40  # of a distance, so that sums stay far from int64's end


@dataclass(frozen=True)
class OrTools(Solver):
    """One vehicle, a dimension for the length, a disjunction with the score as penalty for every node; guided local search.

    The engine wants integers: other distances are scaled and rounded up, other scores scaled and rounded. It takes no seed.
    """

    limit_free: ClassVar[bool] = True
    title: ClassVar[str] = "OR-Tools routing with optional nodes (guided local search)"

    def accepts(self, instance: OrienteeringInstance) -> str:
        if instance.n > _MOST_NODES:
            return f"it needs an n x n matrix of Python integers, which we allow up to {_MOST_NODES} nodes, not {instance.n}"
        return ""

    def prepare(self, instance: OrienteeringInstance) -> None:
        import ortools.constraint_solver.pywrapcp
        import ortools.constraint_solver.routing_enums_pb2  # noqa: F401

    def solve(self, instance: OrienteeringInstance, run: Run) -> None:
        from corl.problems.orienteering.evaluation import shortest_path
        from corl.solvers.orienteering.space import Space, upper_bound

        if run.solution is None:
            first = shortest_path(instance)
            if first is None:
                return run.report_infeasible()
            run.report(first)
        run.report_bound(upper_bound(instance))
        space = Space(instance)
        if space.n > 3 and not run.should_stop:
            self._search(space, run)

    def _search(self, space: Any, run: Run) -> None:
        """Run the engine in a helper thread; its solutions are queued there and reported from this one."""
        from collections import deque

        import numpy as np
        from ortools.constraint_solver import pywrapcp
        from ortools.constraint_solver.routing_enums_pb2 import FirstSolutionStrategy, LocalSearchMetaheuristic

        distances, limit = _whole_distances(space)
        n = space.n
        manager = pywrapcp.RoutingIndexManager(n, 1, [0], [n - 1])
        routing = pywrapcp.RoutingModel(manager)
        transit = routing.RegisterTransitMatrix(distances.tolist())
        routing.AddDimension(transit, 0, limit, True, "length")
        scores = space.scores
        if not (scores == np.floor(scores)).all():
            scores = np.rint(scores * (1e9 / max(1e-300, float(scores.max()))))
        for node in range(1, n - 1):
            routing.AddDisjunction([manager.NodeToIndex(node)], int(scores[node]))
        if run.should_stop:
            return
        found: deque[list[int]] = deque(maxlen=1)
        stop = [False]
        routing.AddAtSolutionCallback(lambda: found.append(_nodes(routing, manager)))
        # The engine holds the interpreter's lock except inside callbacks; this one lets the other thread look at the clock.
        routing.AddSearchMonitor(routing.solver().CustomLimit(lambda: stop[0]))
        parameters = pywrapcp.DefaultRoutingSearchParameters()
        parameters.first_solution_strategy = FirstSolutionStrategy.Value.Value("PATH_CHEAPEST_ARC")
        parameters.local_search_metaheuristic = LocalSearchMetaheuristic.Value.Value("GUIDED_LOCAL_SEARCH")
        if run.time_limit is not None:
            parameters.time_limit.FromMilliseconds(max(1, int(1000 * run.remaining)))

        def poll() -> None:
            while found:
                run.report(space.nodes[found.pop()].astype(np.int32))

        def cancel() -> None:
            stop[0] = True
            routing.CancelSearch()

        run.call_interruptible(lambda: routing.SolveWithParameters(parameters), cancel, poll)


def _whole_distances(space: Any) -> Any:
    """int64 [N, N] distances and the limit, scaled and rounded (up, and down) where they are not integers."""
    import numpy as np

    from corl.edge_weights import edge_lengths

    graph, n = space.instance.graph, space.n
    tails, heads = np.divmod(np.arange(n * n), n)
    matrix = edge_lengths(graph.edge_weight_type, graph.points, graph.matrix, space.nodes[tails], space.nodes[heads])
    matrix = matrix.reshape(n, n)
    np.fill_diagonal(matrix, 0.0)
    if n and space.instance.closed:
        matrix[0, n - 1] = matrix[n - 1, 0] = 0.0
    whole = bool((matrix == np.floor(matrix)).all()) and matrix.max() <= _LARGEST
    scale = 1.0 if whole else _LARGEST / max(1e-300, float(matrix.max()), space.limit)
    return np.ceil(matrix * scale).astype(np.int64), int(min(np.floor(space.limit * scale), 2.0**50))


def _nodes(routing: Any, manager: Any) -> list[int]:
    """The engine's present path."""
    path, index = [], routing.Start(0)
    while True:
        path.append(manager.IndexToNode(index))
        if routing.IsEnd(index):
            return path
        index = routing.NextVar(index).Value()

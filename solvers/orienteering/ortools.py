"""`OrTools`: Google OR-Tools' routing library with optional nodes, a baseline for comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.orienteering.instance import OrienteeringInstance
    from corl.run import Run
    from corl.solvers.orienteering.ruin.space import Space

__all__ = ["OrTools"]

_MAX_NODES = 5000  # greatest number of nodes: the n x n matrix is passed to the engine as Python integers
_MAX_NODES_IN_PROCESS = 2000  # with more nodes, passing the matrix, which cannot be interrupted, takes over half a second
_BLOCK_ROWS = 50  # rows of the matrix that are computed between two checks of the time limit
_MAX_SCALED = 2.0**40  # greatest scaled distance: sums of distances then stay far below 2**63


@dataclass(frozen=True)
class OrTools(Solver):
    """OR-Tools' guided local search on a model with one vehicle, a limit on its length, and optional nodes.

    A node that is not visited costs its score. The engine computes with integers: distances that are not integers are scaled and
    rounded up, and scores that are not are scaled and rounded. It takes no seed.
    """

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit (corl.solver)
    preparation_size: ClassVar[int] = 2  # `prepare` distinguishes sizes and integers only below this number (corl.solver)
    engine: ClassVar[str] = "OR-Tools"
    title: ClassVar[str] = "OR-Tools routing with optional nodes (guided local search)"

    def accepts(self, instance: OrienteeringInstance) -> str:
        if instance.n > _MAX_NODES:
            return f"it needs an n x n matrix of Python integers, which we allow up to {_MAX_NODES} nodes, not {instance.n}"
        return ""

    def own_process(self, instance: OrienteeringInstance) -> bool:
        return instance.n > _MAX_NODES_IN_PROCESS

    def prepare(self, instance: OrienteeringInstance) -> None:
        from corl.problems.orienteering.generators import generation_1
        from corl.solvers.orienteering.ruin.space import upper_bound
        from corl.solvers.ortools_routing import load_engine

        load_engine()
        upper_bound(generation_1(size=20))  # compiles the kernels of the bound

    def solve(self, instance: OrienteeringInstance, run: Run) -> None:
        from corl.problems.orienteering.evaluation import shortest_path
        from corl.solvers.orienteering.ruin.space import Space, upper_bound

        if run.solution is None:
            direct = shortest_path(instance)
            assert direct is not None  # an infeasible instance ends its run before
            run.report(direct)
        run.report_bound(upper_bound(instance))
        space = Space(instance)
        if space.n > 3 and not run.should_stop:
            self._search(space, run)

    def _search(self, space: Space, run: Run) -> None:
        """Run the engine on the nodes of `space`, and report its paths."""
        import numpy as np
        from ortools.constraint_solver import pywrapcp

        from corl.solvers.ortools_routing import solve_model

        integers = _integer_distances(space, run)
        if integers is None:
            return
        distances, limit = integers
        n = space.n
        manager = pywrapcp.RoutingIndexManager(n, 1, [0], [n - 1])
        routing = pywrapcp.RoutingModel(manager)
        transit = routing.RegisterTransitMatrix(distances)
        routing.AddDimension(transit, 0, limit, True, "length")
        scores = space.scores
        if not (scores == np.floor(scores)).all():
            scores = np.rint(scores * (1e9 / max(1e-300, float(scores.max()))))
        for node in range(1, n - 1):
            routing.AddDisjunction([manager.NodeToIndex(node)], int(scores[node]))
        if not run.should_stop:
            nodes = space.nodes
            solve_model(routing, run, lambda model: nodes[_path(model, manager)].astype(np.int32))


def _integer_distances(space: Space, run: Run) -> tuple[list[list[int]], int] | None:
    """Return the distances, N lists of N integers, and the limit, an integer; None if the run ended before.

    If some distances are not integers, all are scaled and rounded up, and the limit is scaled and rounded down.
    """
    import numpy as np

    from corl.routing.edge_weights import edge_lengths

    graph, n = space.instance.graph, space.n
    blocks = [slice(low, low + _BLOCK_ROWS) for low in range(0, n, _BLOCK_ROWS)]
    matrix = np.empty((n, n))
    for rows in blocks:
        if run.should_stop:
            return None
        tails, heads = np.repeat(space.nodes[rows], n), np.tile(space.nodes, len(matrix[rows]))
        matrix[rows] = edge_lengths(graph.edge_weight_type, graph.points, graph.matrix, tails, heads).reshape(-1, n)
    are_integers = matrix.max() <= _MAX_SCALED and all(bool((matrix[rows] == np.floor(matrix[rows])).all()) for rows in blocks)
    scale = 1.0 if are_integers else _MAX_SCALED / max(1e-300, float(matrix.max()), space.limit)
    distances: list[list[int]] = []
    for rows in blocks:
        if run.should_stop:
            return None
        distances += np.ceil(matrix[rows] * scale).astype(np.int64).tolist()
    return distances, int(min(np.floor(space.limit * scale), 2.0**50))


def _path(routing: Any, manager: Any) -> list[int]:
    """Return the engine's current path: the model's nodes, from the start to the end."""
    path, index = [], routing.Start(0)
    while True:
        path.append(manager.IndexToNode(index))
        if routing.IsEnd(index):
            return path
        index = routing.NextVar(index).Value()

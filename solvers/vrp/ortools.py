"""`OrTools`: Google OR-Tools' routing library, the classical baseline that people reach for first."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.vrp.evaluation import Route
    from corl.problems.vrp.instance import VrpInstance
    from corl.run import Run

__all__ = ["OrTools"]

_MOST_NODES = 3000  # its n x n matrices go through Python integers
_LARGEST = 2.0**30  # of a distance that is not whole
_HORIZON = 2**50


@dataclass(frozen=True)
class OrTools(Solver):
    """OR-Tools' routing search: parallel cheapest insertion, then guided local search. It takes no seed and no warm start.

    Where there may be as many vehicles as one likes, it is given twice as many as the demand needs, and ten more. What is not
    whole is scaled, so that the longest distance becomes 2**30, and rounded to the safe side.
    """

    limit_free: ClassVar[bool] = True
    title: ClassVar[str] = "OR-Tools routing (guided local search), the classical baseline"

    def accepts(self, instance: VrpInstance) -> str:
        if instance.n > _MOST_NODES:
            return f"it needs n x n matrices of Python integers, which we allow up to {_MOST_NODES} nodes, not {instance.n}"
        return ""

    def prepare(self, instance: VrpInstance) -> None:
        import ortools.constraint_solver.pywrapcp
        import ortools.constraint_solver.routing_enums_pb2  # noqa: F401

    def solve(self, instance: VrpInstance, run: Run) -> None:
        from ortools.constraint_solver import pywrapcp

        from corl.problems.vrp.feasibility import unservable

        if run.objective is None and unservable(instance):
            return run.report_infeasible()
        model = _Model(instance)
        if run.should_stop:
            return
        found: deque[list[Route]] = deque(maxlen=1)
        stop = [False]
        model.routing.AddAtSolutionCallback(lambda: found.append(model.routes()))
        # The engine holds the interpreter's lock except inside callbacks; this one lets the other thread look at the clock.
        model.routing.AddSearchMonitor(model.routing.solver().CustomLimit(lambda: stop[0]))
        parameters = _parameters(pywrapcp, run)

        def poll() -> None:
            while found:
                run.report(found.pop())

        def cancel() -> None:
            stop[0] = True
            model.routing.CancelSearch()

        run.call_interruptible(lambda: model.routing.SolveWithParameters(parameters), cancel, poll)


def _parameters(pywrapcp: Any, run: Run) -> Any:
    from ortools.constraint_solver.routing_enums_pb2 import FirstSolutionStrategy, LocalSearchMetaheuristic

    parameters = pywrapcp.DefaultRoutingSearchParameters()
    parameters.first_solution_strategy = FirstSolutionStrategy.Value.Value("PARALLEL_CHEAPEST_INSERTION")
    parameters.local_search_metaheuristic = LocalSearchMetaheuristic.Value.Value("GUIDED_LOCAL_SEARCH")
    if run.time_limit is not None:
        parameters.time_limit.FromMilliseconds(max(1, int(1000 * run.remaining)))
    return parameters


class _Model:
    """The instance in the engine's terms: nodes are ours, vehicle k is one of type `types[k]`."""

    def __init__(self, instance: VrpInstance) -> None:
        import numpy as np
        from ortools.constraint_solver import pywrapcp

        from corl.solvers.vrp.integers import factor_for

        vehicles, depots = instance.vehicles, instance.depots
        distances = np.stack([instance.distances_from(node) for node in range(instance.n)])
        service = np.zeros(instance.n) if instance.service is None else instance.service
        given = [part for part in (instance.service, instance.earliest, instance.latest) if part is not None]
        factor = factor_for(float(distances.max()), _LARGEST, [distances, *given, vehicles.max_distance, vehicles.max_duration])
        needed = 2 * int(np.ceil(instance.demand.sum() / max(1e-9, vehicles.capacity.min()))) + 10
        counts = np.minimum(instance.clients, np.where(vehicles.count < 0, needed, vehicles.count))
        self.types = np.repeat(np.arange(vehicles.types), counts)
        self.instance, self.distances, self.factor = instance, distances, factor
        starts, ends = vehicles.start[self.types].tolist(), vehicles.end[self.types].tolist()
        self.manager = pywrapcp.RoutingIndexManager(instance.n, len(self.types), starts, ends)
        self.routing = pywrapcp.RoutingModel(self.manager)
        self._costs()
        self._capacity()
        if np.isfinite(vehicles.max_distance).any():
            self._dimension("distance", np.ceil(distances * factor - 1e-6), vehicles.max_distance)
        if instance.timed:
            self._dimension("time", np.ceil((distances + service[:, None]) * factor - 1e-6), vehicles.max_duration)
            self._windows()
        for node in range(depots, instance.n):
            if not instance.required[node]:
                penalty = round(float(instance.prize[node]) * factor)
                self.routing.AddDisjunction([self.manager.NodeToIndex(node)], penalty)

    def _transit(self, matrix: Any) -> int:
        return int(self.routing.RegisterTransitMatrix(matrix.astype("int64").tolist()))

    def _costs(self) -> None:
        import numpy as np

        vehicles, weight = self.instance.vehicles, self.instance.route_weight
        costs = {unit: self._transit(np.rint(self.distances * self.factor * unit)) for unit in set(vehicles.unit_cost.tolist())}
        for vehicle, kind in enumerate(self.types):
            self.routing.SetArcCostEvaluatorOfVehicle(costs[float(vehicles.unit_cost[kind])], vehicle)
            fixed = (float(vehicles.fixed_cost[kind]) + weight) * self.factor
            self.routing.SetFixedCostOfVehicle(round(fixed), vehicle)

    def _capacity(self) -> None:
        import numpy as np

        from corl.solvers.vrp.integers import factor_for

        demand, capacity = self.instance.demand, self.instance.vehicles.capacity
        factor = factor_for(float(capacity[np.isfinite(capacity)].max(initial=1.0)), _LARGEST, [demand, capacity])
        index = self.routing.RegisterUnaryTransitVector(np.ceil(demand * factor - 1e-6).astype(np.int64).tolist())
        most = [int(min(_HORIZON, np.floor(capacity[kind] * factor + 1e-6))) for kind in self.types]
        self.routing.AddDimensionWithVehicleCapacity(index, 0, most, True, "load")

    def _dimension(self, name: str, matrix: Any, longest: Any) -> None:
        import numpy as np

        slack = _HORIZON if name == "time" else 0
        self.routing.AddDimension(self._transit(matrix), slack, _HORIZON, name == "distance", name)
        dimension = self.routing.GetDimensionOrDie(name)
        for vehicle, kind in enumerate(self.types):
            if np.isfinite(longest[kind]):
                limit = int(np.floor(longest[kind] * self.factor + 1e-6))
                dimension.SetSpanUpperBoundForVehicle(limit, vehicle)

    def _windows(self) -> None:
        import numpy as np

        instance = self.instance
        if instance.earliest is None or instance.latest is None:
            return
        dimension = self.routing.GetDimensionOrDie("time")
        early = np.ceil(instance.earliest * self.factor - 1e-6).astype(np.int64)
        late = np.minimum(_HORIZON, np.floor(np.minimum(instance.latest, 1e15) * self.factor + 1e-6)).astype(np.int64)
        for node in range(instance.depots, instance.n):
            dimension.CumulVar(self.manager.NodeToIndex(node)).SetRange(int(early[node]), int(late[node]))
        for vehicle, kind in enumerate(self.types):
            start, end = int(instance.vehicles.start[kind]), int(instance.vehicles.end[kind])
            dimension.CumulVar(self.routing.Start(vehicle)).SetRange(int(early[start]), int(late[start]))
            dimension.CumulVar(self.routing.End(vehicle)).SetRange(int(early[end]), int(late[end]))

    def routes(self) -> list[Route]:
        """The engine's present solution."""
        import numpy as np

        from corl.problems.vrp.evaluation import Route

        routes = []
        for vehicle, kind in enumerate(self.types):
            visits, index = [], self.routing.NextVar(self.routing.Start(vehicle)).Value()
            while not self.routing.IsEnd(index):
                visits.append(self.manager.IndexToNode(index))
                index = self.routing.NextVar(index).Value()
            if visits:
                routes.append(Route(int(kind), np.array(visits, np.int32)))
        return routes

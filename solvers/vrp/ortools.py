"""`OrTools`: Google OR-Tools' routing library, a widely used baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.vrp.evaluation import Route
    from corl.problems.vrp.instance import VrpInstance
    from corl.run import Run

__all__ = ["OrTools"]

_MAX_NODES = 3000  # greatest number of nodes: n x n matrices are passed to the engine as Python integers
_MAX_NODES_IN_PROCESS = 1000  # with more nodes, passing matrices, which cannot be interrupted, takes over half a second
_MAX_SCALED = 2.0**30  # greatest distance after scaling, if distances are not integers
_PRICE = 1000  # with soft windows, the engine's costs are so many times as large: costs of a unit of time are then integers
_HORIZON = 2**50  # stands for an infinite time or capacity


@dataclass(frozen=True)
class OrTools(Solver):
    """OR-Tools' routing search: parallel cheapest insertion, then guided local search. It takes no seed and no warm start.

    If the number of vehicles is unlimited, the model has twice as many as the demand needs, and ten more. Values that are not
    integers are scaled, so that the longest distance becomes 2**30, and rounded so that solutions remain feasible. Of the side
    constraints it takes soft windows, clusters, and a balance of the longest distance.
    """

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit (corl.solver)
    engine: ClassVar[str] = "OR-Tools"
    title: ClassVar[str] = "OR-Tools routing (guided local search), the classical baseline"

    def accepts(self, instance: VrpInstance) -> str:
        from corl.solvers.vrp.ortools_structure import refusal

        if reason := refusal(instance):
            return f"it takes {reason}"
        if instance.n > _MAX_NODES:
            return f"it needs n x n matrices of Python integers, which we allow up to {_MAX_NODES} nodes, not {instance.n}"
        return ""

    def own_process(self, instance: VrpInstance) -> bool:
        return instance.n > _MAX_NODES_IN_PROCESS

    def prepare(self, instance: VrpInstance) -> None:
        from corl.solvers.ortools_routing import load_engine

        load_engine()

    def solve(self, instance: VrpInstance, run: Run) -> None:
        from corl.solvers.ortools_routing import solve_model
        from corl.solvers.vrp.bounds import report_if_empty
        from corl.solvers.vrp.ortools_structure import cluster_routes

        if report_if_empty(instance, run):
            return
        if not instance.vehicles.count.any():  # the engine crashes if there are no vehicles
            run.report([])
            return
        model = _Model(instance)
        if run.should_stop:
            return
        manager, types = model.manager, model.types.tolist()
        solve_model(
            model.routing,
            run,
            lambda routing: _routes(routing, manager, types),
            first_solution="PARALLEL_CHEAPEST_INSERTION",
            routes=cluster_routes(instance),
        )


class _Model:
    """The model of the routing library. It has the instance's nodes, and its vehicle k is of vehicle type `types[k]`."""

    def __init__(self, instance: VrpInstance) -> None:
        import numpy as np
        from ortools.constraint_solver import pywrapcp

        from corl.solvers.integers import integer_factor
        from corl.solvers.vrp.ortools_structure import add_clusters, cluster_routes

        vehicles, depots = instance.vehicles, instance.depots
        distances = np.stack([instance.distances_from(node) for node in range(instance.n)])
        service = np.zeros(instance.n) if instance.service is None else instance.service
        quantities = [part for part in (instance.service, instance.earliest, instance.latest) if part is not None]
        quantities += [distances, vehicles.max_distance, vehicles.max_duration]
        self.soft = instance.rules.soft_windows if instance.rules is not None else None
        self.price = 1 if self.soft is None else _PRICE
        quantities += [] if self.soft is None else [self.soft[:, 0], np.where(np.isfinite(self.soft[:, 1]), self.soft[:, 1], 0.0)]
        factor = integer_factor(float(distances.max()), _MAX_SCALED, quantities)
        # Two routes that cannot be joined carry at least this load together.
        pair_load = max(float(instance.demand.max()), float(vehicles.capacity.min()))
        default_count = 2 * int(np.ceil(instance.demand.sum() / pair_load)) + 10 if pair_load > 0.0 else instance.clients
        if (routes := cluster_routes(instance)) is not None:
            default_count = max(default_count, len(routes))
        counts = np.minimum(instance.clients, np.where(vehicles.count < 0, default_count, vehicles.count))
        self.types = np.repeat(np.arange(vehicles.types), counts)
        self.instance, self.distances, self.factor = instance, distances, factor
        starts, ends = vehicles.start[self.types].tolist(), vehicles.end[self.types].tolist()
        self.manager = pywrapcp.RoutingIndexManager(instance.n, len(self.types), starts, ends)
        self.routing = pywrapcp.RoutingModel(self.manager)
        self._costs()
        self._capacity()
        balance = None if instance.rules is None else instance.rules.balance
        if np.isfinite(vehicles.max_distance).any() or balance is not None:
            self._dimension("distance", np.ceil(distances * factor - 1e-6), vehicles.max_distance)
        if balance is not None:  # all routes begin at distance 0, so that the global span is the longest route
            self.routing.GetDimensionOrDie("distance").SetGlobalSpanCostCoefficient(round(balance.weight * self.price))
        add_clusters(instance, self.routing, self.manager)
        if instance.timed or self.soft is not None:
            self._dimension("time", np.ceil((distances + service[:, None]) * factor - 1e-6), vehicles.max_duration)
            self._windows()
            self._soft_windows()
        for depot in np.setdiff1d(np.arange(depots), [*starts, *ends]).tolist():  # the engine would treat it as a client
            index = self.manager.NodeToIndex(depot)
            self.routing.AddDisjunction([index], 0)
            self.routing.ActiveVar(index).SetValue(0)
        for node in range(depots, instance.n):
            if not instance.required[node]:
                penalty = round(float(instance.prize[node]) * factor * self.price)
                self.routing.AddDisjunction([self.manager.NodeToIndex(node)], penalty)

    def _transit(self, matrix: Any) -> int:
        return int(self.routing.RegisterTransitMatrix(matrix.astype("int64").tolist()))

    def _costs(self) -> None:
        import numpy as np

        vehicles, weight = self.instance.vehicles, self.instance.route_weight
        factor = self.factor * self.price
        costs = {unit: self._transit(np.rint(self.distances * factor * unit)) for unit in set(vehicles.unit_cost.tolist())}
        for vehicle, kind in enumerate(self.types):
            self.routing.SetArcCostEvaluatorOfVehicle(costs[float(vehicles.unit_cost[kind])], vehicle)
            fixed = (float(vehicles.fixed_cost[kind]) + weight) * factor
            self.routing.SetFixedCostOfVehicle(round(fixed), vehicle)

    def _capacity(self) -> None:
        import numpy as np

        from corl.solvers.integers import integer_loads

        demand, capacity = integer_loads(self.instance.demand, self.instance.vehicles.capacity, _MAX_SCALED)
        index = self.routing.RegisterUnaryTransitVector(demand.tolist())
        capacities = np.minimum(_HORIZON, capacity[self.types]).astype(np.int64).tolist()
        self.routing.AddDimensionWithVehicleCapacity(index, 0, capacities, True, "load")

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

    def _soft_windows(self) -> None:
        """Add the costs of services that begin outside soft windows, with rounded rates."""
        import numpy as np

        rules = self.instance.rules
        if rules is None or rules.soft_windows is None or rules.early_cost is None or rules.late_cost is None:
            return
        dimension = self.routing.GetDimensionOrDie("time")
        for node in range(self.instance.depots, self.instance.n):
            index, (begin, end) = self.manager.NodeToIndex(node), rules.soft_windows[node].tolist()
            early, late = (round(float(rates[node]) * self.price) for rates in (rules.early_cost, rules.late_cost))
            if early and begin:
                dimension.SetCumulVarSoftLowerBound(index, round(begin * self.factor), early)
            if late and np.isfinite(end):
                dimension.SetCumulVarSoftUpperBound(index, round(end * self.factor), late)


def _routes(routing: Any, manager: Any, types: list[int]) -> list[Route]:
    """Return the engine's current solution. types: the vehicle type of each of the engine's vehicles."""
    import numpy as np

    from corl.problems.vrp.evaluation import Route

    routes = []
    for vehicle, kind in enumerate(types):
        visits, index = [], routing.NextVar(routing.Start(vehicle)).Value()
        while not routing.IsEnd(index):
            visits.append(manager.IndexToNode(index))
            index = routing.NextVar(index).Value()
        if visits:
            routes.append(Route(kind, np.array(visits, np.int32)))
    return routes

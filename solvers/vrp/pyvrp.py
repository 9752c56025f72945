"""`PyVrp`: the PyVRP package (MIT licence), an iterated local search in C++, as a peer and from our own solutions."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.problems.vrp.instance import VrpInstance
    from corl.run import Run

__all__ = ["PyVrp"]

_MOST_NODES = 12_000  # n x n integers of 8 bytes, twice
_HEARS = 1000  # nodes up to which it is asked whether to go on within half a second; with 6,000 its first descent takes 11
_LARGEST = 2.0**17  # of a distance that is not whole: with longer ones its penalties, 100,000 at the most, are too small
_FOREVER = 2**62


@dataclass(frozen=True)
class PyVrp(Solver):
    """PyVRP with its own default parameters. It starts from `warm_start` where one is given.

    It computes with integers: what is not whole is scaled, so that the longest distance becomes 2**17 at most, and rounded to
    the safe side; what is reported is the true cost.
    """

    limit_free: ClassVar[bool] = True
    title: ClassVar[str] = "the PyVRP package, a peer (optional)"
    requires: ClassVar[tuple[str, ...]] = ("pyvrp",)
    iteration: ClassVar[str] = "one perturbation and its local search"

    def accepts(self, instance: VrpInstance) -> str:
        if instance.rules is not None and instance.rules.names:
            return f"it takes no {instance.rules.names[0]}"
        if instance.n > _MOST_NODES:
            return f"it needs n x n matrices, which we allow up to {_MOST_NODES} nodes, not {instance.n}"
        return ""

    def own_process(self, instance: VrpInstance) -> bool:
        return instance.n > _HEARS

    def prepare(self, instance: VrpInstance) -> None:
        try:
            import_module("pyvrp")
        except ImportError as error:
            message = f'solver pyvrp needs the pyvrp package, 0.14 or newer ({error}): pip install "corl[peers]"'
            raise UsageError(message) from None

    def solve(self, instance: VrpInstance, run: Run) -> None:
        import numpy as np

        pyvrp: Any = import_module("pyvrp")
        kinds = np.flatnonzero(instance.vehicles.count).tolist()  # it takes none of which there are no vehicles
        if not kinds:
            run.report([])
            return
        data, left = _data(instance, kinds), [0]

        class Listener(pyvrp.IteratedLocalSearchCallbacks):  # type: ignore[misc]
            def on_start(self, algorithm: Any) -> None:
                self.on_best(algorithm.initial_solution)

            def on_best(self, best: Any) -> None:
                if best.is_feasible():
                    run.report(_routes(instance, kinds, best))

        def stop(best_cost: float) -> bool:
            if left[0] == 0:
                left[0] = run.budget()
            left[0] -= 1
            return left[0] < 0 or run.should_stop

        start = None
        if run.warm_start is not None and run.solution is not None:
            start = _start(instance, data, kinds, run.solution)
        parameters = pyvrp.SolveParams(ils=pyvrp.IteratedLocalSearchParams(callbacks=Listener()))
        seed = run.seed % 2**32
        pyvrp.solve(data, stop, seed, collect_stats=False, display=False, params=parameters, initial_solution=start)


def _data(instance: VrpInstance, kinds: list[int]) -> Any:
    """The instance in PyVRP's classes: locations are our nodes, clients are numbered from 0, vehicle types are `kinds`."""
    import numpy as np

    from corl.solvers.integers import integer_factor, integer_loads

    pyvrp: Any = import_module("pyvrp")
    n, depots, vehicles = instance.n, instance.depots, instance.vehicles
    distances = np.stack([instance.distances_from(node) for node in range(n)])
    times = [distances, *(part for part in (instance.service, instance.earliest, instance.latest) if part is not None)]
    factor = integer_factor(float(distances.max()), _LARGEST, [*times, vehicles.max_distance, vehicles.max_duration])
    money = 1.0 if (vehicles.unit_cost == np.floor(vehicles.unit_cost)).all() else 1000.0
    demand, capacity = integer_loads(instance.demand, vehicles.capacity, _LARGEST)
    matrix = np.ceil(distances * factor - 1e-6).astype(np.int64)
    units = np.rint(vehicles.unit_cost * money).astype(np.int64)
    costs = factor * money
    early = np.zeros(n) if instance.earliest is None else np.ceil(instance.earliest * factor - 1e-6)
    late = np.full(n, np.inf) if instance.latest is None else np.floor(instance.latest * factor + 1e-6)
    service = np.zeros(n) if instance.service is None else np.ceil(instance.service * factor - 1e-6)
    clients = [
        pyvrp.Client(
            location=node,
            delivery=[int(demand[node])],
            service_duration=int(service[node]),
            tw_early=int(early[node]),
            tw_late=_whole(late[node]),
            prize=round(float(instance.prize[node]) * costs),
            required=bool(instance.required[node]),
        )
        for node in range(depots, n)
    ]
    types = [
        pyvrp.VehicleType(
            num_available=int(vehicles.count[kind] if vehicles.count[kind] >= 0 else instance.clients),
            capacity=[_whole(capacity[kind])],
            start_depot=int(vehicles.start[kind]),
            end_depot=int(vehicles.end[kind]),
            fixed_cost=round((float(vehicles.fixed_cost[kind]) + instance.route_weight) * costs),
            shift_duration=_whole(np.floor(vehicles.max_duration[kind] * factor + 1e-6)),
            max_distance=_whole(np.floor(vehicles.max_distance[kind] * factor + 1e-6)),
            unit_distance_cost=int(units[kind]),
        )
        for kind in kinds
    ]
    places = [pyvrp.Location(x=float(x), y=float(y)) for x, y in _where(instance)]
    homes = [pyvrp.Depot(location=node, tw_early=int(early[node]), tw_late=_whole(late[node])) for node in range(depots)]
    return pyvrp.ProblemData(places, clients, homes, types, [matrix], [matrix])


def _where(instance: VrpInstance) -> NDArray[np.float64]:
    """float64 [n, 2]: coordinates, which PyVRP wants and does not compute with."""
    import numpy as np

    return np.zeros((instance.n, 2)) if instance.points is None else np.asarray(instance.points[:, :2])


def _whole(value: float) -> int:
    return int(min(float(value), float(_FOREVER)))


def _routes(instance: VrpInstance, kinds: list[int], solution: Any) -> list[Any]:
    import numpy as np

    from corl.problems.vrp.evaluation import Route

    routes = []
    for route in solution.routes():
        visits = [activity.idx + instance.depots for activity in route if activity.is_client()]
        if visits:
            routes.append(Route(kinds[route.vehicle_type()], np.array(visits, np.int32)))
    return routes


def _start(instance: VrpInstance, data: Any, kinds: list[int], solution: Any) -> Any:
    from corl.problems.vrp.evaluation import routes_of

    pyvrp: Any = import_module("pyvrp")
    given = routes_of(instance, solution)
    routes = [pyvrp.Route(data, (route.visits - instance.depots).tolist(), kinds.index(route.vehicle)) for route in given]
    return pyvrp.Solution(data, routes)

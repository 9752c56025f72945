"""Small random instances with every feature that a solver may meet, and their optima by enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from corl.problems.vrp.evaluation import Route, evaluate
from corl.problems.vrp.instance import Vehicles, VrpInstance

FEATURES = ("plain", "exact", "matrix", "windows", "prizes", "depots", "fleet", "length", "duration", "fewest", "all")


def make_instance(feature: str, clients: int, seed: int) -> VrpInstance:
    """A feasible instance: every client fits alone, and there are vehicles enough."""
    random = np.random.default_rng([seed, FEATURES.index(feature)])
    has = {feature} if feature != "all" else {"windows", "prizes", "depots", "fleet", "length"}
    depots = 2 if "depots" in has else 1
    n = clients + depots
    kind = {"exact": "EXACT_2D", "matrix": "EXPLICIT", "windows": "TENTHS_2D"}.get(feature, "EUC_2D")
    scale = 10 if kind == "TENTHS_2D" else 1
    demand = np.concatenate([np.zeros(depots), random.integers(1, 6, clients)])
    types = max(depots, 2 if "fleet" in has else 1)
    vehicles = Vehicles(
        capacity=np.array([10.0, 14.0])[:types],
        start=np.arange(types) % depots,
        fixed_cost=random.integers(0, 40, types) if "fleet" in has else 0.0,
        unit_cost=np.array([1.0, 1.5])[:types] if "fleet" in has else 1.0,
        max_distance=500.0 if "length" in has else np.inf,
        max_duration=520.0 if "duration" in has else np.inf,
    )
    earliest = latest = service = None
    if "windows" in has:
        earliest = np.concatenate([np.zeros(depots), random.integers(0, 300, clients) * scale]).astype(float)
        latest = earliest + random.integers(20, 200, n) * scale
        earliest[:depots], latest[:depots] = 0.0, 2000.0 * scale
        latest[depots:] += 300 * scale
    if "windows" in has or "duration" in has:
        service = np.concatenate([np.zeros(depots), random.integers(0, 10, clients) * scale]).astype(float)
    required = np.arange(n) >= depots
    if "prizes" in has:
        required &= random.random(n) < 0.5
    return VrpInstance(
        name=f"{feature}-{seed}",
        edge_weight_type=kind,
        demand=demand,
        vehicles=vehicles,
        points=None if kind == "EXPLICIT" else random.integers(0, 100, (n, 2)).astype(float),
        matrix=random.integers(1, 100, (n, n)).astype(float) if kind == "EXPLICIT" else None,
        depots=depots,
        earliest=earliest,
        latest=latest,
        service=service,
        prize=np.where(np.arange(n) >= depots, random.integers(5, 80, n), 0).astype(float) if "prizes" in has else None,
        required=required,
        fleet="fewest" if feature == "fewest" else "distance",
        scale=scale,
    )


def least_cost(instance: VrpInstance) -> float:
    """The optimum: the best route of every set of clients and type of vehicle, then the best partition, by enumeration."""
    clients = range(instance.depots, instance.n)
    best = {}
    for size in range(1, instance.clients + 1):
        for chosen in itertools.combinations(clients, size):
            mask = sum(1 << (node - instance.depots) for node in chosen)
            for order in itertools.permutations(chosen):
                for kind in range(instance.vehicles.types):
                    try:
                        cost = _route_cost(instance, Route(kind, np.array(order, np.int32)))
                    except ValueError:
                        continue
                    best[mask] = min(best.get(mask, np.inf), cost)
    everyone = (1 << instance.clients) - 1
    least = np.full(everyone + 1, np.inf)
    least[0] = 0.0
    for mask in range(1, everyone + 1):
        lowest = mask & -mask
        node = lowest.bit_length() - 1 + instance.depots
        if not instance.required[node]:
            least[mask] = least[mask ^ lowest] + instance.prize[node] / instance.scale
        part = mask
        while part:
            if part & lowest and part in best:
                least[mask] = min(least[mask], best[part] + least[mask ^ part])
            part = (part - 1) & mask
    return float(least[everyone])


def _route_cost(instance: VrpInstance, route: Route) -> float:
    """What one feasible route costs; ValueError for another."""
    from corl.errors import Infeasible
    from corl.problems.vrp.evaluation import _checked_distance

    try:
        length = _checked_distance(instance, 1, route)
    except Infeasible as error:
        raise ValueError from error
    vehicles = instance.vehicles
    cost = length * vehicles.unit_cost[route.vehicle] + vehicles.fixed_cost[route.vehicle] + instance.route_weight
    return float(cost) / instance.scale


@pytest.fixture(scope="session")
def make():
    """A function (feature, clients, seed) -> VrpInstance."""
    return make_instance


@pytest.fixture(scope="session")
def least():
    """A function VrpInstance -> its optimum."""
    return least_cost


__all__ = ["FEATURES", "evaluate", "least_cost", "make_instance"]

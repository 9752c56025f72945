"""Small instances of vehicle routing of every kind, and the least cost by enumeration."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

import corl
from corl import registry
from corl.problems.vrp.evaluation import Route
from corl.problems.vrp.generators import solomon, uniform, x
from corl.problems.vrp.instance import Vehicles, VrpInstance
from support.families import vrp_features, vrp_requests, vrp_rules
from support.mixes.vrp_routes import least_cost

CHEAP = "ruin-recreate"
LARGE = {"vrp": ("x", {"size": 1000}), "vrp-large": ("x", {"size": 6000}), "vrp-windows": ("solomon", {"size": 1000})}

BUSY = ("x", {"size": 200})
MIXES = 80
MANY_MIXES = 4000
PAGE = ("solomon", {"size": 12})
HELD: list[Any] = [
    {
        "matrix": [[0, 2, 3], [2, 0, 4], [3, 4, 0]],
        "depots": [{"id": 1, "window": [0, 50]}],
        "vehicles": [{"capacity": 9, "count": 2, "fixed_cost": 1.5}],
        "clients": [
            {"id": 2, "demand": 3, "service": 1, "window": [0, 40]},
            {"id": 3, "demand": 4, "prize": 7, "required": True},
        ],
    }
]
COMPILATION = 40
RECORDED = ("genetic", "ruin-recreate")
GOLDENS = {
    "capacities": ("x", {"size": 24, "seed": 1}),
    "fleet": "fleet.json",
    "prizes": ("uniform", {"size": 20, "optional": 0.4, "seed": 2}),
    "windows": ("solomon", {"size": 20, "kind": "RC", "seed": 3}),
}
GOLDEN_SOLVES = """
genetic capacities 300
ortools capacities - engine +ortools
ortools windows - engine +ortools
pyvrp capacities 20 engine +pyvrp
pyvrp prizes 20 engine +pyvrp
ruin-recreate capacities 300
pyvrp fleet 20 engine +pyvrp
ruin-recreate fleet 300
ruin-recreate prizes 300
ruin-recreate windows 300
"""
GOLDEN_NETWORKS = "capacities"


EXOGENOUS, ONLINE = vrp_requests.EXOGENOUS, vrp_requests.ONLINE
streamed, futures, random_decision = vrp_requests.streamed, vrp_requests.futures, vrp_requests.random_decision


def random_vrp(seed: int, clients: int = 5, *, plain: bool = False) -> VrpInstance:
    """One depot or two, points or a matrix, windows, prizes, limits and vehicle types or not, all by the seed.

    `plain`: one depot and one type of as many vehicles as one likes, every client servable alone (what the environment takes).
    """
    random = np.random.default_rng(seed)
    depots = 1 if plain else int(random.integers(1, 3))
    n, kind = depots + clients, str(random.choice(["EXACT_2D", "EUC_2D", "TENTHS_2D", "EXPLICIT"]))
    scale = 10 if kind == "TENTHS_2D" else 1
    types = 1 if plain else int(random.integers(1, 4))
    demand = np.concatenate([np.zeros(depots), random.integers(1, 6, clients)])
    timed, free = random.random() < 0.5, random.random() < 0.5
    earliest = random.integers(0, 100, n).astype(float) * scale
    latest = earliest + random.integers(20, 200, n) * scale
    earliest[:depots], latest[:depots] = 0.0, (2000 if plain else 300) * scale
    limit = 1500.0 if plain else 400.0
    vehicles = Vehicles(
        capacity=random.integers(6, 15, types).astype(float),
        count=np.full(types, -1) if plain else random.integers(-1, clients + 1, types),
        start=random.integers(0, depots, types),
        end=random.integers(0, depots, types),
        fixed_cost=random.integers(0, 30, types).astype(float) * scale,
        unit_cost=random.choice([1.0, 0.5, 2.0], types),
        max_distance=random.choice([np.inf, limit * scale], types),
        max_duration=random.choice([np.inf, (limit + 100) * scale], types),
    )
    points, matrix = np.round(random.random((n, 2)) * 100, 1), np.round(random.random((n, n)) * 100)
    required = (random.random(n) < 0.5) | (not free)
    required[:depots] = False
    if plain and timed:  # nobody is out of reach
        latest[depots:] += 150 * scale
    return VrpInstance(
        name=f"random-{seed}",
        edge_weight_type=kind,
        demand=demand,
        vehicles=vehicles,
        points=None if kind == "EXPLICIT" else points,
        matrix=matrix if kind == "EXPLICIT" else None,
        depots=depots,
        earliest=earliest if timed else None,
        latest=latest if timed else None,
        service=np.concatenate([np.zeros(depots), random.integers(0, 20, clients)]) * scale if timed else None,
        prize=np.where(required, 0.0, np.concatenate([np.zeros(depots), random.integers(1, 60, clients)]) * scale),
        required=required,
        fleet=str(random.choice(["distance", "fewest"])),
        ids=random.permutation(n) + 7,
        scale=scale,
    )


def plain_cost(instance: VrpInstance, routes: list[Route]) -> float | None:
    """The objective in plain Python, by trying every departure that matters; None where a limit is broken."""
    v, n, total, seen = instance.vehicles, instance.n, 0.0, []
    for route in routes:
        k = route.vehicle
        path = [int(v.start[k]), *map(int, route.visits), int(v.end[k])]
        legs = [float(instance.distances_from(a)[b]) for a, b in pairwise(path)]
        if sum(instance.demand[i] for i in path) > v.capacity[k] or sum(legs) > v.max_distance[k]:
            return None
        opens = [0.0 if instance.earliest is None else instance.earliest[i] for i in path]
        closes = [np.inf if instance.latest is None else instance.latest[i] for i in path]
        serve = [0.0 if instance.service is None else instance.service[i] for i in path]
        reach, busy = [0.0], 0.0
        for leg, service in zip(legs, serve):
            busy += leg + service
            reach.append(busy)
        shortest = None
        for leave in sorted({opens[0], *(o - r for o, r in zip(opens, reach)), *(c - r for c, r in zip(closes, reach))}):
            if not opens[0] <= leave < np.inf or leave > closes[0]:
                continue
            clock, late = leave, False
            for i in range(1, len(path)):
                clock = max(opens[i], clock + serve[i - 1] + legs[i - 1])
                late |= clock > closes[i] + 1e-7
            if not late and (shortest is None or clock - leave < shortest):
                shortest = clock - leave
        if shortest is None or shortest > v.max_duration[k] + 1e-7:
            return None
        total += sum(legs) * v.unit_cost[k] + v.fixed_cost[k] + instance.route_weight
        seen += path[1:-1]
    used = [sum(route.vehicle == k for route in routes) for k in range(v.types)]
    if any(0 <= most < count for most, count in zip(v.count, used)) or len(set(seen)) < len(seen):
        return None
    left = set(range(instance.depots, n)) - set(seen)
    if any(instance.required[i] for i in left):
        return None
    return (total + sum(instance.prize[i] for i in left)) / instance.scale


def sample(seed: int) -> VrpInstance:
    """An instance of up to nine clients that the environment takes, of a kind by the seed."""
    made = (
        lambda: uniform(size=9, optional=0.5, seed=seed),
        lambda: x(size=9, clients="mixed", demand=6, seed=seed),
        lambda: solomon(size=9, kind="RC", series=2, windows=0.5, seed=seed),
        lambda: solomon(size=9, kind="C", seed=seed),
    )
    if seed % 9 < len(made):
        return made[seed % 9]()
    return random_vrp(seed, 1 + seed % 8, plain=True)


def solved(seed: int) -> tuple[VrpInstance, float | None]:
    """Any features together, with the optimum; None where there is no solution."""
    instance = vrp_features.mixed_instance(seed)
    best = least_cost(instance)
    return instance, best if math.isfinite(best) else None


def kinds() -> dict[str, Callable[[], Any]]:
    """By a name: instances that take other ways through the solvers."""
    from corl.problems.vrp.generators_rules import _RULES, day

    found: dict[str, Callable[[], Any]] = {
        name: partial(vrp_features.make_instance, name, 30, 1) for name in vrp_features.FEATURES
    }
    found |= {f"a day with {ask}": partial(day, size=20, ask=ask) for ask in _RULES}
    found |= {name: partial(vrp_rules.make_rules, name, 9, 1) for name in vrp_rules.RULES}
    return found | {f"mixed {seed}": partial(random_vrp, seed, 8) for seed in range(6)}


def smallest() -> list[Any]:
    """One client; all optional, at no price; no costs at all; everything under way; few vehicles; equal places."""
    adapt = corl.problem("vrp").adapt

    def made(clients: int, fields: dict[str, Any], *vehicles: dict[str, Any], **whole: Any) -> Any:
        size = clients + 1
        matrix = [[abs(a - b) for a in range(size)] for b in range(size)]
        nodes = [{"id": k, "demand": 1} | fields for k in range(1, size)]
        return adapt({"matrix": matrix, "depots": [{"id": 0}], "clients": nodes, "vehicles": list(vehicles)} | whole)

    ways = [{"count": 1, "capacity": 9, "begun": [k]} for k in (1, 2)]
    return [
        made(1, {}, {"capacity": 1}), made(3, {"prize": 5}, {"capacity": 1, "count": 1}), made(2, {"prize": 1}, {"count": 0}),
        made(3, {}, {"unit_cost": 0, "capacity": 2}), made(2, {}, *ways, fleet="fewest"), made(4, {}, *ways, fleet="fewest"),
        made(3, {}, {"capacity": 1, "count": 3}, fleet="fewest"), made(3, {}, {"capacity": 2, "count": 1, "reloads": 2}),
        made(2, {}, {}, groups=[{"clients": [1, 2], "required": False}]), made(3, {}, {}, matrix=[[0] * 4] * 4),
        made(2, {"window": [3, 3]}, {"count": 2}), made(3, {"prize": 2}, {"count": 1}, fleet="fewest"),
    ]  # fmt: skip


def kernel_samples() -> list[Any]:
    """Small instances of the kinds that the solvers have kernels for."""
    made = [uniform(size=20), solomon(size=20), registry.problem("vrp").generators["day"](size=20, ask="breaks")]
    return [*made, replace(uniform(size=20), fleet="fewest")]

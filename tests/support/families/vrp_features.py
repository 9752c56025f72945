"""Small instances of vehicle routing with each feature, and with any, and their optima by enumeration."""

from __future__ import annotations

import numpy as np

from corl.errors import InputError
from corl.problems.vrp.instance import EDGE_WEIGHT_TYPES, Vehicles, VrpInstance
from corl.routing.edge_weights import edge_lengths
from support.playing import tiny_graph

FEATURES = ("plain", "exact", "matrix", "windows", "prizes", "depots", "fleet", "length", "duration", "fewest", "all", "ends")


def make_instance(feature: str, clients: int, seed: int) -> VrpInstance:
    """A feasible instance: every client fits alone, and there are vehicles enough."""
    random = np.random.default_rng([seed, FEATURES.index(feature)])
    has = {feature, "depots"} if feature == "ends" else {feature}
    has = has if feature != "all" else {"windows", "prizes", "depots", "fleet", "length"}
    depots = 2 if "depots" in has else 1
    n = clients + depots
    kind = {"exact": "EXACT_2D", "matrix": "EXPLICIT", "windows": "TENTHS_2D"}.get(feature, "EUC_2D")
    scale = 10 if kind == "TENTHS_2D" else 1
    demand = np.concatenate([np.zeros(depots), random.integers(1, 6, clients)])
    types = max(depots, 2 if "fleet" in has else 1)
    vehicles = Vehicles(
        capacity=np.array([10.0, 14.0])[:types],
        start=np.arange(types) % depots,
        end=np.full(types, 1) if "ends" in has else None,
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


def mixed_instance(seed: int) -> VrpInstance:
    """Up to four clients and any of: every edge-weight type, coordinates that are not whole, several depots (some without a
    vehicle), routes from one to another, up to three types of vehicles, few or none of a type, limits of load, length and
    duration that are often too tight, windows, service, optional clients."""
    random = np.random.default_rng(seed)
    while True:
        try:
            return mixed(random, seed)
        except InputError:  # a demand above every capacity
            pass


def mixed(random: np.random.Generator, seed: int) -> VrpInstance:
    def has(share: float = 0.35) -> bool:
        return bool(random.random() < share)

    kind = EDGE_WEIGHT_TYPES[seed % len(EDGE_WEIGHT_TYPES)]
    depots, clients, types = (int(random.integers(1, most)) for most in (4, 5, 4))
    n, scale, unit = depots + clients, 10 if kind == "TENTHS_2D" else 1, 1.0 if has(0.6) else 0.5
    points, matrix = tiny_graph(random, n, kind)
    if matrix is not None and has():
        matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
    span = float(edge_lengths(kind, points, matrix, *np.divmod(np.arange(n * n), n)).max()) + 1.0

    def limit(share: float) -> np.ndarray | float:
        return np.where(random.random(types) < 0.6, span * unit * random.integers(1, 8, types), np.inf) if has(share) else np.inf

    def of_clients(values: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros(depots), values]).astype(float)

    start = random.integers(0, depots, types)
    vehicles = Vehicles(
        capacity=np.append(random.integers(1, 15, types - 1) + 1.0 - unit, np.inf if has(0.15) else random.integers(1, 15)),
        count=random.integers(-1, 3, types) if has() else -1,
        start=start,
        end=random.integers(0, depots, types) if has(0.2) else start,
        fixed_cost=random.integers(0, 30, types) * float(scale) if has() else 0.0,
        unit_cost=random.choice([0.0, 1.0, 1.5, 2.0], types) if has() else 1.0,
        max_distance=limit(0.25),
        max_duration=limit(0.2),
    )
    earliest = latest = None
    if has(0.4):
        earliest = of_clients(random.integers(0, int(3 * span) + 1, clients))
        latest = earliest + random.integers(0, int(3 * span) + 2, n)
        latest[:depots] = span * random.integers(2, 8, depots)
    return VrpInstance(
        f"mixed-{seed}",
        kind,
        of_clients(random.integers(0, 6, clients) * unit),
        vehicles,
        points,
        matrix,
        depots,
        earliest,
        latest,
        service=of_clients(random.integers(0, int(span) + 1, clients)) if has() else None,
        prize=of_clients(random.integers(0, int(2 * span) + 1, clients)),
        required=(np.arange(n) >= depots) & (random.random(n) < (0.5 if has() else 1.0)),
        fleet="fewest" if has(0.15) else "distance",
        scale=scale,
    )

"""Random instances; equal seeds give equal instances on every machine (NumPy's PCG64 streams). `size` counts clients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.vrp.generators_requests import requests
from corl.problems.vrp.generators_rules import day
from corl.problems.vrp.instance import Vehicles, VrpInstance

__all__ = ["GENERATORS", "solomon", "uniform", "x"]

_MAX_SIZE = 100_000  # clients; the grid of the X scheme has a million places
_CAPACITIES = {  # least number of clients -> capacity
    10: 20, 20: 30, 50: 40, 100: 50, 200: 80, 500: 100, 1000: 250,
}  # fmt: skip
_DEPOTS, _CLIENTS = ("random", "centre", "corner"), ("random", "clustered", "mixed")
_DEMANDS = 7  # the number of demand distributions of the X scheme
_RANGES = ((1, 1), (1, 10), (5, 10), (1, 100), (50, 100))  # least and greatest demand of the first five distributions
_Points = NDArray[np.float64]
_CLASSES = {  # (kind, series) of Solomon -> horizon, capacity, service time, half the width of a window
    ("R", 1): (230, 200, 10, 5), ("R", 2): (1000, 1000, 10, 60), ("C", 1): (1236, 200, 90, 30), ("C", 2): (3390, 700, 90, 80),
    ("RC", 1): (240, 200, 10, 15), ("RC", 2): (960, 1000, 10, 60),
}  # fmt: skip


def uniform(*, size: int = 100, capacity: int = 0, optional: float = 0.0, seed: int = 0) -> VrpInstance:
    """Return depot and clients uniform in the unit square, demands 1 to 9, unrounded distances, as in the learning literature.

    `capacity` 0 stands for 20, 30, 40, 50, 80, 100, 250 from 10, 20, 50, 100, 200, 500, 1000 clients on (Kool et al., 2019;
    BQ-NCO, Drakulic et al., 2023). `optional` is the share of clients that may be skipped; their prizes are uniform up to 0.5.
    """
    _check_size(size)
    _check(0.0 <= optional <= 1.0, "optional", optional, "0 to 1")
    _check(capacity == 0 or capacity >= 9, "capacity", capacity, "0, or from 9")
    random = np.random.default_rng(seed)
    vehicle_capacity = capacity or _CAPACITIES[max((n for n in _CAPACITIES if n <= size), default=10)]
    points = random.random((size + 1, 2))
    demand = _with_depot(random.integers(1, 10, size))
    optional_clients = _with_depot(random.random(size) < optional).astype(bool)
    prize = np.where(optional_clients, _with_depot(random.random(size) * 0.5), 0.0)
    options = (f" --option capacity={capacity}" if capacity else "") + (f" --option optional={optional}" if optional else "")
    return VrpInstance(
        name=f"uniform-{size}",
        edge_weight_type="EXACT_2D",
        demand=demand,
        vehicles=Vehicles(np.array([vehicle_capacity])),
        points=points,
        prize=prize,
        required=~optional_clients & (np.arange(size + 1) > 0),
        comment=f"corl generate vrp uniform --option size={size}{options} --seed {seed}",
    )


def x(
    *, size: int = 100, depot: str = "", clients: str = "", demand: int = 0, route_size: float = 0.0, seed: int = 0
) -> VrpInstance:
    """Return an X instance (Uchoa et al., EJOR 2017, section 4): whole coordinates 0 to 1000, EUC_2D.

    Parameters that are not given ("" or 0) are drawn at random.

    Args:
        size: The number of clients.
        depot: random, centre or corner.
        clients: random, clustered around 3 to 8 clients (density exp(-distance / 40)), or mixed (half of each).
        demand: 1 unitary; 2 to 5 uniform in 1-10, 5-10, 1-100, 50-100; 6 by quadrant; 7 many small and few large.
        route_size: The number of clients of average demand that a vehicle can serve, from 1.
        seed: The seed.
    """
    _check_size(size)
    _check(depot in ("", *_DEPOTS), "depot", depot, ", ".join(_DEPOTS))
    _check(clients in ("", *_CLIENTS), "clients", clients, ", ".join(_CLIENTS))
    _check(0 <= demand <= _DEMANDS, "demand", demand, "0 to 7")
    _check(route_size == 0 or route_size >= 1, "route_size", route_size, "0, or from 1")
    random = np.random.default_rng(seed)
    drawn = (_DEPOTS[random.integers(3)], _CLIENTS[random.integers(3)], int(random.integers(1, 8)), random.triangular(3, 6, 25))
    depot_place, clients_kind, distribution, clients_per_route = (
        depot or drawn[0],
        clients or drawn[1],
        demand or drawn[2],
        route_size or float(drawn[3]),
    )
    start = {"centre": [500, 500], "corner": [0, 0]}.get(depot_place, random.integers(0, 1001, 2).tolist())
    points = np.array([start, *_positions(random, size, clients_kind)], np.float64)
    demands = _demands(random, points[1:], distribution)
    capacity = max(int(np.ceil(clients_per_route * demands.sum() / size)), int(demands.max()))
    options = {"depot": depot, "clients": clients, "demand": demand, "route_size": route_size}
    command_options = "".join(f" --option {key}={value}" for key, value in options.items() if value)
    return VrpInstance(
        name=f"x-{size}",
        edge_weight_type="EUC_2D",
        demand=_with_depot(demands),
        vehicles=Vehicles(np.array([capacity])),
        points=points,
        comment=f"corl generate vrp x --option size={size}{command_options} --seed {seed}",
    )


def solomon(*, size: int = 100, kind: str = "R", series: int = 1, windows: float = 1.0, seed: int = 0) -> VrpInstance:
    """Return an instance with time windows in the manner of Solomon (1987), with any number of vehicles.

    A separate vehicle could serve each client within its window; for kind C, windows lie around the times of a tour of each
    cluster. The side of the square is 100 for up to 100 clients and grows with the square root of their number; so does the
    length of the day.

    Args:
        size: The number of clients.
        kind: R: clients at random; C: in clusters; RC: half of each.
        series: 1: a short day and small vehicles; 2: a long day and large vehicles.
        windows: The share of clients that have a time window.
        seed: The seed.
    """
    _check_size(size)
    _check((kind, series) in _CLASSES, "kind, series", f"{kind}, {series}", "R, C or RC and 1 or 2")
    _check(0.0 <= windows <= 1.0, "windows", windows, "0 to 1")
    random = np.random.default_rng(seed)
    horizon, capacity, service, half_width = _CLASSES[kind, series]
    side = 100.0 * max(1.0, np.sqrt(size / 100))
    horizon = round(horizon * side / 100)
    places = np.rint(random.random((size, 2)) * side)
    clustered = {"R": 0, "C": size, "RC": size // 2}[kind]
    centres = random.random((max(1, clustered // 10), 2)) * side
    cluster_of = random.integers(0, len(centres), clustered)
    places[:clustered] = np.clip(np.rint(centres[cluster_of] + random.standard_normal((clustered, 2)) * 4.0), 0, side)
    points = np.concatenate([np.full((1, 2), np.rint(0.4 * side)), places])
    from_depot = np.floor(10.0 * np.hypot(*(points - points[0]).T)) / 10.0
    first, last = np.ceil(from_depot), np.floor(horizon - from_depot - service)  # begin of service by a separate vehicle
    middle = first + random.random(size + 1) * (last - first)
    if kind == "C":
        middle[1:] = _tour_times(random, places, cluster_of, first[1:], last[1:], service)
    half_widths = np.maximum(1.0, half_width * (0.5 + random.random(size + 1)))
    without_window = random.random(size + 1) >= windows
    earliest = np.where(without_window, 0.0, np.clip(np.rint(middle - half_widths), 0.0, last))
    latest = np.where(without_window, last, np.clip(np.rint(middle + half_widths), first, last))
    earliest[0], latest[0] = 0.0, horizon
    options = f" --option kind={kind} --option series={series}" + (f" --option windows={windows}" if windows < 1 else "")
    demand = np.clip(np.rint(15 + 8 * random.standard_normal(size)), 1, 40) if kind == "R" else random.integers(1, 5, size) * 10
    return VrpInstance(
        name=f"{kind}{series}-{size}",
        edge_weight_type="TENTHS_2D",
        demand=_with_depot(demand),
        vehicles=Vehicles(np.array([capacity])),
        points=points,
        earliest=10 * earliest,
        latest=10 * latest,
        service=10 * _with_depot(np.full(size, service)),
        scale=10,
        comment=f"corl generate vrp solomon --option size={size}{options} --seed {seed}",
    )


def _positions(random: np.random.Generator, size: int, clients_kind: str) -> list[tuple[int, int]]:
    """Return the places of `size` clients as in section 4.2 of the X scheme: random, clustered or mixed; all are different."""
    scattered = {"random": size, "clustered": 0, "mixed": size // 2}[clients_kind]
    seeds = random.integers(0, 1001, (int(random.integers(3, 9)), 2))[: size - scattered]
    clients = dict.fromkeys(map(tuple, seeds.tolist()))
    _fill(random, clients, len(clients) + scattered, None)
    _fill(random, clients, size, seeds)
    return list(clients)[:size]


def _fill(random: np.random.Generator, clients: dict[tuple[int, int], None], wanted: int, seeds: NDArray | None) -> None:
    """Add random places until there are `wanted`; `seeds`: accept with probability sum exp(-distance to a seed / 40)."""
    while len(clients) < wanted:
        block = random.integers(0, 1001, (4096, 2))
        if seeds is not None:
            distances = np.hypot(*(block[:, None, :] - seeds[None]).transpose(2, 0, 1))
            block = block[random.random(len(block)) < np.exp(-distances / 40.0).sum(axis=1)]
        for place in map(tuple, block.tolist()):
            if len(clients) == wanted:
                break
            clients[place] = None


def _demands(random: np.random.Generator, points: _Points, distribution: int) -> NDArray[np.int64]:
    """Return demands by `distribution` (1..7) of section 4.3."""
    size = len(points)
    if distribution <= len(_RANGES):
        return random.integers(*_RANGES[distribution - 1], size, endpoint=True)
    small, large = random.integers(1, 51, size), random.integers(51, 101, size)
    if distribution == 6:
        small_quadrant = (points[:, 0] < 500) == (points[:, 1] < 500)
        return np.where(small_quadrant, small, large)
    is_large = random.random(size) >= random.uniform(0.7, 0.95)
    return np.where(is_large, random.integers(50, 101, size), random.integers(1, 11, size))


def _tour_times(
    random: np.random.Generator, points: _Points, cluster_of: NDArray[np.int64], first: _Points, last: _Points, service: float
) -> _Points:
    """Return when a vehicle would serve each client on a nearest-neighbour tour of its cluster, float64 [clients].

    Args:
        random: The generator.
        points: float64 [clients, 2].
        cluster_of: int64 [clients], the cluster of each client.
        first: float64 [clients], the earliest begin of service.
        last: float64 [clients], the latest begin of service.
        service: The service time.
    """
    times = np.empty(len(points))
    for cluster in np.unique(cluster_of):
        unserved = np.flatnonzero(cluster_of == cluster)
        client = unserved[0]
        time = first[client] + random.random() * max(0.0, float(last[client] - first[client])) * 0.3
        while len(unserved):
            time = min(max(time, first[client]), last[client])
            times[client] = time
            unserved = unserved[unserved != client]
            if len(unserved):
                distances = np.hypot(*(points[unserved] - points[client]).T)
                time += service + float(distances.min())
                if time > last[unserved[distances.argmin()]]:
                    time = float(first[unserved[distances.argmin()]])
                client = unserved[distances.argmin()]
    return times


def _with_depot(values: NDArray) -> NDArray[np.float64]:
    """Return the values of the clients after a 0 for the depot."""
    return np.concatenate([[0.0], values])


def _check_size(size: int) -> None:
    _check(1 <= size <= _MAX_SIZE, "size", size, f"1 to {_MAX_SIZE:,}")


def _check(holds: bool, name: str, value: object, accepted: str) -> None:
    if not holds:
        raise UsageError(f"{name}: {value} is not accepted; accepted: {accepted}")


GENERATORS: dict[str, Callable[..., VrpInstance]] = {
    "uniform": uniform, "x": x, "solomon": solomon, "day": day, "requests": requests,
}  # fmt: skip

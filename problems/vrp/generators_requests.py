"""Days on which requests arrive: sampled from the customers of an instance, in the way of EURO meets NeurIPS 2022."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.vrp.instance import Vehicles, VrpInstance

__all__ = ["clustered_customers", "requests"]

_SIDE, _CLOSING = 3600.0, 43_200.0  # seconds: the square of the customers, and the end of the day
_LAYOUTS = ("uniform", "clustered")
_MAX_SIZE = 5_000


def requests(*, size: int = 100, per_epoch: int = 100, layout: str = "uniform", past: str = "", seed: int = 0) -> VrpInstance:
    """Return a day on which requests become known every hour (see corl.problems.vrp.stream); times are in seconds.

    In each epoch, places, windows, demands and service times of `per_epoch` requests are sampled from the customers; those
    that can no longer be served are dropped.

    Args:
        size: The number of customers, if they are generated.
        per_epoch: The number of requests sampled in an epoch.
        layout: "uniform": customers in a square of an hour's travel, with windows of two hours. "clustered": customers in towns,
            with hourly windows of about two hours and a long one, like the days of the competition.
        past: The path of an instance with time windows and a matrix, whose clients are the customers.
        seed: The seed.
    """
    from corl.loading import load
    from corl.problems.vrp.online.days import day_instance
    from corl.problems.vrp.online.epochs import epochs
    from corl.problems.vrp.online.sampling import sample_epoch

    if not 1 <= size <= _MAX_SIZE or not 1 <= per_epoch <= _MAX_SIZE:
        raise UsageError(f"accepted: size and per_epoch 1 to {_MAX_SIZE}")
    if layout not in _LAYOUTS:
        raise UsageError(f"layout: {layout} is not accepted; accepted: {', '.join(_LAYOUTS)}")
    customers = (
        load(past, "vrp")[1] if past else clustered_customers(size, seed) if layout == "clustered" else _customers(size, seed)
    )
    if customers.depots != 1 or customers.matrix is None or customers.earliest is None:
        raise UsageError(f"past: {past} is not accepted; accepted: one depot, a matrix of distances, time windows")
    random, numbers = np.random.default_rng(seed), epochs(customers.earliest[1:])
    drawn = [sample_epoch(customers, epoch, per_epoch, random) for epoch in range(numbers.first, numbers.last + 1)]
    source = f"past={past}" if past else f"size={size}" + (f" --option layout={layout}" if layout != _LAYOUTS[0] else "")
    comment = f"corl generate vrp requests --option {source} --option per_epoch={per_epoch} --seed {seed}"
    return day_instance(customers, drawn, numbers.first, f"requests-{sum(len(each.customer) for each in drawn)}", comment)


def _customers(size: int, seed: int) -> VrpInstance:
    """Return customers uniform in a square around the depot; distances are travel times in whole seconds."""
    random = np.random.default_rng([seed, 1])
    points = np.concatenate([[[0.5, 0.5]], random.random((size, 2))]) * _SIDE
    difference = points[:, None] - points[None]
    matrix = np.asarray(np.round(np.hypot(difference[..., 0], difference[..., 1])), np.float64)
    earliest = np.append(0.0, 600.0 * random.integers(12, 50, size))
    return VrpInstance(
        name="customers",
        edge_weight_type="EXPLICIT",
        demand=np.append(0.0, random.integers(1, 20, size)),
        vehicles=Vehicles(np.array([120.0])),
        matrix=matrix,
        earliest=earliest,
        latest=np.append(_CLOSING, earliest[1:] + 7200.0),
        service=np.append(0.0, 60.0 * random.integers(3, 11, size)),
    )


def clustered_customers(size: int, seed: int) -> VrpInstance:
    """Return customers in towns, like those of EURO meets NeurIPS 2022, whose instances have these orders of magnitude.

    Half an hour from the depot to a customer in the median, three minutes to the nearest customer; slightly asymmetric travel
    times; five to seven windows of about two hours that begin hourly, and a long window for a tenth to three tenths of the
    customers; ten to thirty requests for a vehicle; services of three to thirty minutes.
    """
    random = np.random.default_rng([seed, 2])
    points = _towns(size, random)
    difference = points[:, None] - points[None]
    matrix = np.hypot(difference[..., 0], difference[..., 1])
    matrix *= random.uniform(1400.0, 2600.0) / np.median(matrix[0, 1:])
    leaving, arriving = random.uniform(10.0, 90.0, (2, size + 1))  # seconds; they keep the triangle inequality
    matrix = np.asarray(np.round(matrix + leaving[:, None] + arriving[None]), np.float64)
    np.fill_diagonal(matrix, 0.0)
    earliest, latest, closing = _windows(size, random)
    demand = np.clip(np.round(random.lognormal(1.7, 0.5, size)), 1, 40)
    return VrpInstance(
        name="customers",
        edge_weight_type="EXPLICIT",
        demand=np.append(0.0, demand),
        vehicles=Vehicles(np.array([5.0 * random.integers(25, 41)])),
        matrix=matrix,
        earliest=np.append(0.0, earliest),
        latest=np.append(closing, latest),
        service=np.append(0.0, 60.0 * (2.0 + demand)),
    )


def _towns(size: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Return float64 [size + 1, 2]: the depot, then customers in 5 to 25 towns and (a fifth) between them, in a rectangle."""
    side, towns = np.array([1.0, random.uniform(0.4, 1.0)]), int(random.integers(5, 26))
    centres, spread = side * random.random((towns, 2)), random.uniform(0.01, 0.06, towns)
    town = random.choice(towns, size, p=random.dirichlet(np.ones(towns)))
    points = centres[town] + spread[town, None] * random.standard_normal((size, 2))
    outside = random.random(size) < 0.2
    points[outside] = side * random.random((int(outside.sum()), 2))
    return np.concatenate([[side * random.random(2)], points])


def _windows(size: int, random: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the beginnings and the ends of the customers' windows, float64 [size], and the end of the day, in seconds."""
    first, width = 600.0 * random.integers(8, 16), 300.0 * random.integers(21, 26)
    count, long_share = int(random.integers(5, 8)), random.uniform(0.1, 0.3)
    earliest = first + 3600.0 * random.integers(count, size=size)
    long = random.random(size) < long_share
    earliest[long] = first + 1800.0
    latest = earliest + np.where(long, 600.0 * random.integers(32, 42), width)
    return earliest, latest, float(max(_CLOSING, latest.max() + 7200.0))

"""Days on which requests arrive: sampled from the customers of an instance, in the way of EURO meets NeurIPS 2022."""

from __future__ import annotations

import numpy as np

from corl.errors import UsageError
from corl.problems.vrp.instance import Vehicles, VrpInstance

__all__ = ["requests"]

_SIDE, _CLOSING = 3600.0, 43_200.0  # seconds: the square of the customers, and the end of the day
_MAX_SIZE = 5_000


def requests(*, size: int = 100, per_epoch: int = 100, past: str = "", seed: int = 0) -> VrpInstance:
    """Return a day on which requests become known every hour (see corl.problems.vrp.stream); times are in seconds.

    In each epoch, places, windows, demands and service times of `per_epoch` requests are sampled from the customers; those
    that can no longer be served are dropped.

    Args:
        size: The number of customers, if they are generated: uniform in a square of an hour's travel, with windows of two hours.
        per_epoch: The number of requests sampled in an epoch.
        past: The path of an instance with time windows and a matrix, whose clients are the customers.
        seed: The seed.
    """
    from corl.loading import load
    from corl.problems.vrp.online.days import day_instance
    from corl.problems.vrp.online.epochs import epochs
    from corl.problems.vrp.online.sampling import sample_epoch

    if not 1 <= size <= _MAX_SIZE or not 1 <= per_epoch <= _MAX_SIZE:
        raise UsageError(f"accepted: size and per_epoch 1 to {_MAX_SIZE}")
    customers = load(past, "vrp")[1] if past else _customers(size, seed)
    if customers.depots != 1 or customers.matrix is None or customers.earliest is None:
        raise UsageError(f"past: {past} is not accepted; accepted: one depot, a matrix of distances, time windows")
    random, numbers = np.random.default_rng(seed), epochs(customers.earliest[1:])
    drawn = [sample_epoch(customers, epoch, per_epoch, random) for epoch in range(numbers.first, numbers.last + 1)]
    source = f"past={past}" if past else f"size={size}"
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

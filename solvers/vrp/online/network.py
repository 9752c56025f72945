"""The network that sets prizes: a perceptron over the features of one request."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.online.situation import Situation
from corl.solvers.vrp.online.features import features

__all__ = ["load_weights", "network_prizes", "prize_shares"]

Weights = Mapping[str, NDArray[np.float32]]


def prize_shares(weights: Weights, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return float64 [R], each request's prize as a share of its round trip.

    Args:
        weights: `mean` and `scale` [F] of the features; for each layer k, `weight{k}` [in, out] and `bias{k}` [out].
        rows: float64 [R, F], the features.
    """
    hidden, layers = (rows - weights["mean"]) / weights["scale"], sum(name.startswith("weight") for name in weights)
    for layer in range(layers):
        hidden = hidden @ weights[f"weight{layer}"] + weights[f"bias{layer}"]
        if layer + 1 < layers:
            hidden = np.tanh(hidden)
    return np.logaddexp(0.0, hidden[:, 0])


def network_prizes(weights: Weights, now: Situation) -> NDArray[np.float64]:
    """Return float64 [R], the prizes, in the instance's units; inf for the requests that must go."""
    assert now.customers.matrix is not None
    place = now.requests.customer
    trip = now.customers.matrix[0, place] + now.customers.matrix[place, 0]
    return np.where(now.must, np.inf, prize_shares(weights, features(now)) * trip)


@cache
def load_weights(path: str = "") -> Weights:
    """Return the weights in a .safetensors file; by default those that are shipped."""
    from safetensors.numpy import load_file

    file = Path(path) if path else Path(__file__).with_name("prizes.safetensors")
    return load_file(file)

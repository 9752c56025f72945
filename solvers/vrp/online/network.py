"""The network that corrects prizes: a perceptron over the features of one request and its sampled prize."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.online.situation import Situation
from corl.solvers.vrp.online.features import features

__all__ = ["correction", "inputs", "load_weights"]

Weights = Mapping[str, NDArray[np.float32]]
_LARGEST = 1.5  # bound of the logarithm of a correction


def inputs(now: Situation, prize: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return float64 [R, F]: the features of requests, and the logarithm of the prize as a share of the round trip.

    Args:
        now: The situation.
        prize: float64 [R], the sampled prizes; those of requests that must go are replaced by the round trip.
    """
    assert now.customers.matrix is not None
    place = now.requests.customer
    trip = now.customers.matrix[0, place] + now.customers.matrix[place, 0]
    share = np.where(now.must, 1.0, np.maximum(prize, 1.0) / np.maximum(trip, 1.0))
    return np.column_stack([features(now), np.log(share)])


def correction(weights: Weights, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return float64 [R], the factor of each request's prize.

    Args:
        weights: `mean` and `scale` [F] of the inputs; for each layer k, `weight{k}` [in, out] and `bias{k}` [out].
        rows: float64 [R, F], the inputs.
    """
    hidden, layers = (rows - weights["mean"]) / weights["scale"], sum(name.startswith("weight") for name in weights)
    for layer in range(layers):
        hidden = hidden @ weights[f"weight{layer}"] + weights[f"bias{layer}"]
        if layer + 1 < layers:
            hidden = np.tanh(hidden)
    return np.asarray(np.exp(_LARGEST * np.tanh(hidden[:, 0])))


@cache
def load_weights(path: str = "") -> Weights:
    """Return the weights in a .safetensors file; by default those that are shipped."""
    from safetensors.numpy import load_file

    file = Path(path) if path else Path(__file__).parents[1] / "weights" / "vrp-day.safetensors"
    return load_file(file)

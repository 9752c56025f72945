"""The network that corrects sampled prizes: a perceptron over the features of one request."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.vrp.online.situation import Situation
from corl.solvers.vrp.online.dispatching import round_trips
from corl.solvers.vrp.online.features import Column, features

__all__ = ["corrected_prizes", "correction_rows", "load_weights", "log_factors"]

Weights = Mapping[str, NDArray[np.float32]]

_INPUTS = len(Column) + 1  # and the sampled prize
_LARGEST = 2.0  # the greatest absolute value of the logarithm of a correction


def correction_rows(now: Situation, prize: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return float64 [R, F]: the features of the requests, and their sampled prizes as shares of their round trips.

    prize: float64 [R]; inf for requests that must go, for which 1 is written.
    """
    trip = np.maximum(round_trips(now), 1.0)
    return np.column_stack([features(now), np.where(now.must, 1.0, prize / trip)])


def log_factors(weights: Weights, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return float64 [R], the logarithm of the factor for each request's prize; 0 if the last layer's weights are 0.

    Args:
        weights: `mean` and `scale` [F] of the features; for each layer k, `weight{k}` [in, out] and `bias{k}` [out].
        rows: float64 [R, F], see `correction_rows`.
    """
    hidden, layers = (rows - weights["mean"]) / weights["scale"], sum(name.startswith("weight") for name in weights)
    for layer in range(layers):
        hidden = hidden @ weights[f"weight{layer}"] + weights[f"bias{layer}"]
        if layer + 1 < layers:
            hidden = np.tanh(hidden)
    return np.asarray(_LARGEST * np.tanh(hidden[:, 0] / _LARGEST))


def corrected_prizes(weights: Weights, now: Situation, prize: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return float64 [R], the sampled prizes `prize`, each times the network's factor; inf for the requests that must go."""
    return np.where(now.must, np.inf, np.exp(log_factors(weights, correction_rows(now, prize))) * np.where(now.must, 1.0, prize))


@cache
def load_weights(path: str = "") -> Weights:
    """Return the weights in a .safetensors file; by default those that are shipped. Raises UsageError."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        weights = load_file(Path(path) if path else Path(__file__).with_name("prizes.safetensors"))
    except (OSError, SafetensorError) as error:
        raise UsageError(f"weights: {path}: {error}") from None
    if len(weights.get("mean", ())) != _INPUTS:
        raise UsageError(f"weights: {path} is not accepted; accepted: weights for {_INPUTS} features of a request")
    return weights

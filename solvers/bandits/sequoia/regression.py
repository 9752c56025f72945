"""Regression of the Q-network on target values, with explicit gradients and AdamW in kernels.

A step in torch takes ten times as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.solvers.bandits.policies.qnetwork import HIDDEN, QNetwork, value

__all__ = ["Regression", "fresh_network"]

_BETAS = (0.9, 0.999)  # decay rates of AdamW's moments, torch's default
_DECAY = 0.01  # weight decay of AdamW, torch's default


def fresh_network(random: np.random.Generator, rows: int, on: int, flat: bool) -> QNetwork:
    """Return a network with random weights (He initialisation).

    Args:
        random: The generator of random numbers.
        rows: The number of inputs.
        on: The number of inputs that are active (1) at a time.
        flat: Whether the weights of the last layer are 0, so that the output is 0 for all inputs.
    """
    one, two = HIDDEN
    return QNetwork(
        random.normal(0.0, np.sqrt(2.0 / on), (rows, one)), np.zeros(one),
        random.normal(0.0, np.sqrt(2.0 / one), (one, two)), np.zeros(two),
        np.zeros(two) if flat else random.normal(0.0, np.sqrt(1.0 / two), two), np.zeros(1),
    )  # fmt: skip


class Regression:
    """A network, trained in place, with its gradient and the moments of AdamW."""

    def __init__(self, network: QNetwork) -> None:
        self.network = network
        self._gradient, self._mean, self._square = (QNetwork(*map(np.zeros_like, network)) for _ in range(3))
        self._steps = 0

    def step(self, rows: NDArray[np.int64], targets: NDArray[np.float64], weights: NDArray[np.float64], rate: float) -> NDArray:
        """Do one step of AdamW on the weighted Huber loss of a batch; return the errors, float64 [n].

        Args:
            rows: int64 [n, K], the active inputs (`qnetwork.inputs`).
            targets: float64 [n], the values that the outputs should have.
            weights: float64 [n], the weights of the batch's entries in the loss.
            rate: The learning rate.
        """
        self._steps += 1
        errors = np.empty(len(rows))
        _gradient(self.network, rows, targets, weights, self._gradient, errors)
        corrections = tuple(1.0 - beta**self._steps for beta in _BETAS)
        for weight, *moments in zip(self.network, self._gradient, self._mean, self._square):
            gradient, mean, square = (each.reshape(-1) for each in moments)
            _adam(weight.reshape(-1), gradient, mean, square, rate, corrections[0], corrections[1])
        return errors


@kernel
def _gradient(network: Any, rows: Any, targets: Any, weights: Any, gradient: Any, errors: Any) -> None:
    """Set errors = outputs - targets, and add the gradient of the mean weighted Huber loss (delta 1) to `gradient`, in place."""
    one, two = len(network.b1), len(network.b2)
    first, second, first_slopes = np.empty(one), np.empty(two), np.empty(one)
    for r in range(len(rows)):
        output = value(network, rows[r], first, second)
        errors[r] = output - targets[r]
        slope = min(1.0, max(-1.0, errors[r])) * weights[r] / len(rows)
        gradient.b3[0] += slope
        for h in range(one):
            first_slopes[h] = 0.0
        for g in range(two):
            if second[g] > 0.0:
                gradient.w3[g] += slope * second[g]
                second_slope = slope * network.w3[g]
                gradient.b2[g] += second_slope
                for h in range(one):
                    if first[h] > 0.0:
                        gradient.w2[h, g] += second_slope * first[h]
                        first_slopes[h] += second_slope * network.w2[h, g]
        for h in range(one):
            gradient.b1[h] += first_slopes[h]
        for k in range(rows.shape[1]):
            for h in range(one):
                gradient.w1[rows[r, k], h] += first_slopes[h]


@kernel(fastmath=True)
def _adam(weights: Any, gradient: Any, mean: Any, square: Any, rate: Any, mean_correction: Any, square_correction: Any) -> None:
    """Update the weights by AdamW (Loshchilov & Hutter, ICLR 2019), in place, and set the gradient to 0.

    `mean_correction` and `square_correction` are the bias corrections of the moments `mean` and `square`.
    """
    for i in range(len(weights)):
        slope = gradient[i]
        mean[i] += (1.0 - _BETAS[0]) * (slope - mean[i])
        square[i] += (1.0 - _BETAS[1]) * (slope * slope - square[i])
        weights[i] -= rate * (mean[i] / mean_correction / (np.sqrt(square[i] / square_correction) + 1e-8) + _DECAY * weights[i])
        gradient[i] = 0.0

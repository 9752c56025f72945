"""Priors of arms' transition probabilities: defaults, and estimates from the logs of other arms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.solvers.bandits.online.beliefs import ARM, FEATURES, INDEPENDENT
from corl.solvers.bandits.online.learner import Prior

__all__ = ["Population", "default_population", "prior_of", "standardised"]


class Population(NamedTuple):
    """How arms' cells are distributed (see corl.solvers.bandits.online.beliefs); C cells."""

    chance: NDArray[np.float64]
    """[C] the mean of each cell's probability, for its beta prior."""
    strength: NDArray[np.float64]
    """[C] the number of observations that the beta prior of a cell counts for."""
    mean: NDArray[np.float64]
    """[C] the mean log-odds."""
    covariance: NDArray[np.float64]
    """[C, C] of an arm's log-odds."""
    residual: NDArray[np.float64]
    """[C, C] of an arm's log-odds, given the effects of the features."""
    between: NDArray[np.float64]
    """[C, C] with features, the covariance of the mean log-odds of an instance, around `mean`."""
    effects: NDArray[np.float64]
    """[C, C] the covariance of the effects of a standardised feature on the log-odds."""


def default_population(states: int) -> Population:
    """Return a population for arms with this number of states of which nothing is known."""
    cells = 2 * states * (states - 1)
    action, state = np.divmod(np.arange(cells) // (states - 1), states)
    mean = 1.5 * (state / (states - 1) - 0.5)  # states last
    same_state = (state[:, None] == state).astype(np.float64)
    same_action = (action[:, None] == action).astype(np.float64)
    covariance = 0.5 + 0.25 * same_state + 0.25 * same_action + 0.1 * np.eye(cells)
    chance = 1.0 / (1.0 + np.exp(-mean))
    return Population(chance, np.full(cells, 2.0), mean, covariance, 0.5 * covariance, covariance, 0.1 * covariance)


def prior_of(population: Population, model: int, features: NDArray[np.float64]) -> Prior:
    """Return the prior of arms with these features, float64 [J, F], for a model of `beliefs`.

    Features are standardised. Only FEATURES uses them.
    """
    drivers = standardised(features) if model == FEATURES else np.ones((len(features), 1))
    weights = np.zeros((drivers.shape[1], len(population.mean)))
    weights[0] = population.mean
    precision = np.empty((*weights.shape, weights.shape[1]))
    precision[0], precision[1:] = np.linalg.inv(population.between), np.linalg.inv(population.effects)
    covariance = population.residual if model == FEATURES else population.covariance
    assert model in (INDEPENDENT, ARM, FEATURES)
    return Prior(
        model,
        population.strength * population.chance,
        population.strength * (1.0 - population.chance),
        np.linalg.inv(covariance),
        np.ascontiguousarray(drivers),
        weights,
        precision,
    )


def standardised(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a column of ones, and the features [J, F] with mean 0 and variance 1: float64 [J, F + 1]."""
    spread = features.std(axis=0)
    scaled = (features - features.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    return np.concatenate([np.ones((len(features), 1)), scaled], axis=1)

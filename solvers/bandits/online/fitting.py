"""Estimation of a population of arms from logs of other arms, by expectation-maximisation (empirical Bayes)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from corl.solvers.bandits.online.beliefs import tally
from corl.solvers.bandits.online.priors import Population, default_population, standardised

__all__ = ["fit_population"]

_ROUNDS = 60
_SWEEPS = 6  # of the Polya-gamma variables, as in `beliefs`
_LEAST = 1e-3  # of a variance
_SHRUNK = 3.0  # how many instances the mean over features counts for, in the covariance of a feature's effects


def fit_population(
    counts: Sequence[NDArray[np.int32]], features: Sequence[NDArray[np.float64]], order: NDArray[np.int64]
) -> Population:
    """Return the population of the arms of some instances.

    Args:
        counts: For each instance int32 [J, 2, S, S], how often each transition of each arm was observed.
        features: For each instance float64 [J, F].
        order: int64 [S], the states from the lowest reward to the highest.
    """
    tallies = [_tally(each, order) for each in counts]
    trials, successes = (np.concatenate([each[k] for each in tallies]) for k in range(2))
    own = np.split(np.arange(len(trials)), np.cumsum([len(each) for each in counts])[:-1])  # rows of each instance
    drivers = np.concatenate([standardised(each) for each in features])
    start = default_population(counts[0].shape[-1])
    mean, covariance = start.mean, start.covariance
    for _ in range(_ROUNDS):
        odds, spread = _posterior(trials, successes, np.broadcast_to(mean, trials.shape), covariance)
        mean = odds.mean(axis=0)
        covariance = _moment(odds - mean, spread)
    residual, between = 0.5 * covariance, start.between
    effects = np.repeat(start.effects, drivers.shape[1] - 1, axis=0)
    for _ in range(_ROUNDS):
        found = [_regression(odds[rows], drivers[rows], mean, residual, between, effects) for rows in own]
        weights, spreads = (np.array([each[k] for each in found]) for k in range(2))  # [instances, F, C], [instances, F, C, C]
        fitted = np.concatenate([drivers[rows] @ each for rows, each in zip(own, weights)])
        odds, spread = _posterior(trials, successes, fitted, residual)
        residual = _moment(odds - fitted, spread)
        between = _moment(weights[:, 0] - mean)
        effects = _effects(weights[:, 1:], spreads[:, 1:])
    return Population(*_beta(trials, successes), mean, covariance, residual, between, effects)


def _effects(weights: NDArray[np.float64], spreads: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the covariance of the effects of each feature, [F, C, C], shrunk towards their mean over features.

    Args:
        weights: float64 [N, F, C], the posterior means of the effects in each instance.
        spreads: float64 [N, F, C, C], their posterior covariances.
    """
    instances = len(weights)
    moments = np.array([_moment(weights[:, f], spreads[:, f]) for f in range(weights.shape[1])])
    found: NDArray[np.float64] = instances * moments + _SHRUNK * moments.mean(axis=0)
    return found / (instances + _SHRUNK)


def _tally(counts: NDArray[np.int32], order: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the trials and successes of the cells, float64 [J, C] each."""
    states = counts.shape[-1]
    trials, successes = (np.empty((len(counts), 2 * states * (states - 1))) for _ in range(2))
    tally(counts, order, trials, successes)
    return trials, successes


def _posterior(
    trials: NDArray[np.float64], successes: NDArray[np.float64], prior: NDArray[np.float64], covariance: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the posterior means [J, C] and covariances [J, C, C] of the log-odds, given prior means [J, C]."""
    precision, omega = np.linalg.inv(covariance), 0.25 * trials
    for _ in range(_SWEEPS):
        spread = np.asarray(np.linalg.inv(precision + omega[:, :, None] * np.eye(len(precision))), np.float64)
        odds = np.einsum("jcd,jd->jc", spread, prior @ precision + successes - 0.5 * trials)
        size = np.maximum(np.sqrt(odds**2 + np.einsum("jcc->jc", spread)), 1e-6)
        omega = trials * 0.5 * np.tanh(0.5 * size) / size
    return np.asarray(odds), np.asarray(spread, np.float64)


def _moment(values: NDArray[np.float64], spread: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return the mean of the outer products of `values` [N, C] with themselves and of `spread`, [C, C], slightly enlarged."""
    moment = values.T @ values / len(values) + (0.0 if spread is None else spread.mean(axis=0))
    enlarged: NDArray[np.float64] = moment + _LEAST * np.eye(values.shape[1])
    return enlarged


def _regression(
    odds: NDArray[np.float64],
    drivers: NDArray[np.float64],
    mean: NDArray[np.float64],
    residual: NDArray[np.float64],
    between: NDArray[np.float64],
    effects: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the posterior mean [F, C] and covariances [F, C, C] of the weights of an instance, given its log-odds [J, C]."""
    width, noise = len(mean), np.linalg.inv(residual)
    precision = np.kron(drivers.T @ drivers, noise)
    right = drivers.T @ odds @ noise
    right[0] += np.linalg.solve(between, mean)
    parts = [slice(k * width, (k + 1) * width) for k in range(drivers.shape[1])]
    for k, at in enumerate(parts):
        precision[at, at] += np.linalg.inv(effects[k - 1] if k else between)
    covariance = np.asarray(np.linalg.inv(precision), np.float64)
    return (covariance @ right.ravel()).reshape(right.shape), np.array([covariance[at, at] for at in parts])


def _beta(trials: NDArray[np.float64], successes: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and strengths, [C] each, of the beta distributions of the cells' probabilities, by their first two moments."""
    total = trials.sum(axis=0)
    chance = successes.sum(axis=0) / total
    residual = successes - trials * chance
    binomial = chance * (1.0 - chance)
    # the expectation of residual^2 is binomial * (trials + share * trials * (trials - 1)), where strength = 1 / share - 1
    share = ((residual**2).sum(axis=0) / binomial - total) / np.maximum((trials * (trials - 1.0)).sum(axis=0), 1.0)
    return chance, np.asarray(1.0 / np.clip(share, 1e-3, 0.9) - 1.0, np.float64)

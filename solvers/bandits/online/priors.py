"""Priors of arms' transition probabilities: defaults, and estimates from the logs of other arms."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.fields import Array, Number, Object
from corl.files.json_instances import Field, read_object
from corl.files.json_values import to_json
from corl.files.text import Text
from corl.solvers.bandits.online.beliefs import ARM, FEATURES, INDEPENDENT
from corl.solvers.bandits.online.learner import Prior

__all__ = ["Population", "default_population", "prior_of", "read_population", "standardised", "write_population"]


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
    """[F, C, C] the covariance of the effects of each standardised feature on the log-odds; [1, C, C]: the same for all."""


def default_population(states: int) -> Population:
    """Return a population for arms with this number of states of which nothing is known."""
    cells = 2 * states * (states - 1)
    action, state = np.divmod(np.arange(cells) // (states - 1), states)
    mean = 1.5 * (state / (states - 1) - 0.5)  # states last
    same_state = (state[:, None] == state).astype(np.float64)
    same_action = (action[:, None] == action).astype(np.float64)
    covariance = 0.5 + 0.25 * same_state + 0.25 * same_action + 0.1 * np.eye(cells)
    chance = 1.0 / (1.0 + np.exp(-mean))
    return Population(chance, np.full(cells, 2.0), mean, covariance, 0.5 * covariance, covariance, 0.1 * covariance[None])


def prior_of(population: Population, model: int, features: NDArray[np.float64]) -> Prior:
    """Return the prior of arms with these features, float64 [J, F], for a model of `beliefs`.

    Features are standardised. Only FEATURES uses them.
    """
    drivers = standardised(features) if model == FEATURES else np.ones((len(features), 1))
    weights = np.zeros((drivers.shape[1], len(population.mean)))
    weights[0] = population.mean
    precision = np.empty((*weights.shape, weights.shape[1]))
    precision[0] = np.linalg.inv(population.between)
    if model == FEATURES:
        precision[1:] = np.linalg.inv(population.effects)  # of all features, or of each
    covariance = population.residual if model == FEATURES else population.covariance
    assert model in (INDEPENDENT, ARM, FEATURES)
    return Prior(
        model,
        population.strength * population.chance,
        population.strength * (1.0 - population.chance),
        np.asarray(np.linalg.inv(covariance), np.float64),
        np.ascontiguousarray(drivers),
        weights,
        precision,
    )


def standardised(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a column of ones, and the features [J, F] with mean 0 and variance 1: float64 [J, F + 1]."""
    spread = features.std(axis=0)
    scaled = (features - features.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    return np.concatenate([np.ones((len(features), 1)), scaled], axis=1)


_VECTORS = ("chance", "strength", "mean")
_VECTOR, _MATRIX = Array(Number(), 1), Array(Array(Number(), 1), 1)
_MATRICES = Array(_MATRIX, 1)
_FORM = Object(
    {
        "chance": _VECTOR, "strength": _VECTOR, "mean": _VECTOR, "covariance": _MATRIX, "residual": _MATRIX,
        "between": _MATRIX, "effects": _MATRICES,
    }
)  # fmt: skip


def write_population(population: Population, path: str | os.PathLike[str]) -> None:
    """Write a JSON file from which `read_population` returns the population, rounded to six digits."""
    rounded = {name: np.array([f"{each:.6g}" for each in value.ravel()], np.float64).reshape(value.shape).tolist()
               for name, value in population._asdict().items()}  # fmt: skip
    lines = ",\n".join(f' "{name}": {to_json(value)}' for name, value in rounded.items())
    Path(path).write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


@lru_cache(maxsize=16)
def read_population(path: str) -> Population:
    """Return the population in a JSON file; it is read once per process. Raises InputError or OSError."""

    def read(field: Field) -> Population:
        record = field.record(_FORM)
        cells = len(record["mean"].numbers(None))
        shapes: dict[str, tuple[int, ...]] = {
            name: (cells,) if name in _VECTORS else (cells, cells) for name in Population._fields
        }
        shapes["effects"] = (len(record["effects"].value), cells, cells)
        found = Population(*(record[name].numbers(*shape) for name, shape in shapes.items()))
        if not all(np.linalg.eigvalsh(each).min() > 0.0 for each in found[3:]) or not (found.strength > 0.0).all():
            raise InputError("accepted: positive strengths and positive definite matrices", field="covariance")
        if not ((found.chance > 0.0) & (found.chance < 1.0)).all():
            raise InputError("accepted: numbers above 0 and below 1", field="chance")
        return found

    return read_object(Text.read(path), read)

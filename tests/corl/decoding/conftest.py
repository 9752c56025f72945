"""Policies without weights, and small tours to decode."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from corl.decoding import CountedEvaluator
from corl.policy import RulePolicy
from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.problem import Tsp


class Nearness(RulePolicy):
    """Logits are minus the distance from the last city: greedy decoding is the nearest neighbour tour."""

    def __init__(self, sharpness: float = 1.0) -> None:
        self.sharpness = sharpness

    def evaluate(self, observation):
        seen = observation["coordinates"]
        apart = np.linalg.norm(seen[:, :-2] - seen[:, -2:-1], axis=2)
        return np.where(observation["mask"][:, :-2], -self.sharpness * apart, -np.inf), np.zeros(len(apart))


def _instances(*sizes: int, seed: int = 0) -> list[TspInstance]:
    random = np.random.default_rng(seed)
    return [TspInstance(f"random-{n}", "EXACT_2D", random.random((n, 2))) for n in sizes]


def _evaluator(instances: list[TspInstance], rows: int, width: int | None = None, **options: object) -> CountedEvaluator:
    return CountedEvaluator(Tsp().environment(instances, rows, width), Nearness(3.0), **options)


def _shortest(instance: TspInstance) -> float:
    return min(Tsp().evaluate(instance, np.array([0, *rest])) for rest in permutations(range(1, instance.n)))


@pytest.fixture(scope="session")
def instances():
    """A function (*sizes, seed) -> random planar instances of these sizes."""
    return _instances


@pytest.fixture(scope="session")
def evaluator():
    """A function (instances, rows, width, **options) -> CountedEvaluator of the nearness policy."""
    return _evaluator


@pytest.fixture(scope="session")
def shortest():
    """A function instance -> the length of the shortest tour, by enumeration."""
    return _shortest

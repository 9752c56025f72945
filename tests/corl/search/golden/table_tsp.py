"""A small TSP with a made-up network: what the golden trees and the tests of search are computed on.

The "network" is two tables: logits[last city, next city], and a value by the last city. It has no ties, and gives the same
bits wherever it is evaluated.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from corl.policy import RulePolicy
from corl.problems.tsp.environment import TspEnvironment
from corl.problems.tsp.instance import TspInstance

TREES = 4
CONFIGURATIONS = [
    *({"search": "gumbel", "cities": n, "simulations": s, "considered": m, "seed": i}
      for i, (n, s, m) in enumerate([(6, 32, 16), (6, 200, 4), (8, 64, 16), (10, 50, 8), (12, 128, 16), (15, 64, 2), (16, 100, 7),
                                     (20, 32, 16), (20, 64, 16), (20, 200, 16)])),
    *({"search": "puct", "cities": n, "simulations": s, "seed": 100 + i}
      for i, (n, s) in enumerate([(6, 100), (8, 64), (12, 50), (15, 128), (20, 64), (20, 200)])),
]  # fmt: skip


class Tables(NamedTuple):
    """The made-up network."""

    logits: Any
    """float32 [n, n]"""
    values: Any
    """float64 [n]"""


def points(seed: int, cities: int) -> Any:
    """Coordinates float64 [TREES, cities, 2], a TSP for each tree; multiples of 2**-12, so that float32 has them exactly."""
    return np.round(np.random.default_rng(seed).random((TREES, cities, 2)) * 4096) / 4096


def tables(seed: int, cities: int, scale: float = 1.0) -> Tables:
    """The network of a seed; values are float32 numbers."""
    random = np.random.default_rng(1000 + seed)
    logits = random.normal(size=(cities, cities)).astype(np.float32)
    return Tables(logits, scale * random.normal(-3.0, 0.5, cities).astype(np.float32).astype(np.float64))


def environment(places: Any, rows: int) -> TspEnvironment:
    """A pool over the TSPs of `places` [I, n, 2] with exact distances; rows 0..I-1 are their initial states."""
    instances = [TspInstance(f"t{i}", "EXACT_2D", points=each) for i, each in enumerate(places)]
    made = TspEnvironment(instances, rows, width=places.shape[1])
    made.reset(np.arange(len(places)), np.arange(len(places)))
    return made


class TablePolicy(RulePolicy):
    """The made-up network on observations; counts what it is asked, and refuses states that are over."""

    def __init__(self, network: Tables) -> None:
        self.network, self.calls, self.states = network, 0, 0

    def evaluate(self, observation: dict[str, Any]) -> tuple[Any, Any]:
        """Logits of the listed cities and the values."""
        assert observation["mask"][:, 0].all(), "a state without actions reached the network"
        self.calls, self.states = self.calls + 1, self.states + len(observation["cities"])
        cities, last = observation["cities"][:, :-2], observation["cities"][:, -2]
        logits = np.where(cities >= 0, self.network.logits[last[:, None], cities], np.float32(-np.inf))
        return logits, self.network.values[last]


class Uniform(RulePolicy):
    """No network: all logits and values are 0."""

    def evaluate(self, observation: dict[str, Any]) -> tuple[Any, Any]:
        """Zeros for the listed cities."""
        cities = observation["cities"][:, :-2]
        return np.where(cities >= 0, np.float32(0.0), np.float32(-np.inf)), np.zeros(len(cities))

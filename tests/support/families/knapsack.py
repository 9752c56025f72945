"""Small knapsacks, and the most that fits by enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from corl import registry
from corl.problems.knapsack.instance import KnapsackInstance

CHEAP = "greedy"
LARGE = {
    "knapsack": ("weakly-correlated", {"size": 1000000}),
    "knapsack-strong": ("strongly-correlated", {"size": 1000000}),
    "knapsack-multi": ("multi", {"size": 200000, "constraints": 5}),
}

BUSY = ("multi", {"size": 1000, "constraints": 10})
MIXES = 40
MANY_CLAIMS = 200
PAGE = ("uncorrelated", {"size": 20})
HELD: list[Any] = [([3, 4], [2, 3], 4), {"values": [3, 4], "weights": [[2, 3], [1, 1]], "capacities": [4, 2]}]
RECORDED = (
    "cp-sat",
    "dp",
)
GOLDENS = {
    "multi": ("multi", {"size": 20, "constraints": 3, "seed": 1}),
    "strong": ("strongly-correlated", {"size": 60, "span": 500, "seed": 2}),
    "uniform": ("uniform", {"size": 30, "span": 100, "seed": 3}),
    "unit": ("unit", {"size": 30, "capacity": 5.0, "seed": 4}),
}
GOLDEN_SOLVES = """
cp-sat multi - proof +ortools
dp strong 500
dp uniform 500
greedy multi 20
greedy unit 20
ortools multi - proof +ortools
"""
GOLDEN_NETWORKS = "multi"


def random_instance(items: int, constraints: int = 1, seed: int = 0, kind: str = "integer") -> KnapsackInstance:
    """Values and weights from 0, capacities from nothing to everything; "integer", "decimal" (hundredths) or "real"."""
    random = np.random.default_rng([items, constraints, seed])
    values, weights = random.integers(0, 30, items).astype(float), random.integers(0, 30, (constraints, items)).astype(float)
    capacities = np.floor(weights.sum(axis=1) * random.random(constraints))
    if kind == "decimal":
        values, weights, capacities = values / 100, weights / 100, capacities / 100
    if kind == "real":
        values, weights = random.random(items), random.random((constraints, items))
        capacities = weights.sum(axis=1) * random.random(constraints)
    return KnapsackInstance(f"{kind}-{items}", values, weights, capacities, first_item=seed % 2)


def most(instance: KnapsackInstance) -> float:
    """The best value over all subsets of at most about fourteen items."""
    best = 0.0
    for taken in itertools.product((False, True), repeat=instance.n):
        chosen = np.array(taken)
        if (instance.weights[:, chosen].sum(axis=1) <= instance.capacities * (1 + 1e-12)).all():
            best = max(best, float(instance.values[chosen].sum()))
    return best


def sample(seed: int) -> KnapsackInstance:
    """An instance of up to twelve items and three capacities, of a kind by the seed."""
    return random_instance(1 + seed % 12, 1 + seed // 100 % 3, seed, ("integer", "decimal", "real")[seed // 1000 % 3])


def solved(seed: int) -> tuple[KnapsackInstance, float]:
    """A tiny knapsack with its optimum."""
    instance = random_instance(1 + seed % 9, 1 + seed % 3, seed, ("integer", "decimal", "real")[seed // 3 % 3])
    return instance, most(instance)


def smallest() -> list[Any]:
    """One item that fits or not; nothing weighs, nothing counts, nothing fits, all fits."""
    one, three = np.ones(1), np.arange(1.0, 4.0)
    return [
        KnapsackInstance("a", values, np.atleast_2d(weights), np.array([float(capacity)]))
        for values, weights, capacity in (
            (one, one, 1), (one, one, 0), (three, 0 * three, 0), (0 * three, three, 3), (three, three + 9, 1), (three, three, 6),
        )
    ]  # fmt: skip


def kernel_samples() -> list[Any]:
    """Small instances of the kinds that the solvers have kernels for."""
    adapt = registry.problem("knapsack").adapt
    return [adapt(([3, 2, 4], [1, 1, 2], 2)), adapt(([3, 2, 4], [[1, 1, 2], [2, 1, 1]], [2, 2]))]

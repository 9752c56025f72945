"""How far learned policies are below our best solver: `python tests/studies/routing_policies.py PROBLEM [--split judge] [ROW ...]`.

PROBLEM is knapsack, orienteering or vrp, at 100 items, nodes or clients, as the learning literature has them: KP100 with capacity
25, OP100 with scores by distance and limit 4 (Kool et al., 2019), CVRP100 with capacity 50. Training draws its seeds below
2**32 at random, so that none is likely among those of SPLITS; rules are tuned and curves watched on "choose", and "judge" is for
the figures that are published, once.

A row is POLICY-DECODER: a policy is "rule", a shipped one's name or a checkpoint file; a decoder "greedy" or "beamW". Gaps are to
the best known, which the CSV file --reference keeps. Each row is a line of CSV: mean gap with its bootstrap interval, and
instances a second of processor time on one core.
"""

from __future__ import annotations

__all__ = ["SPLITS", "fresh"]

from typing import Any

from corl import registry

SPLITS = {"choose": 4_310_000_000, "judge": 4_320_000_000}
"""The first seed of each."""
COUNT = 128
"""Instances of each."""
GENERATED: dict[str, tuple[str, dict[str, Any]]] = {
    "knapsack": ("unit", {"size": 100, "capacity": 25.0}),
    "orienteering": ("distance", {"size": 100}),
    "vrp": ("uniform", {"size": 100}),
}
"""Generator and options."""


def fresh(problem: str, split: str, count: int = COUNT) -> list[Any]:
    """The first `count` instances of a split."""
    name, options = GENERATED[problem]
    make = registry.problem(problem).generators[name]
    return [make(**options, seed=SPLITS[split] + k) for k in range(count)]

"""The instances that trainings are chosen by and judged on, by the seeds of generators; committed before anything was tuned.

Recipes draw the seeds of their instances below 2**32 (corl.learning.source), so that no training sees any of these.
"""

from __future__ import annotations

from typing import Any

from corl import registry

__all__ = ["GENERATED", "SPLITS", "instances"]

SPLITS = {"labels": 5_000_000_000, "held-out": 5_100_000_000, "choose": 5_200_000_000, "judge": 5_400_000_000}
"""The first seed of each. "labels" and "held-out" are for states with a teacher's actions, learned from and not; weights and
configurations are chosen on "choose"; "judge" is for the figures that are published, once each."""

GENERATED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "tsp": ("tsp", "uniform", {"edge_weight_type": "EXACT_2D"}),
    "atsp": ("tsp", "asymmetric", {}),
    "vrp": ("vrp", "uniform", {}),
    "orienteering": ("orienteering", "distance", {}),
    "memory": ("memory", "mixed", {}),
    "jobshop": ("jobshop", "mixed", {}),
}
"""Problem, generator and its options of each task."""


def instances(task: str, split: str, count: int, size: int, first: int = 0) -> list[Any]:
    """Instances number first, first + 1, ... of a task's split, of one size."""
    problem, generator, options = GENERATED[task]
    adapter = registry.problem(problem)
    seeds = range(SPLITS[split] + first, SPLITS[split] + first + count)
    return [adapter.generators[generator](**{adapter.size_option: size}, **options, seed=seed) for seed in seeds]

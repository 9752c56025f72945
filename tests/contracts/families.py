"""Small instances of every registered problem: what the contract tests play, write and solve.

They come from the problem's generators, from its specimens (specimen.py), and from support/families/<problem>.py where that
has a function `sample(seed)`: a small instance of a kind that the seed chooses, so that kinds which no generator makes are
met as well.
"""

from __future__ import annotations

import dataclasses
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from specimen import FORMATS, specimens

from corl import registry
from corl.environment import Environment
from support.families import family

__all__ = ["ENVIRONMENTS", "GENERIC", "Played", "drawn", "family", "played", "small"]


class Played:
    """A problem as one of its environments presents it; the rest is the problem's own."""

    def __init__(self, name: str, environment: str) -> None:
        self.adapter, self.played = registry.problem(name), environment

    def __getattr__(self, name: str) -> Any:
        return getattr(self.adapter, name)

    def environment(self, instances: list[Any], rows: int, width: int | None = None) -> Environment:
        return self.adapter.environment(instances, rows, width, self.played)

    def decisions(self, instance: Any, solution: Any, key: int = 0) -> Any:
        return self.adapter.decisions(instance, solution, key, self.played)


def played(name: str) -> Played:
    """Of a name in ENVIRONMENTS."""
    problem, _, environment = name.partition(" ")
    return Played(problem, environment)


ENVIRONMENTS = [
    f"{name} {environment}".strip()
    for name in registry.problems()
    if registry.problem(name).has_environment
    for environment in registry.problem(name).environments or [""]
]
"""PROBLEM, or PROBLEM ENVIRONMENT where it has several."""
GENERIC = {"muzero", "online", "policy", "tree-search"}
"""Solvers of every problem whose states networks can see."""
_NUMBERS = 400  # of a small instance, at most


@cache
def small(name: str) -> list[Any]:
    """What the problem's specimens and generators give that is small, an instance of each file."""
    problem, found = registry.problem(name), []
    with tempfile.TemporaryDirectory() as folder:
        for suffix in [suffix for owner, suffix in FORMATS if owner == name]:
            for file, content in specimens(name, suffix):
                path = Path(folder) / file
                path.write_bytes(content)
                found.append(problem.read(path))
    return [instance for instance in found if _numbers(instance) <= _NUMBERS]


def drawn(name: str, random: np.random.Generator) -> Any:
    """A small instance, one in three of them from `small`."""
    sample = getattr(family(name), "sample", None)
    if sample is None or random.random() < 1 / 3:
        return small(name)[random.integers(len(small(name)))]
    return sample(int(random.integers(10**6)))


def _numbers(value: Any) -> int:
    if dataclasses.is_dataclass(value):
        return sum(_numbers(getattr(value, field.name)) for field in dataclasses.fields(value))
    return value.size if isinstance(value, np.ndarray) else 0

"""Instances of every kind that a problem's solvers may meet: each rule, metric, objective and size that leads elsewhere."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from families import family, small

from corl import registry

__all__ = ["kinds", "no_network"]

_SAMPLES = 6  # by `sample(seed)` of a family that has one


@cache
def kinds(problem: str) -> dict[str, Callable[[], Any]]:
    """By a name: a function that makes the instance."""
    return {**_of_all(problem), **getattr(family(problem), "kinds", dict)()}


def no_network(error: Exception) -> bool:
    """Whether a solver refused because no network is shipped for such instances."""
    return " network is shipped for such instances of " in str(error)


def _of_all(name: str) -> dict[str, Callable[[], Any]]:
    """What the problem's generators make by themselves, its specimens, and samples of its tests."""
    problem = registry.problem(name)
    found: dict[str, Callable[[], Any]] = {
        f"{key} of the generators": make for key, make in problem.generators.items() if _needs_nothing(make)
    }
    found |= {f"specimen {k}": partial(_small, name, k) for k in range(len(small(name)))}
    sample = getattr(family(name), "sample", None)
    if sample is not None:
        found |= {f"sample {seed}": partial(sample, seed) for seed in range(0, 10**4, 10**4 // _SAMPLES)}
    return found


def _needs_nothing(make: Callable[..., Any]) -> bool:
    """Whether a generator makes something without being told what."""
    return all(each.default is not each.empty for each in inspect.signature(make).parameters.values())


def _small(name: str, k: int) -> Any:
    return small(name)[k]

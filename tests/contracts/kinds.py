"""Instances of every kind that a problem's solvers may meet: each rule, metric, objective and size that leads elsewhere."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from families import family, small

from corl import registry

__all__ = ["kinds", "no_network"]

_TESTS = Path(__file__).resolve().parents[1]
_SAMPLES = 6  # by `sample(seed)` of a family that has one


@cache
def kinds(problem: str) -> dict[str, Callable[[], Any]]:
    """By a name: a function that makes the instance."""
    return {**_of_all(problem), **_OWN.get(problem, dict)()}


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


@cache
def _module(*parts: str) -> ModuleType:
    """A file of the tests as a module."""
    spec = importlib.util.spec_from_file_location("_".join(parts).removesuffix(".py"), _TESTS.joinpath(*parts))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _vrp() -> dict[str, Callable[[], Any]]:
    from corl.problems.vrp.generators_rules import _RULES, day

    plain, rules, mixed = family("vrp-features"), _module("solvers", "vrp", "rules_instances.py"), family("vrp")
    found: dict[str, Callable[[], Any]] = {name: partial(plain.make_instance, name, 30, 1) for name in plain.FEATURES}
    found |= {f"a day with {ask}": partial(day, size=20, ask=ask) for ask in _RULES}
    found |= {name: partial(rules.make_rules, name, 9, 1) for name in rules.RULES}
    return found | {f"mixed {seed}": partial(mixed.random_vrp, seed, 8) for seed in range(6)}  # type: ignore[union-attr]


def _jobshop() -> dict[str, Callable[[], Any]]:
    from corl.problems.jobshop.generators import demirkol, flexible, taillard, tardiness
    from corl.problems.jobshop.generators_rules import _RULES, workshop

    rules, plain = _module("solvers", "jobshop", "rules_instances.py"), family("jobshop")
    found: dict[str, Callable[[], Any]] = {
        "classic": partial(taillard, jobs=10, machines=10),
        "large": partial(demirkol, jobs=200, machines=5),
        "chosen machines": flexible,
        "late on chosen machines": partial(flexible, tightness=1.3),
        "late": tardiness,
    }
    found |= {f"a workshop with {ask}": partial(workshop, jobs=6, machines=4, ask=ask) for ask in ("", *_RULES)}
    found |= {name: partial(rules.make_rules, name, 1) for name in rules.RULES}
    return found | {name: partial(plain.random_instance, name, 6, 4) for name in plain.KINDS}  # type: ignore[union-attr]


def _flowshop() -> dict[str, Callable[[], Any]]:
    plain = family("flowshop")
    return {name: partial(plain.random_instance, name, 12, 4) for name in plain.KINDS}  # type: ignore[union-attr]


def _tsp() -> dict[str, Callable[[], Any]]:
    """Sizes that take different branches."""
    random = np.random.default_rng(0)
    data: dict[str, Any] = {}
    for n in (11, 700):
        matrix = random.random((n, n))
        data |= {f"plane {n}": random.random((n, 2)), f"matrix {n}": matrix + matrix.T, f"asymmetric {n}": matrix}
    data |= {"matrix 40": matrix[:40, :40] + matrix[:40, :40].T, "space 700": random.random((700, 3))}
    data |= {"same 40": np.zeros((40, 2)), "plane 21000": random.random((21_000, 2))}
    adapt, plain = registry.problem("tsp").adapt, family("tsp")
    found: dict[str, Callable[[], Any]] = {name: partial(adapt, each) for name, each in data.items()}
    types = (*plain.EDGE_WEIGHT_TYPES, "ATSP")  # type: ignore[union-attr]
    return found | {f"{kind} 9": partial(plain.random_instance, kind, 9) for kind in types}  # type: ignore[union-attr]


def _orienteering() -> dict[str, Callable[[], Any]]:
    plain = family("orienteering")
    types = ("EUC_2D", "EXACT_2D", "CEIL_2D", "GEO", "EXPLICIT")
    return {
        f"{kind} {'closed' if closed else 'open'}": partial(plain.random_instance, 20, kind, 1, closed)  # type: ignore[union-attr]
        for kind in types
        for closed in (True, False)
    }


def _memory_static() -> dict[str, Callable[[], Any]]:
    plain = family("memory-static")
    return {kind: partial(plain.random_instance, 12, 1, kind) for kind in ("plain", "aligned", "fixed")}  # type: ignore[union-attr]


def _bandits() -> dict[str, Callable[[], Any]]:
    plain = family("bandits")
    return {kind: partial(plain.random_instance, kind, 6, 1) for kind in plain.KINDS}  # type: ignore[union-attr]


_OWN: dict[str, Callable[[], dict[str, Callable[[], Any]]]] = {
    "bandits": _bandits,
    "flowshop": _flowshop,
    "jobshop": _jobshop,
    "memory-static": _memory_static,
    "orienteering": _orienteering,
    "tsp": _tsp,
    "vrp": _vrp,
}

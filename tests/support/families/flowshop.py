"""Small flow shops of every kind, what a sequence is worth, and the least objective by enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from corl import registry
from corl.problems.flowshop.instance import FlowShopInstance

CHEAP = "neh"
LARGE = {
    "flowshop": ("taillard", {"jobs": 800, "machines": 60}),
    "flowshop-total": ("taillard", {"jobs": 800, "machines": 60, "objective": "total_completion_time"}),
    "flowshop-setups": ("taillard", {"jobs": 500, "machines": 20, "setups": 99}),
}
LESS_LARGE = {"flowshop-100": ("taillard", {"jobs": 100, "machines": 20})}


KINDS = ("makespan", "total", "makespan setups", "total setups", "makespan first", "total zeros")

BUSY = ("taillard", {"jobs": 100, "machines": 20})
MIXES = 40
MANY_CLAIMS = 200
INTEGERS = True
PAGE = ("taillard", {"jobs": 5, "machines": 3})
HELD: list[Any] = [[[3, 2], [1, 4]], {"durations": [[3, 2], [1, 4]], "setups": [[[0, 1], [2, 0]], [[0, 3], [1, 0]]]}]
RECORDED = (
    "cp-sat",
    "iterated-greedy",
)
GOLDENS = {
    "makespan": ("taillard", {"jobs": 12, "machines": 5, "seed": 1}),
    "setups": ("taillard", {"jobs": 10, "machines": 4, "setups": 50, "seed": 2}),
    "total": ("taillard", {"jobs": 12, "machines": 5, "objective": "total_completion_time", "seed": 3}),
}
GOLDEN_SOLVES = """
cp-sat makespan - engine +ortools
iterated-greedy makespan 2000
iterated-greedy setups 2000
iterated-greedy total 2000
neh makespan 20
neh total 20
"""
GOLDEN_NETWORKS = "makespan"


def random_instance(kind: str, jobs: int = 4, machines: int = 3, seed: int = 0, longest: int = 9) -> FlowShopInstance:
    """A small instance of a kind: see KINDS."""
    random = np.random.default_rng([seed, jobs, machines])
    duration = random.integers(0 if "zeros" in kind else 1, longest, (jobs, machines), endpoint=True)
    if "zeros" in kind:
        duration[random.random(duration.shape) < 0.3] = 0
    setup = None
    if "setups" in kind or "first" in kind:
        setup = random.integers(0, longest, (machines, jobs + ("first" in kind), jobs), endpoint=True)
    chosen = "total_completion_time" if "total" in kind else "makespan"
    return FlowShopInstance(f"{kind.replace(' ', '-')}-{seed}", duration, setup, chosen)


def worth(instance: FlowShopInstance, sequence) -> int:
    """The objective of a sequence, operation by operation as the rules say."""
    free, last, ended = [0] * instance.machines, instance.jobs, []
    for job in sequence:
        ready = 0
        for i in range(instance.machines):
            setup = 0 if instance.setup is None else int(instance.setup[i, last, job])
            ready = free[i] = max(ready, free[i] + setup) + int(instance.duration[job, i])
        ended.append(ready)
        last = job
    return max(ended) if instance.objective == "makespan" else sum(ended)


def least(instance: FlowShopInstance) -> int:
    """The least objective over all sequences."""
    return min(worth(instance, sequence) for sequence in itertools.permutations(range(instance.jobs)))


def sample(seed: int) -> FlowShopInstance:
    """An instance of up to seven jobs on five machines, of a kind by the seed."""
    return random_instance(KINDS[seed % len(KINDS)], 1 + seed // 100 % 7, 1 + seed // 1000 % 5, seed)


def solved(seed: int) -> tuple[FlowShopInstance, float]:
    """A tiny flow shop with its optimum."""
    instance = random_instance(KINDS[seed % len(KINDS)], 1 + seed // 6 % 5, 1 + seed // 30 % 4, seed)
    return instance, float(least(instance))


def kinds() -> dict[str, Callable[[], Any]]:
    """By a name: instances that take other ways through the solvers."""
    return {name: partial(random_instance, name, 12, 4) for name in KINDS}


def smallest() -> list[Any]:
    """One job, one machine, nothing to do, equal jobs, set-ups alone."""
    setup = np.arange(9).reshape(1, 3, 3)
    shapes = [np.ones((1, 1)), np.ones((1, 3)), np.ones((4, 1)), np.zeros((3, 2)), np.ones((4, 3))]
    plain = [FlowShopInstance("a", shape.astype(np.int64), None, objective)
             for shape in shapes for objective in ("makespan", "total_completion_time")]  # fmt: skip
    return [*plain, FlowShopInstance("a", np.zeros((3, 1), np.int64), setup)]


def kernel_samples() -> list[Any]:
    """Small instances of the kinds that the solvers have kernels for."""
    return [registry.problem("flowshop").generators["mixed"](size=6)]

"""Shared by the tests of the flow shop: random instances of every kind, and the best objective by enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from corl.problems.flowshop.instance import FlowShopInstance

KINDS = ("makespan", "total", "makespan setups", "total setups", "makespan first", "total zeros")


def _random_instance(kind: str, jobs: int = 4, machines: int = 3, seed: int = 0, longest: int = 9) -> FlowShopInstance:
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


def _worth(instance: FlowShopInstance, sequence) -> int:
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


def _least(instance: FlowShopInstance) -> int:
    """The least objective over all sequences."""
    return min(_worth(instance, sequence) for sequence in itertools.permutations(range(instance.jobs)))


def sample(seed: int) -> FlowShopInstance:
    """An instance of up to seven jobs on five machines, of a kind by the seed."""
    return _random_instance(KINDS[seed % len(KINDS)], 1 + seed // 100 % 7, 1 + seed // 1000 % 5, seed)


@pytest.fixture(scope="session")
def random_instance():
    """A function (kind, jobs, machines, seed) -> FlowShopInstance."""
    return _random_instance


@pytest.fixture(scope="session")
def worth():
    """A function: what a sequence is worth, or a part of one."""
    return _worth


@pytest.fixture(scope="session")
def least():
    """A function: the least objective of an instance of at most about seven jobs."""
    return _least

"""solvers/ortools_routing.py: OR-Tools' routing search reports what it finds and leaves nothing behind."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

import corl
from corl import registry

GENERATORS = {"tsp": "uniform", "vrp": "x", "orienteering": "generation-1"}
SOLVES = 60
MOST = 30.0  # MB by which memory may grow in that many solves


def _instance(problem, seed, size=12):
    return registry.problem(problem).generators[GENERATORS[problem]](size=size, seed=seed)


@pytest.mark.chance
@pytest.mark.parametrize("problem", GENERATORS)
def test_the_model_is_freed(monkeypatch, problem):
    """Once the solve is over nothing holds the engine's model, of which the engine holds a callback."""
    from ortools.constraint_solver import pywrapcp

    made, original = [], pywrapcp.RoutingModel
    monkeypatch.setattr(pywrapcp, "RoutingModel", lambda manager: made.append(original(manager)) or made[0])
    result = corl.solve(_instance(problem, 1), solver="ortools", time_limit=0.2)
    assert result.verified
    seen = weakref.ref(made.pop())
    gc.collect()
    assert seen() is None


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="resident memory is read from /proc")
@pytest.mark.parametrize("problem", GENERATORS)
def test_memory_does_not_grow(problem):
    """A table of a benchmark solves thousands of instances in one process."""
    before = 0.0
    for seed in range(5 + SOLVES):
        if seed == 5:  # all is imported and compiled
            before = _resident()
        corl.solve(_instance(problem, seed, 30), solver="ortools", time_limit=0.1)
    assert _resident() - before < MOST


def _resident() -> float:
    """MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024.0

"""What throughput.py measures: kernels through public names. As a script: reads `NAME AMOUNT` lines, prints processor seconds."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_NETWORKS = Path(__file__).resolve().parents[1] / "goldens" / "networks"
_ROWS = 64  # of an environment's pool


class Measure(NamedTuple):
    """`prepare` returns the work: a function of the amount."""

    unit: str
    prepare: Callable[[], Callable[[int], object]]


@cache
def _made(problem: str, generator: str, **parameters: Any) -> Any:
    from corl import registry

    return registry.problem(problem).generators[generator](**parameters)


def _solve(unit: str, problem: str, solver: str, generator: str, options: dict[str, Any], **parameters: Any) -> Measure:
    """Iterations a second of a solver on a generated instance."""

    def prepare() -> Callable[[int], object]:
        import corl

        instance = _made(problem, generator, **parameters)
        given = {key: str(_NETWORKS / value) if str(value).endswith(".safetensors") else value for key, value in options.items()}
        return lambda n: corl.solve(instance, problem=problem, solver=solver, iterations=n, seed=1, **given)

    return Measure(unit, prepare)


def _whole(unit: str, problem: str, solver: str, generator: str, options: dict[str, Any], **parameters: Any) -> Measure:
    """Whole solves a second of a solver that ends by itself."""

    def prepare() -> Callable[[int], object]:
        import corl

        instance = _made(problem, generator, **parameters)
        call = lambda: corl.solve(instance, problem=problem, solver=solver, time_limit=600, seed=1, **options)  # noqa: E731
        return lambda n: [call() for _ in range(n)]

    return Measure(unit, prepare)


def _judge(problem: str, solver: str, generator: str, **parameters: Any) -> Measure:
    """Evaluations a second of a solution: of bandits, simulations of all episodes."""

    def prepare() -> Callable[[int], object]:
        import corl
        from corl import registry

        instance = _made(problem, generator, **parameters)
        solution = corl.solve(instance, problem=problem, solver=solver, time_limit=600, seed=1).solution
        return lambda n: [registry.problem(problem).evaluate(instance, solution) for _ in range(n)]

    return Measure("evaluations", prepare)


def _steps(problem: str, generator: str, look: bool, **parameters: Any) -> Measure:
    """States a second of an environment that is played at random; with `look` they are observed and made features of."""

    def prepare() -> Callable[[int], object]:
        import numpy as np

        from corl import registry

        adapter = registry.problem(problem)
        environment = adapter.environment([_made(problem, generator, **parameters)], _ROWS)
        features = list(adapter.features.values())[:1] if look else []

        def work(n: int) -> None:
            random, every, done = np.random.default_rng(1), np.arange(_ROWS), 0
            while done < n:
                environment.reset(every, 0)
                while done < n:
                    listed = environment.actions(every)
                    there = (listed >= 0).sum(1)
                    rows = np.flatnonzero(there)
                    if not len(rows):
                        break
                    if look:
                        observation = environment.observe(rows)
                        for function in features:
                            function(observation)
                    chosen = listed[rows, (random.random(_ROWS)[rows] * there[rows]).astype(np.int64)]
                    environment.step(rows, rows, chosen)
                    done += len(rows)

        return work

    return Measure("states", prepare)


def _read(problem: str, suffix: str, generator: str, **parameters: Any) -> Measure:
    """Files read a second."""

    def prepare() -> Callable[[int], object]:
        from corl import registry

        adapter, folder = registry.problem(problem), Path(tempfile.mkdtemp())
        adapter.write(_made(problem, generator, **parameters), folder / f"file{suffix}")
        return lambda n: [adapter.read(folder / f"file{suffix}") for _ in range(n)]

    return Measure("files", prepare)


_PLANE = {"generator": "uniform", "size": 1000}
_SHOP = {"generator": "taillard", "jobs": 20, "machines": 15}
_ITEMS = {"generator": "uniform", "size": 50}

MEASURES: dict[str, Measure] = {
    "tsp ils": _solve("kicks", "tsp", "ils", options={"bound": False}, **_PLANE),
    "tsp ils asymmetric": _solve("kicks", "tsp", "ils", "asymmetric", {}, size=300),
    "tsp eax": _solve("matings", "tsp", "eax", "uniform", {}, size=300),
    "tsp heatmap-mcts": _solve("kicks", "tsp", "heatmap-mcts", options={}, **_PLANE),
    "tsp heatmap-mcts paper": _solve("actions", "tsp", "heatmap-mcts", options={"preset": "paper"}, **_PLANE),
    "tsp greedy-edge": _whole("20000 cities", "tsp", "greedy-edge", "uniform", {}, size=20_000),
    "tsp beam": _solve("states", "tsp", "policy", "uniform", {"width": 16}, size=100),
    "tsp tree-search": _solve("simulations", "tsp", "tree-search", "uniform", {"simulations": 32}, size=50),
    "tsp environment": _steps("tsp", "uniform", False, size=200),
    "tsp features": _steps("tsp", "uniform", True, size=200),
    "tsp reader": _read("tsp", ".tsp", "uniform", size=5000),
    "vrp ruin-recreate": _solve("ruins", "vrp", "ruin-recreate", "x", {}, size=200),
    "vrp ruin-recreate windows": _solve("ruins", "vrp", "ruin-recreate", "solomon", {}, size=100),
    "vrp ruin-recreate breaks": _solve("ruins", "vrp", "ruin-recreate", "day", {}, size=100, ask="breaks,skills"),
    "vrp ruin-recreate shipments": _solve("ruins", "vrp", "ruin-recreate", "day", {}, size=100, ask="shipments,overtime"),
    "vrp ruin-recreate reloads": _solve("ruins", "vrp", "ruin-recreate", "day", {}, size=100, ask="reloads,releases"),
    "vrp environment": _steps("vrp", "uniform", False, size=100),
    "vrp features": _steps("vrp", "uniform", True, size=100),
    "vrp reader": _read("vrp", ".vrp", "solomon", size=1000),
    "orienteering ruin-recreate": _solve("ruins", "orienteering", "ruin-recreate", "generation-2", {}, size=200),
    "orienteering environment": _steps("orienteering", "generation-2", False, size=100),
    "jobshop tabu": _solve("moves", "jobshop", "tabu", options={}, **_SHOP),
    "jobshop tabu flexible": _solve("moves", "jobshop", "tabu", "flexible", {}, jobs=15, machines=8),
    "jobshop tabu tardiness": _solve("moves", "jobshop", "tabu", "tardiness", {}, jobs=15),
    "jobshop annealing": _solve("steps", "jobshop", "annealing", "workshop", {}, ask="setups,calendars,choices,tardiness"),
    "jobshop dispatch": _solve("schedules", "jobshop", "dispatch", options={"noise": 0.2}, **_SHOP),
    "jobshop slim": _solve("operations", "jobshop", "slim", options={"rounds": 0}, **_SHOP),
    "jobshop cp-agent": _solve("operations", "jobshop", "cp-agent", options={"rounds": 0}, **_SHOP),
    "jobshop environment": _steps("jobshop", look=False, **_SHOP),
    "knapsack dp": _whole("solves", "knapsack", "dp", "strongly-correlated", {}, size=2000),
    "knapsack gumbel": _solve(
        "simulations",
        "knapsack",
        "tree-search",
        options={"policy": "knapsack-attention.safetensors", "simulations": 64},
        **_ITEMS,
    ),
    "knapsack puct": _solve(
        "simulations",
        "knapsack",
        "tree-search",
        options={"policy": "knapsack-attention.safetensors", "simulations": 64, "method": "puct", "leaves": 8},
        **_ITEMS,
    ),
    "knapsack muzero": _solve(
        "simulations", "knapsack", "muzero", options={"policy": "knapsack-muzero.safetensors", "simulations": 64}, **_ITEMS
    ),
    "knapsack environment": _steps("knapsack", look=False, **_ITEMS),
    "memory annealing": _solve("moves", "memory", "annealing", "traced", {}, program="gpt2-b1"),
    "memory learned-priority": _solve("plans", "memory", "learned-priority", "traced", {}, program="gpt2-b1"),
    "memory game": _steps("memory", "layered", True),
    "memory reader": _read("memory", ".json.gz", "traced", program="gpt2-b1"),
    "memory-static branch-and-bound": _solve("nodes", "memory-static", "branch-and-bound", "tiled", {}),
    "memory-static without first fit": _solve("nodes", "memory-static", "branch-and-bound", "tiled", {"fitting": 0}),
    "memory-static first-fit": _solve("buffers", "memory-static", "first-fit", "peaks", {}, size=2000),
    "memory-static environment": _steps("memory-static", "tiled", False),
    "milp-branching rule": _solve("branchings", "milp-branching", "rule", "auctions", {}),
    "milp learned-branching": _solve("nodes", "milp", "learned-branching", "auctions", {"root_cuts": True}, items=60, bids=300),
    "milp reader": _read("milp", ".mps", "set-cover"),
    "bandits fluid policy": _judge("bandits", "fluid", "budget", arms=20),
    "bandits routing": _judge("bandits", "fluid", "routing", arms=20),
    "bandits two-step": _judge("bandits", "two-step", "capacity", arms=12),
    "bandits whittle": _whole("solves", "bandits", "whittle", "adherence", {}),
}


def main() -> None:
    """Answer each line until the input ends."""
    answers = os.fdopen(os.dup(1), "w")  # whatever else is printed goes to stderr
    os.dup2(2, 1)
    works: dict[str, Callable[[int], object]] = {}
    for line in sys.stdin:
        name, _, amount = line.rpartition(" ")
        try:
            if name not in works:
                works[name] = MEASURES[name].prepare()
            gc.collect()
            begun = time.process_time()
            works[name](int(amount))
            answer: Any = time.process_time() - begun
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()

"""Cold compile seconds of every kernel that a shipped solver prepares, in processor time, for people to read.

A kernel that is compiled for several classes of state counts with its longest compilation. The machine and what else runs on it
change these figures, so they fail nothing: what takes over half the limit of 20 s is named at the end.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba.core import event

from corl import registry
from corl.errors import UsageError
from corl.problem import Problem
from corl.search.gumbel import Gumbel
from corl.search.mlp import Uniform
from corl.search.models import CompiledModel
from corl.search.puct import Puct

LIMIT = 20.0


class Watch(event.Listener):
    """Seconds of each kernel's own longest compilation, without that of the kernels it calls, and of all compilations."""

    def __init__(self) -> None:
        self.own: dict[str, float] = defaultdict(float)
        self.total = 0.0
        self._open: list[list[float]] = []  # [begun, seconds spent in inner compilations]

    def on_start(self, found: event.Event) -> None:
        self._open.append([time.process_time(), 0.0])

    def on_end(self, found: event.Event) -> None:
        begun, inner = self._open.pop()
        whole = time.process_time() - begun
        function = found.data["dispatcher"].py_func
        name, seconds = f"{function.__module__}.{function.__name__}", whole - inner
        self.own[name] = max(self.own[name], seconds)
        self.total += seconds
        if self._open:
            self._open[-1][1] += whole


def samples(problem: Problem) -> Iterator[Any]:
    """Small instances of the kinds that a problem's solvers have kernels for."""
    random = np.random.default_rng(0)
    adapted: dict[str, list[Any]] = {
        "jobshop": [[[(0, 3), (1, 2)], [(1, 4), (0, 1)]], [[(0, 3), [(1, 2), (2, 5)]]]],
        "knapsack": [([3, 2, 4], [1, 1, 2], 2), ([3, 2, 4], [[1, 1, 2], [2, 1, 1]], [2, 2])],
        "orienteering": [{"points": random.random((30, 2)), "scores": np.ones(30), "limit": 2.0}],
        "tsp": [random.random((40, 2)), np.ones((6, 6)) - np.eye(6), random.random((40, 40))],
    }
    generated: dict[str, list[tuple[str, dict[str, int]]]] = {
        "bandits": [(kind, {"arms": 8}) for kind in ("budget", "capacity", "scheduling", "routing", "interventions")],
        "jobshop": [("tardiness", {"jobs": 4, "machines": 3})],
        "memory": [("layered", {"layers": 4}), ("dag", {"ops": 6})],
        "memory-static": [("tiled", {"size": 20})],
        "milp": [("set-cover", {"rows": 250, "columns": 500})],
        "vrp": [("uniform", {"size": 20}), ("solomon", {"size": 20})],
    }
    for sample in adapted.get(problem.name, []):
        yield problem.adapt(sample)
    for generator, parameters in generated.get(problem.name, []):
        yield problem.generators[generator](**parameters)


def compile_environment(problem: Problem, instance: Any) -> None:
    """Reset a pool of states, make one step in it, and search trees over it, where the problem has an environment for it."""
    try:
        environment = problem.environment([instance], 5)
    except UsageError:
        return
    environment.reset([0], [0])
    environment.step([0], [1], environment.actions([0])[:, 0])
    environment.observe([1])
    model = CompiledModel(environment, Uniform(), first=1)
    for leaves in (1, 2):  # in one kernel, and step by step
        Gumbel(4, leaves=leaves).search(model, [0], 0)
        Puct(4, leaves=leaves).search(model, [0], 0)


def compile_reading(instance: Any) -> None:
    """Read SCIP's LP at some nodes; candidates, features and networks are what milp's solvers prepare."""
    from corl.solvers.milp.measure import reading_times

    times, _ = reading_times(instance, 20)
    if not len(times):
        raise RuntimeError("the program was solved without branching: no LP was read")


def main() -> None:
    watch = Watch()
    event.register("numba:compile", watch)
    for name in registry.problems():
        problem = registry.problem(name)
        instances = list(samples(problem))
        for short in registry.solvers(name):
            solver = registry.solver(name, short)()
            for instance in instances:
                begun = time.process_time()
                try:
                    if solver.accepts(instance):
                        continue
                    solver.prepare(instance)
                    print(f"{name}.{short:<20} prepared in {time.process_time() - begun:6.2f} s")
                except UsageError as error:  # an optional package is not there
                    print(f"{name}.{short:<20} not prepared: {error}")
        for instance in instances:
            compile_environment(problem, instance)
        if name == "milp":
            compile_reading(instances[0])
    for kernel, seconds in sorted(watch.own.items(), key=lambda item: -item[1]):
        print(f"{seconds:7.2f} s  {kernel}")
    worst = max(watch.own.values(), default=0.0)
    slow = ", ".join(kernel for kernel, seconds in watch.own.items() if seconds > LIMIT / 2)
    print(f"{len(watch.own)} kernels, {watch.total:.1f} s in all, the slowest {worst:.1f} s (limit {LIMIT:.0f})")
    print(f"over half the limit: {slow or 'none'}")


if __name__ == "__main__":
    main()

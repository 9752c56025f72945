"""Compile the kernels that tests use before tests start, by as many processes as there are cores.

pytest does this by itself where it runs all tests on several workers (conftest.py). By hand, from outside the checkout's root:

    python -P tests/warm_up.py            # all problems
    python -P tests/warm_up.py tsp vrp    # in this process, with the processor seconds of every kernel that was compiled

A kernel that is compiled for several classes of state counts with its longest compilation. The machine and what else runs on
it change these figures, so they fail nothing.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numba.core import event

from corl import registry
from corl.adapter import Problem
from corl.errors import UsageError
from corl.policy import RulePolicy

sys.path.insert(0, str(Path(__file__).resolve().parent))
family = importlib.import_module("support.families").family
del sys.path[0]  # our children's search path is this one's, and tests/corl is not the package


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


def samples(problem: Problem) -> list[Any]:
    """Small instances of the kinds that a problem's solvers have kernels for."""
    found: list[Any] = getattr(family(problem.name), "kernel_samples", list)()
    return found


class Uniform(RulePolicy):
    """What a search asks of a policy, answered alike for every state."""

    def __init__(self, width: int) -> None:
        self.width = width

    def evaluate(self, observation: dict[str, Any], /) -> tuple[Any, Any]:
        rows = len(next(iter(observation.values())))
        return np.zeros((rows, self.width), np.float32), np.zeros(rows)


def compile_environment(problem: Problem, instance: Any) -> None:
    """Reset a pool of states, make one step in it, and search trees over it, where the problem has an environment for it."""
    from corl.search.gumbel import Gumbel
    from corl.search.models import SimulatorModel
    from corl.search.puct import Puct

    try:
        environment = problem.environment([instance], 5)
    except UsageError:
        return
    environment.reset([0], [0])
    environment.step([0], [1], environment.actions([0])[:, 0])
    environment.observe([1])
    model = SimulatorModel(environment, Uniform(environment.width).on(environment), first=1)
    Gumbel(4).search(model, [0], 0)
    Puct(4).search(model, [0], 0)


def compile_problem(problem: Problem) -> None:
    """Compile what the solvers and environments of a problem need for its samples."""
    instances = samples(problem)
    for short in registry.solvers(problem.name):
        solver = registry.solver(problem.name, short)()
        for instance in instances:
            try:
                if not solver.accepts(instance):
                    solver.prepare(instance)
            except UsageError as error:  # an optional package is not there
                print(f"{problem.name}.{short} not prepared: {error}")
    for instance in instances:
        compile_environment(problem, instance)
    getattr(family(problem.name), "compile_further", lambda: None)()


def warm_up() -> None:
    """Compile for all problems: what default solvers need as `corl warm-up` does it, the rest in a process for each problem.

    Processes that need the same kernel wait for the first of them (corl.compilation.locks).
    """

    def run(name: str) -> str:
        done = subprocess.run([sys.executable, "-P", __file__, name], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"compiling for {name} failed:\n{done.stdout}{done.stderr}")
        return done.stdout.splitlines()[-1]

    begun = time.perf_counter()
    subprocess.run([sys.executable, "-P", "-m", "corl", "warm-up"], check=False)  # what it leaves is compiled below
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        names = registry.problems()
        for line in pool.map(run, sorted(names, key=lambda name: -getattr(family(name), "COMPILATION", 0))):
            print(line, flush=True)
    print(f"kernels compiled or found in {time.perf_counter() - begun:.0f} s")


def main(names: list[str]) -> None:
    if not names:
        return warm_up()
    watch = Watch()
    event.register("numba:compile", watch)
    for name in names:
        compile_problem(registry.problem(name))
    slowest = sorted(watch.own.items(), key=lambda item: -item[1])
    for kernel, seconds in slowest:
        print(f"{seconds:7.2f} s  {kernel}")
    worst = f", the slowest {slowest[0][1]:.1f} s ({slowest[0][0]})" if slowest else ""
    print(f"{', '.join(names)}: {len(slowest)} kernels compiled in {watch.total:.1f} s{worst}")


if __name__ == "__main__":
    main(sys.argv[1:])

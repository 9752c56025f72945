"""Which kernels come to be after a run's clock has started: `python tests/contracts/prepared.py PROBLEM SOLVER [KIND...]`.

A process for each kind of instance, forked from one that has imported the solver and called no kernel. Prints JSON: by kind the
kernels that were compiled, or loaded, inside the clock.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np  # noqa: F401
from kinds import kinds, no_network
from numba.core.dispatcher import Dispatcher

import corl
from corl import registry
from corl.errors import UsageError
from corl.run import Run

ITERATIONS, SECONDS = 60, 0.3


def overloads() -> dict[str, int]:
    """How many signatures each kernel of corl has in this process."""
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("corl.")]
    found = {id(item): item for module in modules for item in vars(module).values() if isinstance(item, Dispatcher)}
    return {f"{kernel.__module__}.{kernel.__name__}": len(kernel.overloads) for kernel in found.values()}


def late(problem: str, short: str, make: Any) -> list[str]:
    """The kernels that a solver meets inside the clock: for some iterations, for some time, and from a solution on."""
    cls, found = registry.solver(problem, short), set()
    method, instance = cls(), make()
    if method.accepts(instance):
        return []
    cls.own_process = lambda self, instance: False  # type: ignore[method-assign]
    start = Run.start

    def told(run: Run) -> None:
        before.clear()
        before.update(overloads())
        start(run)

    before: dict[str, int] = {}
    Run.start = told  # type: ignore[method-assign]
    limits = [{"time_limit": SECONDS}, {"iterations": ITERATIONS}] if method.iteration else [{"time_limit": SECONDS}]
    solution = None
    for limit in [*limits, limits[-1]]:
        try:
            result = corl.solve(instance, problem=problem, solver=short, warm_start=solution, **limit)
        except UsageError as error:
            if no_network(error):
                return []
            raise
        found |= {kernel for kernel, count in overloads().items() if count > before.get(kernel, 0)}
        solution = result.solution if result.objective is not None else None
    return sorted(found)


def main(problem: str, short: str, *names: str) -> None:
    """Print what `late` finds of these kinds, or of all."""
    registry.solver(problem, short)
    folder = str(Path(__file__).resolve().parents[1])  # specimen.py put it there; a child would take tests/corl for the package
    sys.path[:] = [each for each in sys.path if each != folder]
    found = {}
    for name, make in kinds(problem).items():
        if names and name not in names:
            continue
        reading, writing = os.pipe()
        if not (child := os.fork()):
            os.close(reading)
            try:
                answer: Any = late(problem, short, make)
            except BaseException:
                answer = traceback.format_exc().splitlines()
            with open(writing, "w") as pipe:
                json.dump(answer, pipe)
            os._exit(0)
        os.close(writing)
        with open(reading) as pipe:
            answer = json.loads(pipe.read() or '["the process died"]')
        os.waitpid(child, 0)
        if answer:
            found[name] = answer
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])

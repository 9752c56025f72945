"""Which kernels come to be after a run's clock has started: `python tests/contracts/prepared.py PROBLEM SOLVER [KIND...]`.

Each kind of instance is solved as in a process that has called no kernel: all machine code is taken from the kernels before, and
what they load again comes from this process's memory instead of the disk. Prints JSON: by kind the kernels that were compiled, or
loaded, inside the clock.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np  # noqa: F401
from kinds import kinds, no_network
from numba.core import sigutils
from numba.core.dispatcher import Dispatcher

import corl
from corl import preparation, registry
from corl.errors import UsageError
from corl.run import Run

ITERATIONS, SECONDS = 60, 0.3


class Memory:
    """All kernels of corl in this process, and the machine code that each had before it forgot."""

    def __init__(self) -> None:
        self._code: dict[Any, dict[Any, Any]] = {}

    def kernels(self) -> list[Any]:
        """Those of the modules that are imported by now."""
        modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("corl.")]
        found = {id(item): item for module in modules for item in vars(module).values() if isinstance(item, Dispatcher)}
        for kernel in found.values():
            if kernel not in self._code:
                self._code[kernel] = dict(kernel.overloads)
                kernel.compile = self._remembering(kernel)
        return list(found.values())

    def _remembering(self, kernel: Any) -> Callable[[Any], Any]:
        """A kernel's `compile`, which also loads: what has been there before is put back first."""
        compile, code = kernel.compile, self._code[kernel]

        def again(signature: Any) -> Any:
            arguments = tuple(sigutils.normalize_signature(signature)[0])
            if arguments in code:
                kernel.add_overload(code[arguments])
            try:
                return compile(signature)
            finally:
                code.update(kernel.overloads)

        return again

    def count(self) -> dict[str, int]:
        """How many signatures each kernel has."""
        return {f"{kernel.__module__}.{kernel.__name__}": len(kernel.overloads) for kernel in self.kernels()}

    def forget(self) -> None:
        """Leave no machine code to any kernel, and no trace of a preparation."""
        for kernel in self.kernels():
            self._code[kernel].update(kernel.overloads)
            kernel._reset_overloads()
        preparation._done.clear()
        for name, module in list(sys.modules.items()):
            if name.startswith("corl.solvers."):
                for item in vars(module).values():
                    getattr(item, "cache_clear", bool)()


def late(problem: str, short: str, make: Any, memory: Memory) -> list[str]:
    """The kernels that a solver meets inside the clock: for some iterations, for some time, and from a solution on."""
    cls, found = registry.solver(problem, short), set()
    memory.forget()
    method, instance = cls(), make()
    if method.accepts(instance):
        return []
    limits = [{"time_limit": SECONDS}, {"iterations": ITERATIONS}] if method.iteration else [{"time_limit": SECONDS}]
    solution = None
    for limit in [*limits, limits[-1]]:
        try:
            result = corl.solve(instance, problem=problem, solver=short, warm_start=solution, **limit)
        except UsageError as error:
            if no_network(error):
                return []
            raise
        before = run_begun[-1]
        found |= {kernel for kernel, count in memory.count().items() if count > before.get(kernel, 0)}
        solution = result.solution if result.objective is not None else None
    return sorted(found)


run_begun: list[dict[str, int]] = []
"""How many signatures each kernel had when the clock of each run began."""


def main(problem: str, short: str, *names: str) -> None:
    """Print what `late` finds of these kinds, or of all."""
    cls, memory, start = registry.solver(problem, short), Memory(), Run.start

    def counted(run: Run) -> None:
        run_begun.append(memory.count())
        start(run)

    cls.own_process = lambda self, instance: False  # type: ignore[method-assign]
    Run.start = counted  # type: ignore[method-assign]
    folder = str(Path(__file__).resolve().parents[1])  # specimen.py put it there; a child would take tests/corl for the package
    sys.path[:] = [each for each in sys.path if each != folder]
    found = {}
    for name, make in kinds(problem).items():
        if names and name not in names:
            continue
        try:
            answer = late(problem, short, make, memory)
        except Exception:
            answer = traceback.format_exc().splitlines()
        if answer:
            found[name] = answer
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])

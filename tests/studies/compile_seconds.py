"""Processor seconds until the first solution without compiled kernels: `python tests/studies/compile_seconds.py [CASE ...]`.

Each case is solved twice for 1,000 iterations by the default solver, each time by a new process on one core: first with an empty
cache of kernels, then with the cache that this left. The table shows the processor seconds of the process from its start to its
first solution and to its end, and, of those with the empty cache, how many went into Python's part of numba's compilations (types
and intermediate code) and into LLVM. `--kernels COUNT` adds the kernels that took longest, without those that they call.
`--output FILE` appends the rows to a CSV file, with the name of the
sources that `--sources` gives.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

__all__ = ["CASES", "main"]

_ITERATIONS = 1_000
FIELDS = (
    "sources", "case", "cache", "first_solution_seconds", "total_seconds", "compilations", "front_end_seconds", "llvm_seconds",
)  # fmt: skip


def _vrp_mix() -> Any:
    """Return deliveries with time windows, a break and two vehicle types."""
    import numpy as np

    from corl.problems.vrp.generators_rules import day
    from corl.problems.vrp.instance import Vehicles

    instance = day(size=100, ask="breaks,skills", seed=1)
    vehicles = Vehicles(np.array([50.0, 80.0]), fixed_cost=np.array([20.0, 30.0]), unit_cost=np.array([1.0, 1.2]))
    return replace(instance, vehicles=vehicles)


def _generated(problem: str, generator: str, **arguments: Any) -> Any:
    import corl

    return corl.problem(problem).generators[generator](**arguments)


CASES: dict[str, Callable[[], Any]] = {
    "tsp": functools.partial(_generated, "tsp", "uniform", size=200, seed=1),
    "jobshop": functools.partial(_generated, "jobshop", "taillard", jobs=20, machines=10),
    "jobshop-rules": functools.partial(
        _generated, "jobshop", "workshop", ask="setups,calendars,choices,tardiness", seed=1
    ),
    "vrp": functools.partial(_generated, "vrp", "x", size=100, seed=1),
    "vrp-mix": _vrp_mix,
}  # fmt: skip
"""Name -> the instance."""


class _Meter:
    """Processor seconds by kernel and part of the compiler; a kernel's seconds are its own, without the kernels that it calls."""

    def __init__(self) -> None:
        self.seconds: dict[tuple[str, str], float] = defaultdict(float)
        self.compilations = 0
        self._stack: list[tuple[str, str]] = []
        self._since = 0.0

    @contextlib.contextmanager
    def within(self, kernel: str, part: str) -> Iterator[None]:
        """Attribute the seconds of the block to a part of a kernel's compilation; "" is the kernel of the block around it."""
        self._switch()
        self._stack.append((kernel or (self._stack[-1][0] if self._stack else "-"), part))
        try:
            yield
        finally:
            self._switch()
            self._stack.pop()

    def _switch(self) -> None:
        now = time.process_time()
        if self._stack:
            self.seconds[self._stack[-1]] += now - self._since
        self._since = now

    def install(self) -> None:
        """Measure the compilations of this process."""
        from llvmlite.binding import ffi
        from numba.core import dispatcher

        meter, compiled = self, dispatcher._FunctionCompiler.compile

        def compile(self: Any, *arguments: Any) -> Any:
            meter.compilations += 1
            with meter.within(f"{self.py_func.__module__}:{self.py_func.__qualname__}", "front end"):
                return compiled(self, *arguments)

        dispatcher._FunctionCompiler.compile = compile
        called = ffi._lib_fn_wrapper.__call__

        def call(function: Any, *arguments: Any) -> Any:
            with meter.within("", "LLVM"):
                return called(function, *arguments)

        ffi._lib_fn_wrapper.__call__ = call

    def total(self, part: str) -> float:
        """Return the seconds of one part, of all kernels."""
        return sum(seconds for (_, each), seconds in self.seconds.items() if each == part)

    def longest(self, count: int) -> list[tuple[str, float, float]]:
        """Return kernels, their seconds in the front end and in LLVM, the longest first."""
        names = {kernel for kernel, _ in self.seconds}
        rows = [(name, self.seconds[name, "front end"], self.seconds[name, "LLVM"]) for name in names]
        return sorted(rows, key=lambda row: -row[1] - row[2])[:count]


def _solve(case: str, kernels: int) -> None:
    """Solve a case in this process and print what was measured as JSON."""
    meter = _Meter()
    meter.install()
    import corl

    first: list[float] = []
    instance = CASES[case]()
    result = corl.solve(instance, iterations=_ITERATIONS, seed=1, on_improvement=lambda _: first.append(time.process_time()))
    row = {
        "first_solution_seconds": first[0],
        "total_seconds": time.process_time(),
        "compilations": meter.compilations,
        "front_end_seconds": meter.total("front end"),
        "llvm_seconds": meter.total("LLVM"),
    }
    print(json.dumps({"row": row, "objective": result.objective, "kernels": meter.longest(kernels)}))


def _measured(case: str, cache: str, kernels: int) -> dict[str, Any]:
    """Solve a case in a new process on one core, with the kernels in the folder `cache`."""
    core = min(os.sched_getaffinity(0))
    command = [sys.executable, "-P", __file__, case, "--here", "--kernels", str(kernels)]
    environment = os.environ | {"CORL_CACHE": cache, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measure the cases asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=list(CASES), choices=list(CASES), metavar="CASE")
    parser.add_argument("--kernels", type=int, default=0, help="number of kernels to list")
    parser.add_argument("--output", type=Path, help="CSV file")
    parser.add_argument("--sources", default="", help="a name for the sources, such as a commit")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.here:
        _solve(args.cases[0], args.kernels)
        return
    rows = []
    print(" ".join(f"{field.replace('_seconds', ''):>15}" for field in FIELDS))
    for case in args.cases:
        with tempfile.TemporaryDirectory() as cache:
            for state in ("empty", "filled"):
                found = _measured(case, cache, args.kernels if state == "empty" else 0)
                rows.append({"sources": args.sources, "case": case, "cache": state} | found["row"])
                cells = [f"{each:.1f}" if isinstance(each, float) else str(each) for each in rows[-1].values()]
                print(" ".join(f"{cell:>15}" for cell in cells), f" objective {found['objective']}", flush=True)
                for name, front_end, llvm in found["kernels"]:
                    print(f"    {front_end:8.2f} {llvm:8.2f}  {name}")
    if args.output:
        is_new = not args.output.exists()
        with open(args.output, "a", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, FIELDS, lineterminator="\n")
            if is_new:
                table.writeheader()
            table.writerows(
                {name: round(each, 2) if isinstance(each, float) else each for name, each in row.items()} for row in rows
            )


if __name__ == "__main__":
    main()

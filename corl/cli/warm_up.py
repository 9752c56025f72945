"""`corl warm-up [PROBLEM...]`: compile the kernels of the solvers in advance."""

from __future__ import annotations

import argparse
import inspect
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corl.cli.main import fail
from corl.errors import CorlError

if TYPE_CHECKING:
    from corl.adapter import Problem

__all__ = ["arguments", "execute"]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("problems", nargs="*", metavar="PROBLEM", help="names (corl list problems); default: all")
    parser.add_argument(
        "--wheel",
        metavar="FOLDER",
        type=Path,
        help="write a wheel with the compiled kernels, for the same versions and any processor with AVX2 (x86-64-v3)",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="also prepare every solver for generated instances, which compiles the kernels that no list of kernels names",
    )


def execute(args: argparse.Namespace) -> int:
    from corl import registry
    from corl.compilation import precompile

    begun = time.perf_counter()
    problems = [registry.problem(name) for name in args.problems or registry.problems()]
    if args.wheel:
        from corl.compilation.companion_wheel import write_wheel

        file = write_wheel([problem.name for problem in problems], args.wheel)
        if file is None:
            return fail("the kernels of the wheel could not be compiled", 1)
        print(f"{file}, {file.stat().st_size / 1e6:.0f} MB, after {time.perf_counter() - begun:.0f} s")
        return 0
    records = precompile.records_of(problem.name for problem in problems)
    precompile.compile_ahead(records, lambda count, seconds: _say(f"{count} kernels to compile, about {seconds:.0f} s"))
    if count := len(precompile.missing(records)):
        return fail(f"{count} kernels cannot be cached: the cache folder is not writable, or a kernel fails to compile", 1)
    if args.all:
        for problem in problems:
            _prepare_all(problem)
    print(f"all kernels are compiled, after {time.perf_counter() - begun:.0f} s")
    return 0


def _prepare_all(problem: Problem) -> None:
    """Prepare every solver of a problem for one instance of each generator; report why solvers do not accept instances."""
    from corl import registry
    from corl.preparation import prepare

    generators = [make for make in problem.generators.values() if not any(p.default is p.empty for p in _parameters(make))]
    instances = [make() for make in generators]
    for short in registry.solvers(problem.name):
        _say(f"{problem.name}.{short}")
        solver = registry.solver(problem.name, short)()
        skipped = set()
        for instance in instances:
            try:
                if reason := solver.accepts(instance):
                    skipped.add(f"  skipped, because {reason}")
                else:
                    prepare(solver, instance)
            except CorlError as error:
                skipped.add(f"  skipped: {error}")
        for reason in sorted(skipped):
            _say(reason)


def _parameters(make: Callable[..., Any]) -> Iterable[inspect.Parameter]:
    return inspect.signature(make).parameters.values()


def _say(text: str) -> None:
    print(f"corl: {text}", file=sys.stderr, flush=True)

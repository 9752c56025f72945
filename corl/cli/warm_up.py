"""`corl warm-up [PROBLEM...]`"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from corl.cli.main import fail
from corl.errors import CorlError

if TYPE_CHECKING:
    from corl.problem import Problem

__all__ = ["arguments", "execute"]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("problems", nargs="*", metavar="PROBLEM", help="names (corl list problems); default: all")
    parser.add_argument("--all", action="store_true", help="for all solvers, not only those that auto takes")


def execute(args: argparse.Namespace) -> int:
    from corl import registry
    from corl.compilation import ahead

    begun = time.perf_counter()
    problems = [registry.problem(name) for name in args.problems or registry.problems()]
    solvers = {registry.solver(problem.name, short) for problem in problems for short in registry.solvers(problem.name)}
    records = [record for solver in solvers for record in ahead.recorded(solver)]
    ahead.compile_ahead(records, lambda count, seconds: _say(f"{count} kernels to compile, about {seconds:.0f} s"))
    if left := len(ahead.missing(records)):
        return fail(f"{left} kernels are not kept: the cache folder cannot be written, or a kernel fails", 1)
    if args.all:
        for problem in problems:
            _prepare_all(problem)
    print(f"all kernels are compiled, after {time.perf_counter() - begun:.0f} s")
    return 0


def _prepare_all(problem: Problem) -> None:
    """Prepare every solver of a problem for an instance of its first generator; says which cannot be."""
    from corl import registry

    if not problem.generators:
        return
    instance = next(iter(problem.generators.values()))()
    for short in registry.solvers(problem.name):
        _say(f"{problem.name}.{short}")
        try:
            solver = registry.solver(problem.name, short)()
            if reason := solver.accepts(instance):
                _say(f"  left out because {reason}")
            else:
                solver.prepare(instance)
        except CorlError as error:
            _say(f"  left out: {error}")


def _say(text: str) -> None:
    print(f"corl: {text}", file=sys.stderr, flush=True)

"""`compile_ahead`: compile the kernels that a solver needs before the solver runs, in several processes.

The kernels and the types of their arguments are recorded next to a solver's module: `solver.kernels.json` next to `solver.py`,
written by tests/record_kernels.py. Every process, including this one, goes through the same list, the longest
compilation first, and skips kernels that another process is compiling (corl.compilation.locks). An outdated record only costs
time, because a solver compiles missing kernels when it calls them.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from corl.processes.child import Child, connect, end
from corl.processes.processors import available
from corl.solver import Solver

__all__ = [
    "Job", "compile_ahead", "compile_for", "is_shared", "listed", "missing", "record_file",
    "recorded", "records_of", "stored_size",
]  # fmt: skip

_SECONDS_PER_PROCESS = 4.0  # seconds of compilation that justify a further process; its start takes one or two


class Job(NamedTuple):
    """A kernel to be compiled for the types of its arguments."""

    seconds: float
    """The approximate processor seconds of the compilation, including the kernels that it calls."""
    kernel: Any
    """numba's dispatcher."""
    types: tuple[Any, ...]
    """numba's types of the arguments."""

    @property
    def missing(self) -> bool:
        """Whether the kernel is neither compiled in this process, so that Python can call it, nor stored on disk."""
        from corl.compilation.bitcode_only import is_whole

        found = self.kernel.overloads.get(self.types)
        compiled = found is not None and (is_shared(self.kernel) or is_whole(found))
        return not compiled and not stored_size(self.kernel, self.types)

    @property
    def free(self) -> bool:
        """Whether the kernel is missing and no other process is compiling it."""
        return self.missing and not self.cache.is_claimed(self.types)

    @property
    def cache(self) -> Any:
        """Where the kernel is stored (corl.compilation.cache)."""
        return _cache_of(self.kernel)


def stored_size(kernel: Any, types: tuple[Any, ...]) -> int:
    """Return the size in bytes of what is stored of a kernel for these types, as `compile_one` stores it; 0 if nothing is."""
    return int(_cache_of(kernel).size(types, kernel.targetctx.codegen()))


def _cache_of(kernel: Any) -> Any:
    from corl.compilation import cache

    return cache.bare(kernel._cache) if is_shared(kernel) else kernel._cache


def is_shared(kernel: Any) -> bool:
    """Return whether other kernels call the machine code of a kernel (corl.compilation.shared_code)."""
    return hasattr(kernel, "compile_shared")


# -------------------------------------------------------------------- records
def record_file(solver: type[Solver]) -> Path:
    """Return the path of the file with the records of the solvers in this solver's module."""
    file = getattr(sys.modules[solver.__module__], "__file__", None)  # None in a notebook
    return Path(file or solver.__module__).with_suffix(".kernels.json")


def recorded(solver: type[Solver], kind: str | None = None) -> list[dict[str, Any]]:
    """Return the records of a solver for one kind of instance (`Solver.kind`) or for all; [] if nothing is recorded."""
    try:
        found = json.loads(record_file(solver).read_text(encoding="utf-8"))
        return [entry for entry in found[solver.__name__] if kind is None or entry["kind"] == kind]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def records_of(problems: Iterable[str]) -> list[dict[str, Any]]:
    """Return the records of all solvers of problems, given the problems' names."""
    from corl import registry

    solvers = {registry.solver(problem, short) for problem in problems for short in registry.solvers(problem)}
    return [record for solver in solvers for record in recorded(solver)]


def missing(records: Iterable[dict[str, Any]]) -> list[Job]:
    """Return the recorded kernels that must be compiled, the longest compilation first."""
    return [job for job in listed(records) if job.missing]


def listed(records: Iterable[dict[str, Any]]) -> list[Job]:
    """Return the recorded kernels, the longest compilation first; without those that no longer exist or cannot be cached."""
    from corl.compilation import cache, signatures

    found: dict[tuple[Any, ...], Job] = {}
    for record in records:
        for seconds, where, types in record["kernels"]:
            with contextlib.suppress(ImportError, AttributeError, TypeError):
                module, _, name = where.partition(":")
                kernel = getattr(import_module(module), name)
                job = Job(seconds, kernel, tuple(signatures.read(each, record["classes"]) for each in types))
                if isinstance(kernel._cache, cache.Cache):
                    found.setdefault((kernel, job.types), job)
    return sorted(found.values(), key=lambda job: -job.seconds)


# -------------------------------------------------------------------- parallel compilation
def compile_for(solver: Solver, instance: Any) -> None:
    """Compile in advance the kernels that a solver needs for an instance; if that takes long, announce their number."""
    from corl.compilation import announcing

    announced = False

    def report(count: int, seconds: float) -> None:
        nonlocal announced
        if not announced and seconds >= announcing.NOTICED:
            announcing.announce(f"compiling {count} kernels once for this machine, about {seconds:.0f} s")
        announced = True

    compile_ahead(recorded(type(solver), solver.kind(instance)), report)


def compile_ahead(records: list[dict[str, Any]], report: Callable[[int, float], object] = lambda count, seconds: None) -> None:
    """Compile the missing kernels in this process and in others, at most one per processor that this process may use.

    Ctrl-C and every other exception also end the other processes.

    Args:
        records: The records of solvers, as returned by `recorded`.
        report: Called with the number of missing kernels and the approximate seconds until all are compiled, at the start and
            whenever this process has compiled a kernel.
    """
    from corl.compilation import announcing, locks

    jobs = missing(records) if records and locks.possible else []
    if not jobs:
        return
    total = sum(job.seconds for job in jobs)
    processes = max(1, min(len(available()), len(jobs), int(total / _SECONDS_PER_PROCESS)))
    pace, begun = 1.0, time.perf_counter()  # pace: measured seconds per recorded second

    def remaining_seconds(jobs: list[Job]) -> float:
        return pace * max(sum(job.seconds for job in jobs) / processes, jobs[0].seconds)

    report(len(jobs), remaining_seconds(jobs))
    with announcing.announced_by_caller(), _helpers(processes - 1, records):
        for job in jobs:
            if job.free:
                compile_one(job)
                todo = [job for job in jobs if job.missing]
                if todo and (compiled := total - sum(job.seconds for job in todo)) > 0.1:  # 0 while all compilations fail
                    pace = (time.perf_counter() - begun) * processes / compiled
                    report(len(todo), remaining_seconds(todo))
        for job in jobs:  # the kernels that other processes are compiling: wait for them
            if job.missing:
                compile_one(job)


def compile_one(job: Job) -> None:
    """Compile a kernel, or load it from the cache. Errors are ignored here; they are raised when the kernel is called."""
    with contextlib.suppress(Exception):
        (job.kernel.compile_shared if is_shared(job.kernel) else job.kernel.compile)(job.types)


@contextlib.contextmanager
def _helpers(count: int, records: list[dict[str, Any]]) -> Iterator[None]:
    """Start `count` processes that compile the kernels in the records; they end with the block at the latest."""
    children: list[Child] = []
    try:
        for _ in range(count):
            with contextlib.suppress(OSError):  # too many processes, or no memory: the others compile alone
                children.append(Child("corl.compilation.precompile", threads=1))
                children[-1].send(records)
        yield
    finally:
        end(children)


def main() -> None:
    """Run a helper process: compile the kernels in the records that the parent sends, if no other process does."""
    from corl.compilation import announcing

    messages, _ = connect()
    with announcing.announced_by_caller():
        for job in missing(pickle.loads(messages.get())):
            if job.free:
                compile_one(job)


if __name__ == "__main__":
    main()

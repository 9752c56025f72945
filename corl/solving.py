"""`corl.solve`: one call from an instance to a Result."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import numbers
import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

from corl import options, registry
from corl.errors import CorlError, SolverError, UsageError, described
from corl.files import reading
from corl.problem import Problem
from corl.result import Result
from corl.run import Improvement, Run
from corl.solver import Solver

__all__ = ["Interruptible", "interruptible", "load", "name_of", "solve"]

_DEFAULT_TIME_LIMIT = 10.0
_ENGINES = ("numpy", "scipy", "numba", "torch", "ortools", "pyscipopt", "pyvrp", "fast_tsp")


def solve(
    instance: Any,
    *,
    problem: str | None = None,
    solver: str = "auto",
    time_limit: float | None = None,
    iterations: int | None = None,
    target: float | None = None,
    seed: int = 0,
    workers: int = 1,
    warm_start: Any = None,
    on_improvement: Callable[[Improvement], object] | None = None,
    **solver_options: Any,
) -> Result:
    """Find a good solution of an instance: the best that `solver` found until a limit ended it.

    instance: a path, an Instance, or what the problem adapts (for TSP: coordinates [n, 2 or 3], a square matrix, a networkx
        graph), which needs `problem="tsp"`.
    solver: a name (`corl list solvers`); "auto" takes the one that our benchmarks show best for the size.
    time_limit: seconds of wall clock; None means 10, or no limit where `iterations` is given. The clock starts after the
        solver has imported and compiled; reading the file is outside.
    iterations: a limit in the solver's own unit (`corl list solvers`); then a seed gives the same bits on one machine.
    target: stop at an objective this good or better.
    workers: processes; they search with different seeds, and the best solution counts.
    warm_start: a solution in the problem's own form to start from.
    on_improvement: called with a `corl.run.Improvement` at every better solution or bound; what it raises ends the call.
    solver_options: the solver's own options.

    Ctrl-C returns the incumbent (limit="interrupted"); before the clock starts, and the second time, it raises
    KeyboardInterrupt. Raises InputError for a bad instance, UsageError for a bad argument, SolverError where the solver
    misbehaves.
    """
    time_limit = None if time_limit is None else _number("time_limit", time_limit)
    if time_limit is not None and not 0 < time_limit < math.inf:
        raise UsageError(f"time_limit: {time_limit!r} is not accepted; it takes seconds, above 0")
    target = None if target is None else _number("target", target)
    iterations = None if iterations is None else _integer("iterations", iterations, 1)
    seed, workers = _integer("seed", seed, 0), _integer("workers", workers, 1)
    adapter, data = load(instance, problem)
    if time_limit is None and iterations is None:
        time_limit = _DEFAULT_TIME_LIMIT
    solver = registry.choose(adapter.name, solver, data, time_limit, iterations)
    chosen = options.build(registry.solver(adapter.name, solver), solver_options)
    _check_solver(chosen, solver, data, iterations)
    run = Run(
        adapter,
        data,
        time_limit=time_limit,
        iterations=iterations,
        target=target,
        seed=seed,
        workers=workers,
        warm_start=_warm_start(adapter, data, warm_start),
        on_improvement=on_improvement,
    )
    setup = _execute(chosen, solver, run, solver_options)
    return _result(adapter, data, run, chosen, solver, setup)


def load(instance: Any, problem: str | None = None) -> tuple[Problem, Any]:
    """The problem, in the instance's sense, and the Instance that `instance` stands for.

    `instance` is a path, an Instance, or raw data with `problem`.
    """
    if isinstance(instance, (str, os.PathLike)):
        path = Path(instance)
        with reading(path):
            adapter = registry.problem(problem) if problem else registry.recognise(path)
            data = adapter.read(path)
            return adapter.of(data), data
    if problem is None:
        found = registry.problem_of(instance)
        if found is None:
            names = ", ".join(registry.problems())
            raise UsageError(f"say which problem a {type(instance).__name__} is: problem= one of {names}")
        return found.of(instance), instance
    adapter = registry.problem(problem)
    data = instance if isinstance(instance, adapter.instance_type) else adapter.adapt(instance)
    return adapter.of(data), data


def name_of(instance: Any) -> str:
    """An instance's name, "" if its class has none."""
    return str(getattr(instance, "name", ""))


def _number(name: str, value: Any) -> float:
    if isinstance(value, numbers.Real) and not math.isnan(value):
        return float(value)
    raise UsageError(f"{name}: {value!r} is not accepted; it takes a number")


def _integer(name: str, value: Any, least: int) -> int:
    if isinstance(value, numbers.Integral) and int(value) >= least:
        return int(value)
    raise UsageError(f"{name}: {value!r} is not accepted; it takes an integer from {least} up")


def _check_solver(method: Solver, name: str, data: Any, iterations: int | None) -> None:
    """Refuse what this solver cannot do, before anything is imported or compiled."""
    if iterations is not None and not method.iteration:
        raise UsageError(f"solver {name} has no iterations to count; give it a time_limit")
    if reason := method.accepts(data):
        raise UsageError(f"solver {name} cannot solve this instance because {reason}")


def _warm_start(adapter: Problem, data: Any, solution: Any) -> Any:
    """Check a warm start by the problem's own judge; a bad one is the caller's error. A flat list stands for an array."""
    if solution is None:
        return None
    if isinstance(solution, list) and all(isinstance(item, numbers.Real) for item in solution):
        import numpy as np

        solution = np.asarray(solution)
    try:
        adapter.evaluate(data, solution)
    except CorlError as error:
        raise UsageError(f"warm_start: {error}") from error
    return solution


def _execute(method: Solver, name: str, run: Run, solver_options: dict[str, Any]) -> float:
    """Prepare and solve, here or in worker processes; returns the seconds of preparation."""
    before = time.perf_counter()
    if run.workers > 1 and not method.own_workers:
        from corl.worker import Team

        with Team(run, name, solver_options) as team:
            team.prepare()
            setup = time.perf_counter() - before
            with interruptible(run):
                run.start()
                if not run.should_stop:
                    team.collect()
    else:
        with _blaming(name, run):
            method.prepare(run.instance)
        setup = time.perf_counter() - before
        with interruptible(run):
            run.start()
            if not run.should_stop:
                with _blaming(name, run):
                    method.solve(run.instance, run)
    run.finish()
    return setup


@contextlib.contextmanager
def _blaming(name: str, run: Run) -> Iterator[None]:
    """An exception of the solver's is a SolverError; one of the caller's `on_improvement` stays what it is."""
    try:
        yield
    except CorlError:
        raise
    except (Exception, SystemExit) as error:
        if run.callback_error is None:
            raise SolverError(f"solver {name} failed: {described(error)}") from error
    if run.callback_error is not None:
        raise run.callback_error


class Interruptible(Protocol):
    """What Ctrl-C can end gently: a Run, a Training."""

    interrupted: bool

    def interrupt(self) -> None:
        """Ask it to end."""


@contextlib.contextmanager
def interruptible(run: Interruptible) -> Iterator[None]:
    """While the block runs, Ctrl-C asks `run` to stop; a second one raises KeyboardInterrupt. Main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: Any) -> None:
        if run.interrupted:
            raise KeyboardInterrupt
        run.interrupt()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.default_int_handler)


def _result(adapter: Problem, data: Any, run: Run, method: Solver, name: str, setup: float) -> Result:
    verified = run.objective is not None
    if run.objective is not None:
        value = float(adapter.evaluate(data, run.solution))
        if not math.isclose(value, run.objective, rel_tol=1e-9, abs_tol=1e-9):
            raise SolverError(f"the objective changes between two evaluations of one solution: {run.objective!r}, {value!r}")
        status = "optimal" if run.optimal else "feasible"
    else:
        status = "infeasible" if run.infeasible else "no_solution"
    return Result(
        problem=adapter.name,
        instance=name_of(data),
        status=status,  # type: ignore[arg-type]
        limit=run.limit or "finished",
        sense=adapter.sense,
        objective=run.objective,
        bound=run.bound,
        runtime=run.runtime,
        setup_seconds=setup,
        solution=run.solution,
        trace=tuple(run.trace),
        solver=name,
        options=dataclasses.asdict(method) if dataclasses.is_dataclass(method) else {},
        seed=run.seed,
        versions=_versions(),
        verified=verified,
        data=data,
        reason=run.reason,
    )


def _versions() -> dict[str, str]:
    """Of corl, Python, and every engine that has been imported."""
    import corl

    found = {"corl": corl.__version__, "python": platform.python_version()}
    for name in _ENGINES:
        if name in sys.modules:
            with contextlib.suppress(metadata.PackageNotFoundError):
                found[name] = metadata.version(name)
    return found

"""`corl.solve`: one call from an instance to a Result."""

from __future__ import annotations

import contextlib
import inspect
import logging
import math
import numbers
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from corl import registry
from corl.adapter import Problem
from corl.compilation.precompile import compile_for
from corl.errors import InputError, SolverError, UsageError, described, hint, missing_package
from corl.interruption import interruptible
from corl.judging import judged
from corl.loading import load, name_of
from corl.options import build, named, values
from corl.preparation import prepare
from corl.processes.processors import check_workers
from corl.result import Result
from corl.run import Improvement, Run
from corl.solver import Solver
from corl.tolerance import tied
from corl.version import versions

__all__ = ["planned", "solve"]

_DEFAULT_TIME_LIMIT = 10.0
_log = logging.getLogger(__name__)


def solve(
    instance: Any,
    *,
    problem: str | Problem | None = None,
    solver: str | Solver = "auto",
    time_limit: float | None = None,
    iterations: int | None = None,
    target: float | None = None,
    patience: float | None = None,
    seed: int = 0,
    workers: int = 1,
    warm_start: Any = None,
    on_improvement: Callable[[Improvement], object] | None = None,
    options: str | os.PathLike[str] | None = None,
    **solver_options: Any,
) -> Result:
    """Search for a good solution of an instance until a limit ends the search, and return the best one found.

    After the clock has started, Ctrl-C ends the search, and the best solution so far is returned (limit="interrupted"). Before
    that, or pressed a second time, it raises KeyboardInterrupt. If a solver fails, the solutions that it found are kept, and
    `Result.discarded` counts its faults.

    Args:
        instance: A path; the name of a shipped instance ("tsp/uniform-500"); an Instance; or, with `problem="tsp"`, data that the
            problem converts (for TSP: coordinates [n, 2 or 3], a square matrix, a networkx graph).
        problem: A name, or an object of a subclass of Problem, installed or not. None: the problem is recognised by the content.
        solver: A name (`corl list solvers`), or an object of a subclass of Solver, with its options, installed or not. "auto"
            chooses the solver that is best in benchmarks for instances of this size.
        time_limit: Seconds of wall-clock time, above 0. None means 10 seconds, or no limit if `iterations` is given. Reading the
            file, imports and compilation are not included.
        iterations: A limit in the solver's own unit (`corl list solvers`), from 1. With this limit alone, equal seeds give
            identical results on one machine.
        target: Stop at an objective value this good or better.
        patience: Stop when there was no better solution or bound for this many seconds, below the time limit; the first solution
            is waited for. A solver that cools down during its time limit, such as annealing, may find its best solutions late.
        seed: The seed of the random numbers, from 0.
        workers: Processes, up to four for each processor. They search with different seeds; the best solution is returned.
        warm_start: A solution to start from: a Result, the return value of a model's `solve`, the path of a solution file, or a
            solution in the problem's own form or its JSON form. Of a routing problem, it may be of an earlier version of the
            instance: unknown clients are left out, and new ones are inserted.
        on_improvement: Called with a `corl.run.Improvement` at every better solution or bound; an exception in it ends the call.
        options: An option file, as `corl tune` writes it: its solver ("auto" becomes this one) and its options.
        **solver_options: The solver's own options; they replace those of the file.

    Returns:
        The Result. Its `status` says whether the solution is proven optimal, and its `limit` says what ended the run.

    Raises:
        InputError: A bad instance or option file.
        UsageError: A bad argument.
        SolverError: The solver fails, or reports nothing but false solutions.
    """
    if options is not None:
        problem, instance = load(instance, problem)
        solver, solver_options = _from_file(options, problem.name, solver, solver_options)
    return _execute(
        *planned(
            instance,
            problem=problem,
            solver=solver,
            time_limit=time_limit,
            iterations=iterations,
            target=target,
            patience=patience,
            seed=seed,
            workers=workers,
            warm_start=warm_start,
            on_improvement=on_improvement,
            **solver_options,
        )
    )


def planned(
    instance: Any,
    *,
    problem: str | Problem | None = None,
    solver: str | Solver = "auto",
    time_limit: float | None = None,
    iterations: int | None = None,
    target: float | None = None,
    patience: float | None = None,
    seed: int = 0,
    workers: int = 1,
    warm_start: Any = None,
    on_improvement: Callable[[Improvement], object] | None = None,
    **solver_options: Any,
) -> tuple[Solver, str, Run]:
    """Return the solver, its name and the run of a call of `solve` with these arguments, without solving.

    Nothing is compiled. Raises the InputError or UsageError that `solve` would raise for the arguments.
    """
    time_limit = None if time_limit is None else _seconds("time_limit", time_limit)
    target = None if target is None else _number("target", target)
    iterations = None if iterations is None else _integer("iterations", iterations, 1)
    seed, workers = _integer("seed", seed, 0), _integer("workers", workers, 1)
    _check_call(solver, workers, on_improvement)
    if time_limit is None and iterations is None:
        time_limit = _DEFAULT_TIME_LIMIT
    patience = None if patience is None else _patience(patience, time_limit, iterations)
    adapter, data = load(instance, problem)
    chosen, name = _solver(solver, adapter.name, data, time_limit, iterations, solver_options)
    _check_solver(chosen, name, data, iterations, patience)
    run = Run(
        adapter,
        data,
        time_limit=time_limit,
        iterations=iterations,
        target=target,
        patience=patience,
        seed=seed,
        workers=workers,
        on_improvement=on_improvement,
        **_starts(adapter, data, warm_start, chosen),
    )
    return chosen, name, run


def _starts(adapter: Problem, data: Any, given: Any, method: Solver) -> dict[str, Any]:
    """Return the argument `warm_start` or `partial_start` of Run."""
    if given is None:
        return {}
    from corl.warm_starts import starts

    return starts(adapter, data, given, method.completes_starts)


def _from_file(
    path: str | os.PathLike[str], problem: str, solver: str | Solver, given: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return the solver of an option file, and its options, replaced by the given ones."""
    from corl.files.option_files import options_for

    if not isinstance(solver, str):
        raise UsageError("options: a Solver has its options already; accepted: the name of a solver, or auto")
    found = options_for(path, problem, solver)
    return found.solver, {**found.options, **given}


def _number(name: str, value: Any) -> float:
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and value == value:
        with contextlib.suppress(OverflowError):
            return float(value)
    raise UsageError(f"{name}: {value!r} is not accepted; it takes a number")


def _seconds(name: str, value: Any) -> float:
    if 0 < (seconds := _number(name, value)) < math.inf:
        return seconds
    raise UsageError(f"{name}: {seconds!r} is not accepted; it takes seconds, above 0")


def _patience(value: Any, time_limit: float | None, iterations: int | None) -> float:
    """Return the seconds without improvement that end a run. Raises UsageError where they could not end it."""
    seconds = _seconds("patience", value)
    if iterations is not None:
        raise UsageError("patience: with iterations, a run does not depend on the clock; accepted: a time_limit instead")
    if time_limit is not None and seconds >= time_limit:
        raise UsageError(f"patience: {seconds:g} s would never end a run of {time_limit:g} s; accepted: less than the time_limit")
    return seconds


def _integer(name: str, value: Any, least: int) -> int:
    if isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= least:
        return int(value)
    raise UsageError(f"{name}: {value!r} is not accepted; it takes an integer from {least} up")


def _check_call(solver: Any, workers: int, on_improvement: Any) -> None:
    check_workers(workers)
    if not isinstance(solver, (str, Solver)):
        raise UsageError(f"solver: {solver!r} is not accepted; it takes a name (corl list solvers) or a Solver")
    if on_improvement is not None and not callable(on_improvement):
        raise UsageError(f"on_improvement: {on_improvement!r} is not accepted; it takes a function of one argument")


def _solver(
    solver: str | Solver, problem: str, data: Any, time_limit: float | None, iterations: int | None, given_options: dict[str, Any]
) -> tuple[Solver, str]:
    """Return the Solver, and its name for the Result: the chosen solver's for "auto", the class's name for an object."""
    if isinstance(solver, str):
        name = registry.choose(problem, solver, data, time_limit, iterations)
        kind = registry.solver(problem, name)
        with named(name):
            return build(kind, given_options, _arguments()), name
    if given_options:
        name = next(iter(given_options))
        raise UsageError(
            f"{name}{hint(name, _arguments())}: a Solver has its options already; give them to {type(solver).__name__}"
        )
    return solver, solver.result_name


def _arguments() -> list[str]:
    """Return the names of `solve`'s own arguments."""
    return [name for name, each in inspect.signature(solve).parameters.items() if each.kind is each.KEYWORD_ONLY]


def _check_solver(method: Solver, name: str, data: Any, iterations: int | None, patience: float | None) -> None:
    """Raise UsageError if the solver cannot solve this instance or keep a limit, before anything is imported or compiled."""
    if iterations is not None and not method.iteration:
        raise UsageError(f"solver {name} has no iterations to count; give it a time_limit")
    if patience is not None and method.reports_at_end:
        raise UsageError(f"solver {name} reports no solution before its end, so patience cannot end it; give it a time_limit")
    if reason := method.accepts(data):
        raise UsageError(f"solver {name} cannot solve this instance because {reason}")


def _execute(method: Solver, name: str, run: Run) -> Result:
    """Prepare the solver and solve, in this process or in worker processes, and return the Result."""
    before = time.perf_counter()
    with contextlib.ExitStack() as stack:
        killable, own_workers = method.own_process(run.instance), method.uses_workers(run)
        if killable or (run.workers > 1 and not own_workers):
            from corl.processes.team import Team

            compile_for(method, run.instance)
            count = 1 if own_workers else run.workers
            team = stack.enter_context(Team(run, method, count, killable))
            worker_versions = team.prepare()
            search = team.collect
        else:
            with _solver_errors(name, run):
                prepare(method, run.instance)
            worker_versions = {}
            search = partial(_search, method, name, run)
        setup = time.perf_counter() - before
        stack.enter_context(interruptible(run))  # from here on Ctrl-C ends the search, not this call
        run.start()
        if not run.should_stop:
            try:
                search()
            except SolverError as error:
                run.fail(error)
        run.finish()
        _warn_of_faults(run, name)
        return _result(run, method, name, setup, versions() | worker_versions)


def _search(method: Solver, name: str, run: Run) -> None:
    with _solver_errors(name, run):
        method.solve(run.instance, run)


@contextlib.contextmanager
def _solver_errors(name: str, run: Run) -> Iterator[None]:
    """Raise an exception of the solver as a SolverError, but an exception of the caller's `on_improvement` unchanged."""
    try:
        yield
    except (InputError, SolverError, UsageError):
        raise
    except (Exception, SystemExit) as error:
        if run.callback_error is None and (package := missing_package(error)):
            raise SolverError(f"solver {name} needs a package: {package}") from error
        if run.callback_error is None:
            raise SolverError(f"solver {name} failed: {described(error)}") from error
    if run.callback_error is not None:
        raise run.callback_error


def _warn_of_faults(run: Run, name: str) -> None:
    """Log one warning if the solver made false reports. Raises SolverError if none of its solutions was verified."""
    if not run.discarded:
        return
    if run.objective is None:
        raise SolverError(run.refusal)
    more = f" (and {run.discarded - 1} more faults)" if run.discarded > 1 else ""
    _log.warning("solver %s: %s%s; the best verified solution is kept", name, run.refusal, more)


def _result(run: Run, method: Solver, name: str, setup: float, engines: dict[str, str]) -> Result:
    """Return the Result of a run that has ended, after a last evaluation of its solution."""
    adapter, data, verified = run.problem, run.instance, run.objective is not None
    if run.objective is not None:
        value = judged(adapter, data, run.solution)
        if not tied(value, run.objective):
            raise SolverError(f"the objective changes between two evaluations of one solution: {run.objective!r}, {value!r}")
    return Result(
        problem=adapter.name,
        instance=name_of(data),
        status=run.status,
        limit=run.limit or "finished",
        sense=adapter.sense,
        objective=run.objective,
        bound=run.bound,
        runtime=run.runtime,
        setup_seconds=setup,
        solution=run.solution,
        trace=tuple(run.trace),
        solver=name,
        options=values(method),
        seed=run.seed,
        versions=engines,
        verified=verified,
        data=data,
        reason=run.reason or run.refusal,
        discarded=run.discarded,
        tolerated=adapter.tolerance_note(data, run.solution) if verified else "",
    )

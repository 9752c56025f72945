"""Team: several processes that solve one instance, managed by the calling process; solve_worker.py is the code of each."""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from corl import registry
from corl.errors import SolverError
from corl.processes.child import Child, end
from corl.processes.executor import Outcome, Threads
from corl.processes.pipes import pickled
from corl.run import Run
from corl.solver import Solver
from corl.termination import Limit

__all__ = ["Team"]

_STOP_LIMIT = 30.0  # seconds in which a worker must end when it is asked to stop
_LAST_MESSAGES = 0.1  # seconds for the last messages of workers that cannot react and are then killed
_log = logging.getLogger(__name__)


class Team:
    """Copies of a solver in `count` processes (workers) with different seeds; a context manager that ends all of them.

    The workers divide `run.workers` processors among themselves and exchange nothing. With a limit of iterations, each worker
    runs to its own limit. The result is then the best of all, and of equal ones that of the worker with the lower number, so
    that it does not depend on the workers' speeds. Otherwise all workers end when the run ends.

    A worker that crashes or is killed causes a warning in the log. If no worker ends regularly, the result is the best reported
    solution; SolverError is raised if there is none or a worker crashed. A SolverError or UsageError of a worker ends the run.
    """

    def __init__(self, run: Run, solver: Solver, count: int, killed: bool = False) -> None:
        """Create a team without processes.

        Args:
            run: The run to which solutions and bounds are reported.
            solver: The solver.
            count: The number of workers.
            killed: Whether workers are killed at the end of the run, because the solver cannot react to a request to stop
                (`Solver.own_process`).
        """
        self._run, self._count, self._killed = run, count, killed
        self._children: list[Child] = []
        self._alive: set[int] = set()
        self._failures: list[str] = []
        self._crashed = False
        self._best: dict[int, tuple[float, Any]] = {}  # worker -> the latest (objective value, solution) that it reported
        self._limit: Limit = "finished"
        task = {
            "problem": run.problem if registry.is_uninstalled(run.problem.name) else run.problem.name,
            "instance": run.instance,
            "solver": solver,
            "limits": {"time_limit": run.time_limit, "iterations": run.iterations, "target": run.target},
            "workers": run.workers // count,
            "starts": {"warm_start": run.warm_start, "partial_start": run.partial_start},
        }
        self._task = pickled(task, "an instance and options")
        self._executor = Threads([self._lane] * count, partial(end, self._children))

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *exception: object) -> None:
        self._executor.close()

    def prepare(self) -> dict[str, str]:
        """Start the workers, wait until each has prepared its solver, and return the versions of packages in a worker.

        Raises the SolverError or UsageError of a worker, or SolverError if no worker is left.
        """
        for k in range(self._count):
            self._start(k)
        waiting, versions = set(self._alive), {}
        while waiting & self._alive:
            k, message = self._next()
            if message[0] == "ready":
                waiting.discard(k)
                versions = message[1]
            else:
                self._handle(k, message)
        self._check_alive()
        return versions

    def collect(self) -> None:
        """Start the search, and pass improvements to the run until all workers have ended; stop them if the run must end."""
        self._send("go")
        deadline = math.inf
        while self._alive and time.perf_counter() < deadline:
            self._handle(*self._next())
            if deadline == math.inf and self._must_end:
                self._send("stop")
                deadline = time.perf_counter() + (_LAST_MESSAGES if self._killed else _STOP_LIMIT)
        self._check_alive()
        if self._killed:
            self._take_last()
        else:
            self._failures += [f"worker {k} did not stop and was killed" for k in self._alive]
        consequence = "what they had found is kept" if len(self._failures) == self._count else "the others continued"
        for failure in self._failures:
            _log.warning("%s; %s", failure, consequence)
        if self._run.iterations is not None and self._best:  # in whatever order solutions were reported
            sign = 1 if self._run.problem.sense == "min" else -1
            k = min(self._best, key=lambda k: (sign * self._best[k][0], k))
            self._run.objective, self._run.solution = self._best[k]
        self._run.stop(self._limit)

    @property
    def _must_end(self) -> bool:
        """Whether to end all workers. With a limit of iterations, the target or optimum of one worker does not end the others."""
        run = self._run
        return run.should_stop if run.iterations is None else run.interrupted or run.remaining == 0.0

    def _start(self, k: int) -> None:
        try:
            child = Child("corl.processes.solve_worker")
        except OSError as error:
            raise SolverError(f"worker {k} cannot be started: {error}") from error
        self._children.append(child)
        self._alive.add(k)
        self._executor.submit(k, child)

    def _lane(self, children: Iterator[tuple[int, Child]]) -> Iterator[tuple[int, Outcome]]:
        """Send each worker (number, child process) its task and seed, then yield its messages until it is gone."""
        for k, child in children:
            fault = ""
            try:
                child.send_bytes(self._task)
                child.send(_seed(self._run.seed, k))
                while True:
                    yield k, child.receive()
            except (EOFError, OSError):
                pass
            except Exception as error:
                fault = f"sent a message that cannot be read ({error}) and "
            yield k, ("gone", fault)
            child.close()

    def _next(self) -> tuple[int, Outcome]:
        """Return (worker, message), with the message ("nothing",) if none arrives within 20 ms."""
        return self._executor.take(timeout=0.02) or (-1, ("nothing",))

    def _handle(self, k: int, message: Outcome) -> None:
        """Process a message of worker k (see solve_worker.py). Raises the error in it if the kind is "failed"."""
        kind = message[0]
        if kind == "improved":
            _, objective, bound, solution = message
            if solution is not None:
                before = self._run.discarded
                self._run.report(solution, objective)
                if self._run.discarded == before:
                    self._best[k] = (objective, solution)
            if bound is not None:
                self._run.report_bound(bound)
        elif kind == "discarded":
            self._run.discard(message[1])
        elif kind == "done":
            _, limit, status, reason = message
            self._alive.discard(k)
            if status == "infeasible":
                self._run.report_infeasible(reason)
            elif status == "unbounded":
                self._run.report_unbounded()
            if limit != "finished":
                self._limit = limit
        elif kind == "failed":
            raise message[1]
        elif kind == "crashed":
            self._alive.discard(k)
            self._crashed = True
            self._failures.append(f"worker {k} failed: {message[1]}")
        elif kind == "gone" and k in self._alive:
            self._alive.discard(k)
            self._failures.append(f"worker {k} {message[1]}{self._children[k].ending()}")

    def _take_last(self) -> None:
        """Process only the last waiting solution and the last bound of each worker: there is no time for earlier ones."""
        last: dict[tuple[int, bool], Outcome] = {}
        while found := self._executor.take(timeout=0.0):
            k, message = found
            if message[0] == "improved":
                last[k, message[3] is None] = message
        for (k, _), message in last.items():
            self._handle(k, message)

    def _check_alive(self) -> None:
        """Raise SolverError if all workers failed, and there is no solution or one of them crashed."""
        if len(self._failures) == self._count and (self._crashed or self._run.solution is None):
            raise SolverError(self._failures[0])

    def _send(self, word: str) -> None:
        for k in self._alive:
            with contextlib.suppress(OSError, ValueError):  # the worker is gone already, as its thread reports
                self._children[k].send(word)


def _seed(seed: int, k: int) -> int:
    """Return the seed of worker k; worker 0 has the seed of the run."""
    import numpy as np

    return int(np.random.SeedSequence([seed, k]).generate_state(1)[0]) if k else seed

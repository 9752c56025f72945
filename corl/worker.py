"""Worker processes over pipes: `python -P -m corl.worker`, one solve each."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import pickle
import queue
import subprocess
import threading
import time
from typing import IO, Any

from corl.errors import CorlError, SolverError, UsageError, described
from corl.pipes import exit_code, own_pipes, receive, send, send_bytes, start
from corl.run import Improvement, Run

__all__ = ["Team", "main"]

_PATIENCE = 30.0  # seconds that an asked worker has to end by itself
_log = logging.getLogger(__name__)


# -------------------------------------------------------------------- the parent's side
class Team:
    """Copies of a solver in `run.workers` processes, with different seeds; a context manager that leaves none behind.

    They share nothing. With `iterations` each goes to its own end and the outcome is the best of all, the lower worker
    winning ties, whatever their speeds; otherwise what ends the run ends them all. A worker that crashes or is killed is
    a warning in the log, and a SolverError if all are; one that misbehaves (SolverError, UsageError) ends the run.
    """

    def __init__(self, run: Run, solver: str, solver_options: dict[str, Any]) -> None:
        self._run = run
        self._children: list[subprocess.Popen[bytes]] = []
        self._alive: set[int] = set()
        self._failures: list[str] = []
        self._best: dict[int, tuple[float, Any]] = {}
        self._limit = "finished"
        self._inbox: queue.SimpleQueue[tuple[int, tuple[Any, ...]]] = queue.SimpleQueue()  # filled by a thread per worker
        task = {
            "problem": run.problem.name,
            "instance": run.instance,
            "solver": solver,
            "options": solver_options,
            "limits": {"time_limit": run.time_limit, "iterations": run.iterations, "target": run.target},
            "warm_start": run.warm_start,
        }
        try:
            self._task = pickle.dumps(task, protocol=5)
        except Exception as error:
            raise UsageError(f"workers need an instance and options that pickle: {error}") from error

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *exception: object) -> None:
        for child in self._children:
            child.kill()
        for child in self._children:
            child.wait()

    def prepare(self) -> None:
        """Start the workers and wait until each has prepared its solver. Raises what all of them, or SolverError."""
        for k in range(self._run.workers):
            self._start(k)
        waiting = set(self._alive)
        while waiting & self._alive:
            k, message = self._next()
            if message[0] == "ready":
                waiting.discard(k)
            else:
                self._handle(k, message)
        self._check_alive()

    def collect(self) -> None:
        """Until every worker has ended: pass on improvements; when the run must end, ask once and wait with patience."""
        self._tell("go")
        deadline = math.inf
        while self._alive and time.perf_counter() < deadline:
            self._handle(*self._next())
            if deadline == math.inf and self._must_end:
                self._tell("stop")
                deadline = time.perf_counter() + _PATIENCE
        self._check_alive()
        self._failures += [f"worker {k} did not stop and was killed" for k in self._alive]
        for failure in self._failures:
            _log.warning("%s; the others went on", failure)
        if self._run.iterations is not None and self._best:  # independent of who spoke first
            sign = 1 if self._run.problem.sense == "min" else -1
            k = min(self._best, key=lambda k: (sign * self._best[k][0], k))
            self._run.objective, self._run.solution = self._best[k]
        self._run.stop(self._limit)

    @property
    def _must_end(self) -> bool:
        """With `iterations`, a target or an optimum that one worker reaches must not cut the others short by the clock."""
        run = self._run
        return run.should_stop if run.iterations is None else run.interrupted or run.remaining == 0.0

    def _start(self, k: int) -> None:
        try:
            child = start("corl.worker")
        except OSError as error:
            raise SolverError(f"worker {k} cannot be started: {error}") from error
        self._children.append(child)
        self._alive.add(k)
        threading.Thread(target=self._talk, args=(k, child, _derived(self._run.seed, k)), daemon=True).start()

    def _talk(self, k: int, child: subprocess.Popen[bytes], seed: int) -> None:
        """One thread a worker: send it its task, then pass on what it says until it is gone."""
        assert child.stdin and child.stdout
        reason = "died"
        try:
            send_bytes(child.stdin, self._task)
            send(child.stdin, seed)
            while True:
                self._inbox.put((k, receive(child.stdout)))
        except (EOFError, OSError):
            pass
        except Exception as error:
            reason = f"sent what cannot be read ({error}) and was ended"
        self._inbox.put((k, ("gone", reason)))
        for pipe in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):
                pipe.close()

    def _next(self) -> tuple[int, tuple[Any, ...]]:
        try:
            return self._inbox.get(timeout=0.02)
        except queue.Empty:
            return -1, ("nothing",)

    def _handle(self, k: int, message: tuple[Any, ...]) -> None:
        kind = message[0]
        if kind == "improved":
            _, objective, bound, solution = message
            if solution is not None:
                self._best[k] = (objective, solution)
                self._run.report(solution, objective)
            if bound is not None:
                self._run.report_bound(bound)
        elif kind == "done":
            _, limit, infeasible, reason = message
            self._alive.discard(k)
            if infeasible:
                self._run.report_infeasible(reason)
            if limit != "finished":
                self._limit = limit
        elif kind == "failed":
            raise message[1]
        elif kind == "crashed":
            self._alive.discard(k)
            self._failures.append(f"worker {k} failed: {message[1]}")
        elif kind == "gone" and k in self._alive:
            self._alive.discard(k)
            self._failures.append(f"worker {k} {message[1]} (exit code {exit_code(self._children[k])})")

    def _check_alive(self) -> None:
        if len(self._failures) == self._run.workers:
            raise SolverError(self._failures[0])

    def _tell(self, word: str) -> None:
        for k in self._alive:
            pipe = self._children[k].stdin
            assert pipe
            with contextlib.suppress(OSError, ValueError):  # it is gone already; its own thread says so
                send(pipe, word)


def _derived(seed: int, k: int) -> int:
    """The seed of worker k; the first has the run's own."""
    import numpy as np

    return int(np.random.SeedSequence([seed, k]).generate_state(1)[0]) if k else seed


# -------------------------------------------------------------------- the child's side
def main() -> None:
    """Serve one task from standard input; standard output is kept for messages, prints go to standard error."""
    inbox, outbox = own_pipes()
    try:
        _serve(inbox, outbox)
    except CorlError as error:
        send(outbox, ("failed", error))
    except (EOFError, BrokenPipeError):
        pass  # the parent is gone
    except Exception as error:
        send(outbox, ("crashed", described(error)))


def _serve(inbox: IO[bytes], outbox: IO[bytes]) -> None:
    from corl import options, registry

    try:
        task = receive(inbox)
    except (AttributeError, ImportError) as error:
        raise UsageError(f"workers need an instance of an importable class: {error}") from error
    seed = receive(inbox)
    instance = task["instance"]
    problem = registry.problem(task["problem"]).of(instance)
    solver = options.build(registry.solver(problem.name, task["solver"]), task["options"])
    solver.prepare(instance)
    best: float | None = None

    def tell(news: Improvement) -> None:
        nonlocal best
        fresh, best = news.objective != best, news.objective
        send(outbox, ("improved", news.objective, news.bound, news.solution if fresh else None))

    run = Run(problem, instance, seed=seed, warm_start=task["warm_start"], on_improvement=tell, **task["limits"])
    send(outbox, ("ready",))
    if receive(inbox) != "go":
        return
    threading.Thread(target=_listen, args=(inbox, run), daemon=True).start()
    run.start()
    if not run.should_stop:
        solver.solve(instance, run)
    run.finish()
    send(outbox, ("done", run.limit, run.infeasible, run.reason))


def _listen(inbox: IO[bytes], run: Run) -> None:
    """A "stop" ends the run; the end of the parent ends the process, even where the solver does not stop."""
    try:
        receive(inbox)
    except (EOFError, OSError):
        os._exit(1)
    run.stop()


if __name__ == "__main__":
    main()

"""Worker processes over pipes: `python -P -m corl.worker`, one solve each.

Started as plain child processes, not through multiprocessing, so that they work from unguarded scripts, standard input
and notebooks. Messages are pickles between our own processes, each with an 8-byte length before it.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from typing import IO, Any

from corl.errors import CorlError, SolverError, UsageError
from corl.run import Improvement, Run

__all__ = ["main", "solve_side_by_side"]

_PATIENCE = 30.0  # seconds that an asked worker has to end by itself


def _send(pipe: IO[bytes], message: Any) -> None:
    body = pickle.dumps(message, protocol=5)
    pipe.write(len(body).to_bytes(8, "little") + body)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> Any:
    """The next message; EOFError when the other side is gone."""
    size = pipe.read(8)
    if len(size) < 8:
        raise EOFError
    body = pipe.read(int.from_bytes(size, "little"))
    return pickle.loads(body)


# -------------------------------------------------------------------- the parent's side
def solve_side_by_side(run: Run, solver: str, solver_options: dict[str, Any]) -> float:
    """Run copies of a solver, `run.workers` of them with different seeds, and report their solutions to `run`.

    They share nothing. With `iterations` the outcome is the best of all, the lower worker winning ties, whatever their
    speeds. Returns the seconds until the last one was ready. A worker that dies alone is a warning; SolverError if all do.
    """
    before = time.perf_counter()
    team = _Team(run, solver, solver_options)
    try:
        team.await_ready()
        setup = time.perf_counter() - before
        run.start()
        team.collect()
    finally:
        team.close()
    run.finish()
    return setup


class _Team:
    def __init__(self, run: Run, solver: str, solver_options: dict[str, Any]) -> None:
        self.run = run
        self.inbox: queue.Queue[tuple[int, Any]] = queue.Queue()
        self.final: dict[int, tuple[float, Any]] = {}
        self.alive = set(range(run.workers))
        self.failures: list[CorlError] = []
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        command = [sys.executable, "-P", "-m", "corl.worker"]
        pipe = subprocess.PIPE
        self.children = [subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment) for _ in self.alive]
        for k, child in enumerate(self.children):
            task = {
                "problem": run.problem.name,
                "instance": run.instance,
                "solver": solver,
                "options": solver_options,
                "time_limit": run.time_limit,
                "iterations": run.iterations,
                "target": run.target,
                "warm_start": run.warm_start,
                "seed": run.seed if k == 0 else _derived(run.seed, k),
            }
            threading.Thread(target=self._talk, args=(k, child, task), daemon=True).start()

    def _talk(self, k: int, child: subprocess.Popen[bytes], task: dict[str, Any]) -> None:
        """One thread a worker: send it its task, then pass on what it says."""
        assert child.stdin and child.stdout
        try:
            _send(child.stdin, task)
            while True:
                self.inbox.put((k, _receive(child.stdout)))
        except Exception:
            self.inbox.put((k, ("gone",)))

    def await_ready(self) -> None:
        waiting = set(self.alive)
        while waiting & self.alive and not self.run.should_stop:
            k, message = self._next()
            if message and message[0] == "ready":
                waiting.discard(k)
            elif message:
                self._handle(k, message)
        self._check_alive()
        self._tell("go")

    def collect(self) -> None:
        """Until every worker has ended: pass on improvements; on a stop, ask once and wait with patience."""
        deadline = None
        while self.alive:
            k, message = self._next()
            if message:
                self._handle(k, message)
            if self.run.should_stop and deadline is None:
                self._tell("stop")
                deadline = time.perf_counter() + _PATIENCE
            if deadline is not None and time.perf_counter() > deadline:
                break
        self._check_alive()
        if self.run.iterations is not None and self.final:  # independent of who spoke first
            sign = 1 if self.run.problem.sense == "min" else -1
            k = min(self.final, key=lambda k: (sign * self.final[k][0], k))
            self.run.objective = None
            self.run.report(self.final[k][1])

    def _next(self) -> tuple[int, Any]:
        try:
            return self.inbox.get(timeout=0.02)
        except queue.Empty:
            return -1, None

    def _handle(self, k: int, message: tuple[Any, ...]) -> None:
        kind = message[0]
        if kind == "improved":
            _, objective, bound, solution = message
            if solution is not None:
                self.final[k] = (objective, solution)
                self.run.report(solution, objective)
            if bound is not None:
                self.run.report_bound(bound)
        elif kind == "done":
            _, limit, infeasible, self.run.chosen = message
            self.alive.discard(k)
            if infeasible:
                self.run.report_infeasible()
            elif not self.alive and limit is not None:
                self.run.stop(limit)
        elif kind == "failed":
            self.failures.append(message[1])
            self.alive.discard(k)
        elif kind == "gone" and k in self.alive:
            self.failures.append(SolverError(f"worker {k} died (exit code {self.children[k].wait()})"))
            self.alive.discard(k)

    def _check_alive(self) -> None:
        """All workers failed: raise the first one's reason."""
        if len(self.failures) == self.run.workers:
            raise self.failures[0]

    def _tell(self, word: str) -> None:
        for child in self.children:
            try:
                assert child.stdin
                _send(child.stdin, word)
            except (OSError, ValueError):
                continue  # it is gone already; its own thread says so

    def close(self) -> None:
        for failure in self.failures:
            if len(self.failures) < self.run.workers:
                import logging

                logging.getLogger(__name__).warning("%s; the other workers went on", failure)
        for child in self.children:
            child.kill()
            child.wait()


def _derived(seed: int, k: int) -> int:
    import numpy as np

    return int(np.random.SeedSequence([seed, k]).generate_state(1)[0])


# -------------------------------------------------------------------- the child's side
def main() -> None:
    """Serve one task from standard input; standard output is kept for messages, prints go to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    inbox = os.fdopen(os.dup(0), "rb")
    outbox = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        _serve(inbox, outbox)
    except CorlError as error:
        _send(outbox, ("failed", error))
    except (EOFError, BrokenPipeError):
        pass  # the parent is gone
    except Exception as error:
        _send(outbox, ("failed", SolverError(f"{type(error).__name__}: {error}")))


def _serve(inbox: IO[bytes], outbox: IO[bytes]) -> None:
    from corl import options, registry

    try:
        task = _receive(inbox)
    except (AttributeError, ImportError) as error:
        raise UsageError(f"workers need an instance of an importable class: {error}") from error
    solver = options.build(registry.solver(task["problem"], task["solver"]), task["options"])
    solver.prepare(task["instance"])
    best = registry.problem(task["problem"]).worst

    def tell(news: Improvement) -> None:
        nonlocal best
        fresh = news.objective is not None and news.objective != best
        best = news.objective if news.objective is not None else best
        _send(outbox, ("improved", news.objective, news.bound, news.solution if fresh else None))

    limits = {key: task[key] for key in ("time_limit", "iterations", "target", "seed", "warm_start")}
    run = Run(registry.problem(task["problem"]), task["instance"], on_improvement=tell, **limits)
    _send(outbox, ("ready",))
    if _receive(inbox) != "go":
        return
    threading.Thread(target=_listen, args=(inbox, run), daemon=True).start()
    run.start()
    if not run.should_stop:
        solver.solve(task["instance"], run)
    _send(outbox, ("done", run.limit, run.infeasible, run.chosen))


def _listen(inbox: IO[bytes], run: Run) -> None:
    """A "stop", or the end of the parent, ends the run."""
    try:
        _receive(inbox)
    except (EOFError, OSError):
        run.interrupt()
        return
    run.stop()


if __name__ == "__main__":
    main()

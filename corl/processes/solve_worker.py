"""A worker of a Team (corl.processes.team): a process `python -P -m corl.processes.solve_worker`, which solves one instance."""

from __future__ import annotations

import contextlib
import pickle
import queue
import threading
from typing import IO

from corl import registry
from corl.errors import CorlError, UsageError, described
from corl.processes.child import connect
from corl.processes.pipes import send
from corl.run import Improvement, Run
from corl.version import versions

__all__ = ["main"]


def main() -> None:
    """Receive a task and a seed, then "go", which starts the run; "stop" may follow, which ends the run early.

    The worker sends ("ready", versions) before the run. During the run it sends ("improved", objective, bound, solution), with
    the solution None if only the bound is better, and ("discarded", reason). Its last message is ("done", limit, status, reason),
    ("failed", CorlError) or ("crashed", text).
    """
    messages, outbox = connect()
    with contextlib.suppress(BrokenPipeError):  # the parent is gone
        try:
            _serve(messages, outbox)
        except CorlError as error:
            send(outbox, ("failed", error))
        except BrokenPipeError:
            raise
        except Exception as error:
            send(outbox, ("crashed", described(error)))


def _serve(messages: queue.SimpleQueue[bytes], outbox: IO[bytes]) -> None:
    try:
        task = pickle.loads(messages.get())
    except (AttributeError, ImportError) as error:
        raise UsageError(f"workers need an instance of an importable class: {error}") from error
    seed = pickle.loads(messages.get())
    instance = task["instance"]
    problem, solver = registry.problem(task["problem"]).with_sense_of(instance), task["solver"]
    solver.prepare(instance)
    best: float | None = None

    def report(news: Improvement) -> None:
        nonlocal best
        is_better, best = news.objective != best, news.objective
        send(outbox, ("improved", news.objective, news.bound, news.solution if is_better else None))

    def report_refusal(refusal: str) -> None:
        send(outbox, ("discarded", refusal))

    arguments = {"seed": seed, "workers": task["workers"]} | task["starts"]
    run = Run(problem, instance, on_improvement=report, on_refusal=report_refusal, **arguments, **task["limits"])
    send(outbox, ("ready", versions()))
    if pickle.loads(messages.get()) != "go":
        return
    threading.Thread(target=lambda: run.stop() if messages.get() else None, daemon=True).start()
    run.start()
    if not run.should_stop:
        solver.solve(instance, run)
    run.finish()
    send(outbox, ("done", run.limit, run.status, run.reason))


if __name__ == "__main__":
    main()

"""Parallel tabu searches: threads whose kernels release Python's global lock, and one population that all of them feed."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import Schedule
    from corl.run import Run
    from corl.solvers.jobshop.tabu.path_relinking import PathRelinking

__all__ = ["Team"]

_CHECK_INTERVAL = 0.02  # seconds after which a helper checks whether it must end


class Team:
    """`run.workers` - 1 helper threads that search the same instance; a context manager that ends them on exit.

    With a time limit all share one population, so that each can relink the schedules of the others. With `iterations`, each
    helper has a separate population and makes that many moves, so that a seed determines the result bit by bit.
    """

    def __init__(self, searches: PathRelinking, run: Run) -> None:
        self._searches, self._run, self._stopping = searches, run, threading.Event()
        self._futures: list[Future[None]] = []
        self._improvements: list[tuple[int, Schedule] | None] = []
        if run.workers == 1:
            return
        self._pool = ThreadPoolExecutor(run.workers - 1)
        for k in range(1, run.workers):
            self._improvements.append(None)
            self._futures.append(self._pool.submit(self._run_helper, k))

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stopping.set()
        if self._futures:
            self._pool.shutdown()

    def report(self) -> None:
        """Report to the run what helpers have found, and raise their errors; with `iterations` only `finish` does so."""
        if self._run.iterations is None:
            self._report_found()

    def finish(self) -> None:
        """Wait for the helpers that have moves left to make, then report the best schedule of each to the run, in order."""
        run = self._run
        if run.iterations is not None:
            while not all(future.done() for future in self._futures) and not run.interrupted and run.remaining > 0.0:
                time.sleep(_CHECK_INTERVAL)
        self._stopping.set()
        for future in self._futures:
            future.result()
        self._report_found()

    def _report_found(self) -> None:
        for k, future in enumerate(self._futures):
            if future.done():
                future.result()
            found, self._improvements[k] = self._improvements[k], None
            if found is not None and (self._run.objective is None or found[0] < self._run.objective):
                self._run.report(found[1], found[0])

    def _run_helper(self, k: int) -> None:
        """Run helper k: tabu searches until the team stops, or the helper has made its moves."""
        seed = int(np.random.SeedSequence([self._run.seed, k]).generate_state(1)[0])
        remaining, units, best = self._run.iterations, 1, None
        searches = self._searches.for_thread(seed, share=remaining is None)
        while not self._stopping.is_set() and remaining != 0:
            before, grant = time.perf_counter(), units if remaining is None else min(units, remaining)
            made = grant - searches.step(grant)
            if remaining is not None:
                remaining -= made
            if best is None or searches.value < best:
                best = searches.value
                self._improvements[k - 1] = (best, searches.schedule())
            seconds = max(1e-6, time.perf_counter() - before) / max(1, made)
            units = max(1, min(4 * units, int(_CHECK_INTERVAL / seconds)))

"""Parallel tabu searches: helper threads, whose kernels release Python's global interpreter lock."""

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

_CHECK_INTERVAL = 0.02  # seconds between two checks of a helper whether it must end


class Team:
    """`run.workers` - 1 helper threads that search the same instance; a context manager that ends them on exit.

    With a time limit all threads share one population, so that a thread can start between schedules that other threads found.
    With `iterations`, each thread has its own population and makes that many moves, so that the same seed gives the same result
    bit by bit.
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
        """Report improvements of helpers to the run, and raise their errors; with `iterations`, only `finish` does so."""
        if self._run.iterations is None:
            self._report_improvements()

    def finish(self) -> None:
        """With `iterations`, wait until the helpers have made their moves; then report the helpers' best schedules, in order."""
        run = self._run
        if run.iterations is not None:
            while not all(future.done() for future in self._futures) and not run.interrupted and run.remaining > 0.0:
                time.sleep(_CHECK_INTERVAL)
        self._stopping.set()
        for future in self._futures:
            future.result()
        self._report_improvements()

    def _report_improvements(self) -> None:
        """Report each helper's improvement if it is better than the run's best, and raise the errors of helpers that ended."""
        for k, future in enumerate(self._futures):
            if future.done():
                future.result()
            found, self._improvements[k] = self._improvements[k], None
            if found is not None and (self._run.objective is None or found[0] < self._run.objective):
                self._run.report(found[1], found[0])

    def _run_helper(self, k: int) -> None:
        """Run helper k: tabu searches until the team stops, or until the helper has made its moves."""
        seed = int(np.random.SeedSequence([self._run.seed, k]).generate_state(1)[0])
        remaining, batch, best = self._run.iterations, 1, None
        searches = self._searches.for_thread(seed, share=remaining is None)
        while not self._stopping.is_set() and remaining != 0:
            start_time, moves = time.perf_counter(), batch if remaining is None else min(batch, remaining)
            made = moves - searches.step(moves)
            if remaining is not None:
                remaining -= made
            if best is None or searches.value < best:
                best = searches.value
                self._improvements[k - 1] = (best, searches.schedule())
            seconds_per_move = max(1e-6, time.perf_counter() - start_time) / max(1, made)
            batch = max(1, min(4 * batch, int(_CHECK_INTERVAL / seconds_per_move)))

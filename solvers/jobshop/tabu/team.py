"""Tabu searches side by side: threads whose kernels run without Python's lock, and one population that all of them feed."""

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

_LOOK = 0.02  # seconds between two looks of a helper at whether it must end


class Team:
    """`run.workers` - 1 more searches of the instance in threads; a context manager, leaving it ends them.

    With a time limit they share the population: what one has found is a parent for all. With `iterations` each has its own
    and makes as many moves, so that a seed gives the same bits.
    """

    def __init__(self, searches: PathRelinking, run: Run) -> None:
        self._searches, self._run, self._over = searches, run, threading.Event()
        self._futures: list[Future[None]] = []
        self._news: list[tuple[int, Schedule] | None] = []
        if run.workers == 1:
            return
        self._pool = ThreadPoolExecutor(run.workers - 1)
        for k in range(1, run.workers):
            self._news.append(None)
            self._futures.append(self._pool.submit(self._help, k))

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        if self._futures:
            self._pool.shutdown()

    def report(self) -> None:
        """Tell the run what helpers have found since; not with `iterations`, where `finish` does. Raises what one raised."""
        if self._run.iterations is None:
            self._tell()

    def finish(self) -> None:
        """Wait for helpers that have moves left to make, then tell the run the best of each, in order."""
        run = self._run
        if run.iterations is not None:
            while not all(future.done() for future in self._futures) and not run.interrupted and run.remaining > 0.0:
                time.sleep(_LOOK)
        self._over.set()
        for future in self._futures:
            future.result()
        self._tell()

    def _tell(self) -> None:
        for k, future in enumerate(self._futures):
            if future.done():
                future.result()
            found, self._news[k] = self._news[k], None
            if found is not None and (self._run.objective is None or found[0] < self._run.objective):
                self._run.report(found[1], found[0])

    def _help(self, k: int) -> None:
        """What helper k does: tabu searches until it is over, or it has made its moves."""
        seed = int(np.random.SeedSequence([self._run.seed, k]).generate_state(1)[0])
        left, units, best = self._run.iterations, 1, None
        searches = self._searches.fellow(seed, share=left is None)
        while not self._over.is_set() and left != 0:
            before, grant = time.perf_counter(), units if left is None else min(units, left)
            made = grant - searches.step(grant)
            if left is not None:
                left -= made
            if best is None or searches.value < best:
                best = searches.value
                self._news[k - 1] = (best, searches.schedule())
            seconds = max(1e-6, time.perf_counter() - before) / max(1, made)
            units = max(1, min(4 * units, int(_LOOK / seconds)))

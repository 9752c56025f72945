"""Tabu searches side by side: threads whose kernels run without Python's lock, and one population that all of them feed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from corl.rng import random_state
from corl.solvers.jobshop.dispatching import Dispatcher
from corl.solvers.jobshop.population import Population
from corl.solvers.jobshop.search import IDLE, VALUE, Search, advance, begin, new_search

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance
    from corl.run import Run

__all__ = ["Rules", "Team", "go_on"]

_LOOK = 0.02  # seconds between two looks of a helper at whether it must end


class Rules(NamedTuple):
    """When a tabu search ends, and for how many moves a reversed pair stays."""

    cut: int
    shortest: int
    longest: int


def go_on(search: Search, population: Population, rules: Rules, units: int) -> int:
    """Make moves, up to `units` and up to the end of the present tabu search; returns how many are left.

    Where it has ended already, its best goes to the population, which gives the next start.
    """
    if search.counts[IDLE] >= rules.cut:
        population.add(search, search.best, int(search.counts[VALUE]))
        population.start(search)
        begin(search)
    return int(advance(search, rules.cut, rules.shortest, rules.longest, units))


class Team:
    """`run.workers` - 1 more searches of the instance in threads, which start from the population's rules.

    With a time limit they share the population: what one has found is a parent for all. With `iterations` each has its own
    and makes as many moves, so that a seed gives the same bits. A context manager; leaving it ends them.
    """

    def __init__(self, instance: JobShopInstance, search: Search, population: Population, rules: Rules, run: Run) -> None:
        self._instance, self._rules, self._run, self._over = instance, rules, run, threading.Event()
        self._searches: list[Search] = []
        self._futures: list[Future[None]] = []
        self._news: list[tuple[int, Search] | None] = []
        if run.workers == 1:
            return
        self._pool = ThreadPoolExecutor(run.workers - 1)
        for k in range(1, run.workers):
            seed = int(np.random.SeedSequence([run.seed, k]).generate_state(1)[0])
            helper = new_search(search.shop, random_state(seed))
            shared = population if run.iterations is None else Population(population.size, Dispatcher(instance))
            self._searches.append(helper)
            self._news.append(None)
            self._futures.append(self._pool.submit(self._help, k - 1, helper, shared))

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        if self._futures:
            self._pool.shutdown()

    def report(self, tell: Callable[[Search], object]) -> None:
        """Call `tell` with what helpers have found since. Raises what a helper raised."""
        if self._run.iterations is None:
            self._tell(tell)

    def finish(self, tell: Callable[[Search], object]) -> None:
        """Wait for helpers that have moves left to make, then `report` the best of each, in order."""
        run = self._run
        if run.iterations is not None:
            while not all(future.done() for future in self._futures) and not run.interrupted and run.remaining > 0.0:
                time.sleep(_LOOK / 2)
        self._over.set()
        self._tell(tell)
        for future in self._futures:
            future.result()
        self._tell(tell)

    def _tell(self, tell: Callable[[Search], object]) -> None:
        for k, future in enumerate(self._futures):
            if future.done():
                future.result()
            found, self._news[k] = self._news[k], None
            if found is not None:
                tell(found[1])

    def _help(self, k: int, search: Search, population: Population) -> None:
        """What a helper does: tabu searches until it is over, or it has made its moves."""
        population.start(search)
        begin(search)
        left, units, best = self._run.iterations, 1, 2**62
        while not self._over.is_set() and left != 0:
            before, grant = time.perf_counter(), units if left is None else min(units, left)
            unused = go_on(search, population, self._rules, grant)
            if left is not None:
                left -= grant - unused
            if search.counts[VALUE] < best:
                best = int(search.counts[VALUE])
                self._news[k] = (best, search._replace(best=search.best.copy(), counts=search.counts.copy()))
            seconds = max(1e-6, time.perf_counter() - before) / max(1, grant - unused)
            units = max(1, min(4 * units, int(_LOOK / seconds)))

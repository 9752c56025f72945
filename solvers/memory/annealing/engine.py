"""The engine of `Annealing`: an initial layout (layout.py), and a chain of moves from it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from corl.problems.memory.instance import MappingInstance
from corl.rng import random_state
from corl.run import Run
from corl.solvers.memory.annealing.moves import BEST, anneal, begin
from corl.solvers.memory.bounds import best_bound
from corl.solvers.memory.constructions import by_priority, in_order, never_stop, tuned
from corl.solvers.memory.layout import Layout, Program, new_layout, plan_of, program_of

if TYPE_CHECKING:
    from corl.solvers.memory.annealing.solver import Annealing

__all__ = ["Chain", "first_plan", "solve"]

_log = logging.getLogger(__name__)
_CLOCK = 10**12  # parts of a time limit, in which progress is counted if there is no limit on moves
_START_SHARE = 0.75  # share of the time limit after which the best construction so far becomes the first plan
_MAX_TUNED = 2000  # the largest number of accesses for which twelve settings of xla-like are tried for the first plan


def solve(solver: Annealing, instance: MappingInstance, run: Run) -> None:
    """See `Solver.solve`."""
    program = program_of(instance)
    value, layout = first_plan(program, solver.start, lambda: run.should_stop or run.fraction >= _START_SHARE)
    run.report(plan_of(program, layout), 1e6 * value)
    run.report_bound(best_bound(instance, lambda: 0.5 * run.remaining))
    chain, done = Chain(program, value, layout, (solver.hot, solver.cold, solver.coolings), run.seed), 0
    while moves := run.budget():
        if run.iterations is None:  # without a limit on moves, progress is the share of the time limit that is spent
            done = int(run.fraction * _CLOCK)
        chain.move(moves, done, _CLOCK if run.iterations is None else run.iterations)
        done += moves
        if run.objective is not None and 1e6 * chain.best_value < run.objective * (1.0 - 1e-12) and run.report_due:
            run.report(plan_of(program, chain.best), 1e6 * chain.best_value)
    if run.objective is None or 1e6 * chain.best_value < run.objective * (1.0 - 1e-12):
        run.report(plan_of(program, chain.best), 1e6 * chain.best_value)


class Chain:
    """One chain of moves, and the best layout found."""

    def __init__(self, program: Program, value: float, layout: Layout, schedule: tuple[float, float, int], seed: int) -> None:
        """Start from `layout`, with which the run time is `value` seconds.

        schedule: the first and the last temperature as shares of `value`, and the number of coolings.
        """
        self._program, self._random = program, random_state(seed)
        self._layout, self._backup, self.best = new_layout(program), new_layout(program), new_layout(program)
        self._values = np.array([value, value])
        begin(program, layout, self._layout, self.best)
        hot, cold, coolings = schedule
        self._schedule = np.array([hot * value, cold * value, float(coolings), 0.0])

    def move(self, moves: int, done: int, total: int) -> None:
        """Make `moves` moves; the temperature depends on the progress before them, `done` of `total`."""
        anneal(
            self._program, self._layout, self._backup, self.best, self._values, moves, done, total, self._schedule, self._random
        )  # fmt: skip

    @property
    def best_value(self) -> float:
        """The run time with the best layout, in seconds."""
        return float(self._values[BEST])


def first_plan(program: Program, start: str, stop: Callable[[], bool] = never_stop) -> tuple[float, Layout]:
    """Return (run time in seconds, layout) of the best construction.

    The candidates are `greedy-keep`, `xla-like` (tuned for small programs), and, if `start` is "learned", eight plans of the
    network. Once `stop` returns True, no further candidate is built, and the last one may be unfinished.
    """
    candidates = [in_order(program, stop)]
    if not stop():
        small = len(program.use_op) <= _MAX_TUNED
        candidates.append(tuned(program, stop) if small else by_priority(program, 0.5, 1.0, True, stop))
    if start == "learned" and _has_torch() and not stop():
        from corl.solvers.memory.priority.solver import best_plan

        candidates.append(best_plan(program, 8, stop=stop))
    return min(candidates, key=lambda pair: pair[0])


@cache
def _has_torch() -> bool:
    """Return whether torch is installed, so that networks can be loaded; if not, log once that plans are built without them."""
    if find_spec("torch") is not None:
        return True
    _log.warning("torch is not installed: annealing starts without the plans of the learned priority")
    return False

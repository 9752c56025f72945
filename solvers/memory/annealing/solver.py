"""`Annealing`: simulated annealing over runs of accesses, every move through the simulator."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corl.errors import UsageError
from corl.options import option
from corl.solver import Solver
from corl.solvers.memory.constructions import never

if TYPE_CHECKING:
    from corl.problems.memory.instance import MappingInstance
    from corl.run import Run
    from corl.solvers.memory.layout import Layout, Program

__all__ = ["Annealing", "Chain", "first_plan"]

_log = logging.getLogger(__name__)
_CLOCK = 10**12
_START = 0.75  # share of the time limit after which the first plan is what has been built by then
_SMALL = 2000  # accesses up to which twelve settings of xla-like are tried for the first plan


@dataclass(frozen=True)
class Annealing(Solver):
    """From the best plan of a learned priority, `xla-like` and `greedy-keep`: put a run where others are in its way, take
    one away, let one begin or end elsewhere, or pack all anew; each is simulated. Temperatures fall, `coolings` times.
    """

    start: Literal["learned", "xla-like"] = option(
        "learned", "Where the first plan comes from: with or without plans of the shipped network `memory-priority`."
    )
    hot: float = option(1e-3, "The first temperature, as a share of the first plan's time.", above=0, high=1, scale="log")
    cold: float = option(1e-6, "The last temperature, likewise; at most `hot`.", above=0, high=1, scale="log")
    coolings: int = option(1, "How many times to cool down, each time from the best plan so far.", low=1, scale="log")

    alike: ClassVar[int] = 2
    title: ClassVar[str] = "simulated annealing over what is in fast memory when and where, every move simulated"
    iteration: ClassVar[str] = "one move"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cold > self.hot:
            raise UsageError(f"option cold is {self.cold}; accepted: a number up to hot, {self.hot}")

    def prepare(self, instance: MappingInstance) -> None:
        from corl.solvers.memory.constructions import warm

        warm(self.solve)

    def solve(self, instance: MappingInstance, run: Run) -> None:
        from corl.solvers.memory.bounds import best_bound
        from corl.solvers.memory.layout import plan_of, program_of

        program = program_of(instance)
        value, layout = first_plan(program, self.start, lambda: run.should_stop or run.fraction >= _START)
        run.report(plan_of(program, layout), 1e6 * value)
        run.report_bound(best_bound(instance, lambda: 0.5 * run.remaining))
        chain, done = Chain(program, value, layout, (self.hot, self.cold, self.coolings), run.seed), 0
        while moves := run.budget():
            if run.iterations is None:  # by the clock: the share of the time that is spent stands for the moves that are made
                done = int(run.fraction * _CLOCK)
            chain.move(moves, done, _CLOCK if run.iterations is None else run.iterations)
            done += moves
            if run.objective is not None and 1e6 * chain.least < run.objective * (1.0 - 1e-12) and run.report_due:
                run.report(plan_of(program, chain.best), 1e6 * chain.least)
        if run.objective is None or 1e6 * chain.least < run.objective * (1.0 - 1e-12):
            run.report(plan_of(program, chain.best), 1e6 * chain.least)


class Chain:
    """One chain of moves, and the best layout that it has seen."""

    def __init__(self, program: Any, value: float, layout: Any, schedule: tuple[float, float, int], seed: int) -> None:
        """schedule: first and last temperature as shares of `value`, coolings."""
        import numpy as np

        from corl.rng import random_state
        from corl.solvers.memory.annealing.moves import begin
        from corl.solvers.memory.layout import new_layout

        self._program, self._random = program, random_state(seed)
        self._layout, self._kept, self.best = new_layout(program), new_layout(program), new_layout(program)
        self._values = np.array([value, value])
        begin(program, layout, self._layout, self.best)
        hot, cold, coolings = schedule
        self._schedule = np.array([hot * value, cold * value, float(coolings), 0.0])

    def move(self, moves: int, done: int, total: int) -> None:
        """Make so many moves, the first of them number `done` of `total`."""
        from corl.solvers.memory.annealing.moves import anneal

        anneal(
            self._program, self._layout, self._kept, self.best, self._values, moves, done, total, self._schedule, self._random
        )  # fmt: skip

    @property
    def least(self) -> float:
        """Seconds of the best layout."""
        from corl.solvers.memory.annealing.moves import BEST

        return float(self._values[BEST])


def first_plan(program: Program, start: str, stop: Callable[[], bool] = never) -> tuple[float, Layout]:
    """(seconds, layout) of the best construction: `greedy-keep`, `xla-like`, tuned where that takes milliseconds, and, for
    "learned", eight plans of the network. When `stop` says so, of those that are there, the last of them unfinished."""
    from corl.solvers.memory.constructions import by_priority, in_order, tuned
    from corl.solvers.memory.priority.solver import best_plan

    found = [in_order(program, stop)]
    if not stop():
        small = len(program.use_op) <= _SMALL
        found.append(tuned(program, stop) if small else by_priority(program, 0.5, 1.0, True, stop))
    if start == "learned" and _has_torch() and not stop():
        found.append(best_plan(program, 8, stop=stop))
    return min(found, key=lambda pair: pair[0])


@cache
def _has_torch() -> bool:
    """Whether networks can be loaded; says once that plans are built without them."""
    if find_spec("torch") is not None:
        return True
    _log.warning("torch is not installed: annealing starts without the plans of the learned priority")
    return False

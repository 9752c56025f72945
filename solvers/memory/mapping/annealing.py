"""`Annealing`: simulated annealing over runs of accesses, every move through the simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.memory.mapping.instance import MappingInstance
    from corl.run import Run

__all__ = ["Annealing", "Chain", "annealed", "first_plan"]

_CLOCK = 10**12
_SMALL = 2000  # accesses up to which twelve settings of xla-like are tried for the first plan


@dataclass(frozen=True)
class Annealing(Solver):
    """From the best plan of a learned priority, `xla-like` and `greedy-keep`: put a run where others are in its way, take
    one away, let one begin or end elsewhere, or pack all anew; each is simulated. Temperatures fall, `coolings` times.
    """

    start: Literal["learned", "xla-like"] = "learned"
    """What the first plan is taken from: with or without those of the shipped network `memory-priority`."""
    hot: float = 1e-3
    """The first temperature, as a share of the first plan's time (tuned)."""
    cold: float = 1e-6
    """The last."""
    coolings: int = 1
    """How many times to cool down, each time from the best plan so far."""

    title: ClassVar[str] = "simulated annealing over what is in fast memory when and where, every move simulated"
    iteration: ClassVar[str] = "one move"

    def __post_init__(self) -> None:
        if not 0.0 < self.cold <= self.hot <= 1.0:
            raise UsageError(f"hot, cold are {self.hot}, {self.cold}; accepted: 0 < cold <= hot <= 1")
        if self.coolings < 1:
            raise UsageError(f"coolings is {self.coolings}; accepted: an integer from 1")

    def prepare(self, instance: MappingInstance) -> None:
        from corl.solvers.memory.mapping.constructions import warm

        warm(self.solve)

    def solve(self, instance: MappingInstance, run: Run) -> None:
        from corl.solvers.memory.mapping.bounds import best_bound
        from corl.solvers.memory.mapping.layout import plan_of, program_of

        program = program_of(instance)
        value, layout = first_plan(program, self.start)
        run.report(plan_of(program, layout), 1e6 * value)
        run.report_bound(best_bound(instance))
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
        from corl.solvers.memory.mapping.layout import evaluate, new_layout

        self._program, self._random = program, random_state(seed)
        self._layout, self._kept, self.best = new_layout(program), new_layout(program), new_layout(program)
        for copy in (self._layout, self.best):
            for part, source in zip(copy[:3], layout[:3]):
                part[:] = source
        self._values = np.array([value, value])
        evaluate(program, self._layout)  # here and not in `move`: what is idle is that of the layout simulated last
        hot, cold, coolings = schedule
        self._schedule = np.array([hot * value, cold * value, float(coolings), 0.0])

    def move(self, moves: int, done: int, total: int) -> None:
        """Make so many moves, the first of them number `done` of `total`."""
        from corl.solvers.memory.mapping.moves import anneal

        anneal(
            self._program, self._layout, self._kept, self.best, self._values, moves, done, total, self._schedule, self._random
        )  # fmt: skip

    @property
    def least(self) -> float:
        """Seconds of the best layout."""
        return float(self._values[1])


def first_plan(program: Any, start: str) -> tuple[float, Any]:
    """(seconds, layout) of the best construction: `greedy-keep`, `xla-like`, tuned where that takes milliseconds, and, for
    "learned", eight plans of the network."""
    from corl.solvers.memory.mapping.constructions import by_priority, in_order, tuned
    from corl.solvers.memory.mapping.priority.solver import best_plan

    small = len(program.use_op) <= _SMALL
    found = [in_order(program), tuned(program) if small else by_priority(program, 0.5, 1.0, True)]
    if start == "learned":
        found.append(best_plan(program, 8))
    return min(found, key=lambda pair: pair[0])


def annealed(program: Any, start: tuple[float, Any], moves: int) -> tuple[float, Any]:
    """(seconds, layout) after so many moves from a start, (seconds, layout), with the default temperatures."""
    options = Annealing()
    chain = Chain(program, *start, (options.hot, options.cold, options.coolings), 0)
    chain.move(moves, 0, moves)
    return chain.least, chain.best

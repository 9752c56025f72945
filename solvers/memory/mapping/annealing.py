"""`Annealing`: simulated annealing over runs of accesses, every move through the simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.memory.mapping.instance import MappingInstance
    from corl.run import Run

__all__ = ["Annealing"]

_CLOCK = 10**12


@dataclass(frozen=True)
class Annealing(Solver):
    """From the plan of `xla-like` or of `greedy-keep`: put a run where others are in its way, take one away, let one begin or
    end elsewhere, or pack all anew; each move is simulated. Temperatures fall geometrically, `coolings` times.
    """

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
        import numpy as np

        from corl.rng import random_state
        from corl.solvers.memory.mapping.bounds import best_bound
        from corl.solvers.memory.mapping.constructions import by_priority, in_order
        from corl.solvers.memory.mapping.layout import new_layout, plan_of, program_of
        from corl.solvers.memory.mapping.moves import anneal

        program = program_of(instance)
        value, layout = min((in_order(program), by_priority(program, 0.5, 1.0, True)), key=lambda pair: pair[0])
        run.report(plan_of(program, layout), 1e6 * value)
        run.report_bound(best_bound(instance))
        kept, best = new_layout(program), new_layout(program)
        for part, source in zip(best[:3], layout[:3]):
            part[:] = source
        values, random, done = np.array([value, value]), random_state(run.seed), 0
        schedule = np.array([self.hot * value, self.cold * value, float(self.coolings), 0.0])
        while moves := run.budget():
            if run.iterations is None:  # by the clock: the share of the time that is spent stands for the moves that are made
                done = int(run.fraction * _CLOCK)
            total = _CLOCK if run.iterations is None else run.iterations
            anneal(program, layout, kept, best, values, moves, done, total, schedule, random)
            done += moves
            if run.objective is not None and 1e6 * values[1] < run.objective * (1.0 - 1e-12) and run.report_due:
                run.report(plan_of(program, best), 1e6 * values[1])
        if run.objective is None or 1e6 * values[1] < run.objective * (1.0 - 1e-12):
            run.report(plan_of(program, best), 1e6 * values[1])

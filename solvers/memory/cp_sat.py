"""`CpSat`: OR-Tools' constraint programming solver on a full model of memory mapping; exact on small programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.memory.instance import MappingInstance
    from corl.run import Run

__all__ = ["CpSat"]

_MAX_SIZE = 4000  # the largest number of accesses times operations for which a model is built


@dataclass(frozen=True)
class CpSat(Solver):
    """Solve a model of places in fast memory, copies and durations with CP-SAT, from the better of two greedy constructions.

    The bound is proven.
    """

    search_workers: int = option(0, "Number of CP-SAT's threads; 0: as many as `workers`.", low=1, special=0, scale="log")
    interleave: bool = option(False, "Whether the threads take turns in a fixed order instead of running side by side.")

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit
    own_workers: ClassVar[bool] = True  # `solve` uses `run.workers` cores by itself
    preparation_size: ClassVar[int] = 2  # sizes and integers from 2 on need the same preparation (Solver.preparation_size)
    engine: ClassVar[str] = "CP-SAT"
    title: ClassVar[str] = "CP-SAT (OR-Tools): small programs, with proven bounds"

    def accepts(self, instance: MappingInstance) -> str:
        size = len(instance.access_tensor) * instance.ops
        return f"its model would need {size:,} accesses x operations, accepted: up to {_MAX_SIZE:,}" if size > _MAX_SIZE else ""

    def prepare(self, instance: MappingInstance) -> None:
        from corl.solvers.cp_sat import load_engine
        from corl.solvers.memory.constructions import warm_up

        load_engine()
        warm_up(self.first)

    @staticmethod
    def first(instance: MappingInstance, run: Run) -> None:
        """Report the better of two greedy constructions, and a bound."""
        from corl.solvers.memory.bounds import best_bound
        from corl.solvers.memory.constructions import by_priority, in_order
        from corl.solvers.memory.layout import plan_of, program_of

        program = program_of(instance)
        value, layout = min((in_order(program), by_priority(program, 0.5, 1.0, True)), key=lambda pair: pair[0])
        run.report(plan_of(program, layout), 1e6 * value)
        run.report_bound(best_bound(instance, lambda: run.remaining))

    def solve(self, instance: MappingInstance, run: Run) -> None:
        import numpy as np

        from corl.problems.memory.instance import MappingPlan
        from corl.solvers.cp_sat import solve_model
        from corl.solvers.memory.cp_model import Model

        self.first(instance, run)
        if run.should_stop:
            return
        nothing = MappingPlan(np.zeros((0, 4), np.int64), np.zeros((0, 4), np.int64))
        model = Model(instance, run.problem.evaluate(instance, nothing) / 1e6)
        workers, turns = self.search_workers, self.interleave
        solve_model(model.model, run, model.plan, search_workers=workers, interleave=turns, bound=model.bound)

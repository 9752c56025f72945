"""`CpSat`: OR-Tools' constraint programming solver on rectangles with fixed times that must not overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.memory_static.instance import StaticInstance
    from corl.run import Run

__all__ = ["CpSat"]

_MAX_BUFFERS = 20_000  # the largest number of buffers that is accepted; building a larger model takes more than a second


@dataclass(frozen=True)
class CpSat(Solver):
    """Solve with CP-SAT a model that has one variable per offset and one NoOverlap2D constraint for all buffers.

    The best allocation of first fit is the hint from which CP-SAT starts.
    """

    capacity: int | None = option(
        None, "Available memory: the run ends at the first allocation that needs at most this; none: minimise the height.", low=0
    )
    search_workers: int = option(0, "Number of CP-SAT's threads; 0: as many as `workers`.", low=1, special=0, scale="log")

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit
    own_workers: ClassVar[bool] = True  # `solve` uses `run.workers` cores by itself
    preparation_size: ClassVar[int] = 2  # sizes and integers from 2 on need the same preparation (Solver.preparation_size)
    engine: ClassVar[str] = "CP-SAT"
    title: ClassVar[str] = "CP-SAT (OR-Tools): rectangles that do not overlap, with proven bounds"

    def accepts(self, instance: StaticInstance) -> str:
        if instance.n > _MAX_BUFFERS:
            return f"its model would have {instance.n:,} rectangles; accepted: up to {_MAX_BUFFERS:,}"
        return ""

    def prepare(self, instance: StaticInstance) -> None:
        from corl.solvers.cp_sat import load_engine
        from corl.solvers.memory_static.first_fit.solver import FirstFit

        load_engine()
        FirstFit().prepare(instance)

    def solve(self, instance: StaticInstance, run: Run) -> None:
        import numpy as np
        from ortools.sat.python import cp_model

        from corl.rng import random_state
        from corl.solvers.cp_sat import solve_model
        from corl.solvers.memory_static.capacity import lower_bound, open_run, report
        from corl.solvers.memory_static.first_fit.kernels import BEST, first_passes, new_fit, orders

        ceiling = open_run(instance, run, self.capacity)
        if run.should_stop:
            return
        fit = new_fit(instance, list(orders(instance).values()), ceiling, random_state(run.seed))
        first_passes(fit, run)
        if fit.at[BEST] >= 0:
            report(run, fit.best_offset, self.capacity)
        if run.should_stop:
            return
        max_height = ceiling if run.objective is None else int(run.objective)
        model = cp_model.CpModel()
        height = model.new_int_var(min(lower_bound(instance), max_height), max_height, "")
        steps, lifetimes, places = [], [], []  # steps: variables, the offsets as multiples of the alignments
        data = (instance.lower, instance.upper, instance.size, instance.alignment, instance.fixed, fit.best_offset)
        for lower, upper, size, alignment, fixed, hint in zip(*(array.tolist() for array in data)):
            lowest, highest = (fixed // alignment,) * 2 if fixed >= 0 else (0, max(0, max_height - size) // alignment)
            step = model.new_int_var(lowest, highest, "")
            model.add(alignment * step + size <= height)
            lifetimes.append(model.new_fixed_size_interval_var(lower, upper - lower, ""))
            places.append(model.new_fixed_size_interval_var(alignment * step, size, ""))
            if fit.at[BEST] >= 0:
                model.add_hint(step, hint // alignment)
            steps.append(step)
        solid = [k for k, size in enumerate(instance.size.tolist()) if size > 0]
        model.add_no_overlap_2d([lifetimes[k] for k in solid], [places[k] for k in solid])
        if self.capacity is None:
            model.minimize(height)

        def offsets(value: Any) -> Any:
            return np.array([value(step) for step in steps], np.int64) * instance.alignment

        solve_model(model, run, offsets, search_workers=self.search_workers)
        if self.capacity is not None and run.objective is not None:
            run.stop("target")

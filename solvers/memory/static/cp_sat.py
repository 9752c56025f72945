"""`CpSat`: OR-Tools' constraint programming solver; rectangles that do not overlap, times fixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.memory.static.instance import StaticInstance
    from corl.run import Run

__all__ = ["CpSat"]

_MOST = 20_000  # buffers, beyond which building the model takes over a second


@dataclass(frozen=True)
class CpSat(Solver):
    """A variable an offset, and one NoOverlap2D constraint of all buffers; it begins from the passes of first fit, as a hint."""

    capacity: int | None = None
    """Memory to stay within: the run ends with the first allocation that does. None: minimise the height."""
    search_workers: int = 0
    """Its threads, at least 1; 0: as many as `workers`."""

    limit_free: ClassVar[bool] = True
    own_workers: ClassVar[bool] = True
    title: ClassVar[str] = "CP-SAT (OR-Tools): rectangles that do not overlap, with proven bounds"

    def __post_init__(self) -> None:
        from corl.solvers.cp_sat import check_threads
        from corl.solvers.memory.static.capacity import check_capacity

        check_capacity(self.capacity)
        check_threads(self.search_workers)

    def accepts(self, instance: StaticInstance) -> str:
        if instance.n > _MOST:
            return f"its model would have {instance.n:,} rectangles; accepted: up to {_MOST:,}"
        return ""

    def prepare(self, instance: StaticInstance) -> None:
        from corl.solvers.cp_sat import load_engine
        from corl.solvers.memory.static.first_fit import FirstFit

        load_engine()
        FirstFit().prepare(instance)

    def solve(self, instance: StaticInstance, run: Run) -> None:
        import numpy as np
        from ortools.sat.python import cp_model

        from corl.rng import random_state
        from corl.solvers.cp_sat import solve_model
        from corl.solvers.memory.static.capacity import lower_bound, open_run, report
        from corl.solvers.memory.static.fitting import BEST, new_fit, orders, search

        ceiling = open_run(instance, run, self.capacity)
        if run.should_stop:
            return
        fit = new_fit(instance, list(orders(instance).values()), ceiling, random_state(run.seed))
        search(fit, len(fit.queue) * instance.n)
        if fit.at[BEST] >= 0:
            report(run, fit.best_offset, self.capacity)
        if run.should_stop:
            return
        most = ceiling if run.objective is None else int(run.objective)
        model = cp_model.CpModel()
        height = model.new_int_var(min(lower_bound(instance), most), most, "")
        steps, across, along = [], [], []
        data = (instance.lower, instance.upper, instance.size, instance.alignment, instance.fixed, fit.best_offset)
        for lower, upper, size, alignment, fixed, hint in zip(*(array.tolist() for array in data)):
            least, largest = (fixed // alignment,) * 2 if fixed >= 0 else (0, max(0, most - size) // alignment)
            step = model.new_int_var(least, largest, "")
            model.add(alignment * step + size <= height)
            across.append(model.new_fixed_size_interval_var(lower, upper - lower, ""))
            along.append(model.new_fixed_size_interval_var(alignment * step, size, ""))
            if fit.at[BEST] >= 0:
                model.add_hint(step, hint // alignment)
            steps.append(step)
        solid = [k for k, size in enumerate(instance.size.tolist()) if size > 0]
        model.add_no_overlap_2d([across[k] for k in solid], [along[k] for k in solid])
        if self.capacity is None:
            model.minimize(height)

        def offsets(value):
            return np.array([value(step) for step in steps], np.int64) * instance.alignment

        solve_model(model, run, offsets, search_workers=self.search_workers)
        if self.capacity is not None and run.objective is not None:
            run.stop("target")

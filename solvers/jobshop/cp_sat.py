"""`CpSat`: OR-Tools' constraint programming solver on the full model; any job shop, with a proven bound."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance, Schedule
    from corl.run import Run

__all__ = ["CpSat"]


@dataclass(frozen=True)
class CpSat(Solver):
    """CP-SAT: interval variables, a no-overlap constraint for each machine, an exactly-one choice where machines are flexible.

    It begins from the user's schedule or from the best dispatching rule, as a hint, and reports the bounds that it proves.
    """

    search_workers: int = 0
    """Its threads, at least 1; 0: as many as `workers`. With few it leaves out kinds of search, so that 8 on one core can be
    better than 1."""
    hint: bool = True
    """Whether to begin from the best dispatching rule where the user gives no schedule."""

    limit_free: ClassVar[bool] = True
    own_workers: ClassVar[bool] = True
    title: ClassVar[str] = "CP-SAT (OR-Tools): any job shop, with proven bounds"

    def __post_init__(self) -> None:
        if self.search_workers < 0:
            raise UsageError(f"search_workers is {self.search_workers}; accepted: an integer from 0")

    def prepare(self, instance: JobShopInstance) -> None:
        from ortools.sat.python import cp_model

        from corl.solvers.jobshop.dispatch import Dispatch

        model = cp_model.CpModel()
        model.new_int_var(0, 1, "")
        cp_model.CpSolver().solve(model)
        Dispatch().prepare(instance)

    def solve(self, instance: JobShopInstance, run: Run) -> None:
        from ortools.sat.python import cp_model

        from corl.solvers.jobshop.cp_model import Model
        from corl.solvers.jobshop.dispatching import Dispatcher, rules_for

        if self.hint and run.solution is None:
            from corl.rng import random_state

            dispatcher = Dispatcher(instance)
            for rule in rules_for(instance):
                value = dispatcher.run(rule, 0.0, random_state(run.seed))
                if run.objective is None or value < run.objective:
                    run.report(dispatcher.schedule(), value)
                if run.should_stop:
                    return
        model = Model.build(instance, run.solution, lambda: run.should_stop)
        if model is None:
            return
        schedule = model.schedule
        found: deque[Schedule] = deque(maxlen=1)
        bounds: deque[float] = deque(maxlen=1)

        class Watch(cp_model.CpSolverSolutionCallback):
            def on_solution_callback(self) -> None:
                found.append(schedule(self.value))

        solver = cp_model.CpSolver()
        self._set(solver.parameters, run)
        solver.best_bound_callback = bounds.append

        def poll() -> None:
            while found:
                run.report(found.pop())
            while bounds:
                run.report_bound(_rounded(bounds.pop()))

        watch = Watch()
        status = run.call_interruptible(lambda: solver.solve(model.model, watch), solver.stop_search, poll)
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            run.report(schedule(solver.value))
            run.report_bound(_rounded(solver.best_objective_bound))
        if not run.should_stop:  # the engine's own clock ended a moment before ours
            run.stop("time_limit")

    def _set(self, parameters: Any, run: Run) -> None:
        parameters.num_workers = self.search_workers or run.workers
        parameters.random_seed = run.seed % 2**31
        parameters.catch_sigint_signal = False
        if run.time_limit is not None:
            parameters.max_time_in_seconds = max(0.01, run.remaining)


def _rounded(bound: float) -> float:
    """The least integer objective that a bound allows."""
    import math

    return float(math.ceil(bound - 1e-6))

"""`CpSat`: OR-Tools' constraint programming solver on the complete model; for any job shop, with a proven bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance
    from corl.run import Run

__all__ = ["CpSat"]


@dataclass(frozen=True)
class CpSat(Solver):
    """CP-SAT on interval variables, with a no-overlap constraint for each machine.

    An exactly-one constraint chooses the machine of an operation that has several. All side constraints are modelled; the
    sequence of a machine with set-ups is a circuit constraint. As a hint the search gets the warm start or, without one, the
    schedule of the best dispatching rule. It reports the bounds that it proves.
    """

    search_workers: int = option(
        0,
        """CP-SAT's threads; 0: as many as `workers`. With few threads CP-SAT uses fewer search strategies, so that 8 threads on
        one core can be better than 1.""",
        low=1,
        special=0,
    )
    interleave: bool = option(False, "Whether the threads take turns in a fixed order instead of running side by side.")
    hint: bool = option(True, "Whether to begin from the best dispatching rule if there is no warm start.")

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit (corl.solver)
    own_workers: ClassVar[bool] = True  # `solve` uses `run.workers` cores by itself (corl.solver)
    preparation_size: ClassVar[int] = 2  # `prepare` distinguishes sizes and integers only below this number (corl.solver)
    engine: ClassVar[str] = "CP-SAT"
    title: ClassVar[str] = "CP-SAT (OR-Tools): any job shop, with proven bounds"

    def kind(self, instance: JobShopInstance) -> str:
        from corl.solvers.jobshop.dispatch.solver import Dispatch

        return Dispatch().kind(instance)

    def prepare(self, instance: JobShopInstance) -> None:
        from corl.solvers.cp_sat import load_engine
        from corl.solvers.jobshop.dispatch.solver import Dispatch

        load_engine()
        Dispatch().prepare(instance)

    def solve(self, instance: JobShopInstance, run: Run) -> None:
        from corl.solvers.cp_sat import solve_model
        from corl.solvers.jobshop.cp_model import Model
        from corl.solvers.jobshop.dispatch.solver import Dispatch

        if self.hint and run.solution is None and not Dispatch().accepts(instance):
            _dispatch(instance, run)
        model = None if run.should_stop else Model.build(instance, run.solution, lambda: run.should_stop)
        if model is not None:
            solve_model(model.model, run, model.schedule, search_workers=self.search_workers, interleave=self.interleave)


def _dispatch(instance: JobShopInstance, run: Run) -> None:
    """Build a schedule by each dispatching rule, and report those that are better than all before."""
    from corl.rng import random_state
    from corl.solvers.jobshop.dispatch.dispatcher import Dispatcher
    from corl.solvers.jobshop.dispatch.rules import rules_for

    dispatcher = Dispatcher(instance, stopped=lambda: run.should_stop)
    for rule in rules_for(instance):
        value = dispatcher.run(rule, 0.0, random_state(run.seed))
        if value < math.inf and (run.objective is None or value < run.objective):
            run.report(dispatcher.schedule(), value)
        if run.should_stop:
            return

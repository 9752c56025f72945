"""`Neh`: the NEH heuristic, which builds one sequence by inserting the jobs one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.flowshop.instance import FlowShopInstance
    from corl.run import Run

__all__ = ["Neh"]


@dataclass(frozen=True)
class Neh(Solver):
    """Nawaz, Enscore and Ham's heuristic: jobs are inserted one after the other, each at its best position.

    The jobs with the largest sums of durations are inserted first; for the total completion time, those with the smallest. If the
    run reaches its limit before all are inserted, the remaining jobs are appended in this order.
    """

    ties: bool = option(True, "Whether positions of equal makespan are chosen by the least idle time, instead of at random.")

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit (corl.solver)
    preparation_size: ClassVar[int] = 2  # `prepare` distinguishes sizes and integers only below this number (corl.solver)
    title: ClassVar[str] = "NEH: job after job at its best place; any size"
    iteration: ClassVar[str] = "one job put in the best of all places"

    def prepare(self, instance: FlowShopInstance) -> None:
        from corl.solvers.flowshop.iterated.solver import IteratedGreedy

        IteratedGreedy().prepare(instance)

    def solve(self, instance: FlowShopInstance, run: Run) -> None:
        from corl.solvers.flowshop.bounds import lower_bound
        from corl.solvers.flowshop.iterated.search import WAITING, begin, search, sequence

        state = begin(instance, run.seed)
        while state.counts[WAITING] and (units := run.budget(int(state.counts[WAITING]))):
            search(state, units, 1, 1.0, False, self.ties)
        run.report(sequence(state))
        if not run.should_stop:
            run.report_bound(lower_bound(instance, lambda: run.should_stop))

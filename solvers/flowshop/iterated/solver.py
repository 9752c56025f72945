"""`IteratedGreedy`, the default solver: jobs are removed from a sequence and inserted again greedily, with local search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.flowshop.instance import FlowShopInstance
    from corl.run import Run

__all__ = ["IteratedGreedy"]

_TEMPERATURE = {"makespan": 0.7, "total_completion_time": 2.5}  # in tenths of the mean duration
_MAX_SIZE = 1_000_000_000  # jobs x jobs x machines up to which an insertion takes a few tenths of a second


@dataclass(frozen=True)
class IteratedGreedy(Solver):
    """Ruiz and Stützle's iterated greedy from NEH's sequence, with local search on partial sequences."""

    out: int = option(2, "Jobs removed in an iteration.", low=1)
    temperature: float = option(
        0.0,
        "Acceptance: a sequence worse by this many tenths of the mean duration is accepted with probability 1/e; 0: automatic.",
        low=0,
    )
    partial: bool = option(True, "Whether the partial sequence is improved before the removed jobs are inserted again.")
    ties: bool = option(True, "Whether positions of equal makespan are chosen by the least idle time, instead of at random.")

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit (corl.solver)
    preparation_size: ClassVar[int] = 2  # `prepare` distinguishes sizes and integers only below this number (corl.solver)
    title: ClassVar[str] = "iterated greedy with local search on partial sequences (Ruiz and Stützle; Dubois-Lacoste et al.)"
    iteration: ClassVar[str] = "one job put in the best of all places"

    def accepts(self, instance: FlowShopInstance) -> str:
        cells = instance.jobs * instance.duration.size
        if instance.objective == "total_completion_time" and cells > _MAX_SIZE:
            return f"jobs x jobs x machines are {cells:,}; accepted for the total completion time: up to {_MAX_SIZE:,}"
        return ""

    def prepare(self, instance: FlowShopInstance) -> None:
        from corl.problems.flowshop.generators import taillard
        from corl.solvers.flowshop.iterated.search import BEST, begin, begin_at, search, sequence

        for objective in ("makespan", "total_completion_time"):
            state = begin(taillard(jobs=5, machines=2, objective=objective), 0)
            search(state, 100, 2, 1.0, True, True)
            begin_at(state, sequence(state), float(state.counts[BEST]))

    def solve(self, instance: FlowShopInstance, run: Run) -> None:
        from corl.solvers.flowshop.bounds import lower_bound
        from corl.solvers.flowshop.iterated.search import BEST, WAITING, begin, begin_at, search, sequence

        if instance.jobs == 1:
            run.report([0])
            return
        state, temperature = begin(instance, run.seed), self._temperature_in_units(instance)
        if run.solution is not None and run.objective is not None:
            begin_at(state, run.solution, run.objective)
        has_bound = False
        while units := run.budget():
            search(state, units, self.out, temperature, self.partial, self.ties)
            best = int(state.counts[BEST])
            if best >= 0 and (run.objective is None or best < run.objective):
                run.report(sequence(state), best)
            elif best < 0 and run.objective is None and not state.counts[WAITING]:
                run.report(sequence(state))  # the sequence is complete, but local search has not finished yet
            if run.objective is not None and not has_bound and not run.should_stop:
                has_bound = True
                run.report_bound(lower_bound(instance, lambda: run.should_stop))
        if run.objective is None:
            run.report(sequence(state))

    def _temperature_in_units(self, instance: FlowShopInstance) -> float:
        """Return the temperature in the objective's units."""
        return 0.1 * (self.temperature or _TEMPERATURE[instance.objective]) * float(instance.duration.mean())

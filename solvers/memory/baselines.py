"""`AllSlow`: the plan with no tensor in fast memory, from which speed-ups are measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.memory.instance import MappingInstance
    from corl.run import Run

__all__ = ["AllSlow"]


@dataclass(frozen=True)
class AllSlow(Solver):
    """Leave everything in slow memory."""

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit
    title: ClassVar[str] = "everything in slow memory"

    def solve(self, instance: MappingInstance, run: Run) -> None:
        import numpy as np

        from corl.problems.memory.instance import MappingPlan
        from corl.solvers.memory.bounds import best_bound

        run.report(MappingPlan(np.zeros((0, 4), np.int64), np.zeros((0, 4), np.int64)))
        run.report_bound(best_bound(instance, lambda: run.remaining))

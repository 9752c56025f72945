"""`Exact`: proven optima, by dynamic programming up to 12 cities and by branch and cut for larger symmetric instances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.tsp.instance import TspInstance
    from corl.run import Run

__all__ = ["Exact"]

_DYNAMIC_PROGRAMMING_CITIES = 12
_MOST_CITIES = 400  # keeps LP and matrix small; from about 200 cities on a proof takes minutes


@dataclass(frozen=True)
class Exact(Solver):
    """Dynamic programming (Held & Karp) up to 12 cities, in milliseconds; branch and cut for larger symmetric instances.

    Branch and cut consists of subtour cuts, reduced-cost fixing and SCIP. If the time does not suffice for the proof, the bound
    is that of the subtour relaxation (about 0.7 % below the optimum) or better, and the tour is that of `eax`.
    """

    heuristic_seconds: float = option(0.01, "Seconds per city that eax may take for the first tours.", above=0, scale="log")

    preparation_size: ClassVar[int] = 24  # sizes and integers from 24 on need the same preparation (Solver.preparation_size)
    title: ClassVar[str] = "proven optimum: dynamic programming, or branch and cut for symmetric instances"

    def accepts(self, instance: TspInstance) -> str:
        if instance.n <= _DYNAMIC_PROGRAMMING_CITIES:
            return ""
        if not instance.symmetric:
            return f"it takes asymmetric instances up to {_DYNAMIC_PROGRAMMING_CITIES} cities, not {instance.n}"
        if instance.n > _MOST_CITIES:
            return f"it takes up to {_MOST_CITIES} cities, not {instance.n}"
        return ""

    def prepare(self, instance: TspInstance) -> None:
        import numpy as np

        from corl.problems.tsp.metric import metric_of
        from corl.solvers.tsp.exact.dynamic_programming import shortest_tour

        shortest_tour(metric_of(instance), 1)
        if instance.n > _DYNAMIC_PROGRAMMING_CITIES:
            import pyscipopt  # noqa: F401

            from corl.solvers.tsp.distance_matrix import compile_dense
            from corl.solvers.tsp.eax.solver import Eax
            from corl.solvers.tsp.exact.cuts import sides_below

            Eax().prepare(instance)
            compile_dense(instance)
            sides_below(np.ones((3, 3)), 0.0)

    def solve(self, instance: TspInstance, run: Run) -> None:
        from corl.problems.tsp.metric import metric_of
        from corl.solvers.tsp.exact.dynamic_programming import shortest_tour

        if instance.n <= _DYNAMIC_PROGRAMMING_CITIES:
            run.report(shortest_tour(metric_of(instance), instance.n))
            assert run.objective is not None
            run.report_bound(run.objective)
            return
        from corl.solvers.tsp.exact.branch import branch_and_cut

        branch_and_cut(instance, run, self.heuristic_seconds * instance.n)

"""`Auto`: the solver that our benchmarks show best for an instance's kind, its size and the time given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.tsp.instance import TspInstance
    from corl.run import Run

__all__ = ["Auto"]

# From the benchmark: eax converges in the time given up to about here, and beyond ils is ahead.
_EXACT_CITIES = 12
_EAX_CITIES = 20_000
_EAX_SECONDS_PER_CITY = 1e-3
_EAX_ITERATIONS_PER_CITY = 1.0


@dataclass(frozen=True)
class Auto(Solver):
    """exact up to 12 cities; eax for symmetric instances with time enough; ils for short limits, larger and asymmetric ones."""

    title: ClassVar[str] = "chooses among exact, eax and ils by kind, size and time"
    iteration: ClassVar[str] = "what the chosen solver says: a start tour or the mating of two (eax), a kick (ils)"

    def prepare(self, instance: TspInstance) -> None:
        for name in _candidates(instance):
            _solver(name).prepare(instance)

    def solve(self, instance: TspInstance, run: Run) -> None:
        run.chosen = _choose(instance, run)
        _solver(run.chosen).solve(instance, run)


def _candidates(instance: TspInstance) -> tuple[str, ...]:
    """What `_choose` may come to for instances of this kind and size."""
    if instance.n <= _EXACT_CITIES:
        return ("exact",)
    if not instance.symmetric or instance.n > _EAX_CITIES:
        return ("ils",)
    return ("eax", "ils")


def _choose(instance: TspInstance, run: Run) -> str:
    """The first of the candidates for which the time (or the iterations) given is enough."""
    first, *others = _candidates(instance)
    if first != "eax":
        return first
    if run.iterations is not None:
        enough = run.iterations >= _EAX_ITERATIONS_PER_CITY * instance.n
    else:
        enough = run.remaining >= _EAX_SECONDS_PER_CITY * instance.n
    return first if enough else others[0]


def _solver(name: str) -> Solver:
    if name == "exact":
        from corl.solvers.tsp.exact import Exact

        return Exact()
    if name == "eax":
        from corl.solvers.tsp.eax import Eax

        return Eax()
    from corl.solvers.tsp.ils import Ils

    return Ils()

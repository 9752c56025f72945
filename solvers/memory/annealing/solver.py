"""`Annealing`: simulated annealing over the accesses that fast memory serves; every move is simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from corl.errors import UsageError
from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.memory.instance import MappingInstance
    from corl.run import Run

__all__ = ["Annealing"]


@dataclass(frozen=True)
class Annealing(Solver):
    """Improve the best plan of a learned priority, `xla-like` and `greedy-keep` by simulated annealing.

    A run is a set of consecutive accesses of a tensor that fast memory serves. A move inserts a run and removes the runs in its
    way, removes a run, changes when a run begins or ends, or packs all runs again; then the program is simulated. The temperature
    falls from `hot` to `cold`, `coolings` times.
    """

    start: Literal["learned", "xla-like"] = option(
        "learned", "The first plan: with or without plans of the shipped network `memory-priority`."
    )
    hot: float = option(1e-3, "The first temperature, as a share of the first plan's time.", above=0, high=1, scale="log")
    cold: float = option(1e-6, "The last temperature, in the same unit; at most `hot`.", above=0, high=1, scale="log")
    coolings: int = option(1, "Number of coolings, each from the best plan so far.", low=1, scale="log")

    preparation_size: ClassVar[int] = 2  # sizes and integers from 2 on need the same preparation (Solver.preparation_size)
    title: ClassVar[str] = "simulated annealing over what is in fast memory when and where, every move simulated"
    iteration: ClassVar[str] = "one move"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cold > self.hot:
            raise UsageError(f"option cold is {self.cold}; accepted: a number up to hot, {self.hot}")

    def prepare(self, instance: MappingInstance) -> None:
        from corl.solvers.memory.constructions import warm_up

        warm_up(self.solve)

    def solve(self, instance: MappingInstance, run: Run) -> None:
        from corl.solvers.memory.annealing.engine import solve

        solve(self, instance, run)

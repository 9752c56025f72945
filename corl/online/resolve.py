"""`Resolve`: a static solver solves what is known, again from the current plan, at every decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from corl.errors import SolverError
from corl.online.stream import Decision, OnlinePolicy, Seeds, Stream
from corl.options import option
from corl.solver import Solver

__all__ = ["Resolve"]

_SHARE = 0.9  # of a decision's time limit for the search; solvers end up to 30 ms late, and the rest is overhead


@dataclass(frozen=True)
class Resolve(OnlinePolicy):
    """Re-solving, for every family whose stream has `problem_now` and `decision_from`."""

    solver: str | Solver = option("auto", "The static solver: a name (corl list solvers) or, from Python, a Solver.")
    iterations: int = option(0, "The solver's iterations per decision; 0: as many as the decision's time limit permits.", low=0)

    title: ClassVar[str] = "re-solving: a static solver plans what is known at every decision"

    def prepare(self, instance: Any) -> None:
        from corl import options, registry
        from corl.preparation import prepare

        problem = registry.problem_of(instance)
        if isinstance(self.solver, Solver):
            prepare(self.solver, instance)
        elif problem is not None:
            name = registry.choose(problem.name, self.solver, instance, None, None)
            prepare(options.build(registry.solver(problem.name, name), {}), instance)

    def decide(self, stream: Stream, knowledge: Any, seconds: float, seeds: Seeds) -> Decision:
        from corl.solving import solve

        instance, warm_start = stream.problem_now(knowledge)
        limit = {"iterations": self.iterations} if self.iterations else {"time_limit": _SHARE * seconds}
        result = solve(instance, solver=self.solver, seed=seeds.decision, warm_start=warm_start, **limit)
        if result.limit == "interrupted":
            raise KeyboardInterrupt
        if result.solution is None:
            raise SolverError(f"solver {result.solver} finds no solution of what is known: {result.reason or result.status}")
        return stream.decision_from(knowledge, result.solution)

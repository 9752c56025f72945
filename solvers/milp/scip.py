"""SCIP: with its defaults, and with one branching rule before all others, as learned branching is compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance
    from corl.run import Run
    from corl.solvers.milp.scip_model import Engine

__all__ = ["Scip", "ScipFullStrong", "ScipPscost", "ScipRelpscost"]

_FIRST = 536_870_910  # one below the highest priority that SCIP takes for a branching rule, where measuring rules listen
_ROOT_CUTS = {"separating/maxrounds": 0, "presolving/maxrestarts": 0}


@dataclass(frozen=True)
class Scip(Solver):
    """SCIP in a helper thread, so that time limits and Ctrl-C hold; every solution that it finds is reported."""

    root_cuts: bool = False
    """Whether cuts are made at the root only and there are no restarts: the setting in which Gasse et al. (2019) and those
    after them compare branching rules."""

    rule: ClassVar[str] = ""
    iteration: ClassVar[str] = "a node of SCIP's tree"
    limit_free: ClassVar[bool] = True
    title: ClassVar[str] = "SCIP with its defaults"

    def prepare(self, instance: MilpInstance) -> None:
        import pyscipopt  # noqa: F401

    def parameters(self) -> dict[str, Any]:
        """SCIP's parameters that differ from its defaults."""
        settings: dict[str, Any] = dict(_ROOT_CUTS) if self.root_cuts else {}
        return settings | ({f"branching/{self.rule}/priority": _FIRST} if self.rule else {})

    def plug(self, engine: Engine) -> None:
        """Add what SCIP has not of itself to the model, before it is solved."""

    def solve(self, instance: MilpInstance, run: Run) -> None:
        from corl.solvers.milp.reporting import contradictory

        if contradictory(instance):
            run.report_infeasible()
            return
        status = self._solve_once(instance, run)
        if status == "infeasible":
            run.report_infeasible()
        elif status == "unbounded":
            run.stop("unbounded")
        elif status == "inforunbd":
            self._decide(instance, run)
        elif status == "timelimit":
            run.stop("time_limit")  # the engine's own clock ended a moment before ours; the first reason stays
        elif status in ("totalnodelimit", "nodelimit"):
            run.stop("iterations")

    def _solve_once(self, instance: MilpInstance, run: Run, asked: MilpInstance | None = None) -> str:
        """Solve `asked` (`instance` if it is None), whose solutions are solutions of `instance`; returns SCIP's status."""
        from corl.solvers.milp.reporting import report_bound, report_values
        from corl.solvers.milp.scip_model import Engine

        def tell(kind: str, value: Any) -> None:
            if kind == "solution":
                report_values(run, instance, value)
            elif asked is None:
                report_bound(run, value)

        engine = Engine(asked or instance, run, self.parameters())
        try:
            self.plug(engine)
            status = engine.solve(tell)
        finally:
            engine.close()
        if status == "optimal" and asked is None and run.objective is not None and run.bound is not None:
            report_bound(run, run.objective if _agree(run.objective, run.bound) else run.bound)
        return status

    def _decide(self, instance: MilpInstance, run: Run) -> None:
        """Infeasible or unbounded: any solution says which."""
        import numpy as np

        status = self._solve_once(instance, run, replace(instance, c=np.zeros(instance.n), offset=0.0))
        if status == "infeasible":
            run.report_infeasible()
        elif run.solution is not None:
            run.stop("unbounded")


def _agree(objective: float, bound: float) -> bool:
    """Whether SCIP, which calls it optimal, differs from our evaluation by no more than its tolerances."""
    return abs(objective - bound) <= 1e-6 * max(1.0, abs(objective))


@dataclass(frozen=True)
class ScipRelpscost(Scip):
    """SCIP branching by reliability on pseudocosts (Achterberg, Koch and Martin 2005), its default."""

    rule: ClassVar[str] = "relpscost"
    title: ClassVar[str] = "SCIP, reliability branching"


@dataclass(frozen=True)
class ScipPscost(Scip):
    """SCIP branching on pseudocosts alone."""

    rule: ClassVar[str] = "pscost"
    title: ClassVar[str] = "SCIP, pseudocost branching"


@dataclass(frozen=True)
class ScipFullStrong(Scip):
    """SCIP with full strong branching: the smallest trees and the slowest nodes."""

    rule: ClassVar[str] = "fullstrong"
    title: ClassVar[str] = "SCIP, full strong branching"

"""SCIP as a solver: with its defaults and, for comparison with learned branching, with one of its own branching rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from corl.options import option
from corl.solver import Solver
from corl.solvers.milp.scip import FIRST

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance
    from corl.run import Run
    from corl.solvers.milp.reporting import Question
    from corl.solvers.milp.scip.model import Engine

__all__ = ["Scip", "ScipFullStrong", "ScipPscost", "ScipRelpscost"]

_ROOT_CUTS = {"separating/maxrounds": 0, "presolving/maxrestarts": 0}


@dataclass(frozen=True)
class Scip(Solver):
    """SCIP in a helper thread, so that time limits and Ctrl-C take effect; every better solution is reported.

    Its proofs are not used if a row's largest coefficient is more than 1e9 times its smallest (1e6 with continuous variables), or
    if its side is more than 1e8 times its smallest coefficient: SCIP's tolerances make them unreliable.
    """

    root_cuts: bool = option(
        False,
        "Whether cuts are added only at the root and restarts are off, as in Gasse et al. (2019) and later papers.",
    )

    heuristics: bool = option(True, "Whether SCIP's primal heuristics run.")

    rule: ClassVar[str] = ""  # the branching rule of SCIP that gets priority; "": none
    iteration: ClassVar[str] = "a node of SCIP's tree"
    limit_free: ClassVar[bool] = True  # the search is the same for every time limit
    engine: ClassVar[str] = "SCIP"
    title: ClassVar[str] = "SCIP with its defaults"

    def prepare(self, instance: MilpInstance) -> None:
        import pyscipopt  # noqa: F401

    def parameters(self) -> dict[str, Any]:
        """Return SCIP's parameters that differ from its defaults."""
        settings: dict[str, Any] = dict(_ROOT_CUTS) if self.root_cuts else {}
        return settings | ({f"branching/{self.rule}/priority": FIRST} if self.rule else {})

    def plug(self, engine: Engine) -> None:
        """Add plugins to the model before it is solved; subclasses override this."""

    def solve(self, instance: MilpInstance, run: Run) -> None:
        from corl.solvers.milp.reporting import Question

        question = Question(run, instance)
        status = self._ask(question)
        while status == "optimal" and not question.done():
            status = self._ask(question)
        if status == "inforunbd":
            status = self._decide(question)
        if status == "infeasible":
            question.infeasible()
        elif status == "unbounded":
            question.unbounded()
        elif status == "timelimit":
            run.stop("time_limit")  # SCIP's clock may reach the limit slightly before the run's; the first reason is kept
        elif status in ("totalnodelimit", "nodelimit"):
            run.stop("iterations")
        question.close()

    def _ask(self, question: Question, program: MilpInstance | None = None) -> str:
        """Solve the question's program and return SCIP's status.

        If `program` is given, which has the same rows and no objective, it is solved instead of the question's program.
        """
        from pyscipopt.scip import PY_SCIP_PARAMSETTING

        from corl.solvers.milp.scip.model import Engine

        def report(kind: str, value: Any) -> None:
            if kind == "solution":
                question.values(value)
            elif program is None:
                question.bound(value)

        engine = Engine(program or question.program, question.run, self.parameters(), question.start)
        try:
            if not self.heuristics:
                engine.model.setHeuristics(PY_SCIP_PARAMSETTING.OFF)
            self.plug(engine)
            return engine.solve(report)
        finally:
            engine.close()

    def _decide(self, question: Question) -> str:
        """Return the status of a program that SCIP calls infeasible or unbounded: unbounded if it has a solution."""
        import numpy as np

        status = "unbounded"
        if question.run.solution is None:
            status = self._ask(question, replace(question.program, c=np.zeros(question.program.n), offset=0.0))
        return status if question.run.solution is None else "unbounded"


@dataclass(frozen=True)
class ScipRelpscost(Scip):
    """SCIP with reliability branching on pseudocosts (Achterberg, Koch and Martin 2005), its default."""

    rule: ClassVar[str] = "relpscost"
    title: ClassVar[str] = "SCIP, reliability branching"


@dataclass(frozen=True)
class ScipPscost(Scip):
    """SCIP with pseudocost branching alone."""

    rule: ClassVar[str] = "pscost"
    title: ClassVar[str] = "SCIP, pseudocost branching"


@dataclass(frozen=True)
class ScipFullStrong(Scip):
    """SCIP with full strong branching: the smallest trees, but the slowest nodes."""

    rule: ClassVar[str] = "fullstrong"
    title: ClassVar[str] = "SCIP, full strong branching"

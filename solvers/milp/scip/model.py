"""`Engine`: solves a program with SCIP in a helper thread and reports solutions and bounds as they are found."""

from __future__ import annotations

import contextlib
import math
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyscipopt
from numpy.typing import NDArray
from pyscipopt.scip import PY_SCIP_EVENTTYPE as SCIP_EVENTTYPE
from pyscipopt.scip import PY_SCIP_STAGE as SCIP_STAGE
from pyscipopt.scip import Expr, ExprCons, Term

from corl.problems.milp.instance import MilpInstance
from corl.problems.milp.linearisation import linear
from corl.solvers.milp.scip import FIRST

if TYPE_CHECKING:
    from corl.run import Run

__all__ = ["Callbacks", "Engine", "fill"]

_ROWS_PER_CHECK = 100  # rows that are added between two checks of the time limit
_SEEDS = 2**31  # the number of random seeds that SCIP accepts
_DUALSPARSIFY_SECONDS = 5e-6  # per nonzero, of the presolver dualsparsify, which ignores time limits and requests to end
_DUALSPARSIFY_SHARE = 0.1  # dualsparsify is switched off if it may take more than this fraction of the remaining time


class Callbacks:
    """Runs the callbacks of one solve. The first exception is stored in `error` and ends the solve."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.error: BaseException | None = None

    def call(self, function: Callable[[], Any], otherwise: Any) -> Any:
        """Return the result of `function`, or `otherwise` after an exception in this call or an earlier one."""
        if self.error is None:
            try:
                return function()
            except BaseException as error:  # SCIP would replace it by "unspecified error"
                self.error = error
                self.model.interruptSolve()
        return otherwise


class _Model(pyscipopt.Model):
    """A Model that lists its plugins, so that `Engine.close` can break the reference cycle between them.

    The cycle would keep 8 MB of memory per Model until the next garbage collection.
    """

    plugins: list[Any]

    def includeBranchrule(self, rule: Any, *arguments: Any) -> None:
        super().includeBranchrule(rule, *arguments)
        self.plugins.append(rule)

    def includeEventhdlr(self, handler: Any, *arguments: Any) -> None:
        super().includeEventhdlr(handler, *arguments)
        self.plugins.append(handler)


class Engine:
    """A program in one SCIP Model; `close` frees it."""

    def __init__(
        self, instance: MilpInstance, run: Run, parameters: Mapping[str, Any], begin: NDArray[np.float64] | None = None
    ) -> None:
        """Create the Model.

        Args:
            instance: A program of n variables. Its conditions become rows with further variables.
            run: The run, whose limits and seed become SCIP's.
            parameters: Further parameters of SCIP, by name.
            begin: float64 [n], a solution to start from, or None.
        """
        self.instance, self.run = instance, run
        self.model: Any = (model := _Model(instance.name or "milp"))
        model.plugins = []
        model.hideOutput()
        self.callbacks = Callbacks(model)
        program = linear(instance)
        self.variables = fill(model, program.program, lambda: run.should_stop)
        model.setParam("misc/catchctrlc", False)
        model.setParam("timing/clocktype", 2)
        model.setParam("randomization/randomseedshift", run.seed % _SEEDS)
        if run.iterations is not None:
            model.setParam("limits/totalnodes", run.iterations)
        if math.isfinite(run.remaining):
            model.setParam("limits/time", max(run.remaining, 0.01))
            if instance.nonzeros * _DUALSPARSIFY_SECONDS > _DUALSPARSIFY_SHARE * run.remaining:
                model.setParam("presolving/dualsparsify/maxrounds", 0)
        for name, value in parameters.items():
            model.setParam(name, value)
        self.improvements = _Improvements(self)
        model.includeEventhdlr(self.improvements, "corl_news", "better solutions and bounds, for the Run")
        if begin is not None:
            start = model.createSol()
            for variable, value in zip(self.variables, program.extend(begin).tolist()):
                model.setSolVal(start, variable, value)
            model.addSol(start)

    def add(self, rule: pyscipopt.Branchrule, name: str, title: str, priority: int = FIRST) -> None:
        """Add a branching rule, with priority over SCIP's own."""
        self.model.includeBranchrule(rule, name, title, priority, -1, 1.0)

    def values(self, solution: Any) -> NDArray[np.float64]:
        """Return the values of a SCIP solution in the instance's order of variables, float64 [n]."""
        return np.array([self.model.getSolVal(solution, variable) for variable in self.variables[: self.instance.n]])

    def solve(self, report: Callable[[str, Any], object]) -> str:
        """Run SCIP until it has solved the program or the Run must end; return SCIP's status.

        `report` is called with ("solution", x) and ("bound", value) during the solve, and with the final solution and bound. An
        exception in a callback or in `report` ends the solve and is raised here.
        """
        if self.run.should_stop:  # then `fill` may have stopped before it added all rows
            return "userinterrupt"
        errors: list[BaseException] = []

        def poll() -> None:
            try:
                while self.improvements.found and not errors:
                    report(*self.improvements.found.popleft())
            except BaseException as error:
                errors.append(error)
                self.run.stop()

        def work() -> None:
            try:
                self.model.optimizeNogil()
            except BaseException:
                if self.callbacks.error is None:
                    raise

        self.run.call_interruptible(work, self._interrupt, poll)
        for error in (*errors, self.callbacks.error):
            if error is not None:
                raise error
        if self.model.getNSols():
            report("solution", self.values(self.model.getBestSol()))
        report("bound", float(self.model.getDualbound()))
        return str(self.model.getStatus())

    def _interrupt(self) -> None:
        """Ask SCIP to end. SCIP refuses while it initialises its tree; the Run repeats the request a moment later."""
        if self.model.getStage() != SCIP_STAGE.INITSOLVE:
            with contextlib.suppress(Exception):  # SCIP may have reached that stage since the check
                self.model.interruptSolve()

    def close(self) -> None:
        """Free the program's memory now; SCIP itself is freed with the last reference to this engine."""
        self.improvements.engine = None
        self.variables = []
        self.model.freeProb()
        for plugin in (*self.model.plugins, self.callbacks):
            plugin.model = None
        self.model.plugins.clear()


class _Improvements(pyscipopt.Eventhdlr):
    """Collects better solutions and bounds in SCIP's thread, for `Engine.solve` to report in the main thread."""

    def __init__(self, engine: Engine) -> None:
        self.engine: Engine | None = engine
        self.found: deque[tuple[str, Any]] = deque()
        self.bound = math.nan

    def eventinit(self) -> None:
        for kind in (SCIP_EVENTTYPE.BESTSOLFOUND, SCIP_EVENTTYPE.LPSOLVED):
            self.model.catchEvent(kind, self)

    def eventexit(self) -> None:
        for kind in (SCIP_EVENTTYPE.BESTSOLFOUND, SCIP_EVENTTYPE.LPSOLVED):
            self.model.dropEvent(kind, self)

    def eventexec(self, event: Any) -> None:
        if self.engine is not None:
            self.engine.callbacks.call(lambda: self._keep(event.getType()), None)

    def _keep(self, kind: int) -> None:
        assert self.engine is not None
        if kind == SCIP_EVENTTYPE.BESTSOLFOUND:
            self.found.append(("solution", self.engine.values(self.model.getBestSol())))
            return
        bound = float(self.model.getDualbound())
        if bound != self.bound:
            self.bound = bound
            self.found.append(("bound", bound))


def fill(model: Any, instance: MilpInstance, stop: Callable[[], bool] = lambda: False) -> list[Any]:
    """Add an instance's variables and rows to a Model; return the variables.

    Rows without coefficients, and rows without sides, are skipped. Once `stop` returns True, no further rows are added.
    """
    limits = zip(instance.lower.tolist(), instance.upper.tolist())
    kinds = np.where(instance.binary, "B", np.where(instance.integer, "I", "C")).tolist()
    variables = [
        model.addVar(name, kind, None if math.isinf(low) else low, None if math.isinf(high) else high, obj=cost)
        for name, kind, (low, high), cost in zip(instance.names, kinds, limits, instance.c.tolist())
    ]
    (model.setMaximize if instance.sense == "max" else model.setMinimize)()
    if instance.offset:
        model.addObjoffset(instance.offset)
    terms = [Term(variable) for variable in variables]
    columns, values, first = instance.column.tolist(), instance.value.tolist(), instance.first.tolist()
    for i, (name, low, high) in enumerate(zip(instance.row_names, instance.row_lower.tolist(), instance.row_upper.tolist())):
        if i % _ROWS_PER_CHECK == 0 and stop():
            break
        if first[i] == first[i + 1] or (math.isinf(low) and math.isinf(high)):
            continue
        row = Expr({terms[columns[k]]: values[k] for k in range(first[i], first[i + 1])})
        sides = (None if math.isinf(low) else low, None if math.isinf(high) else high)
        model.addCons(ExprCons(row, *sides), name)
    return variables

"""The integer programme of branch and cut in SCIP; a constraint handler adds sub-tour elimination constraints when needed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyscipopt
from numpy.typing import NDArray
from pyscipopt.scip import PY_SCIP_RESULT as SCIP_RESULT

from corl.solvers.tsp.exact.cuts import Relaxation, sides_below

__all__ = ["Programme"]

_VIOLATED = 2.0 - 1e-3  # a cut that weighs less in an LP solution is added (in a tour it weighs 2 or more)
_CONNECTED = 1.0  # a cut that weighs less in an integral solution has no edges: the solution consists of sub-tours


class Programme:
    """The integer programme: a shortest tour over the edges of a relaxation, if one is shorter than `limit`.

    `needed`, bool [m], marks edges that every such tour contains; SCIP may take `seconds`.
    """

    def __init__(self, relaxation: Relaxation, needed: NDArray[np.bool_], limit: float, seconds: float) -> None:
        self.bound = -math.inf
        """The dual bound at the last call of the constraint handler."""
        self._limit = limit
        self._model = model = pyscipopt.Model()
        model.hideOutput()
        model.setParam("misc/catchctrlc", False)
        model.setParam("misc/allowstrongdualreds", False)  # the constraint handler has more constraints than the model's rows
        if math.isfinite(seconds):
            model.setParam("limits/time", max(seconds, 0.01))
        i, j = relaxation.edges.T
        costs = relaxation.matrix[i, j]
        self.x = [model.addVar(vtype="B", obj=float(c), lb=float(must)) for c, must in zip(costs, needed)]
        for rows, exactly in ((relaxation.degree_rows(), True), (relaxation.rows(), False)):
            for r in range(rows.shape[0]):
                total = pyscipopt.quicksum(self.x[e] for e in rows.indices[rows.indptr[r] : rows.indptr[r + 1]])
                model.addCons(total == 2 if exactly else total >= 2)
        model.setObjlimit(limit)
        handler = _Subtours(self, relaxation.edges, len(relaxation.matrix))
        model.includeConshdlr(
            handler, "subtours", "x(delta(S)) >= 2", sepapriority=0, enfopriority=-1, chckpriority=-1, sepafreq=1,
            propfreq=-1, eagerfreq=-1, maxprerounds=0, delaysepa=False, delayprop=False, needscons=False,
        )  # fmt: skip

    def solve(self) -> None:
        """Run SCIP; blocks until it ends, without holding the interpreter's lock."""
        self._model.optimizeNogil()

    def stop(self) -> None:
        """Ask `solve` to return; may be called from any thread."""
        self._model.interruptSolve()

    def chosen(self) -> NDArray[np.bool_] | None:
        """Return the edges of the best tour that is shorter than the limit, bool [m]; None if none was found."""
        model = self._model
        if model.getNSols() == 0:
            return None
        solution = model.getBestSol()
        chosen = np.array([model.getSolVal(solution, v) > 0.5 for v in self.x])
        return chosen if model.getSolObjVal(solution) < self._limit else None

    def final_bound(self) -> float:
        """Return a lower bound on the length of any tour of these edges that is shorter than the limit; inf if none exists."""
        if self._model.getStatus() == "infeasible":
            return math.inf
        bound = float(self._model.getDualbound())
        return bound if abs(bound) < 1e15 else -math.inf


class _Subtours(pyscipopt.Conshdlr):
    """SCIP's constraint handler of all subtour cuts, which adds the cuts that a solution violates as constraints."""

    def __init__(self, programme: Programme, edges: NDArray[np.int64], n: int) -> None:
        self._programme, self._edges, self._n = programme, edges, n

    def _sides(self, solution: Any, most: float) -> NDArray[np.bool_]:
        """Return vertex sets whose cuts weigh less than `most` in a solution (None: that of the LP), bool [k, n]."""
        values = np.array([self.model.getSolVal(solution, v) for v in self._programme.x])
        weights = np.zeros((self._n, self._n))
        weights[self._edges[:, 0], self._edges[:, 1]] = values
        return sides_below(weights + weights.T, most)

    def _cut(self, most: float) -> Any:
        """Add the cuts that weigh less than `most` in the LP solution; return SCIP's result, None if there is no such cut."""
        bound = float(self.model.getDualbound())
        if abs(bound) < 1e15:
            self._programme.bound = max(self._programme.bound, bound)
        sides = self._sides(None, most)
        for side in sides:
            crossing = np.flatnonzero(side[self._edges[:, 0]] != side[self._edges[:, 1]])
            self.model.addCons(pyscipopt.quicksum(self._programme.x[e] for e in crossing) >= 2, removable=True, initial=True)
        return SCIP_RESULT.CONSADDED if len(sides) else None

    # The callbacks of SCIP, with PySCIPOpt's names and arguments
    def conscheck(
        self,
        constraints: list[Any],
        solution: Any,
        checkintegrality: bool,
        checklprows: bool,
        printreason: bool,
        completely: bool,
    ) -> dict[str, Any]:
        good = not len(self._sides(solution, _CONNECTED))
        return {"result": SCIP_RESULT.FEASIBLE if good else SCIP_RESULT.INFEASIBLE}

    def consenfolp(self, constraints: list[Any], n_useful: int, solinfeasible: bool) -> dict[str, Any]:
        return {"result": self._cut(_VIOLATED) or SCIP_RESULT.FEASIBLE}

    def consenfops(self, constraints: list[Any], n_useful: int, solinfeasible: bool, objinfeasible: bool) -> dict[str, Any]:
        return {"result": SCIP_RESULT.SOLVELP}

    def conssepalp(self, constraints: list[Any], n_useful: int) -> dict[str, Any]:
        return {"result": self._cut(_VIOLATED) or SCIP_RESULT.DIDNOTFIND}

    def conslock(self, constraint: Any, locktype: int, nlockspos: int, nlocksneg: int) -> None:
        for v in self._programme.x:
            self.model.addVarLocks(v, nlocksneg + nlockspos, nlockspos + nlocksneg)

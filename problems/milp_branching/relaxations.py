"""The linear relaxations of a program's nodes, each solved from scratch by HiGHS's dual simplex method (through SciPy).

The result depends only on the program and the limits of the node. An environment can therefore copy its rows, and an episode is
bit-identical whatever was solved before it. The latest relaxations are cached.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.errors import SolverError, UsageError
from corl.problems.milp.instance import MilpInstance

__all__ = ["OutOfTime", "Relaxation", "Relaxations"]

_MAX_CACHED = 20_000  # relaxations in the cache; about 4 KB each for 300 columns and 200 rows
_OPTIMAL, _LIMIT, _INFEASIBLE, _UNBOUNDED = range(4)  # SciPy's statuses


class OutOfTime(Exception):
    """A relaxation could not be solved within the remaining time."""


class Relaxation(NamedTuple):
    """An optimal solution of a node's linear program, which is minimised: the objective of a maximised program is negated."""

    objective: float
    """The minimum, without the program's constant; inf if the relaxation is infeasible."""
    x: NDArray[np.float64]
    """[n] the values of the variables."""
    duals: NDArray[np.float64]
    """[m] by how much the objective rises per unit of a row's side; 0 if neither side of the row is tight."""


class Relaxations:
    """Solves the relaxations of one program with different limits. `remaining` returns the seconds left for all solves."""

    def __init__(self, program: MilpInstance, remaining: Callable[[], float] = lambda: math.inf) -> None:
        from scipy.sparse import csr_array, vstack

        self.program, self._remaining = program, remaining
        self.sign = -1.0 if program.sense == "max" else 1.0
        equal = program.row_lower == program.row_upper
        self._parts = (  # indices of equations, of rows with an upper side, of rows with a lower side
            np.flatnonzero(equal),
            np.flatnonzero(~equal & np.isfinite(program.row_upper)),
            np.flatnonzero(~equal & np.isfinite(program.row_lower)),
        )
        matrix = csr_array(program.matrix)
        equations, uppers, lowers = self._parts
        inequalities = vstack([matrix[uppers], -matrix[lowers]], format="csr") if len(uppers) + len(lowers) else None
        self._rows = {
            "A_eq": matrix[equations] if len(equations) else None,
            "b_eq": program.row_lower[equations] if len(equations) else None,
            "A_ub": inequalities,
            "b_ub": np.concatenate([program.row_upper[uppers], -program.row_lower[lowers]]) if inequalities is not None else None,
        }
        self._remembered: OrderedDict[bytes, Relaxation] = OrderedDict()

    def solve(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> Relaxation:
        """Return the relaxation with these limits, float64 [n] each. Raises UsageError if it is unbounded, and OutOfTime."""
        key = lower.tobytes() + upper.tobytes()
        found = self._remembered.get(key)
        if found is None:
            found = self._solve(lower, upper)
            self._remembered[key] = found
            if len(self._remembered) > _MAX_CACHED:
                self._remembered.popitem(last=False)
        return found

    def _solve(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> Relaxation:
        """Solve the relaxation by HiGHS; see `solve`."""
        from scipy.optimize import linprog

        program = self.program
        infeasible = Relaxation(np.inf, np.zeros(program.n), np.zeros(program.m))
        if (lower > upper).any():
            return infeasible
        bounds = np.stack([lower, upper], axis=1)
        for presolve in (True, False):  # with presolve, HiGHS may report "infeasible or unbounded" without saying which
            if (seconds := self._remaining()) <= 0.0:
                raise OutOfTime
            options = {"presolve": presolve} | ({"time_limit": seconds} if seconds < math.inf else {})
            result = linprog(self.sign * program.c, bounds=bounds, method="highs-ds", options=options, **self._rows)
            if result.status == _LIMIT:
                raise OutOfTime
            if result.status == _INFEASIBLE:
                return infeasible
            if result.status == _OPTIMAL:
                return Relaxation(float(result.fun), np.asarray(result.x, np.float64), self._duals(result))
        if result.status == _UNBOUNDED:
            raise UsageError(f"{program.name or 'the program'}: its linear relaxation is unbounded; accepted: a bounded one")
        raise SolverError(f"HiGHS on a linear relaxation: {result.message}")

    def _duals(self, found: object) -> NDArray[np.float64]:
        """Return the duals in the order of the program's rows, from SciPy's result."""
        duals = np.zeros(self.program.m)
        equations, uppers, lowers = self._parts
        if len(equations):
            duals[equations] = found.eqlin.marginals  # type: ignore[attr-defined]
        if len(uppers) + len(lowers):
            marginals = found.ineqlin.marginals  # type: ignore[attr-defined]
            duals[uppers] += marginals[: len(uppers)]
            duals[lowers] -= marginals[len(uppers) :]
        return duals

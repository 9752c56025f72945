"""The linear relaxations of a program's nodes, each solved from scratch by HiGHS's dual simplex through SciPy.

A solve depends on the program and the node's limits alone: rows of an environment can be copied, and an episode is
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

_REMEMBERED = 20_000  # relaxations; about 4 KB each for 300 columns and 200 rows
_OPTIMAL, _LIMIT, _INFEASIBLE, _UNBOUNDED = range(4)  # SciPy's statuses


class OutOfTime(Exception):
    """A relaxation could not be solved within the remaining time."""


class Relaxation(NamedTuple):
    """An optimal solution of a node's linear program, which is minimised whatever the sense of the program."""

    objective: float
    """Without the program's constant, negated if the program is maximised; inf if the relaxation is infeasible."""
    x: NDArray[np.float64]
    """[n]"""
    duals: NDArray[np.float64]
    """[m] the increase of the objective per unit of a row's side; 0 if neither side is tight."""


class Relaxations:
    """Solves the relaxations of one program under changing limits. `remaining` returns the seconds left for all of them."""

    def __init__(self, program: MilpInstance, remaining: Callable[[], float] = lambda: math.inf) -> None:
        from scipy.sparse import csr_array, vstack

        self.program, self._remaining = program, remaining
        self.sign = -1.0 if program.sense == "max" else 1.0
        equal = program.row_lower == program.row_upper
        self._parts = (  # rows that are equations, have an upper side, have a lower side
            np.flatnonzero(equal),
            np.flatnonzero(~equal & np.isfinite(program.row_upper)),
            np.flatnonzero(~equal & np.isfinite(program.row_lower)),
        )
        matrix = csr_array(program.matrix)
        equations, above, below = self._parts
        inequalities = vstack([matrix[above], -matrix[below]], format="csr") if len(above) + len(below) else None
        self._rows = {
            "A_eq": matrix[equations] if len(equations) else None,
            "b_eq": program.row_lower[equations] if len(equations) else None,
            "A_ub": inequalities,
            "b_ub": np.concatenate([program.row_upper[above], -program.row_lower[below]]) if inequalities is not None else None,
        }
        self._remembered: OrderedDict[bytes, Relaxation] = OrderedDict()

    def solve(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> Relaxation:
        """Return the relaxation with these limits, float64 [n] each. Raises UsageError if it is unbounded, and OutOfTime."""
        key = lower.tobytes() + upper.tobytes()
        found = self._remembered.get(key)
        if found is None:
            found = self._solve(lower, upper)
            self._remembered[key] = found
            if len(self._remembered) > _REMEMBERED:
                self._remembered.popitem(last=False)
        return found

    def _solve(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> Relaxation:
        """Solve the relaxation by HiGHS; see `solve`."""
        from scipy.optimize import linprog

        program = self.program
        nothing = Relaxation(np.inf, np.zeros(program.n), np.zeros(program.m))
        if (lower > upper).any():
            return nothing
        bounds = np.stack([lower, upper], axis=1)
        for presolve in (True, False):  # with presolve, HiGHS may report "infeasible or unbounded" without saying which
            if (left := self._remaining()) <= 0.0:
                raise OutOfTime
            options = {"presolve": presolve} | ({"time_limit": left} if left < math.inf else {})
            found = linprog(self.sign * program.c, bounds=bounds, method="highs-ds", options=options, **self._rows)
            if found.status == _LIMIT:
                raise OutOfTime
            if found.status == _INFEASIBLE:
                return nothing
            if found.status == _OPTIMAL:
                return Relaxation(float(found.fun), np.asarray(found.x, np.float64), self._duals(found))
        if found.status == _UNBOUNDED:
            raise UsageError(f"{program.name or 'the program'}: its linear relaxation is unbounded; accepted: a bounded one")
        raise SolverError(f"HiGHS on a linear relaxation: {found.message}")

    def _duals(self, found: object) -> NDArray[np.float64]:
        duals = np.zeros(self.program.m)
        equations, above, below = self._parts
        if len(equations):
            duals[equations] = found.eqlin.marginals  # type: ignore[attr-defined]
        if len(above) + len(below):
            marginals = found.ineqlin.marginals  # type: ignore[attr-defined]
            duals[above] += marginals[: len(above)]
            duals[below] -= marginals[len(above) :]
        return duals

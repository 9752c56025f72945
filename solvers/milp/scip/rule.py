"""A branching rule of ours in SCIP: how it is asked, what it says, and kernels that are compiled before the clock starts."""

from __future__ import annotations

from typing import Any

import pyscipopt
from numba import typeof, types
from pyscipopt.scip import PY_SCIP_RESULT as SCIP_RESULT

from corl.errors import SolverError
from corl.solvers.milp.scip import functions as scip
from corl.solvers.milp.scip.model import Callbacks

__all__ = ["Rule", "branched", "compile_kernel"]


class Rule(pyscipopt.Branchrule):
    """Asked at every node with a fractional LP solution; what it raises ends the solve and reaches the user."""

    def __init__(self, model: Any, callbacks: Callbacks) -> None:
        self.pointer, self.callbacks = scip.pointer_of(model), callbacks

    def decide(self) -> int:
        """Branch at the present node, or leave it to SCIP's next rule; a value of SCIP_RESULT says which."""
        raise NotImplementedError

    def branchexeclp(self, allowaddcons: bool) -> dict[str, Any]:
        return {"result": self.callbacks.call(self.decide, SCIP_RESULT.DIDNOTRUN)}

    def branchexecps(self, allowaddcons: bool) -> dict[str, Any]:
        """A node without an LP solution (a limit or numerical trouble ended the LP): SCIP's own rules branch there."""
        return {"result": SCIP_RESULT.DIDNOTRUN}

    def branchexecext(self, allowaddcons: bool) -> dict[str, Any]:
        """Candidates outside the LP, which constraints of nonlinear programs name: SCIP's own rules branch there."""
        return {"result": SCIP_RESULT.DIDNOTRUN}


def branched(code: int) -> int:
    """The result of a rule whose kernel returned 0, for no candidates, or SCIP's code. Raises SolverError for an error's code."""
    if code not in (0, 1):
        raise SolverError(f"SCIP could not branch (its code {code})")
    return int(SCIP_RESULT.BRANCHED if code else SCIP_RESULT.DIDNOTRUN)


def compile_kernel(kernel: Any, *arguments: Any) -> None:
    """Compile a kernel for a SCIP* and arguments like these, or load it from the cache, so that no solve's clock pays for it."""
    if not scip.load():
        raise SolverError("the SCIP functions that the rule calls were not found in PySCIPOpt's library")
    kernel.compile((types.int64, *(typeof(argument) for argument in arguments)))  # type: ignore[no-untyped-call]

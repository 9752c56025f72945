"""Branching rules for SCIP: at each node, `Rule` calls a function with an `Observation` and branches on its choice."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyscipopt
from numba import typeof, types
from numpy.typing import NDArray
from pyscipopt.scip import PY_SCIP_RESULT as SCIP_RESULT

from corl.errors import SolverError
from corl.solvers.milp.scip import functions as scip
from corl.solvers.milp.scip.candidates import branch_on, candidates, features
from corl.solvers.milp.scip.lp_reading import LpGraph, LpReader
from corl.solvers.milp.scip.model import Callbacks

__all__ = ["Choose", "Observation", "Rule", "compile_kernel"]


class Observation:
    """The current node of SCIP's tree, whose LP solution is fractional.

    Its attributes are read from SCIP at the first access, which must come before the node is branched.
    """

    def __init__(self, model: Any, pointer: int) -> None:
        self.model = model
        """The pyscipopt Model."""
        self.pointer = pointer
        """The SCIP* of the Model, for kernels."""
        self.branched = False

    @cached_property
    def candidates(self) -> NDArray[np.int64]:
        """int64 [K], pointers to the variables that may be branched on. A choice is an index into this array, a slot."""
        found: NDArray[np.int64] = candidates(self.pointer)
        return found

    @cached_property
    def variables(self) -> list[Any]:
        """The K candidates as pyscipopt Variables of the transformed program."""
        candidates, _, _, _, count, *_ = self.model.getLPBranchCands()
        return list(candidates[:count])

    @cached_property
    def features(self) -> NDArray[np.float64]:
        """float64 [K, len(Feature)], the features of the candidates."""
        found: NDArray[np.float64] = features(self.pointer, self.candidates, 0)
        return found

    @cached_property
    def lp(self) -> LpGraph:
        """The LP of the node as arrays."""
        return LpReader(self.model).read()

    def branch(self, slot: int) -> None:
        """Branch on the candidate in a slot. Raises SolverError."""
        self.done(slot, branch_on(self.pointer, self.candidates[slot]))

    def done(self, slot: int, code: int) -> int:
        """Record that a kernel has branched on the candidate in `slot` (-1: on none), and return `slot`.

        Raises SolverError if SCIP's return code is not 1.
        """
        if slot >= 0 and code != 1:
            raise SolverError(f"SCIP could not branch (its code {code})")
        self.branched = slot >= 0
        return slot


Choose: TypeAlias = Callable[[Observation], int]
"""A function that returns the slot of the candidate to branch on; -1 leaves the node to SCIP's next rule.

The function may also do the branching itself and call `Observation.done`; kernels do, so that the node is read only once.
"""


class Rule(pyscipopt.Branchrule):
    """A branching rule that calls `choose` at every node with a fractional LP solution.

    An exception in `choose` ends the solve and is raised by `Engine.solve`.
    """

    def __init__(self, model: Any, callbacks: Callbacks, choose: Choose) -> None:
        self.pointer, self.callbacks, self.choose = scip.pointer_of(model), callbacks, choose

    def decide(self) -> int:
        """Branch at the current node as `choose` says; return SCIP's result code."""
        node = Observation(self.model, self.pointer)
        slot = self.choose(node)
        if slot >= 0 and not node.branched:
            node.branch(slot)
        return int(SCIP_RESULT.BRANCHED if slot >= 0 else SCIP_RESULT.DIDNOTRUN)

    def branchexeclp(self, allowaddcons: bool) -> dict[str, Any]:
        return {"result": self.callbacks.call(self.decide, SCIP_RESULT.DIDNOTRUN)}

    def branchexecps(self, allowaddcons: bool) -> dict[str, Any]:
        """Leave a node without an LP solution (after a limit or numerical trouble) to SCIP's own rules."""
        return {"result": SCIP_RESULT.DIDNOTRUN}

    def branchexecext(self, allowaddcons: bool) -> dict[str, Any]:
        """Leave candidates outside the LP, which come from nonlinear constraints, to SCIP's own rules."""
        return {"result": SCIP_RESULT.DIDNOTRUN}


def compile_kernel(kernel: Any, *arguments: Any) -> None:
    """Compile a kernel for a SCIP* and arguments of these types, or load it from the cache, before a solve's clock starts.

    The arguments only give the types. Raises SolverError if SCIP's functions were not found.
    """
    if not scip.load():
        raise SolverError("the SCIP functions that the rule calls were not found in PySCIPOpt's library")
    kernel.compile((types.int64, *(typeof(argument) for argument in arguments)))  # type: ignore[no-untyped-call]

"""Branching in SCIP by a function of ours: what it sees of a node, and how its choice is done."""

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
    """The present node of SCIP's tree, one with a fractional LP solution. It is read when it is asked for; after the branching
    nothing more may be asked."""

    def __init__(self, model: Any, pointer: int) -> None:
        self.model = model
        """The pyscipopt Model."""
        self.pointer = pointer
        """Its SCIP*, for kernels."""
        self.branched = False

    @cached_property
    def candidates(self) -> NDArray[np.int64]:
        """[K] pointers of the variables that may be branched on; slot k of a choice is candidate k."""
        found: NDArray[np.int64] = candidates(self.pointer)
        return found

    @cached_property
    def variables(self) -> list[Any]:
        """[K] the same as pyscipopt's Variables of the transformed program."""
        found, _, _, _, count, *_ = self.model.getLPBranchCands()
        return list(found[:count])

    @cached_property
    def features(self) -> NDArray[np.float64]:
        """[K, len(Feature)] of the candidates."""
        found: NDArray[np.float64] = features(self.pointer, self.candidates, 0)
        return found

    @cached_property
    def lp(self) -> LpGraph:
        """The LP as arrays."""
        return LpReader(self.model).read()

    def branch(self, slot: int) -> None:
        """Branch on the candidate in a slot."""
        self.done(slot, branch_on(self.pointer, self.candidates[slot]))

    def done(self, slot: int, code: int) -> int:
        """The slot that a kernel chose, and has branched on, with SCIP's code. Raises SolverError for an error's."""
        if slot >= 0 and code != 1:
            raise SolverError(f"SCIP could not branch (its code {code})")
        self.branched = slot >= 0
        return slot


Choose: TypeAlias = Callable[[Observation], int]
"""The slot of the candidate to branch on; -1 leaves the node to SCIP's next rule. A kernel that chooses may branch at once
(`Observation.done`), so that the node is read once."""


class Rule(pyscipopt.Branchrule):
    """Branches where `choose` says, asked at every node with a fractional LP solution; what it raises ends the solve and reaches
    the user."""

    def __init__(self, model: Any, callbacks: Callbacks, choose: Choose) -> None:
        self.pointer, self.callbacks, self.choose = scip.pointer_of(model), callbacks, choose

    def decide(self) -> int:
        """SCIP's result at the present node."""
        node = Observation(self.model, self.pointer)
        slot = self.choose(node)
        if slot >= 0 and not node.branched:
            node.branch(slot)
        return int(SCIP_RESULT.BRANCHED if slot >= 0 else SCIP_RESULT.DIDNOTRUN)

    def branchexeclp(self, allowaddcons: bool) -> dict[str, Any]:
        return {"result": self.callbacks.call(self.decide, SCIP_RESULT.DIDNOTRUN)}

    def branchexecps(self, allowaddcons: bool) -> dict[str, Any]:
        """A node without an LP solution (a limit or numerical trouble ended the LP): SCIP's own rules branch there."""
        return {"result": SCIP_RESULT.DIDNOTRUN}

    def branchexecext(self, allowaddcons: bool) -> dict[str, Any]:
        """Candidates outside the LP, which constraints of nonlinear programs name: SCIP's own rules branch there."""
        return {"result": SCIP_RESULT.DIDNOTRUN}


def compile_kernel(kernel: Any, *arguments: Any) -> None:
    """Compile a kernel for a SCIP* and arguments like these, or load it from the cache, so that no solve's clock pays for it."""
    if not scip.load():
        raise SolverError("the SCIP functions that the rule calls were not found in PySCIPOpt's library")
    kernel.compile((types.int64, *(typeof(argument) for argument in arguments)))  # type: ignore[no-untyped-call]

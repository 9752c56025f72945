"""The policy as a branching rule of SCIP."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyscipopt
from numba import typeof, types
from pyscipopt.scip import PY_SCIP_RESULT as SCIP_RESULT

from corl.errors import SolverError
from corl.solvers.milp import scip_functions as scip
from corl.solvers.milp.branching_features import candidates, features
from corl.solvers.milp.episodes import Recorder
from corl.solvers.milp.scip_model import Guard
from corl.solvers.milp.scoring import Scorer, branch, scores

__all__ = ["LearnedRule", "compile_for"]

_OKAY = 1  # SCIP_RETCODE


def compile_for(scorer: Scorer) -> None:
    """Compile what `LearnedRule` calls, or load it from the cache, so that no solve's clock pays for it."""
    if not scip.load():
        raise SolverError("the SCIP functions that the rule calls were not found in PySCIPOpt's library")
    kernel: Any = branch
    kernel.compile((types.int64, typeof(scorer)))  # type: ignore[no-untyped-call]


class LearnedRule(pyscipopt.Branchrule):
    """Branches on the candidate with the highest score; with a `recorder`, every node is kept in it."""

    PRIORITY: ClassVar[int] = 536_870_910  # one below the highest, where measuring rules listen

    def __init__(self, model: Any, guard: Guard, scorer: Scorer, recorder: Recorder | None = None) -> None:
        self.pointer, self.guard, self.scorer, self.recorder = scip.pointer_of(model), guard, scorer, recorder

    def branchexeclp(self, allowaddcons: bool) -> dict[str, Any]:
        return {"result": self.guard.call(self._branch, SCIP_RESULT.DIDNOTRUN)}

    def _branch(self) -> int:
        if self.recorder is not None:
            variables = candidates(self.pointer)
            seen = features(self.pointer, variables)
            choice = int(np.argmax(scores(self.scorer, seen))) if len(variables) else -1
            self.recorder.add(self.model, variables, seen, choice)
        code = branch(self.pointer, self.scorer)
        if code not in (0, _OKAY):
            raise SolverError(f"SCIP could not branch (its code {code})")
        return int(SCIP_RESULT.BRANCHED if code else SCIP_RESULT.DIDNOTRUN)

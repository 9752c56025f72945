"""Lessons for a branching policy: SCIP's trees under pseudocost branching, some nodes labelled by strong branching.

As Gasse, Chételat, Ferroni, Charlin and Lodi (NeurIPS 2019, section 4.1) collect them: strong branching is asked, and obeyed,
with a small probability, so that the states are those of a cheaper rule. It leaves SCIP's statistics as they were (idempotent);
otherwise its side effects would prune trees that a policy cannot prune. The root is always labelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyscipopt
from numpy.typing import NDArray
from pyscipopt.scip import PY_SCIP_RESULT as SCIP_RESULT

from corl.problems.milp.instance import MilpInstance
from corl.solvers.milp import scip_functions as scip
from corl.solvers.milp.branching_features import candidates, features
from corl.solvers.milp.episodes import Episode, Recorder
from corl.solvers.milp.scip_model import Engine, Guard

if TYPE_CHECKING:
    from corl.run import Run

__all__ = ["Teacher", "record", "strong_branching"]

FIRST = 536_870_911  # the highest priority of a branching rule
_SMALLEST = 1e-6  # a gain counts at least so much (SCIP's own product rule)
_UNLIMITED = 2**31 - 1  # iterations of a child's LP


def strong_branching(model: Any, variables: list[Any]) -> NDArray[np.float64] | None:
    """log of the product of both children's gains [k], by full strong branching that leaves no trace; None after an LP error.

    A child without a solution gains what the other nodes' cutoff bound allows, or as much as any child seen here.
    """
    here, cutoff = model.getLPObjVal(), model.getCutoffbound()
    gains = np.zeros((len(variables), 2))
    model.startStrongbranch()
    try:
        for k, variable in enumerate(variables):
            down, up, _, _, down_empty, up_empty, _, _, failed = model.getVarStrongbranch(variable, _UNLIMITED, idempotent=True)
            if failed:
                return None
            gains[k] = [np.inf if empty else value - here for value, empty in ((down, down_empty), (up, up_empty))]
    finally:
        model.endStrongbranch()
    finite = gains[np.isfinite(gains)]
    most = max(finite.max(initial=_SMALLEST), cutoff - here if cutoff < 1e20 else _SMALLEST)
    scores: NDArray[np.float64] = np.log(np.clip(gains, _SMALLEST, most)).sum(1)
    return scores


class Teacher(pyscipopt.Branchrule):
    """Asks strong branching with probability `share`, up to `most` times, and leaves the other nodes to SCIP's next rule."""

    def __init__(self, model: Any, guard: Guard, seed: int, share: float, most: int) -> None:
        self.pointer, self.guard, self.share, self.most = scip.pointer_of(model), guard, share, most
        self.random, self.asked, self.recorder = np.random.default_rng(seed), 0, Recorder()

    def branchexeclp(self, allowaddcons: bool) -> dict[str, Any]:
        return {"result": self.guard.call(self._decide, SCIP_RESULT.DIDNOTRUN)}

    def _decide(self) -> int:
        model, pointers = self.model, candidates(self.pointer)
        seen = features(self.pointer, pointers)
        asked = self.asked == 0 or self.random.random() < self.share
        result, choice, scores = SCIP_RESULT.DIDNOTRUN, -1, None
        if asked and len(pointers) > 1:
            variables = model.getLPBranchCands()[0][: len(pointers)]
            scores = strong_branching(model, variables)
            if scores is not None:
                self.asked, choice, result = self.asked + 1, int(scores.argmax()), SCIP_RESULT.BRANCHED
        self.recorder.add(model, pointers, seen, choice, scores)
        if choice >= 0:
            model.branchVar(variables[choice])
        if self.asked >= self.most:
            model.interruptSolve()
        return int(result)


def record(instance: MilpInstance, run: Run, *, share: float = 0.05, most: int = 20) -> Episode:
    """Solve `instance` so, in Gasse's setting, until `most` nodes are labelled or `run` ends."""
    settings = {"separating/maxrounds": 0, "presolving/maxrestarts": 0, "branching/pscost/priority": FIRST - 1}
    engine = Engine(instance, run, settings)
    teacher = Teacher(engine.model, engine.guard, run.seed, share, most)
    engine.model.includeBranchrule(teacher, "corl_teacher", "strong branching now and then", FIRST, -1, 1.0)
    try:
        engine.solve(lambda kind, value: None)
        return teacher.recorder.episode()
    finally:
        engine.close()

"""Lessons for a branching policy: SCIP's trees under pseudocost branching or a policy, some nodes labelled by strong branching.

As Gasse, Chételat, Ferroni, Charlin and Lodi (NeurIPS 2019, section 4.1) collect them: strong branching is asked, and obeyed,
with a small probability, so that the states are those of a cheaper rule. It leaves SCIP's statistics as they were (idempotent);
otherwise its side effects would prune trees that a policy cannot prune. The root is always labelled. Where a policy grows the
trees, the states are those that it comes to (DAgger: Ross, Gordon and Bagnell, AISTATS 2011).
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
from corl.solvers.milp.scoring import Scorer, scores

if TYPE_CHECKING:
    from corl.run import Run

__all__ = ["Teacher", "product_scores", "record", "strong_branching", "teach"]

FIRST = 536_870_911  # the highest priority of a branching rule
_SMALLEST = 1e-6  # a gain counts at least so much (SCIP's own product rule)
_UNLIMITED = 2**31 - 1  # iterations of a child's LP


def strong_branching(model: Any, variables: list[Any]) -> NDArray[np.float64] | None:
    """Gains [k, 2] of the LP's value down and up, by strong branching that leaves no trace; None after an LP error.

    A child without a solution gains inf. What passes the cutoff bound is known to have passed it, no more.
    """
    here, gains = model.getLPObjVal(), np.zeros((len(variables), 2))
    model.startStrongbranch()
    try:
        for k, variable in enumerate(variables):
            down, up, _, _, down_empty, up_empty, _, _, failed = model.getVarStrongbranch(variable, _UNLIMITED, idempotent=True)
            if failed:
                return None
            gains[k] = [np.inf if empty else value - here for value, empty in ((down, down_empty), (up, up_empty))]
    finally:
        model.endStrongbranch()
    return gains


def product_scores(gains: NDArray[np.float64], cutoff: float) -> NDArray[np.float64]:
    """log of the product of both gains [k]; a child without a solution gains `cutoff`, or as much as any child seen here.

    cutoff: how far the LP's value may rise, inf where nothing is known.
    """
    finite = gains[np.isfinite(gains)]
    most = max(finite.max(initial=_SMALLEST), cutoff if cutoff < 1e20 else _SMALLEST)
    scores: NDArray[np.float64] = np.log(np.clip(gains, _SMALLEST, most)).sum(1)
    return scores


class Teacher(pyscipopt.Branchrule):
    """Asks strong branching with probability `share`, up to `most` times, and leaves the other nodes to `policy`, or without
    one to SCIP's next rule.

    Of more than `width` candidates it asks about so many: with a policy about its best for one half, the others at random; one LP
    of a child may take 10 ms.
    """

    def __init__(
        self, model: Any, guard: Guard, seed: int, share: float, most: int, width: int, policy: Scorer | None = None
    ) -> None:
        self.pointer, self.guard, self.share, self.most, self.width = scip.pointer_of(model), guard, share, most, width
        self.policy = policy
        self.random, self.asked, self.recorder = np.random.default_rng(seed), 0, Recorder()

    def learn(
        self, pointers: NDArray[np.int64], seen: NDArray[np.float64], chosen: NDArray[np.int64], gains: NDArray[np.float64]
    ) -> None:
        """Told of every labelled node: its candidates, their features, which of them were asked about, and those ones' gains."""

    def branchexeclp(self, allowaddcons: bool) -> dict[str, Any]:
        return {"result": self.guard.call(self._decide, SCIP_RESULT.DIDNOTRUN)}

    def _decide(self) -> int:
        model, pointers = self.model, candidates(self.pointer)
        seen = features(self.pointer, pointers)
        order = None if self.policy is None else np.argsort(-scores(self.policy, seen), kind="stable")
        asked, choice, found = self.asked == 0 or self.random.random() < self.share, -1, None
        variables = model.getLPBranchCands()[0] if asked or order is not None else []
        if asked and len(pointers) > 1:
            chosen = self._chosen(len(pointers), order)
            gains = strong_branching(model, [variables[k] for k in chosen])
            if gains is not None:
                self.learn(pointers, seen, chosen, gains)
                found = np.full(len(pointers), np.nan)
                found[chosen] = product_scores(gains, model.getCutoffbound() - model.getLPObjVal())
                self.asked, choice = self.asked + 1, int(np.nanargmax(found))
        if choice < 0 and order is not None and len(order):
            choice = int(order[0])
        self.recorder.add(model, pointers, seen, choice, found)
        if choice >= 0:
            model.branchVar(variables[choice])
        if self.asked >= self.most:
            model.interruptSolve()
        return int(SCIP_RESULT.BRANCHED if choice >= 0 else SCIP_RESULT.DIDNOTRUN)

    def _chosen(self, count: int, order: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Sorted places of the candidates that strong branching is asked about; order: the policy's, best first."""
        best = np.zeros(0, np.int64) if order is None else order[: self.width // 2]
        others = np.setdiff1d(self.random.permutation(count), best, assume_unique=True)[: self.width - len(best)]
        return np.sort(np.concatenate([best, others]))


def teach(
    instance: MilpInstance, run: Run, *, share: float = 0.05, most: int = 20, width: int = 1000,
    kind: type[Teacher] = Teacher, policy: Scorer | None = None,
) -> Teacher:  # fmt: skip
    """Solve `instance` so, in Gasse's setting, until `most` nodes are labelled or `run` ends; returns who taught."""
    settings = {"separating/maxrounds": 0, "presolving/maxrestarts": 0, "branching/pscost/priority": FIRST - 1}
    engine = Engine(instance, run, settings)
    teacher = kind(engine.model, engine.guard, run.seed, share, most, width, policy)
    engine.model.includeBranchrule(teacher, "corl_teacher", "strong branching now and then", FIRST, -1, 1.0)
    try:
        engine.solve(lambda kind, value: None)
        return teacher
    finally:
        engine.close()


def record(
    instance: MilpInstance, run: Run, *, share: float = 0.05, most: int = 20, width: int = 1000, policy: Scorer | None = None
) -> Episode:
    """The tree that `teach` grows."""
    return teach(instance, run, share=share, most=most, width=width, kind=Teacher, policy=policy).recorder.episode()

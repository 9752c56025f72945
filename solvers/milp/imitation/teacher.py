"""The teacher of branching: SCIP's trees under pseudocost branching or a policy, some nodes labelled by strong branching.

As Gasse, Chételat, Ferroni, Charlin and Lodi (NeurIPS 2019, section 4.1) collect them: strong branching is asked, and obeyed,
with a small probability, so that the states are those of a cheaper rule. It leaves SCIP's statistics as they were (idempotent);
otherwise its side effects would prune trees that a policy cannot prune. The root is always labelled. Where a policy grows the
trees, the states are those that it comes to (DAgger: Ross, Gordon and Bagnell, AISTATS 2011).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyscipopt.scip import PY_SCIP_RESULT as SCIP_RESULT

from corl.problems.milp.instance import MilpInstance
from corl.solvers.milp.branching.features import candidates, features
from corl.solvers.milp.branching.scoring import Scorer, scores
from corl.solvers.milp.scip import FIRST, MEASURING
from corl.solvers.milp.scip.model import Callbacks, Engine
from corl.solvers.milp.scip.rule import Rule

if TYPE_CHECKING:
    from corl.run import Run

__all__ = ["Labelled", "Teacher", "product_scores", "strong_branching", "teach"]

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


class Labelled(NamedTuple):
    """A node of which strong branching was asked: C candidates, about k of which it was asked."""

    pointers: NDArray[np.int64]
    """[C] SCIP_VAR* of the candidates."""
    features: NDArray[np.float64]
    """[C, 40] of `branching.features`."""
    asked: NDArray[np.int64]
    """[k] places among the candidates, rising."""
    gains: NDArray[np.float64]
    """[k, 2] of the LP's value down and up; inf for a child without a solution."""
    scores: NDArray[np.float64]
    """[k] `product_scores` of these."""


class Teacher(Rule):
    """Asks strong branching with probability `share`, up to `most` times, and leaves the other nodes to `policy`, or without
    one to SCIP's next rule. Keeps a lesson of every labelled node.

    Of more than `width` candidates it asks about so many: with a policy about its best for one half, the others at random; one LP
    of a child may take 10 ms.
    """

    def __init__(
        self, model: Any, callbacks: Callbacks, seed: int, share: float, most: int, width: int, policy: Scorer | None = None
    ) -> None:
        super().__init__(model, callbacks)
        self.share, self.most, self.width, self.policy = share, most, width, policy
        self.random, self.asked = np.random.default_rng(seed), 0
        self.lessons: list[Any] = []

    def lesson(self, node: Labelled) -> Any:
        """What is learned from a labelled node; None for nothing."""
        raise NotImplementedError

    def decide(self) -> int:
        """See Rule."""
        pointers = candidates(self.pointer)
        seen = features(self.pointer, pointers)
        choice = self.choose(pointers, seen)
        if choice >= 0:
            self.model.branchVar(self.model.getLPBranchCands()[0][choice])
        if self.asked >= self.most:
            self.model.interruptSolve()
        return int(SCIP_RESULT.BRANCHED if choice >= 0 else SCIP_RESULT.DIDNOTRUN)

    def choose(self, pointers: NDArray[np.int64], seen: NDArray[np.float64]) -> int:
        """The place among the candidates of the one to branch on, -1 to leave it to SCIP; the node may be labelled for it."""
        order = None if self.policy is None else np.argsort(-scores(self.policy, seen), kind="stable")
        asked = self.asked == 0 or self.random.random() < self.share
        if asked and len(pointers) > 1:
            places, model = self._places(len(pointers), order), self.model
            variables = model.getLPBranchCands()[0]
            gains = strong_branching(model, [variables[k] for k in places])
            if gains is not None:
                found = product_scores(gains, model.getCutoffbound() - model.getLPObjVal())
                lesson = self.lesson(Labelled(pointers, seen, places, gains, found))
                self.lessons += [] if lesson is None else [lesson]
                self.asked += 1
                return int(places[np.argmax(found)])
        return int(order[0]) if order is not None and len(order) else -1

    def _places(self, count: int, order: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Sorted places of the candidates that strong branching is asked about; order: the policy's, best first."""
        best = np.zeros(0, np.int64) if order is None else order[: self.width // 2]
        others = np.setdiff1d(self.random.permutation(count), best, assume_unique=True)[: self.width - len(best)]
        return np.sort(np.concatenate([best, others]))


def teach(
    kind: type[Teacher], instance: MilpInstance, run: Run, *, share: float, most: int, width: int, policy: Scorer | None = None
) -> Teacher:
    """Solve `instance` so, in Gasse's setting, until `most` nodes are labelled or `run` ends; returns who taught."""
    settings = {"separating/maxrounds": 0, "presolving/maxrestarts": 0, "branching/pscost/priority": FIRST}
    engine = Engine(instance, run, settings)
    teacher = kind(engine.model, engine.callbacks, run.seed, share, most, width, policy)
    engine.add(teacher, "corl_teacher", "strong branching now and then", MEASURING)
    try:
        engine.solve(lambda kind, value: None)
        return teacher
    finally:
        engine.close()

"""The teacher of branching: labels some nodes of SCIP's trees by strong branching.

As in Gasse, Chételat, Ferroni, Charlin and Lodi (NeurIPS 2019, section 4.1), strong branching labels a node, and chooses its
branching variable, with a small probability, and at the root. A cheaper rule branches at the other nodes, so that the labelled
nodes are typical of the cheaper rule's trees. If that rule is a learned policy, this is DAgger (Ross, Gordon and Bagnell, AISTATS
2011). Strong branching is called without side effects on SCIP's statistics and bounds, because a policy has no such effects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from corl.solvers.milp.branching.policy import BranchingPolicy
from corl.solvers.milp.scip.recorder import Recorder
from corl.solvers.milp.scip.rule import Observation

__all__ = ["Label", "Lesson", "Teacher", "product_scores", "strong_branching"]

_MIN_GAIN = 1e-6  # lower limit of each gain, as in SCIP's product rule
_UNLIMITED = 2**31 - 1  # the limit on the simplex iterations of a child's LP


def strong_branching(model: Any, variables: list[Any]) -> NDArray[np.float64] | None:
    """Return by how much the LP objective rises in both children of each variable; None after an LP error.

    Args:
        model: The pyscipopt Model, at a node with a solved LP.
        variables: k pyscipopt Variables.

    Returns:
        float64 [k, 2], the gains of the down and the up child; inf for an infeasible child. A child's LP ends at the cutoff
        bound, so that a gain beyond it is only a lower bound.
    """
    objective, gains = model.getLPObjVal(), np.zeros((len(variables), 2))
    model.startStrongbranch()
    try:
        for k, variable in enumerate(variables):
            down, up, _, _, down_empty, up_empty, _, _, failed = model.getVarStrongbranch(variable, _UNLIMITED, idempotent=True)
            if failed:
                return None
            gains[k] = [np.inf if empty else value - objective for value, empty in ((down, down_empty), (up, up_empty))]
    finally:
        model.endStrongbranch()
    return gains


def product_scores(gains: NDArray[np.float64], cutoff: float) -> NDArray[np.float64]:
    """Return strong branching's scores: the logarithm of the product of both gains of each candidate, float64 [k].

    An infeasible child counts with the largest finite gain, or with `cutoff` if that is larger and finite.

    Args:
        gains: float64 [k, 2], from `strong_branching`.
        cutoff: The rise of the LP objective at which the cutoff bound is reached; 1e20 or more without a cutoff bound.
    """
    finite = gains[np.isfinite(gains)]
    largest = max(finite.max(initial=_MIN_GAIN), cutoff if cutoff < 1e20 else _MIN_GAIN)
    scores: NDArray[np.float64] = np.log(np.clip(gains, _MIN_GAIN, largest)).sum(1)
    return scores


class Label(NamedTuple):
    """The result of strong branching on k candidates of a node."""

    slots: NDArray[np.int64]
    """[k] the candidates' slots, increasing."""
    gains: NDArray[np.float64]
    """[k, 2] the gains of the LP objective, down and up; inf for an infeasible child."""
    scores: NDArray[np.float64]
    """[k] the `product_scores` of the gains."""


_Arrays: TypeAlias = Mapping[str, NDArray[Any]]
Lesson: TypeAlias = Callable[[Observation, _Arrays, Label], "tuple[_Arrays, NDArray[np.float32]] | None"]
"""(node, observation, label) -> what to learn: the observation and the distribution over candidates [K]; or None for nothing."""


class Teacher:
    """A branching rule (`Choose` of scip.rule) that labels some nodes by strong branching and records them.

    After `most` labelled nodes, it ends the solve.
    """

    def __init__(
        self, recorder: Recorder, lesson: Lesson, seed: int, share: float, most: int, width: int,
        policy: BranchingPolicy | None = None,
    ) -> None:  # fmt: skip
        """Create the rule of one solve.

        Args:
            recorder: Records the labelled nodes.
            lesson: Returns what to learn at a labelled node.
            seed: The seed of the random numbers.
            share: The probability that a node is labelled; the root always is.
            most: The number of labelled nodes after which the solve ends.
            width: The largest number of candidates whose scores are computed at a node, because a child's LP may take 10 ms.
                They are random; with a policy, half of them are its best candidates.
            policy: The policy that branches at the other nodes; None: SCIP's next rule.
        """
        self.recorder, self.lesson, self.policy = recorder, lesson, policy
        self.share, self.most, self.width = share, most, width
        self.random, self.labelled = np.random.default_rng(seed), 0

    def __call__(self, node: Observation) -> int:
        slot = -1
        if (self.labelled == 0 or self.random.random() < self.share) and len(node.candidates) > 1:
            slot = self._label(node)
        if slot < 0 and self.policy is not None:
            slot = self.policy(node)
        if self.labelled >= self.most:
            node.model.interruptSolve()
        return slot

    def _label(self, node: Observation) -> int:
        """Label and record a node; return the slot that strong branching chooses, -1 after an LP error."""
        slots, variables = self._slots(node), node.model.getLPBranchCands()[0]
        observed = self.recorder.observe(node, slots)
        gains = strong_branching(node.model, [variables[slot] for slot in slots])
        if gains is None:
            return -1
        self.labelled += 1
        label = Label(slots, gains, product_scores(gains, node.model.getCutoffbound() - node.model.getLPObjVal()))
        slot = int(slots[np.argmax(label.scores)])
        if (lesson := self.lesson(node, observed, label)) is not None:
            learned, policy = lesson
            self.recorder.add(node, learned, slots, slot, policy)
        return slot

    def _slots(self, node: Observation) -> NDArray[np.int64]:
        """Return the slots of the candidates whose scores are computed, int64 [k], increasing."""
        best = np.zeros(0, np.int64)
        if self.policy is not None:
            best = np.argsort(-self.policy.scores(node), kind="stable")[: self.width // 2]
        others = np.setdiff1d(self.random.permutation(len(node.candidates)), best, assume_unique=True)[: self.width - len(best)]
        return np.sort(np.concatenate([best, others]))

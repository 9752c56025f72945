"""The teacher of branching: labels some nodes of SCIP's trees by strong branching.

Nodes are collected as in Gasse, Chételat, Ferroni, Charlin and Lodi (NeurIPS 2019, section 4.1): strong branching is called, and
its choice is taken, with a small probability, so that the states are those of a cheaper rule. It does not change SCIP's
statistics (it is idempotent); otherwise its side effects would prune trees that a policy cannot prune. The root is always
labelled. If a policy branches at the other nodes, the states are those that it visits (DAgger: Ross, Gordon and Bagnell, AISTATS
2011).
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

_SMALLEST = 1e-6  # lower limit of each gain, as in SCIP's product rule
_UNLIMITED = 2**31 - 1  # iterations of a child's LP


def strong_branching(model: Any, variables: list[Any]) -> NDArray[np.float64] | None:
    """Return the gains of the LP objective by strong branching without side effects; None after an LP error.

    Args:
        model: The pyscipopt Model, at a node with a solved LP.
        variables: k pyscipopt Variables.

    Returns:
        float64 [k, 2], the gains of the down and the up child; inf for an infeasible child. A gain beyond the cutoff bound is
        only known to be beyond it.
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
    """Return the logarithms of the products of both gains, float64 [k].

    An infeasible child counts with the largest finite gain, or with `cutoff` if that is larger and finite.

    Args:
        gains: float64 [k, 2], from `strong_branching`.
        cutoff: By how much the LP objective may rise up to the cutoff bound; 1e20 or more if there is none.
    """
    finite = gains[np.isfinite(gains)]
    most = max(finite.max(initial=_SMALLEST), cutoff if cutoff < 1e20 else _SMALLEST)
    scores: NDArray[np.float64] = np.log(np.clip(gains, _SMALLEST, most)).sum(1)
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
"""A function of a node, its observation and its label that returns the observation and the distribution [K] to learn, or None."""


class Teacher:
    """A branching rule (`Choose` of scip.rule) that labels random nodes by strong branching and records them.

    It ends the solve after `most` labelled nodes.
    """

    def __init__(
        self, recorder: Recorder, lesson: Lesson, seed: int, share: float, most: int, width: int,
        policy: BranchingPolicy | None = None,
    ) -> None:  # fmt: skip
        """Create the rule of one solve.

        Args:
            recorder: Records the labelled nodes.
            lesson: Returns what to learn at a labelled node.
            seed: Of the random numbers.
            share: The probability that a node is labelled; the first one always is.
            most: The largest number of labelled nodes.
            width: The largest number of candidates that are labelled at a node, since the LP of a child may take 10 ms: with a
                policy, its best candidates for one half, and random ones.
            policy: Branches at the other nodes; None: SCIP's next rule.
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
        """Return the slots of the candidates to label, increasing."""
        best = np.zeros(0, np.int64)
        if self.policy is not None:
            best = np.argsort(-self.policy.scores(node), kind="stable")[: self.width // 2]
        others = np.setdiff1d(self.random.permutation(len(node.candidates)), best, assume_unique=True)[: self.width - len(best)]
        return np.sort(np.concatenate([best, others]))

"""The teacher of branching: SCIP's trees under pseudocost branching or a policy, some nodes labelled by strong branching.

As Gasse, Chételat, Ferroni, Charlin and Lodi (NeurIPS 2019, section 4.1) collect them: strong branching is asked, and obeyed,
with a small probability, so that the states are those of a cheaper rule. It leaves SCIP's statistics as they were (idempotent);
otherwise its side effects would prune trees that a policy cannot prune. The root is always labelled. Where a policy grows the
trees, the states are those that it comes to (DAgger: Ross, Gordon and Bagnell, AISTATS 2011).
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


class Label(NamedTuple):
    """What strong branching says of k candidates of a node."""

    slots: NDArray[np.int64]
    """[k] theirs, rising."""
    gains: NDArray[np.float64]
    """[k, 2] of the LP's value down and up; inf for a child without a solution."""
    scores: NDArray[np.float64]
    """[k] `product_scores` of these."""


_Arrays: TypeAlias = Mapping[str, NDArray[Any]]
Lesson: TypeAlias = Callable[[Observation, _Arrays, Label], "tuple[_Arrays, NDArray[np.float32]] | None"]
"""What is seen of a node and the policy [K] to learn there, from what the network saw and a label; None for nothing."""


class Teacher:
    """A `Choose` that asks strong branching with probability `share`, until `most` nodes are labelled, and leaves the others to
    `policy`, or without one to SCIP's next rule. A recorder keeps what is learned of labelled nodes.

    Of more than `width` candidates it asks about so many: with a policy about its best for one half, the others at random; one LP
    of a child may take 10 ms.
    """

    def __init__(
        self, recorder: Recorder, lesson: Lesson, seed: int, share: float, most: int, width: int,
        policy: BranchingPolicy | None = None,
    ) -> None:  # fmt: skip
        self.recorder, self.lesson, self.policy = recorder, lesson, policy
        self.share, self.most, self.width = share, most, width
        self.random, self.asked = np.random.default_rng(seed), 0

    def __call__(self, node: Observation) -> int:
        slot = -1
        if (self.asked == 0 or self.random.random() < self.share) and len(node.candidates) > 1:
            slot = self._labelled(node)
        if slot < 0 and self.policy is not None:
            slot = self.policy(node)
        if self.asked >= self.most:
            node.model.interruptSolve()
        return slot

    def _labelled(self, node: Observation) -> int:
        """The slot of strong branching's choice, after the node is labelled; -1 where there is an error of the LP."""
        slots, variables = self._slots(node), node.model.getLPBranchCands()[0]
        seen = self.recorder.see(node, slots)
        gains = strong_branching(node.model, [variables[slot] for slot in slots])
        if gains is None:
            return -1
        self.asked += 1
        label = Label(slots, gains, product_scores(gains, node.model.getCutoffbound() - node.model.getLPObjVal()))
        slot = int(slots[np.argmax(label.scores)])
        if (lesson := self.lesson(node, seen, label)) is not None:
            learned, policy = lesson
            self.recorder.keep(node, learned, slots, slot, policy)
        return slot

    def _slots(self, node: Observation) -> NDArray[np.int64]:
        """Of the candidates that strong branching is asked about, rising."""
        best = np.zeros(0, np.int64)
        if self.policy is not None:
            best = np.argsort(-self.policy.scores(node), kind="stable")[: self.width // 2]
        others = np.setdiff1d(self.random.permutation(len(node.candidates)), best, assume_unique=True)[: self.width - len(best)]
        return np.sort(np.concatenate([best, others]))

"""`Recorder`: nodes of SCIP's tree and what was done there, as an episode that a replay holds (corl.learning.episodes).

SCIP calls back and is not stepped: its episodes are recorded where an environment's are played.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from corl.learning.episodes import Episodes
from corl.solvers.milp.scip import FIRST, MEASURING
from corl.solvers.milp.scip.candidates import indices
from corl.solvers.milp.scip.model import Engine
from corl.solvers.milp.scip.rule import Choose, Observation, Rule

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance
    from corl.run import Run

__all__ = ["GASSE", "UPPER", "Recorder", "Sees", "record"]

_Arrays = Mapping[str, NDArray[Any]]
GASSE: Mapping[str, Any] = {"separating/maxrounds": 0, "presolving/maxrestarts": 0, "branching/pscost/priority": FIRST}
"""SCIP's parameters as Gasse et al. (2019) set them, and pseudocosts where a rule does not choose."""
UPPER = 1
"""SCIP's kind of bound that a branching down changes."""


class Sees(Protocol):
    """A network's eyes in SCIP: what `Policy.context` and `Policy.observe` are in an environment."""

    def context(self, node: Observation) -> _Arrays:
        """What it sees once of a tree, at the first node that is kept."""

    def see(self, node: Observation, slots: NDArray[np.int64]) -> _Arrays:
        """What it sees of a node and the candidates in these slots [k], before anything is done there."""


class Recorder:
    """One tree. A move is a node where the tree was branched; moves are in the order in which SCIP came to the nodes.

    The arrays of an episode are as wide as its widest node, filled up with 0. `Episodes.observed` has the network's, "mask" bool
    [M, K] (which candidates are there) and "scale", 1: the unit is a node. `Episodes.moves` has those of every episode: actions
    are variables by their numbers in SCIP's program, a reward is minus the nodes solved until the next move. It also has
    "children" int64 [M, 2]: how many moves later the child down and the child up were branched in their turn, 0 where they were
    not; and "parent" int64 [M], how many moves before the last node above was branched, 0 at the root, with "up" int64 [M],
    whether the way from there goes up. So subtrees can be summed, and paths be followed both ways.
    """

    def __init__(self, eyes: Sees) -> None:
        self._eyes = eyes
        self._context: _Arrays = {}
        self._seen: list[_Arrays] = []
        self._moves: list[dict[str, Any]] = []
        self._from: list[tuple[int, int]] = []  # of each move the parent's, and whether it is the child up; (-1, 0) at the root
        self._nodes: list[int] = []  # solved when each move was made, its own among them
        self._known: dict[int, int] = {}  # SCIP's number of a node in this run -> its move

    def __len__(self) -> int:
        """How many moves there are."""
        return len(self._moves)

    def watching(self, choose: Choose) -> Choose:
        """One that does as `choose` does, and makes a move of every node where it branches."""

        def watched(node: Observation) -> int:
            slots = np.arange(len(node.candidates))
            seen = self.see(node, slots)
            if (slot := choose(node)) >= 0:
                self.keep(node, seen, slots, slot, (slots == slot).astype(np.float32))
            return slot

        return watched

    def see(self, node: Observation, slots: NDArray[np.int64]) -> _Arrays:
        """What the network sees of a node, for `keep`; to be asked before anything is done there."""
        if not self._seen:
            self._context = self._eyes.context(node)
        return self._eyes.see(node, slots)

    def keep(self, node: Observation, seen: _Arrays, slots: NDArray[np.int64], slot: int, policy: NDArray[np.float32]) -> None:
        """Make a move of the present node: what was seen of it, the slots of the candidates that are listed, rising, the one that
        is taken, among them, and the policy to learn [K]."""
        if (depth := node.model.getDepth()) == 0:
            self._known.clear()  # a restart, if it is not the first root: SCIP counts anew
        self._from.append(self._parent(node.model.getCurrentNode()) if depth else (-1, 0))
        self._known[node.model.getCurrentNode().getNumber()] = len(self._moves)
        self._nodes.append(int(node.model.getNTotalNodes()))
        self._seen.append({"mask": np.ones(len(policy), bool), "scale": np.ones(()), **seen})
        actions = indices(node.candidates[slots]).astype(np.int32)
        self._moves.append({"actions": actions, "slot": np.searchsorted(slots, slot), "policy": policy})

    def _parent(self, node: Any) -> tuple[int, int]:
        """(the last move above a node of SCIP's, whether the way to it goes up); nodes between may be of SCIP's own rules."""
        child, node = node, node.getParent()
        while node is not None and node.getNumber() not in self._known:
            child, node = node, node.getParent()
        if node is None:
            return -1, 0
        _, _, kinds = child.getParentBranchings()
        return self._known[node.getNumber()], int(kinds[0] != UPPER)

    def episode(self, nodes: int) -> Episodes:
        """The moves, after SCIP solved so many nodes in all; without any where there was no choice."""
        objective, count = np.array([-float(nodes)]), len(self._moves)
        lengths, which = np.array([count]), np.zeros(1, np.int64)
        if not count:
            return Episodes([], which, {}, {}, lengths, objective)
        names = self._moves[0]
        moves = {name: _stacked([move[name] for move in self._moves], -1 if name == "actions" else 0) for name in names}
        reward = -np.diff([*self._nodes, nodes]).astype(np.float64)
        children, back = np.zeros((count, 2), np.int64), np.zeros(count, np.int64)
        for move, (parent, up) in enumerate(self._from):
            if parent >= 0:
                children[parent, up] = back[move] = move - parent
        returns = np.cumsum(reward[::-1])[::-1].copy()
        moves |= {"reward": reward, "returns": returns, "value": returns.copy(), "children": children}
        moves |= {"parent": back, "up": np.array([up for _, up in self._from])}
        seen = {name: _stacked([one[name] for one in self._seen]) for name in self._seen[0]}
        return Episodes([self._context] if self._context else [], which, seen, moves, lengths, objective)


def _stacked(arrays: Sequence[Any], empty: float = 0) -> NDArray[Any]:
    """[M, ...] of M arrays of as many axes, filled up to the largest."""
    shape = [max(sizes) for sizes in zip(*(np.shape(array) for array in arrays))]
    found: NDArray[Any] = np.full((len(arrays), *shape), empty, np.asarray(arrays[0]).dtype)
    for k, array in enumerate(arrays):
        filled: tuple[Any, ...] = (k, *(slice(size) for size in np.shape(array)))
        found[filled] = array
    return found


def record(
    instance: MilpInstance, run: Run, choose: Choose, recorder: Recorder, parameters: Mapping[str, Any] | None = None
) -> Episodes:
    """The episode of a tree that SCIP grows in Gasse's setting until it or `run` is done, branching as `choose` says and, where
    that leaves it to SCIP, on pseudocosts. Of a solve that is cut short, objective and returns count the nodes until then.

    parameters: of SCIP, besides those of the setting.
    """
    engine = Engine(instance, run, {**GASSE, **(parameters or {})})
    try:
        engine.add(Rule(engine.model, engine.callbacks, choose), "corl_recorded", "a recorded rule", MEASURING)
        engine.solve(lambda kind, value: None)
        return recorder.episode(int(engine.model.getNTotalNodes()))
    finally:
        engine.close()

"""`Recorder`: records nodes of SCIP's tree and the branching decisions there as an episode (corl.learning.episodes).

SCIP cannot be stepped like an environment, because it calls the branching rule; so episodes are recorded during a solve.
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

__all__ = ["GASSE", "UPPER", "NodeObserver", "Recorder", "record"]

_Arrays = Mapping[str, NDArray[Any]]
GASSE: Mapping[str, Any] = {"separating/maxrounds": 0, "presolving/maxrestarts": 0, "branching/pscost/priority": FIRST}
"""SCIP's parameters as in Gasse et al. (2019), with pseudocost branching at nodes that a rule leaves to SCIP."""
UPPER = 1
"""SCIP's code for an upper bound; branching down changes the upper bound of the variable."""


class NodeObserver(Protocol):
    """A network that observes nodes in SCIP, as other policy networks observe the states of an environment."""

    def context(self, node: Observation) -> _Arrays:
        """Return the arrays that are observed once per tree, at its first recorded node."""

    def observe(self, node: Observation, slots: NDArray[np.int64]) -> _Arrays:
        """Return the arrays that are observed of a node and its candidates in the slots [k], before the node is branched."""


class Recorder:
    """Records the episode of one tree. A move is a recorded node; the M moves are in the order in which SCIP branched the nodes.

    The observations are the network's arrays, padded with 0 to the largest number K of candidates of a node; "mask", bool [M, K],
    True in slots with a candidate; and "scale", which is 1 because values are numbers of nodes. The moves have the arrays that
    the moves of every episode have: an action is the index of a variable in SCIP's program; a reward is minus the number of nodes
    solved until the next move. Further arrays of the moves describe the tree:

    - "children", int64 [M, 2]: how many moves later the down child and the up child were branched; 0 if they were not;
    - "parent", int64 [M]: how many moves earlier the nearest recorded ancestor was branched; 0 at the root;
    - "up", int64 [M]: 1 if the path from that ancestor begins with its up child, otherwise 0.
    """

    def __init__(self, observer: NodeObserver) -> None:
        self._observer = observer
        self._context: _Arrays = {}
        self._observed: list[_Arrays] = []
        self._moves: list[dict[str, Any]] = []
        self._from: list[tuple[int, int]] = []  # each move's nearest ancestor, and 1 if below its up child; (-1, 0) at the root
        self._nodes: list[int] = []  # the number of nodes solved when each move was made, including its own
        self._move_of: dict[int, int] = {}  # SCIP's number of a node -> its move

    def __len__(self) -> int:
        """Return the number of moves."""
        return len(self._moves)

    def recording(self, choose: Choose) -> Choose:
        """Return a rule that chooses as `choose` does, and records every node where `choose` branches."""

        def choose_and_record(node: Observation) -> int:
            slots = np.arange(len(node.candidates))
            observed = self.observe(node, slots)
            if (slot := choose(node)) >= 0:
                self.add(node, observed, slots, slot, (slots == slot).astype(np.float32))
            return slot

        return choose_and_record

    def observe(self, node: Observation, slots: NDArray[np.int64]) -> _Arrays:
        """Return the network's observation of a node, for `add`; call it before the node is branched."""
        if not self._observed:
            self._context = self._observer.context(node)
        return self._observer.observe(node, slots)

    def add(self, node: Observation, observed: _Arrays, slots: NDArray[np.int64], slot: int, policy: NDArray[np.float32]) -> None:
        """Record the current node as a move.

        Args:
            node: The node.
            observed: The result of `observe`.
            slots: int64 [K], the listed candidates, increasing.
            slot: The chosen candidate, one of `slots`.
            policy: float32 [K], the distribution over the listed candidates that a network is to learn.
        """
        if (depth := node.model.getDepth()) == 0:
            self._move_of.clear()  # at the first root, or after a restart, when SCIP numbers the nodes from 1 again
        self._from.append(self._parent(node.model.getCurrentNode()) if depth else (-1, 0))
        self._move_of[node.model.getCurrentNode().getNumber()] = len(self._moves)
        self._nodes.append(int(node.model.getNTotalNodes()))
        self._observed.append({"mask": np.ones(len(policy), bool), "scale": np.ones(()), **observed})
        actions = indices(node.candidates[slots]).astype(np.int32)
        self._moves.append({"actions": actions, "slot": np.searchsorted(slots, slot), "policy": policy})

    def _parent(self, node: Any) -> tuple[int, int]:
        """Return the move of a SCIP node's nearest recorded ancestor, and 1 if the path from there begins with the up child.

        SCIP's own rules may have branched the nodes between the ancestor and the node.
        """
        child, node = node, node.getParent()
        while node is not None and node.getNumber() not in self._move_of:
            child, node = node, node.getParent()
        if node is None:
            return -1, 0
        _, _, kinds = child.getParentBranchings()
        return self._move_of[node.getNumber()], int(kinds[0] != UPPER)

    def episode(self, nodes: int) -> Episodes:
        """Return the episode of a solve of `nodes` nodes in total; it is empty if no node was recorded."""
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
        observed = {name: _stacked([one[name] for one in self._observed]) for name in self._observed[0]}
        return Episodes([self._context] if self._context else [], which, observed, moves, lengths, objective)


def _stacked(arrays: Sequence[Any], empty: float = 0) -> NDArray[Any]:
    """Return M arrays with the same number of axes as one array [M, ...], padded with `empty` to the largest sizes."""
    shape = [max(sizes) for sizes in zip(*(np.shape(array) for array in arrays))]
    result: NDArray[Any] = np.full((len(arrays), *shape), empty, np.asarray(arrays[0]).dtype)
    for k, array in enumerate(arrays):
        index: tuple[Any, ...] = (k, *(slice(size) for size in np.shape(array)))
        result[index] = array
    return result


def record(
    instance: MilpInstance, run: Run, choose: Choose, recorder: Recorder, parameters: Mapping[str, Any] | None = None
) -> Episodes:
    """Solve a program with SCIP's parameters of Gasse et al. (2019), and return the recorded episode.

    If a limit ends the solve early, the objective and the returns count the nodes until then.

    Args:
        instance: The program.
        run: The run, whose limits and seed become SCIP's.
        choose: The branching rule; nodes that it leaves to SCIP are branched on pseudocosts.
        recorder: The recorder, which `choose` fills.
        parameters: Further parameters of SCIP.
    """
    engine = Engine(instance, run, {**GASSE, **(parameters or {})})
    try:
        engine.add(Rule(engine.model, engine.callbacks, choose), "corl_recorded", "a recorded rule", MEASURING)
        engine.solve(lambda kind, value: None)
        return recorder.episode(int(engine.model.getNTotalNodes()))
    finally:
        engine.close()

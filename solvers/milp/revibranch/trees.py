"""Episodes to learn from: trees that SCIP builds while a network's policy chooses the branching variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.learning.episodes import Episodes
from corl.problems.milp.problem import Milp
from corl.run import Run
from corl.solvers.milp.branching.scoring import CLIP
from corl.solvers.milp.revibranch.network import RevivedNetwork
from corl.solvers.milp.scip import MEASURING
from corl.solvers.milp.scip.recorder import Recorder, record

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance

__all__ = ["DEPTH_FIRST", "chosen", "grow"]

DEPTH_FIRST = {"nodeselection/dfs/stdpriority": MEASURING}
"""SCIP's parameters, in addition to `recorder.GASSE`: the subtree of a node is completed before that of its sibling begins."""


def grow(
    network: RevivedNetwork, instance: MilpInstance, seed: int, chance: float, nodes: int, seconds: float | None
) -> Episodes:
    """Solve a program with SCIP and the network's current policy, and return the tree. A move is a branched node.

    The moves get a field "open", int64 [M]: 1 if a limit ended the solve before the subtree of the move was complete.

    Args:
        network: The network.
        instance: The program.
        seed: The seed of SCIP and of random branching.
        chance: The probability that a node is branched at random.
        nodes: The largest number of nodes.
        seconds: The time limit; None: no limit.
    """
    run = Run(Milp().with_sense_of(instance), instance, seed=seed, iterations=nodes, time_limit=seconds)
    run.start()
    recorder = Recorder(network)
    choose = recorder.recording(network.branching(np.random.default_rng(seed), chance))
    tree = record(instance, run, choose, recorder, DEPTH_FIRST)
    if count := int(tree.lengths.sum()):
        tree.moves["open"] = np.zeros(count, np.int64)
        if run.should_stop or -tree.objective[0] >= nodes:
            _leave_open(tree.moves)
    return tree


def _leave_open(moves: dict[str, NDArray[Any]]) -> None:
    """Mark as open the last move and its ancestors: only their subtrees are incomplete, because the search is depth first."""
    move = len(moves["open"]) - 1
    moves["open"][move] = 1
    while (back := int(moves["parent"][move])) > 0:
        move -= back
        moves["open"][move] = 1


def chosen(network: RevivedNetwork, tree: Episodes) -> NDArray[np.float32]:
    """Return for each move the standardised features of the chosen candidate and their means over all candidates, [M, 2 F]."""
    lines, mask, slot = tree.observed["lines"], tree.observed["mask"], tree.moves["slot"].astype(np.int64)
    mean, scale = (part.cpu().numpy() for part in (network.mean, network.scale))
    standard = np.where(mask[:, :, None], np.clip((lines - mean) * scale, -CLIP, CLIP), 0.0)
    state = standard.sum(1) / mask.sum(1, keepdims=True)
    return np.concatenate((standard[np.arange(len(slot)), slot], state), 1).astype(np.float32)

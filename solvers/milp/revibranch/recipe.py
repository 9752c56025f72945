"""Recipe `milp.revibranch`: branching learned by reinforcement alone, from the trees that the policy itself grows in SCIP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.options import option
from corl.problems.milp.generators import GENERATORS
from corl.recipe import Recipe
from corl.solvers.milp.imitation.recipe import SEEDS
from corl.solvers.milp.scip import MEASURING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from corl.learning.episodes import Episodes
    from corl.learning.session import Training
    from corl.problems.milp.instance import MilpInstance

__all__ = ["DEPTH_FIRST", "ReviBranch"]

DEPTH_FIRST = {"nodeselection/dfs/stdpriority": MEASURING}
"""SCIP's parameters, besides those of Gasse's setting: a node's subtree is finished before the next one's."""
_WATCHED = 400_000  # the first seed of programs that are watched; training's begin at SEEDS
_FIRST_NODES = 2_000  # branched at random, to take the features' means and deviations of


@dataclass(frozen=True)
class ReviBranch(Recipe):
    """Double deep Q-learning on trees that SCIP grows depth first in Gasse's setting, one program after the other.

    After ReviBranch (arXiv 2508.17452), whose two parts can be left out: `ancestors` = 0 revives nothing (revibranch.network), and
    `credit` other than `weights` redistributes nothing (revibranch.credit). With `tree` and 0 it is the tree MDP's Q-learning.
    A branched node is a move, some of them at random; `updates` optimiser steps follow every tree.
    """

    family: str = option("auctions", "What is generated.", choices=GENERATORS)
    sizes: str = option("", "Options of the family's generator, such as items=60,bids=300; empty: its defaults.")
    ancestors: int = option(8, "How many decisions above a node are revived; 0: none.", low=0, high=64)
    credit: str = option("weights", "What the values are learned from (revibranch.credit).", choices=("tree", "paths", "weights"))
    ahead: int = option(3, "Levels of the tree, or moves of a path, before the value of what is below stands for the rest.", low=1)
    nodes: int = option(1_000, "Of SCIP's tree at the most; of one that is cut short the rest counts as many nodes.", low=10)
    updates: int = option(16, "Optimiser steps after every tree.", low=1, scale="log")
    batch: int = option(64, "Nodes of an optimiser step.", low=1, scale="log")
    replay: int = option(20_000, "The latest nodes kept.", low=1, scale="log")
    sync: int = option(200, "Optimiser steps between two copies to the frozen network that gives the targets.", low=1, scale="log")
    rate: float = option(1e-3, "Learning rate at first; it falls to 0 as a cosine.", above=0, scale="log")
    width: int = option(32, "Of the network's hidden vectors.", low=1, scale="log")
    watch: int = option(8, "Programs never trained on that the policy solves now and then; the best weights are kept. 0: none.", low=0)
    every: int = option(100, "Trees from one such look to the next.", low=1, scale="log")

    usual_time: ClassVar[float | None] = 1200.0
    title: ClassVar[str] = "ReviBranch: branching learned by reinforcement, with revived paths"
    step: ClassVar[str] = "a program's tree and the optimiser steps after it"

    def train(self, training: Training) -> None:
        from corl.learning.q_learning import QLearning
        from corl.learning.replay import Replay
        from corl.learning.validation import BestWeights
        from corl.solvers.milp.branching.signature import signature, signature_range
        from corl.solvers.milp.revibranch.credit import Redistribution, Tree, along_paths
        from corl.solvers.milp.revibranch.network import RevivedNetwork
        from corl.solvers.milp.scip import functions as scip

        if not scip.load():
            raise UsageError("the SCIP functions that features are made of were not found in PySCIPOpt's library")
        few = [signature(self.program(SEEDS + number)) for number in range(16)]
        lower, upper = signature_range(few)
        network = RevivedNetwork("milp", self.family, lower, upper, self.width, self.ancestors).to(training.device)
        replay, best = Replay(max(self.replay, self.nodes)), BestWeights()
        target = Tree(self.ahead, self.nodes) if self.credit == "tree" else along_paths(self.ahead)
        learning = QLearning(
            network, replay, target, rate=self.rate, batch=self.batch, sync=self.sync, states=network.states
        )  # fmt: skip
        spread = Redistribution(2 * network.mean.shape[0]) if self.credit == "weights" else None
        parts = {} if spread is None else {"redistribution": spread}
        training.manage(network=network, learning=learning, replay=replay, best=best, **parts)
        while training.budget():
            if replay.added < _FIRST_NODES and not learning.updates:
                seen = self._grow(training, replay, network, spread, chance=1.0)
                _standardise(network, replay)
                learning.frozen.load_state_dict(network.state_dict())
            else:
                seen = self._grow(training, replay, network, spread)
                if replay.size:
                    random = training.generator(2, training.step)
                    losses = [learning.step(random, training.fraction) for _ in range(self.updates)]
                    seen["loss"] = sum(losses) / len(losses)
            if self.watch and (training.step + 1) % self.every == 0:
                seen["watched"] = self.validate(network, training)
                best.offer(seen["watched"], network)
            training.log(**seen)
        if not replay.size:
            raise UsageError("SCIP solved every program before it had to branch: nothing to learn; accepted: larger sizes")
        if self.watch and not training.interrupted:
            best.offer(self.validate(network, training), network)
        best.restore(network)
        training.save(network.eval())

    def program(self, seed: int) -> MilpInstance:
        """A program of the family. Raises UsageError for sizes that its generator does not take."""
        from corl.options import call, parse_pairs

        made: MilpInstance = call(GENERATORS[self.family], {**parse_pairs([p for p in self.sizes.split(",") if p]), "seed": seed})
        return made

    def _grow(
        self, training: Training, replay: Any, network: Any, spread: Any, chance: float | None = None
    ) -> dict[str, float]:  # fmt: skip
        """One more tree for the replay; a share `chance` of its nodes is branched at random."""
        from corl.learning.q_learning import exploration
        from corl.solvers.milp.revibranch.credit import share

        random = training.generator(1, training.step)
        some = float(exploration(random, 1)[0]) if chance is None else chance
        tree = self.tree(network, SEEDS + 10_000 * training.seed + training.step, random, some, left(training))
        if tree.lengths.sum():
            chosen = None if spread is None else _chosen(network, tree)
            share(tree, self.credit, spread, chosen)
            replay.add(tree)
        return {"nodes": -float(tree.objective[0])}

    def tree(self, network: Any, seed: int, random: Any, chance: float, seconds: float | None) -> Episodes:
        """The tree of a program under the policy as it is now."""
        import numpy as np

        from corl.problems.milp.problem import Milp
        from corl.run import Run
        from corl.solvers.milp.scip.recorder import Recorder, record

        instance = self.program(seed)
        run = Run(Milp().of(instance), instance, seed=seed, iterations=self.nodes, time_limit=seconds)
        run.start()
        recorder = Recorder(network)
        episode = record(instance, run, recorder.watching(network.branching(random, chance)), recorder, DEPTH_FIRST)
        count = int(episode.lengths.sum())
        if count:
            episode.moves["open"] = np.zeros(count, np.int64)
            if -episode.objective[0] >= self.nodes or run.should_stop:
                _mark_open(episode.moves)
        return episode

    def validate(self, network: Any, training: Training) -> float:
        """The mean logarithm of the nodes of the programs watched, without random branchings."""
        import numpy as np

        seeds = range(_WATCHED, _WATCHED + self.watch)
        random = np.random.default_rng(0)
        nodes = [-float(self.tree(network, seed, random, 0.0, left(training)).objective[0]) for seed in seeds]
        return float(np.log(np.maximum(nodes, 1.0)).mean())


def left(training: Training) -> float | None:
    """Seconds for one tree: what is left of the training, and a little."""
    return None if training.time_limit is None else max(1.0, training.time_limit - training.seconds)


def _mark_open(moves: dict[str, Any]) -> None:
    """Of a tree that was cut short depth first: the last move and all above it are not done."""
    move = len(moves["open"]) - 1
    moves["open"][move] = 1
    while (back := int(moves["parent"][move])) > 0:
        move -= back
        moves["open"][move] = 1


def _standardise(network: Any, replay: Any) -> None:
    import numpy as np

    if replay.size:
        every = np.arange(replay.added - replay.size, replay.added)
        network.standardise(network.states(replay, every).lists.lines)


def _chosen(network: Any, tree: Episodes) -> Any:
    """[M, 2 F] of the moves of a tree: the standardised features of the chosen candidate and their means over the candidates."""
    import numpy as np

    lines, mask, slot = tree.seen["lines"], tree.seen["mask"], tree.moves["slot"].astype(np.int64)
    mean, scale = (part.cpu().numpy() for part in (network.mean, network.scale))
    standard = np.where(mask[:, :, None], np.clip((lines - mean) * scale, -5.0, 5.0), 0.0)
    state = standard.sum(1) / mask.sum(1, keepdims=True)
    return np.concatenate((standard[np.arange(len(slot)), slot], state), 1).astype(np.float32)

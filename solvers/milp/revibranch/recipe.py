"""Recipe `milp.revibranch`: branching learned by reinforcement alone, from the trees that the policy itself grows in SCIP."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.learning.recipe import Recipe
from corl.options import option
from corl.problems.milp.generators import GENERATORS
from corl.problems.milp.problem import Milp
from corl.solvers.milp.folder import instances_option, program_files
from corl.solvers.milp.imitation.recipe import SEEDS

if TYPE_CHECKING:
    from corl.learning.session import Training
    from corl.problems.milp.instance import MilpInstance

__all__ = ["ReviBranch"]

_WATCHED = 400_000  # the first seed of programs that are watched; training's begin at SEEDS
_SIGNATURES = 16  # programs whose shapes say which ones a policy is for


@dataclass(frozen=True)
class ReviBranch(Recipe):
    """Double deep Q-learning on trees that SCIP grows depth first in Gasse's setting, one program after the other.

    After ReviBranch (arXiv 2508.17452). Its parts can be left out: `ancestors` = 0 revives nothing (revibranch.network), and a
    `credit` other than `weights` redistributes nothing (revibranch.credit). With `tree` and 0 it is Q-learning of a tree MDP.
    A branched node is a move, some of them at random.
    """

    family: str = option("auctions", "What is generated.", choices=GENERATORS)
    sizes: str = option("", "Options of the family's generator, such as items=60,bids=300; empty: its defaults.")
    instances: str = instances_option()
    ancestors: int = option(8, "How many decisions above a node are revived; 0: none.", low=0, high=64)
    credit: str = option("weights", "What the values are learned from (revibranch.credit).", choices=("tree", "paths", "weights"))
    ahead: int = option(3, "Levels of the tree, or moves of a path, until a value stands for what is below.", low=1)
    nodes: int = option(1_000, "Of a tree at the most; of one that is cut short the rest counts as many nodes.", low=10)
    warm: int = option(2_000, "Nodes that are branched at random before the first optimiser step.", low=1, scale="log")
    updates: int = option(16, "Optimiser steps after every tree.", low=1, scale="log")
    batch: int = option(64, "Nodes of an optimiser step.", low=1, scale="log")
    replay: int = option(20_000, "The latest nodes kept.", low=1, scale="log")
    sync: int = option(200, "Optimiser steps between two copies to the frozen network of the targets.", low=1, scale="log")
    rate: float = option(1e-3, "Learning rate at first; it falls to 0 as a cosine.", above=0, scale="log")
    width: int = option(32, "Of the network's hidden vectors.", low=1, scale="log")
    watch: int = option(8, "Programs never trained on, solved now and then; the best weights are kept. 0: none.", low=0)
    every: int = option(100, "Trees from one such look to the next.", low=1, scale="log")

    usual_time: ClassVar[float | None] = 1200.0
    title: ClassVar[str] = "ReviBranch: branching learned by reinforcement, with revived paths"
    step: ClassVar[str] = "a program's tree and the optimiser steps after it"

    def train(self, training: Training) -> None:
        from corl.learning.algorithms.q_learning import QLearning
        from corl.learning.optimise import new_optimiser
        from corl.learning.replay import Replay
        from corl.learning.validation import BestWeights
        from corl.solvers.milp.revibranch.credit import Redistribution, Tree, along_paths
        from corl.solvers.milp.scip import functions as scip

        if not scip.load():
            raise UsageError("the SCIP functions that features are made of were not found in PySCIPOpt's library")
        network = self._network().to(training.device)
        replay, best = Replay(max(self.replay, self.nodes, self.warm)), BestWeights()
        target = Tree(self.ahead, self.nodes) if self.credit == "tree" else along_paths(self.ahead)
        optimiser = new_optimiser(network, self.rate)
        learning = QLearning(
            network, replay, target, optimiser, rate=self.rate, batch=self.batch, sync=self.sync, states=network.states
        )  # fmt: skip
        weights = Redistribution(len(network.mean)) if self.credit == "weights" else None
        parts = {} if weights is None else {"redistribution": weights}
        training.manage(network=network, optimiser=optimiser, learning=learning, replay=replay, best=best, **parts)
        while training.budget():
            seen = self._grow(training, learning, weights)
            if self._watch and (training.step + 1) % self.every == 0:
                seen["watched"] = self._watched(network, training)
                best.offer(seen["watched"], network)
            training.log(**seen)
        if not learning.updates:
            raise UsageError("no tree of two nodes or more came of it: nothing to learn; accepted: larger sizes, more time")
        if self._watch and not training.interrupted:
            best.offer(self._watched(network, training), network)
            best.restore(network)
        training.save(network.eval())

    def program(self, seed: int) -> MilpInstance:
        """A program of the family. Raises UsageError for sizes that its generator does not take."""
        from corl.options import call, parse_pairs

        sizes = parse_pairs([pair for pair in self.sizes.split(",") if pair])
        made: MilpInstance = call(GENERATORS[self.family], {**sizes, "seed": seed})
        return made

    def _files(self, watched: bool) -> list[Path]:
        """Of the folder `instances`: of eight files or more every eighth is watched and not trained on."""
        files = program_files(self.instances)
        return [path for number, path in enumerate(files) if (number % 8 == 7) == watched]

    def _trained(self, number: int, seed: int) -> MilpInstance:
        """The program of that number; `seed` is the run's."""
        if not self.instances:
            return self.program(SEEDS + 10_000 * seed + number)
        files = self._files(False)
        return Milp().read(files[number % len(files)])

    @cached_property
    def _watch(self) -> list[MilpInstance]:
        """The programs never trained on."""
        if not self.instances:
            return [self.program(_WATCHED + number) for number in range(self.watch)]
        return [Milp().read(path) for path in self._files(True)[: self.watch]]

    def _network(self) -> Any:
        """A new one, with the range of the signatures of some programs."""
        from corl.solvers.milp.branching.signature import signature, signature_range
        from corl.solvers.milp.revibranch.network import RevivedNetwork

        lower, upper = signature_range([signature(self._trained(number, 0)) for number in range(_SIGNATURES)])
        return RevivedNetwork("milp", "" if self.instances else self.family, lower, upper, self.width, self.ancestors)

    def _grow(self, training: Training, learning: Any, weights: Any) -> dict[str, float]:
        """One more tree, and the optimiser steps after it: what is told of them."""
        from corl.learning.algorithms.q_learning import exploration
        from corl.solvers.milp.revibranch.credit import share
        from corl.solvers.milp.revibranch.trees import chosen, grow

        network, replay = learning.network, learning.replay
        first = replay.added < self.warm and not learning.updates
        chance = 1.0 if first else float(exploration(training.generator(1, training.step), 1)[0])
        seed = SEEDS + 10_000 * training.seed + training.step
        program = self._trained(training.step, training.seed)
        tree = grow(network, program, seed, chance, self.nodes, _left(training))
        if tree.lengths.sum():
            if self.credit != "tree":
                share(tree, self.nodes, weights, chosen(network, tree) if weights is not None else None)
            replay.add(tree)
        seen = {"nodes": -float(tree.objective[0])}
        if first and replay.added >= self.warm:
            learning.begin(lambda states: network.standardise(states.lists.lines))
        if replay.added >= self.warm:
            random = training.generator(2, training.step)
            seen["loss"] = (
                sum(learning.learn(learning.draw(random), training.fraction) for _ in range(self.updates)) / self.updates
            )
        return seen

    def _watched(self, network: Any, training: Training) -> float:
        """The mean logarithm of the nodes of the programs watched, none branched at random."""
        import numpy as np

        from corl.solvers.milp.revibranch.trees import grow

        trees = (grow(network, program, seed, 0.0, self.nodes, _left(training)) for seed, program in enumerate(self._watch))
        return float(np.log(np.maximum([-tree.objective[0] for tree in trees], 1.0)).mean())


def _left(training: Training) -> float | None:
    """Seconds for one tree: what is left of the training, a second at the least."""
    return None if training.time_limit is None else max(1.0, training.time_limit - training.seconds)

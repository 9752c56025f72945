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

_WATCHED = 400_000  # the first seed of validation programs; those of training begin at SEEDS
_SIGNATURES = 16  # training programs whose signatures go into the checkpoint


@dataclass(frozen=True)
class ReviBranch(Recipe):
    """Double deep Q-learning on trees that SCIP builds depth first, with its parameters of Gasse et al. (2019).

    After ReviBranch (arXiv 2508.17452). Its two ideas can be switched off: with `ancestors` = 0 the network does not see the
    steps at a node's ancestors (revibranch.network), and with `credit` = `tree` the reward is not distributed over paths
    (revibranch.credit). Without both, this is Q-learning of a tree MDP. A branched node is a move; some are random.
    """

    family: str = option("auctions", "The generator of the programs.", choices=GENERATORS)
    sizes: str = option("", "Options of the family's generator, such as items=60,bids=300; empty: its defaults.")
    instances: str = instances_option()
    ancestors: int = option(8, "Most ancestors of a node whose decisions the network uses; 0: none.", low=0, high=64)
    credit: str = option("weights", "The targets of the Q-values (revibranch.credit).", choices=("tree", "weights"))
    ahead: int = option(3, "Levels of the tree, or moves of a path, before a target uses the network's value.", low=1)
    nodes: int = option(1_000, "The largest number of nodes of a tree; an incomplete subtree counts this many more.", low=10)
    warm: int = option(2_000, "Nodes that are branched at random before the first optimiser step.", low=1, scale="log")
    updates: int = option(16, "Optimiser steps after every tree.", low=1, scale="log")
    batch: int = option(64, "Nodes per optimiser step.", low=1, scale="log")
    replay: int = option(20_000, "The number of latest nodes that are kept for training.", low=1, scale="log")
    sync: int = option(200, "Optimiser steps between two copies to the frozen network of the targets.", low=1, scale="log")
    rate: float = option(1e-3, "Learning rate at the beginning; it falls to 0 as a cosine.", above=0, scale="log")
    width: int = option(32, "The size of the network's hidden vectors.", low=1, scale="log")
    watch: int = option(8, "Validation programs, by which the weights to keep are chosen; 0: the last weights are kept.", low=0)
    every: int = option(100, "Trees between two validations.", low=1, scale="log")

    usual_time: ClassVar[float | None] = 1200.0
    title: ClassVar[str] = "ReviBranch: branching learned by reinforcement, with revived paths"
    step: ClassVar[str] = "a program's tree and the optimiser steps after it"

    def train(self, training: Training) -> None:
        """Build trees, learn from them after each one, and save the network with the best weights."""
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
            results = self._grow(training, learning, weights)
            if self._watch and (training.step + 1) % self.every == 0:
                results["watched"] = self._watched(network, training)
                best.offer(results["watched"], network)
            training.log(**results)
        if not learning.updates:
            raise UsageError("no tree of two nodes or more came of it: nothing to learn; accepted: larger sizes, more time")
        if self._watch and not training.interrupted:
            best.offer(self._watched(network, training), network)
            best.restore(network)
        training.save(network.eval())

    def program(self, seed: int) -> MilpInstance:
        """Return the family's program of a seed. Raises UsageError for sizes that its generator does not accept."""
        from corl.options import call, parse_pairs

        sizes = parse_pairs([pair for pair in self.sizes.split(",") if pair])
        made: MilpInstance = call(GENERATORS[self.family], {**sizes, "seed": seed})
        return made

    def _files(self, watched: bool) -> list[Path]:
        """Return the files of `instances` for validation (`watched`) or for training; every eighth is for validation."""
        files = program_files(self.instances)
        return [path for number, path in enumerate(files) if (number % 8 == 7) == watched]

    def _trained(self, number: int, seed: int) -> MilpInstance:
        """Return the training program of a number, in a run with this seed."""
        if not self.instances:
            return self.program(SEEDS + 10_000 * seed + number)
        files = self._files(False)
        return Milp().read(files[number % len(files)])

    @cached_property
    def _watch(self) -> list[MilpInstance]:
        """The validation programs, which are never trained on."""
        if not self.instances:
            return [self.program(_WATCHED + number) for number in range(self.watch)]
        return [Milp().read(path) for path in self._files(True)[: self.watch]]

    def _network(self) -> Any:
        """Return a new network, with the range of the signatures of some training programs in its configuration."""
        from corl.solvers.milp.branching.signature import signature, signature_range
        from corl.solvers.milp.revibranch.network import RevivedNetwork

        lower, upper = signature_range([signature(self._trained(number, 0)) for number in range(_SIGNATURES)])
        return RevivedNetwork("milp", "" if self.instances else self.family, lower, upper, self.width, self.ancestors)

    def _grow(self, training: Training, learning: Any, weights: Any) -> dict[str, float]:
        """Build another tree and take the optimiser steps after it; return the values to log."""
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
            if weights is not None:
                share(tree, self.nodes, weights, chosen(network, tree))
            replay.add(tree)
        results = {"nodes": -float(tree.objective[0])}
        if first and replay.added >= self.warm:
            learning.begin(lambda states: network.standardise(states.lists.lines))
        if replay.added >= self.warm:
            random = training.generator(2, training.step)
            results["loss"] = (
                sum(learning.learn(learning.draw(random), training.fraction) for _ in range(self.updates)) / self.updates
            )
        return results

    def _watched(self, network: Any, training: Training) -> float:
        """Return the mean logarithm of the numbers of nodes on the validation programs, without random branching."""
        import numpy as np

        from corl.solvers.milp.revibranch.trees import grow

        trees = (grow(network, program, seed, 0.0, self.nodes, _left(training)) for seed, program in enumerate(self._watch))
        return float(np.log(np.maximum([-tree.objective[0] for tree in trees], 1.0)).mean())


def _left(training: Training) -> float | None:
    """Return the seconds for one tree: the remaining time of the training, but at least one second; None: no limit."""
    return None if training.time_limit is None else max(1.0, training.time_limit - training.seconds)

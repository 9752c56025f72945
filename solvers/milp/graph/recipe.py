"""Recipes `milp.root-gnn` and `milp.gcnn`: the graph networks, on the same labels and with the same loss as `milp.branching`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corl.errors import UsageError
from corl.learning.recipe import Recipe
from corl.solvers.milp.branching_recipe import check_labelling

if TYPE_CHECKING:
    from corl.learning.training import Training
    from corl.solvers.milp.graph.lessons import Network, Node

__all__ = ["GcnnRecipe", "Lessons", "RootGnnRecipe"]

_COLLECTED = 0.7  # share of the run after which nothing is collected any more
_HELD_OUT = 4  # every so many-th program is for validation
_SEEDS = 500_000  # first seed of the programs, as in branching_recipe
_FIELDS = ("features", "scores", "columns", "root_columns")  # of a Node, before its graphs
_TURNS = 25  # optimiser steps between two validations


class Lessons:
    """Labelled nodes of generated programs, some programs held out, with the programs' signatures."""

    def __init__(self) -> None:
        self.train: list[Node] = []
        self.held: list[Node] = []
        self.signatures: list[Any] = []
        self.programs, self.updates = 0, 0

    @property
    def nodes(self) -> int:
        """Labelled ones."""
        return len(self.train) + len(self.held)

    def solve(self, family: str, training: Training, *, share: float, each: int, width: int, seconds: float | None) -> None:
        """Record the next program's tree."""
        from corl.problems.milp.generators import GENERATORS
        from corl.run import Run
        from corl.solvers.milp.graph.lessons import collect
        from corl.solvers.milp.signature import signature

        instance = GENERATORS[family](seed=_SEEDS + 10_000 * training.seed + self.programs)
        run = Run(training.problem.of(instance), instance, seed=training.seed + self.programs, time_limit=seconds)
        run.start()
        nodes = collect(instance, run, share=share, most=each, width=width)
        (self.held if self.programs % _HELD_OUT == 1 else self.train).extend(nodes)
        self.signatures.append(signature(instance))
        self.programs += 1

    def begin(self, network: Network) -> None:
        """Before the first optimiser step. Raises UsageError where there is nothing to learn from."""
        from corl.solvers.milp.graph.lessons import standardise
        from corl.solvers.milp.signature import signature_range

        if not self.train:
            raise UsageError("no node was labelled: the programs were solved without branching, or the time was too short")
        standardise(network, self.train)
        lower, upper = signature_range(self.signatures)
        network.config |= {"lower": lower, "upper": upper}


    def state_dict(self) -> dict[str, Any]:
        """For snapshots: of each node its tensors, and which of the trees' roots is its own."""
        roots: dict[int, Any] = {id(node.root): node.root for node in (*self.train, *self.held)}
        place = {key: number for number, key in enumerate(roots)}
        parts = {
            name: [[*(getattr(n, field) for field in _FIELDS), *n.graph, place[id(n.root)]] for n in getattr(self, name)]
            for name in ("train", "held")
        }
        facts = {"signatures": self.signatures, "programs": self.programs, "updates": self.updates}
        return {**parts, **facts, "roots": [list(root) for root in roots.values()]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """From a snapshot."""
        from corl.solvers.milp.graph.lessons import Node

        roots = [tuple(root) for root in state["roots"]]
        for name in ("train", "held"):
            nodes = [Node(a, b, c, d, tuple(graph), roots[int(root)]) for a, b, c, d, *graph, root in state[name]]
            setattr(self, name, nodes)
        self.signatures = list(state["signatures"])
        self.programs, self.updates = int(state["programs"]), int(state["updates"])


@dataclass(frozen=True)
class _GraphOptions:
    family: str = "auctions"
    """What is generated: a name of `corl generate milp`, at its default size."""
    samples: int = 200
    """Labelled nodes, from 8."""
    share: float = 0.05
    """Probability that a node is labelled, above 0 to 1; each tree's first one always is."""
    each: int = 12
    """Labelled nodes of one tree at the most."""
    width: int = 80
    """Candidates of a labelled node that strong branching is asked about, at random, from 2."""
    updates: int = 300
    """Optimiser steps."""
    rate: float = 3e-3
    """The largest learning rate of AdamW, above 0; over the updates it falls to 0 as a cosine."""
    batch: int = 16
    """Nodes of a step."""

    def __post_init__(self) -> None:
        from corl.problems.milp.generators import GENERATORS

        if self.family not in GENERATORS:
            raise UsageError(f"family is {self.family!r}; accepted: {', '.join(GENERATORS)}")
        check_labelling(self)


@dataclass(frozen=True)
class RootGnnRecipe(_GraphOptions, Recipe):
    """A graph network at the root feeding a perceptron at every node (networks.RootGnnNetwork)."""

    title: ClassVar[str] = "milp-root-gnn: a graph network at the root, a perceptron at the nodes, as strong branching does"
    step: ClassVar[str] = "a program whose tree is recorded; after these, an optimiser step"

    def train(self, training: Training) -> None:
        from corl.solvers.milp.graph.networks import RootGnnNetwork

        _train(self, training, functools.partial(RootGnnNetwork, family=self.family))


@dataclass(frozen=True)
class GcnnRecipe(_GraphOptions, Recipe):
    """The graph network of Gasse et al. (2019) at every node (networks.GcnnNetwork): the reference."""

    title: ClassVar[str] = "milp-gcnn: Gasse et al.'s graph network at every node, the reference"
    step: ClassVar[str] = "a program whose tree is recorded; after these, an optimiser step"

    def train(self, training: Training) -> None:
        from corl.solvers.milp.graph.networks import GcnnNetwork

        _train(self, training, functools.partial(GcnnNetwork, family=self.family))


def _train(options: _GraphOptions, training: Training, make: Callable[[], Network]) -> None:
    """Collect until there are enough nodes or the share of the time is over, then learn."""
    import torch

    from corl.solvers.milp import scip_functions
    from corl.solvers.milp.graph.lessons import agreement, listwise

    if not scip_functions.load():
        raise UsageError("the SCIP functions that features are made of were not found in PySCIPOpt's library")
    network, lessons, random = make(), Lessons(), training.generator(1)
    optimiser = torch.optim.AdamW(network.parameters(), lr=options.rate, weight_decay=0.05)
    training.manage(network=network, optimiser=optimiser, lessons=lessons, random=random)
    while training.budget():
        if lessons.nodes < options.samples and training.fraction < _COLLECTED and lessons.updates == 0:
            left = None if training.time_limit is None else max(1.0, _COLLECTED * training.time_limit - training.seconds)
            lessons.solve(options.family, training, share=options.share, each=options.each, width=options.width, seconds=left)
            training.log(nodes=lessons.nodes, programs=lessons.programs)
            continue
        if lessons.updates >= options.updates:
            break
        if lessons.updates == 0:
            lessons.begin(network)
        for group in optimiser.param_groups:
            group["lr"] = options.rate * 0.5 * (1.0 + float(np.cos(np.pi * lessons.updates / options.updates)))
        chosen = random.integers(len(lessons.train), size=options.batch)
        loss = listwise(network, [lessons.train[int(k)] for k in chosen])
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        lessons.updates += 1
        facts = {"loss": loss.item()}
        if lessons.held and lessons.updates % _TURNS == 0:
            facts["agrees"] = float(np.mean(agreement(network, lessons.held)))
        training.log(**facts)
    if not lessons.updates:
        raise UsageError("the run ended before the first optimiser step; accepted: more time or steps")
    training.save(network.eval())

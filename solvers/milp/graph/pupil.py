"""How graph policies, and the perceptron to compare with, learn: from labelled nodes with their LPs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from corl.solvers.milp.branching.network import BranchingNetwork
from corl.solvers.milp.graph.features import graph_inputs
from corl.solvers.milp.graph.inference import indices, positions
from corl.solvers.milp.graph.networks import GcnnNetwork, RootGnnNetwork
from corl.solvers.milp.imitation.lessons import Lessons, agrees, listwise_loss, targets_of
from corl.solvers.milp.imitation.teacher import Labelled, Teacher
from corl.solvers.milp.scip.lp_reading import LpReader

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance

__all__ = ["GraphLessons", "GraphPupil", "GraphTeacher", "Network", "Node", "agreement", "scored", "standardise"]

Network: TypeAlias = BranchingNetwork | RootGnnNetwork | GcnnNetwork
_FIELDS = ("features", "scores", "columns", "root_columns")  # of a Node, before its graphs


@dataclass(frozen=True)
class Node:
    """A labelled node with k candidates that strong branching was asked about."""

    features: Tensor
    """float32 [k, 40]"""
    scores: Tensor
    """float32 [k], log of the product of both gains"""
    columns: Tensor
    """int64 [k], the candidates' places in `graph`"""
    root_columns: Tensor
    """int64 [k], in `root`"""
    graph: tuple[Tensor, ...]
    """`GraphInputs`, of this node's LP"""
    root: tuple[Tensor, ...]
    """of the tree's root"""


class GraphLessons(Lessons):
    """Nodes; those of one tree share its root's graph, in snapshots too."""

    def state_dict(self) -> dict[str, Any]:
        """Of each node its tensors, and which of the trees' roots is its own."""
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
        super().load_state_dict(state)
        roots = [tuple(root) for root in state["roots"]]
        for name in ("train", "held"):
            nodes = [Node(a, b, c, d, tuple(graph), roots[int(root)]) for a, b, c, d, *graph, root in state[name]]
            setattr(self, name, nodes)


class GraphTeacher(Teacher):
    """Keeps the LP of every labelled node, as it was before strong branching."""

    def decide(self) -> int:
        """See Rule."""
        self.seen = graph_inputs(LpReader(self.model).read())
        return super().decide()

    def lesson(self, node: Labelled) -> Node:
        """See Teacher."""
        graph = tuple(torch.from_numpy(part) for part in self.seen)
        index, columns = indices(self.pointer, len(self.seen.columns)), positions(node.pointers[node.asked])
        if not self.lessons:
            self.places = {int(variable): j for j, variable in enumerate(index)}
        roots = np.array([self.places.get(int(index[j]), 0) for j in columns])
        features = torch.from_numpy(node.features[node.asked].astype(np.float32))
        labels, places = torch.from_numpy(node.scores.astype(np.float32)), (torch.from_numpy(columns), torch.from_numpy(roots))
        return Node(features, labels, *places, graph, self.lessons[0].root if self.lessons else graph)


class GraphPupil:
    """See imitation.recipe.Pupil; of the perceptron too, to compare with."""

    teacher = GraphTeacher
    policy = None

    def __init__(self, network: Network, program: Callable[[int], MilpInstance], held_out: int) -> None:
        self.network, self.lessons, self.program = network, GraphLessons(held_out), program

    def begin(self, lessons: Sequence[Node]) -> None:
        """See Pupil."""
        standardise(self.network, lessons)

    def loss(self, lessons: Sequence[Node]) -> Tensor:
        """See Pupil."""
        return listwise_loss([targets_of(node.scores) for node in lessons], scored(self.network, lessons))

    def validate(self, lessons: Sequence[Node]) -> dict[str, float]:
        """How often the network's first choice is one of strong branching's best."""
        return {"agrees": float(np.mean(agreement(self.network, lessons)))}


def standardise(network: Network, nodes: Sequence[Node]) -> None:
    """Take means and scales of what the network sees from training nodes."""
    features = torch.cat([node.features for node in nodes])
    if isinstance(network, BranchingNetwork):
        network.standardise(features)
        return
    graphs = [node.graph for node in nodes] if isinstance(network, GcnnNetwork) else _different([node.root for node in nodes])
    network.columns.take(torch.cat([graph[0] for graph in graphs]))
    network.rows.take(torch.cat([graph[1] for graph in graphs]))
    if isinstance(network, GcnnNetwork):
        network.edges.take(torch.cat([graph[4] for graph in graphs])[:, None])
    else:
        network.features.take(features)


def scored(network: Network, nodes: Sequence[Node]) -> list[Tensor]:
    """The network's scores [k] of each node's candidates."""
    lengths = [len(node.scores) for node in nodes]
    if isinstance(network, BranchingNetwork):
        found = network(torch.cat([node.features for node in nodes]))
    elif isinstance(network, RootGnnNetwork):
        roots = _different([node.root for node in nodes])
        graph, starts = _side_by_side(roots)
        start = {id(root): first for root, first in zip(roots, starts)}
        at = torch.cat([node.root_columns + start[id(node.root)] for node in nodes])
        found = network(torch.cat([node.features for node in nodes]), network.embedding(graph)[at])
    else:
        graph, starts = _side_by_side([node.graph for node in nodes])
        found = network(graph)[torch.cat([node.columns + first for node, first in zip(nodes, starts)])]
    return list(found.split(lengths))


def agreement(network: Network, nodes: Sequence[Node]) -> list[bool]:
    """Of each node: whether the network's first choice is one of strong branching's best."""
    with torch.no_grad():
        logits = [scored(network, [node])[0] for node in nodes]
    return [agrees(node.scores, one) for node, one in zip(nodes, logits)]


def _different(graphs: Sequence[tuple[Tensor, ...]]) -> list[tuple[Tensor, ...]]:
    """Each object once, in order."""
    return list({id(graph): graph for graph in graphs}.values())


def _side_by_side(graphs: Sequence[tuple[Tensor, ...]]) -> tuple[list[Tensor], list[int]]:
    """(one graph of all, where each one's columns begin)."""
    columns = np.cumsum([0, *(len(graph[0]) for graph in graphs)]).tolist()
    rows = np.cumsum([0, *(len(graph[1]) for graph in graphs)]).tolist()
    parts = [(g[0], g[1], g[2] + rows[i], g[3] + columns[i], g[4]) for i, g in enumerate(graphs)]
    return [torch.cat(part) for part in zip(*parts)], columns[:-1]

"""Lessons for graph policies: the trees of `teaching`, with the LP of each labelled node, and a loss for all networks alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from corl.solvers.milp.branching_network import BranchingNetwork
from corl.solvers.milp.graph.inference import indices, positions
from corl.solvers.milp.graph.inputs import graph_inputs
from corl.solvers.milp.graph.networks import GcnnNetwork, RootGnnNetwork
from corl.solvers.milp.lp_reading import LpReader
from corl.solvers.milp.teaching import Teacher, product_scores, teach

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from corl.problems.milp.instance import MilpInstance
    from corl.run import Run

__all__ = ["Network", "Node", "agreement", "collect", "listwise", "scored", "standardise"]

Network: TypeAlias = BranchingNetwork | RootGnnNetwork | GcnnNetwork
_TEMPERATURE = 0.3  # of the target, as in branching_recipe


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


class _GraphTeacher(Teacher):
    """Keeps the LP of every labelled node, as it was before strong branching."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.nodes: list[Node] = []

    def _decide(self) -> int:
        self.seen = graph_inputs(LpReader(self.model).read())
        return super()._decide()

    def learn(
        self, pointers: NDArray[np.int64], seen: NDArray[np.float64], chosen: NDArray[np.int64], gains: NDArray[np.float64]
    ) -> None:
        scores = product_scores(gains, self.model.getCutoffbound() - self.model.getLPObjVal())
        graph = tuple(torch.from_numpy(part) for part in self.seen)
        index, columns = indices(self.pointer, len(self.seen.columns)), positions(pointers[chosen])
        if not self.nodes:
            self.places = {int(variable): j for j, variable in enumerate(index)}
        roots = np.array([self.places.get(int(index[j]), 0) for j in columns])
        features, labels = torch.from_numpy(seen[chosen].astype(np.float32)), torch.from_numpy(scores.astype(np.float32))
        places = torch.from_numpy(columns), torch.from_numpy(roots)
        self.nodes.append(Node(features, labels, *places, graph, self.nodes[0].root if self.nodes else graph))


def collect(instance: MilpInstance, run: Run, *, share: float, most: int, width: int) -> list[Node]:
    """The labelled nodes of one tree; its first one is the root."""
    teacher = teach(instance, run, share=share, most=most, width=width, kind=_GraphTeacher)
    assert isinstance(teacher, _GraphTeacher)
    return teacher.nodes


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


def listwise(network: Network, nodes: Sequence[Node]) -> Tensor:
    """The loss of branching_recipe: mean cross-entropy between softmax(labels / temperature) and softmax of the scores."""
    parts = zip((torch.softmax(node.scores / _TEMPERATURE, 0) for node in nodes), scored(network, nodes))
    return torch.stack([-(target * torch.log_softmax(one, 0)).sum() for target, one in parts]).mean()


def agreement(network: Network, nodes: Sequence[Node]) -> list[bool]:
    """Of each node: whether the network's first choice is one of strong branching's best."""
    with torch.no_grad():
        picks = [int(scored(network, [node])[0].argmax()) for node in nodes]
    return [bool(node.scores[k] >= node.scores.max() - 1e-6) for node, k in zip(nodes, picks)]


def _different(graphs: Sequence[tuple[Tensor, ...]]) -> list[tuple[Tensor, ...]]:
    """Each object once, in order."""
    return list({id(graph): graph for graph in graphs}.values())


def _side_by_side(graphs: Sequence[tuple[Tensor, ...]]) -> tuple[list[Tensor], list[int]]:
    """(one graph of all, where each one's columns begin)."""
    columns = np.cumsum([0, *(len(graph[0]) for graph in graphs)]).tolist()
    rows = np.cumsum([0, *(len(graph[1]) for graph in graphs)]).tolist()
    parts = [(g[0], g[1], g[2] + rows[i], g[3] + columns[i], g[4]) for i, g in enumerate(graphs)]
    return [torch.cat(part) for part in zip(*parts)], columns[:-1]

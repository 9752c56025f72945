"""The gated graph network: scores move with the nodes and edges, and belong to their graph alone."""

from __future__ import annotations

import pytest
import torch

from corl.errors import UsageError
from corl.networks.checkpoints import load, save
from corl.networks.graph import GatedGraphNetwork


def _graph(n, edges, seed):
    generator = torch.Generator().manual_seed(seed)
    links = torch.randint(n, (2, edges), generator=generator)
    return torch.randn(n, 3, generator=generator), links, torch.randn(edges, 2, generator=generator)


def _network(seed=0):
    torch.manual_seed(seed)
    return GatedGraphNetwork("tsp", "test", 3, 2, 16, 3).double().eval()


def test_scores_move_with_nodes_and_edges():
    """Nodes numbered anew and edges listed in another order: the same scores in that order."""
    nodes, links, edges = (part.double() if part.is_floating_point() else part for part in _graph(20, 70, 1))
    network, number, order = _network(), torch.randperm(20), torch.randperm(70)
    moved = torch.empty_like(nodes)
    moved[number] = nodes
    scores = network(nodes, links, edges)
    assert scores.shape == (70,) and scores.std() > 1e-4
    assert torch.allclose(network(moved, number[links][:, order], edges[order]), scores[order], atol=1e-10)


def test_graphs_in_a_batch_do_not_touch():
    """Two graphs as one, with no edge between them: each has the scores that it has alone."""
    network = _network()
    (n1, l1, e1), (n2, l2, e2) = _graph(9, 30, 2), _graph(7, 25, 3)
    both = network(torch.cat((n1, n2)).double(), torch.cat((l1, l2 + 9), 1), torch.cat((e1, e2)).double())
    alone = torch.cat((network(n1.double(), l1, e1.double()), network(n2.double(), l2, e2.double())))
    assert torch.allclose(both, alone, atol=1e-10)


def test_messages_go_along_edges_only():
    """A node's features reach the scores of edges within `layers` steps ahead of it, and no others."""
    nodes, links = torch.randn(8, 3).double(), torch.stack((torch.arange(7), torch.arange(1, 8)))  # a path 0 -> ... -> 7
    edges, network = torch.randn(7, 2).double(), _network()
    changed = nodes.clone()
    changed[2] += 1.0
    moved = (network(changed, links, edges) - network(nodes, links, edges)).abs() > 1e-12
    assert not moved[:1].any() and moved[1:5].all() and not moved[6:].any()


def test_a_checkpoint_gives_the_same_scores(tmp_path):
    """Saved and loaded, the network is the same to the bit; a node without edges is no trouble."""
    torch.manual_seed(3)
    network = GatedGraphNetwork("tsp", "test", 3, 2, 8, 2).eval()
    graph = _graph(12, 5, 4)
    save(tmp_path / "a.safetensors", network, {})
    again, header = load(tmp_path / "a.safetensors")
    assert header["architecture"] == "gated-graph" and torch.equal(again(*graph), network(*graph))


@pytest.mark.parametrize("wrong", [{"nodes": 0}, {"width": 0}, {"layers": 0}])
def test_sizes_are_checked(wrong):
    """A size below 1: a UsageError that says what is accepted."""
    with pytest.raises(UsageError, match="accepted"):
        GatedGraphNetwork(**({"problem": "tsp", "features": "test", "nodes": 3, "edges": 2} | wrong))

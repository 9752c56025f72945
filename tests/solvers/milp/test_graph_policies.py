"""Graph policies: inference against torch, which columns embeddings go to, learning, the recipes."""

from __future__ import annotations

import gc

import numpy as np
import pyscipopt
import pytest
import torch

import corl
from corl.errors import UsageError
from corl.learning.training import train
from corl.problems.milp import generators
from corl.solvers.milp.branching.features import FEATURES, candidates
from corl.solvers.milp.branching.network import BranchingNetwork
from corl.solvers.milp.graph import inference
from corl.solvers.milp.graph.features import COLUMN_INPUTS, ROW_INPUTS, GraphInputs
from corl.solvers.milp.graph.networks import GcnnNetwork, RootGnnNetwork
from corl.solvers.milp.graph.pupil import GraphLessons, GraphPupil, Node, agreement, scored, standardise
from corl.solvers.milp.scip import functions as scip_functions

NETWORKS = (RootGnnNetwork, GcnnNetwork)


def small(*, seed=0):
    """A program that takes SCIP some nodes."""
    return generators.multiple_knapsack(items=30, knapsacks=4, seed=seed)


def graph(seed, columns=9, rows=5):
    """Random inputs; row 0 and column 0 have no edge."""
    random = np.random.default_rng(seed)
    edges = [(i, j) for i in range(1, rows) for j in range(1, columns) if random.random() < 0.5]
    row, column = np.array(edges, np.int64).T
    return GraphInputs(
        random.normal(size=(columns, len(COLUMN_INPUTS))).astype(np.float32),
        random.normal(size=(rows, len(ROW_INPUTS))).astype(np.float32), row.copy(), column.copy(),
        random.normal(size=len(edges)).astype(np.float32),
    )  # fmt: skip


def node(seed, candidates=4):
    """All candidates with the same features; the best one is that whose column has the largest first number."""
    seen = tuple(torch.from_numpy(part) for part in graph(seed))
    columns = torch.from_numpy(np.random.default_rng(seed).permutation(9)[:candidates])
    features = torch.zeros(candidates, len(FEATURES))
    return Node(features, seen[0][columns, 0], columns, columns, seen, seen)


@pytest.mark.parametrize("kind", NETWORKS)
def test_inference_without_torch(kind):
    """The same numbers as the network's, whatever its weights; several graphs side by side change nothing."""
    torch.manual_seed(1)
    nodes = [node(seed) for seed in range(4)]
    network = kind()
    standardise(network, nodes)
    together, single = scored(network, nodes), [scored(network, [one])[0] for one in nodes]
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(together, single))
    policy = inference.policy_of(network)
    for seed in range(4):
        tensors = [torch.from_numpy(part) for part in graph(seed)]
        found = policy.embedding(graph(seed)) if kind is RootGnnNetwork else policy.scores(graph(seed))
        expected = network.embedding(tensors) if kind is RootGnnNetwork else network(tensors)
        assert found == pytest.approx(expected.detach().numpy(), rel=1e-4, abs=1e-4)


def test_what_only_the_graph_shows_is_learned():
    """By both graph networks, on nodes never seen; the perceptron sees no difference and takes the first: one in four."""
    lessons, held = [node(seed) for seed in range(60)], [node(seed) for seed in range(100, 140)]
    for kind in (*NETWORKS, BranchingNetwork):
        torch.manual_seed(0)
        network, random = kind(), np.random.default_rng(0)
        pupil = GraphPupil(network, small, 4)
        pupil.begin(lessons)
        optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
        for _ in range(120):
            loss = pupil.loss([lessons[k] for k in random.integers(len(lessons), size=16)])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        share = np.mean(agreement(network, held))
        assert share < 0.55 if kind is BranchingNetwork else share > 0.75, kind


def test_lessons_go_through_snapshots():
    """Nodes, and which of them have one root; a node without anybody to learn from is an error."""
    lessons, again = GraphLessons(4), GraphLessons(4)
    with pytest.raises(UsageError, match="no node was labelled"):
        lessons.ready()
    first, second, third = node(1), node(2), node(3)
    lessons.train = [first, Node(second.features, second.scores, second.columns, second.columns, second.graph, first.root)]
    lessons.held, lessons.programs = [third], 2
    again.load_state_dict(lessons.state_dict())
    assert again.train[0].root is again.train[1].root and again.train[0].root is not again.held[0].root
    for one, two in zip((*lessons.train, *lessons.held), (*again.train, *again.held), strict=True):
        assert torch.equal(one.scores, two.scores) and all(map(torch.equal, one.graph, two.graph))
        assert all(map(torch.equal, one.root, two.root))


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["root-gnn", "gcnn"])
def test_recipes_train_policies(recipe, tmp_path, monkeypatch):
    """From SCIP's trees to a policy that branches in SCIP, the same for the same seed, and leaves no Model behind."""
    monkeypatch.setitem(generators.GENERATORS, "multiple-knapsack", small)
    options = {"family": "multiple-knapsack", "samples": 9, "each": 4, "share": 1.0, "updates": 6, "batch": 4}
    output = tmp_path / "p.safetensors"
    training = train("milp", recipe, steps=30, seed=1, device="cpu", workers=0, output=output, **options)
    assert training.limit == "finished" and training.metrics["nodes"] >= 9 and np.isfinite(training.metrics["loss"])
    one, two = (
        corl.solve(small(seed=1), solver="learned-branching", policy=str(output), iterations=12, seed=5) for _ in range(2)
    )
    assert (one.limit, one.objective, one.bound) == ("iterations", two.objective, two.bound)
    gc.collect()
    gc.disable()
    try:
        corl.solve(small(seed=1), solver="learned-branching", policy=str(output), iterations=12)
        assert not [kind for kind in map(type, gc.get_objects()) if issubclass(kind, (pyscipopt.Model, pyscipopt.Branchrule))]
    finally:
        gc.enable()


def test_embeddings_go_to_their_variables(tmp_path, monkeypatch):
    """The table that the kernel gets has, for every candidate of the root, the embedding of its own column."""
    from corl.networks.checkpoints import save

    assert scip_functions.load()
    torch.manual_seed(2)
    network, seen, reading = RootGnnNetwork(), [], []
    save(tmp_path / "r.safetensors", network.eval(), {})
    branch, inputs = inference._branch_with, inference.graph_inputs

    def record(pointer, scorer, table):
        variables = candidates(pointer)
        places, columns = inference.positions(variables), inference.indices(pointer, len(reading[-1].columns))
        seen.append((table[columns[places]], places))
        return branch(pointer, scorer, table)

    monkeypatch.setattr(inference, "graph_inputs", lambda read: reading.append(inputs(read)) or reading[-1])
    monkeypatch.setattr(inference, "_branch_with", record)
    monkeypatch.setattr(inference.RootPolicy, "compile", lambda self: None)
    corl.solve(small(seed=1), solver="learned-branching", policy=str(tmp_path / "r.safetensors"), root_cuts=True, iterations=5)
    lines, places = seen[0]
    assert len(seen) >= 3 and len(reading) == 1 and len(places) >= 2
    expected = network.embedding([torch.from_numpy(part) for part in reading[0]]).detach().numpy()[places]
    assert lines == pytest.approx(expected, abs=1e-4) and np.ptp(expected, axis=0).max() > 1e-3


def test_bad_options():
    """Said before anything is collected."""
    for options in ({"family": "none"}, {"samples": 3}, {"share": 0.0}, {"rate": -1.0}, {"width": 1}):
        with pytest.raises(UsageError):
            train("milp", "gcnn", steps=3, device="cpu", **options)

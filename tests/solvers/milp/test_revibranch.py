"""ReviBranch: credit along trees and paths, the network in torch and in SCIP, and the recipe."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

import corl
from corl.errors import UsageError
from corl.learning.replay import Replay
from corl.learning.training import train
from corl.problems.milp.generators import auctions
from corl.solvers.milp.revibranch.credit import Redistribution, Tree, along_paths, paths_of, share, sizes_of
from corl.solvers.milp.revibranch.network import RevivedNetwork
from corl.solvers.milp.revibranch.policy import RevivedPolicy
from corl.solvers.milp.revibranch.recipe import ReviBranch
from corl.solvers.milp.revibranch.trees import chosen, grow
from corl.solvers.milp.scip import functions as scip

TREES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 1)), max_size=20)
SMALL = {"family": "auctions", "sizes": "items=40,bids=160", "nodes": 100, "width": 8, "updates": 2, "batch": 8, "warm": 60}


def children_of(links) -> np.ndarray:
    """A binary tree: node i + 1 hangs below the node and on the side that link i asks for, or the next that is free."""
    children = np.zeros((len(links) + 1, 2), np.int64)
    for move, (parent, side) in enumerate(links, 1):
        free = [(p, s) for p in range(move) for s in (0, 1) if not children[p, s]]
        p, s = free[(2 * parent + side) % len(free)]
        children[p, s] = move - p
    return children


def below(children, move) -> list[int]:
    return [move, *(k for step in children[move] if step for k in below(children, move + step))]


@given(TREES)
def test_sizes_and_paths(links):
    """Sizes count the nodes below; every node is on one path, which goes on where the tree is deepest."""
    children = children_of(links)
    assert sizes_of(children).tolist() == [len(below(children, move)) for move in range(len(children))]
    later, first = paths_of(children)

    def depth(move):
        return max((1 + depth(move + step) for step in children[move] if step), default=0)

    for move, step in enumerate(later.tolist()):
        assert (step > 0) == (depth(move) > 0)
        if step:
            assert step in children[move] and depth(move + step) == depth(move) - 1 and first[move + step] == first[move]
    reached = (later > 0).sum()
    assert len(np.unique(first)) == len(children) - reached


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    assert scip.load()
    return RevivedNetwork(width=8, ancestors=3).eval()


@pytest.fixture(scope="module")
def tree(network):
    """One that is grown to its end; a third of its nodes are branched at random."""
    found = grow(network, auctions(items=50, bids=200, seed=1), 3, 0.3, 10_000, None)
    assert found.lengths[0] >= 8 and not found.moves["open"].any()
    return found


def test_the_target_of_a_tree(tree):
    """With levels enough it is the logarithm of the sizes; with one, a node and the values of its children."""
    replay = Replay(1000)
    replay.add(tree)
    children, at = tree.moves["children"], np.arange(len(tree.moves["slot"]))
    sizes = sizes_of(children)
    assert np.allclose(Tree(1000, 50)(replay, at, None), -np.log(sizes), atol=1e-6)
    values = -np.log(np.random.default_rng(0).uniform(1, 5, len(at))).astype(np.float32)
    expected = [1 + sum(np.exp(-values[move + step]) for step in children[move] if step) for move in at]
    assert np.allclose(np.exp(-Tree(1, 50)(replay, at, lambda there: values[there])), expected, rtol=1e-5)


def test_what_is_cut_short_counts_as_its_limit(network):
    """The last node and those above it are open, and cost the limit more."""
    cut = grow(network, auctions(items=50, bids=200, seed=1), 3, 0.3, 12, None)
    moves = cut.moves
    path, move = [], len(moves["slot"]) - 1
    while move >= 0:
        path.append(move)
        move = move - moves["parent"][move] if moves["parent"][move] else -1
    assert np.flatnonzero(moves["open"]).tolist() == path[::-1] and path[-1] == 0
    replay = Replay(1000)
    replay.add(cut)
    found = np.exp(-Tree(1000, 12)(replay, np.arange(len(moves["slot"])), None))
    assert np.allclose(found, sizes_of(moves["children"]) + 12 * moves["open"], rtol=1e-5)


def test_rewards_of_a_path_add_up(tree, network):
    """The rewards of a path add up to minus the logarithm of its first node's subtree; targets are their sums."""
    share(tree, 50, Redistribution(len(network.mean)), chosen(network, tree))
    moves = tree.moves
    later, first = paths_of(moves["children"])
    returns = -np.log(sizes_of(moves["children"]))
    for start in np.unique(first):
        rewards = moves["share"][first == start]
        assert rewards.sum() == pytest.approx(returns[start], abs=1e-5)
        assert (np.count_nonzero(rewards) > 1) == (len(rewards) > 1)
    replay = Replay(1000)
    replay.add(tree)
    at = np.arange(len(later))
    whole = along_paths(1000)(replay, at, None)
    ends = np.where(later > 0, whole[at + later], 0.0)
    assert np.allclose(whole - ends, moves["share"], atol=1e-4)
    values = np.random.default_rng(0).normal(size=len(at)).astype(np.float32)
    once = along_paths(1)(replay, at, lambda there: values[there])
    assert np.allclose(once, moves["share"] + np.where(later > 0, values[at + later], 0.0), atol=1e-4)


@pytest.mark.parametrize("ancestors", [0, 3])
def test_scip_sees_what_torch_sees(ancestors):
    """The policy's scores at every node of a tree are the network's of the recorded moves, with the paths above revived."""
    torch.manual_seed(1)
    network = RevivedNetwork(width=8, ancestors=ancestors).eval()
    policy = network.branching()
    scored: list[np.ndarray] = []

    class Spy(RevivedPolicy):
        def _scored(self, node):
            found = super()._scored(node)
            scored.append(found[0])
            return found

    spy = Spy(policy.weights, ancestors)
    network.branching = lambda random=None, chance=0.0: spy  # type: ignore[method-assign]
    found = grow(network, auctions(items=50, bids=200, seed=1), 3, 0.0, 10_000, None)
    replay = Replay(1000)
    replay.add(found)
    at = np.arange(0, len(scored), 2)
    logits = network(network.states(replay, at))[0].detach().numpy()
    assert len(scored) == found.lengths[0] >= 8
    assert (found.moves["up"].any() and found.moves["parent"].max() > 1) or not ancestors
    for row, move in enumerate(at.tolist()):
        assert np.allclose(logits[row][np.isfinite(logits[row])], scored[move], atol=1e-5)


@pytest.mark.parametrize("credit", ["tree", "weights"])
@pytest.mark.long
def test_the_recipe_resumes_to_the_same_bits(tmp_path, credit):
    """Broken off and resumed, it ends with the weights of an unbroken run; `learned-branching` solves with them."""
    options = SMALL | {"credit": credit, "watch": 1, "every": 4, "ancestors": 2}

    def run(output, *ends):
        for end in ends:
            train("milp", "revibranch", steps=14, output=output, resume=True, workers=0, device="cpu", **options,
                  on_progress=lambda session, end=end: session.interrupt() if session.step + 1 == end else None)  # fmt: skip
        return load_file(output)

    whole, parts = run(tmp_path / "a.safetensors", 14), run(tmp_path / "b.safetensors", 3, 11, 14)
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
    instance = auctions(items=50, bids=200, seed=7)
    found = corl.solve(instance, solver="learned-branching", policy=str(tmp_path / "a.safetensors"), time_limit=600)
    assert (found.status, found.objective) == ("optimal", corl.solve(instance, solver="scip", time_limit=600).objective)


def test_programs_that_need_no_branching():
    """One line where there is nothing to learn, and for sizes that a generator does not take."""
    options = SMALL | {"sizes": "items=4,bids=8", "watch": 0}
    with pytest.raises(UsageError, match="no tree of two nodes or more came of it: nothing to learn"):
        train("milp", "revibranch", steps=3, workers=0, device="cpu", **options)
    with pytest.raises(UsageError, match="things"):
        ReviBranch(**SMALL | {"sizes": "things=3"}).program(0)

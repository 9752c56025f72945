"""The states that the network of the plane learns from are those that it meets."""

from __future__ import annotations

import numpy as np
import orienteering_plane as study
import pytest

from corl.problems.orienteering.environments.plane.environment import PlaneEnvironment
from corl.problems.orienteering.environments.plane.features import plane


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Labels of one block of instances, solved in no time."""
    file, iterations = tmp_path_factory.mktemp("labels") / "labels.npz", study.ITERATIONS
    study.ITERATIONS = 300
    try:
        study.make_labels(file, 7, 0.05)
    finally:
        study.ITERATIONS = iterations
    return file


@pytest.fixture(scope="module")
def labels(file):
    """The same, read."""
    return study.read_labels([file])


def test_labels_are_feasible_paths(labels):
    """Closed, within the limit, and of instances number 7, 8, ..."""
    problem_instance = study.instance(8)
    assert np.array_equal(labels.points[1], problem_instance.graph.points)
    for points, path in zip(labels.points, labels.paths):
        nodes = path[path < 255]
        assert nodes[0] == nodes[-1] == 0 and len(set(nodes[1:])) == len(nodes) - 1
        legs = np.diff(points[nodes], axis=0)
        assert np.hypot(legs[:, 0], legs[:, 1]).sum() <= study.LIMIT + 1e-9


@pytest.mark.parametrize("turned", [False, True])
def test_states_are_those_of_the_environment(labels, turned):
    """After the same decisions, with the same tokens, in another order."""
    for label in range(3):
        path = labels.paths[label][labels.paths[label] < 255].astype(np.int64)
        path = path[::-1] if turned else path
        for begin in (0, 3, len(path) // 2):
            environment = PlaneEnvironment([study.instance(7 + label)], 1)
            environment.reset([0], [0])
            for node in path[1 : begin + 1]:
                environment.step([0], [0], [node])
            observed = environment.observe([0])
            expected, count = plane(observed), int((observed["action"][0] >= 0).sum())
            known = (np.zeros((1, study.LONG), bool), np.zeros((1, study.LONG, 2)), np.zeros((1, study.LONG - 2)))
            drawn = (np.zeros(1), np.zeros(1, np.int64), np.zeros(1, np.int64))
            position = ((begin + 0.5) / (len(path) - 2)) ** (1 / study._EARLY)
            uniform = np.array([[0.75 if turned else 0.25, 0.9, 0.0, position]])
            study.draw_states(*labels, study.LIMIT, np.array([label]), uniform, known, drawn)
            x = np.zeros((1, study.LONG, study.TOKENS), np.float32)
            study.write_features(*known, drawn[0], x)
            assert drawn[2][0] == count and drawn[0][0] == pytest.approx(observed["left"][0], rel=1e-6)
            slot = int(np.flatnonzero(observed["action"][0] == path[begin + 1])[0])
            assert x[0, drawn[1][0]] == pytest.approx(expected.x[0, slot], abs=1e-4)
            ours, theirs = x[0, :count], expected.x[0, :count]
            assert ours[np.lexsort(ours.round(3).T)] == pytest.approx(theirs[np.lexsort(theirs.round(3).T)], abs=2e-3)
            assert x[0, -2:] == pytest.approx(expected.x[0, -2:], abs=1e-4)


def test_logits_are_those_of_the_network(labels):
    """The fused attention of training and the network's own."""
    import torch

    network = study.new_network(32, 2, 4)
    for layer in network.layers:
        torch.nn.init.constant_(layer.rezero, 0.5)
    short, _ = study.states_of(labels, np.random.default_rng(0), 64)
    x, mask = torch.from_numpy(short.x), torch.from_numpy(short.mask)
    with torch.no_grad():
        expected = network((x, mask, None))[0]
        found = study.logits_of(network, x, mask)
    assert torch.allclose(found, expected, atol=1e-4)


@pytest.mark.long
def test_a_network_is_trained_and_averaged(file, tmp_path, capsys):
    """Some seconds change the weights; the mean of one file is its weights in 16 bits."""
    import torch

    from corl.networks.checkpoints import load_policy

    small = ["--width", "16", "--layers", "1", "--heads", "2", "--batch", "64", "--workers", "1", "--minutes", "0.05"]
    weights, averaged = tmp_path / "weights.safetensors", tmp_path / "mean.safetensors"
    study.main(["train", str(weights), str(file), "--held-out", str(file), *small])
    assert "held out: right 0." in capsys.readouterr().out
    torch.manual_seed(0)
    first, trained = study.new_network(16, 1, 2), load_policy(weights)
    assert not torch.equal(first.embed.weight, trained.embed.weight)
    study.main(["mean", str(averaged), str(weights)])
    assert torch.allclose(load_policy(averaged).float().embed.weight, trained.embed.weight, atol=1e-3)

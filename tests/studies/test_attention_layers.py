"""The study of attention layers: its states are kept, its variants differ where they should, and every layer comes to matter."""

from __future__ import annotations

import attention_layers as study
import numpy as np
import pytest
import torch
from torch import nn

from corl.networks.policy import Shape

SMALL = study.Task(14, "ils", 5, 12, 8, Shape("plane", "", 16, 2, 2), 4)


@pytest.fixture
def small(monkeypatch):
    """The task "tsp" with 12 instances of 14 cities and a network of two layers of width 16."""
    monkeypatch.setitem(study.TASKS, "tsp", SMALL)


def test_labels_are_made_once(small, tmp_path, monkeypatch):
    """The second time the states come from the folder, the same ones, and no teacher is asked."""
    first = study.labelled("tsp", "labels", tmp_path)
    monkeypatch.setattr(study.demonstrations, "demonstrate", None)
    again = study.labelled("tsp", "labels", tmp_path)
    assert first.size == again.size > 50
    at = np.arange(first.size)
    np.testing.assert_array_equal(first.field("slot", at), again.field("slot", at))


def test_a_layer_left_out_adds_nothing(small):
    """Without one of two layers whose gates are open the loss is another one; with closed gates it is the same to the bit."""
    network = study.network_of("tsp", "own-30", 0)
    x = torch.randn(3, 6, 16)
    for gate in (0.0, 0.7):
        for layer in network.layers:
            nn.init.constant_(layer.rezero, gate)
        assert torch.equal(network.layers[0](x, torch.zeros(1, 1, 1, 1)), x) == (gate == 0.0)


def test_pre_norm_layers_have_no_gates(small):
    """The variant has a LayerScale vector for each branch in place of ReZero's factors, and works from the first step."""
    network = study.network_of("tsp", "pre-norm", 0)
    names = dict(network.layers.named_parameters())
    assert not any("rezero" in name for name in names) and names["0.scale"].shape == (2, 16)
    x = torch.randn(3, 6, 16)
    assert not torch.equal(network.layers[0](x, torch.zeros(1, 1, 1, 1)), x)


@pytest.mark.chance
def test_after_a_short_training_every_layer_matters(tmp_path, monkeypatch):
    """Trained for 12 processor seconds by the recipes' optimiser, a network of three layers loses by leaving any out."""
    monkeypatch.setitem(study.TASKS, "tsp", study.Task(30, "ils", 10, 96, 24, Shape("plane", "", 48, 3, 4), 4))
    replay, held = (study.labelled("tsp", split, tmp_path) for split in ("labels", "held-out"))
    network = study.network_of("tsp", "own-30", 0)
    study.train(network, replay, "own-30", 12.0, 0)
    whole = study.held_out_loss(network, held)
    assert all(loss > 1.02 * whole for loss in study.without_each(network, held))

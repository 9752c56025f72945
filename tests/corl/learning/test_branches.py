"""corl.learning.branches: a training logs what each residual branch adds, and says which layers do nothing."""

from __future__ import annotations

import pytest
import torch

from corl.learning.branches import Branches, idle_layers
from corl.learning.optimise import new_optimiser
from corl.learning.training import train
from corl.networks.attention import Layer

BIAS = torch.zeros(1, 1, 1, 1)
SMALL = {"size": 6, "batch": 4, "samples": 2, "width": 8, "layers": 2, "heads": 2, "watch": 0}


def measured(gates, step=49):
    """What is measured in a step of a layer with these gates, and the hidden vectors before and after it."""
    torch.manual_seed(0)
    network, hidden = torch.nn.ModuleList([Layer(8, 2, 8)]), torch.randn(3, 4, 8)
    network[0].rezero.data = torch.tensor(gates)
    branches = Branches()
    branches.add(network)
    branches.begin(step)
    after = network[0](hidden, BIAS)
    return branches.measured(), hidden, after


def test_the_size_of_a_branch_is_what_it_adds():
    """With the feed-forward network off, attention's size is the norm of what the layer changes, as a share of its input's."""
    sizes, before, after = measured([0.7, 0.0])
    assert sizes == {
        "branch 0 attention": pytest.approx(((after - before).norm() / before.norm()).item(), rel=1e-4),
        "branch 0 feed-forward": 0.0,
    }


def test_most_steps_measure_nothing():
    """One step of 50 is measured."""
    assert [bool(measured([0.7, 0.7], step)[0]) for step in (0, 48, 49, 50, 99)] == [False, False, True, False, True]


def test_idle_layers_are_named():
    """A layer is idle if both of its branches are; other metrics are no layers."""
    metrics = {"loss": 0.0, "branch layers.0 attention": 0.001, "branch layers.0 feed-forward": 0.002}
    metrics |= {"branch layers.1 attention": 0.001, "branch layers.1 feed-forward": 0.2}
    assert idle_layers(metrics) == ["layers.0"]


def test_a_training_logs_its_branches_and_warns(knapsack):
    """After 50 steps the curves have a size for each branch; a rate of almost nothing leaves every layer idle, and it says so."""
    done = train(knapsack.NAME, "policy-gradient", steps=50, workers=0, rate=1e-7, **SMALL)
    assert {f"branch layers.{k} {kind}" for k in (0, 1) for kind in Layer.branches} <= set(done.metrics)
    assert [warning.split()[1] for warning in done.warnings] == ["layers.0", "layers.1"]


def test_layers_that_work_are_no_warning(knapsack):
    """At a usual rate every layer adds more than a hundredth of its input after 50 steps."""
    assert not train(knapsack.NAME, "policy-gradient", steps=50, workers=0, rate=3e-3, **SMALL).warnings


def test_attributes_of_these_names_that_mean_something_else_are_left_alone():
    """A user's network may have `gates` and `sizes` of its own; neither training nor the optimiser touches them."""

    class Own(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gates, self.sizes = torch.nn.Linear(2, 2), (3, 4)

    network, branches = Own(), Branches()
    branches.add(network)
    branches.begin(49)
    assert network.sizes == (3, 4) and branches.measured() == {}
    assert [group["share"] for group in new_optimiser(network, 1e-3).param_groups] == [1.0, 1.0]

"""corl.learning.optimise: the share of the learning rate over a run, the groups of an optimiser, and the step that all recipes
make."""

import math

import pytest

from corl.learning.optimise import GATE_RATE, new_optimiser, optimiser_step, rate_share


def test_it_rises_and_then_falls_to_nothing():
    """The rate starts above 0, rises while warm, is largest then, and falls to 0 at the end."""
    shares = [rate_share(k / 200, 0.05) for k in range(201)]
    top = shares.index(max(shares))
    assert 0 < shares[0] < 0.05 and 5 <= top <= 15 and shares[top] > 0.95
    assert shares[: top + 1] == sorted(shares[: top + 1]) and shares[top:] == sorted(shares[top:], reverse=True)
    assert shares[-1] == pytest.approx(0)
    assert rate_share(0.0) == 1.0 and rate_share(1.0, last=0.1) == pytest.approx(0.1)


@pytest.mark.parametrize(("clip", "moved"), [(1.0, 0.5), (2.5, 1.25), (math.inf, 2.5)])
def test_gradients_are_clipped(clip, moved):
    """A gradient of norm 5 is cut to the norm asked for; the step is the rate's share of it."""
    import torch

    place = torch.nn.Parameter(torch.zeros(2))
    place.grad = torch.tensor([3.0, -4.0])
    optimiser_step(torch.optim.SGD([place], lr=1.0), 1.0, 0.5, clip=clip)
    assert place.detach().tolist() == pytest.approx([-0.6 * moved, 0.8 * moved])


def attention():
    """A policy of two layers, and a loss that is a function of its logits alone."""
    import torch

    from corl.networks.attention import AttentionPolicy
    from corl.networks.tokens import TokenBatch

    torch.manual_seed(0)
    network = AttentionPolicy("tsp", "plane", 5, width=8, layers=2, heads=2, feedforward=8, value=False)
    x, mask = torch.randn(6, 7, 5), torch.ones(6, 7, dtype=torch.bool)
    return network, lambda: -network(TokenBatch(x, mask, None))[0].log_softmax(1)[:, 0].mean()


def test_gates_move_30_times_as_far():
    """The first step of AdamW moves a parameter by the rate, whatever its gradient: every gate of every layer by 30 rates, and
    no weight by more than one and its decay."""
    import torch

    network, loss = attention()
    optimiser, rate = new_optimiser(network, 1e-3), 1e-3
    before = {name: parameter.detach().clone() for name, parameter in network.named_parameters()}
    loss().backward()
    optimiser_step(optimiser, rate, 0.0)
    moved = {name: (parameter.detach() - before[name]).abs() for name, parameter in network.named_parameters()}
    gates = torch.cat([moved.pop(f"layers.{k}.rezero") for k in range(2)])
    assert gates.tolist() == pytest.approx([GATE_RATE * rate] * 4, rel=1e-3)
    for name, change in moved.items():
        assert change.max() <= rate * (1.001 + 0.01 * before[name].abs().max()), name


def test_only_weights_of_layers_decay():
    """With no gradient, a step shrinks matrices and leaves biases and gates as they are."""
    import torch

    network, _ = attention()
    before = {name: parameter.detach().clone() for name, parameter in network.named_parameters()}
    for parameter in network.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimiser_step(new_optimiser(network, 0.1, decay=0.5), 0.1, 0.0)
    for name, parameter in network.named_parameters():
        torch.testing.assert_close(parameter.detach(), before[name] * (0.95 if parameter.ndim > 1 else 1.0))


def test_every_parameter_has_a_group():
    """Each parameter of a network is in one group and in no other, and a network without gates has no group for them."""
    import torch

    network, _ = attention()
    grouped = [id(parameter) for group in new_optimiser(network, 1e-3).param_groups for parameter in group["params"]]
    assert sorted(grouped) == sorted(map(id, network.parameters()))
    assert [group["share"] for group in new_optimiser(torch.nn.Linear(2, 1), 1e-3).param_groups] == [1.0, 1.0]

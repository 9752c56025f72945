"""MuZeroNetwork: shapes, masks at the root only, and which way gradients go."""

from __future__ import annotations

import pytest
import torch

from corl.errors import UsageError
from corl.networks import checkpoints
from corl.networks.muzero import MuZeroNetwork, Slots

SHAPE = {"inputs": 3, "pairs": 2, "extra": 1, "width": 8, "layers": 1, "heads": 2, "feedforward": 16, "bins": 7}


@pytest.fixture
def network():
    torch.manual_seed(0)
    made = MuZeroNetwork("tsp", "plane", **SHAPE, values=(-3.0, 0.0), rewards=(-1.0, 0.0))
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if name.endswith("rezero"):
                parameter.fill_(0.5)
    return made.eval()


@pytest.fixture
def seen():
    """x, mask and pairs of 4 rows with 5 slots and a token more; row 1 has two empty slots."""
    generator = torch.Generator().manual_seed(1)
    mask = torch.ones(4, 6, dtype=torch.bool)
    mask[1, 3:5] = False
    return torch.randn(4, 6, 3, generator=generator) * mask[..., None], mask, torch.randn(4, 6, 6, 2, generator=generator)


def test_shapes_and_masks(network, seen):
    """Latent states are [R, T, D + 1] all the way down; a slot that the root has not is -inf in every prediction."""
    latent = network.representation(*seen)
    assert latent.shape == (4, 6, 9) and torch.equal(latent[..., -1] > 0, seen[1])
    for slots in ([0, 1, 2, 3], [4, 0, 0, 0]):
        latent, reward = network.dynamics(latent, torch.tensor(slots))
        logits, value = network.prediction(latent)
        assert latent.shape == (4, 6, 9) and reward.shape == value.shape == (4, 7) and logits.shape == (4, 5)
        assert torch.equal(torch.isinf(logits), ~seen[1][:, :5]) and torch.isfinite(latent).all()
    assert (network.value_head.mean(value) <= 0).all() and (network.reward_head.mean(reward) >= -1).all()


def test_empty_tokens_do_not_matter(network, seen):
    """What stands in the features of a token that is not there changes nothing, at the root or after an action."""
    x, mask, pairs = seen
    other = x.clone()
    other[1, 3:5] = 9.0
    for a, b in zip(network((x, mask, pairs)), network((other, mask, pairs))):
        assert torch.equal(a, b)
    slots = torch.zeros(4, dtype=torch.long)
    after = [network.dynamics(network.representation(given, mask, pairs), slots)[0] for given in (x, other)]
    assert torch.equal(*after)


def test_the_action_matters(network, seen):
    """Different actions lead to different states and rewards."""
    latent = network.representation(*seen)
    (a, r), (b, s) = (network.dynamics(latent, torch.full((4,), slot)) for slot in (0, 1))
    assert ((a - b).abs().amax((1, 2)) > 1e-3).all() and ((r - s).abs().amax(1) > 1e-4).all()


def test_slots_are_what_a_search_takes(network, seen):
    """Slots gives root and steps as LearnedModel asks for them, in network units."""
    model = Slots(network, 5)
    tokens = {"x": seen[0].numpy(), "mask": seen[1].numpy(), "pairs": seen[2].numpy(), "scale": torch.full((4,), 7.0).numpy()}
    with torch.no_grad():
        latent, logits, value = model.initial(tokens)
        expected = network(seen)
        assert torch.equal(logits, expected[0]) and torch.equal(value, expected[1])
        latent, reward, logits, value = model.recurrent(latent, torch.tensor([0, 1, 2, 3]))
    assert latent.shape == (4, 6, 9) and reward.shape == value.shape == (4,) and logits.shape == (4, 5)


def test_the_observed_state_is_no_variable(network, seen):
    """The consistency loss moves the imagined state towards the observed one, never the other way."""
    imagined, observed = network.representation(*seen).requires_grad_(), network.representation(*seen).detach().requires_grad_()
    imagined.retain_grad()
    similarity = network.similarity(imagined, observed)
    assert similarity.shape == (4, 6)
    similarity.sum().backward()
    assert observed.grad is None and imagined.grad.abs().sum() > 0


def test_a_checkpoint_gives_it_back(network, seen, tmp_path):
    """Saved and loaded, it says the same."""
    checkpoints.save(tmp_path / "m.safetensors", network)
    again, _ = checkpoints.load(tmp_path / "m.safetensors")
    assert isinstance(again, MuZeroNetwork)
    for a, b in zip(network(seen), again(seen)):
        assert torch.equal(a, b)


def test_sizes_are_checked():
    """A width that is no multiple of the heads is refused."""
    with pytest.raises(UsageError, match="multiple of heads, 3"):
        MuZeroNetwork("tsp", "plane", **(SHAPE | {"heads": 3}))

"""AttentionPolicy: slots are a set, rows do not see each other, and what is not there changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from corl.errors import UsageError
from corl.networks.attention import AttentionPolicy
from corl.networks.tokens import TokenBatch
from corl.problems.tsp.environment import TspEnvironment
from corl.problems.tsp.features import PAIRS, TOKENS
from corl.problems.tsp.generators import uniform

F, P, EXTRA = 5, 3, 2


def network(pairs=P, **options):
    """A small network with random ReZero factors, so that attention counts."""
    torch.manual_seed(1)
    made = AttentionPolicy("tsp", "plane", F, pairs, EXTRA, width=16, layers=2, heads=2, feedforward=16, **options).eval()
    with torch.no_grad():
        for layer in made.layers:
            layer.rezero.fill_(0.7)
    return made


def tokens(rows, slots, taken, seed=0):
    """Random x, mask, pairs; row r has taken[r] slots and the extra tokens."""
    random = torch.Generator().manual_seed(seed)
    mask = torch.arange(slots + EXTRA).repeat(rows, 1)
    mask = (mask < torch.tensor(taken)[:, None]) | (mask >= slots)
    x = torch.randn(rows, slots + EXTRA, F, generator=random) * mask[..., None]
    return x, mask, torch.randn(rows, slots + EXTRA, slots + EXTRA, P, generator=random)


def test_slots_are_a_set():
    """A permutation of the slots permutes the logits and leaves the value."""
    x, mask, pairs = tokens(3, 6, [6, 4, 2])
    order = torch.cat([torch.randperm(6, generator=torch.Generator().manual_seed(5)), torch.tensor([6, 7])])
    logits, value = network()((x, mask, pairs))
    permuted, same = network()((x[:, order], mask[:, order], pairs[:, order][:, :, order]))
    torch.testing.assert_close(permuted, logits[:, order[:6]])
    torch.testing.assert_close(same, value)


def test_rows_do_not_see_each_other_nor_padding():
    """In a batch of mixed sizes, and with more empty slots, a row has the logits that it has alone."""
    x, mask, pairs = tokens(4, 7, [7, 3, 1, 5])
    logits, value = network()((x, mask, pairs))
    for row, taken in enumerate([7, 3, 1, 5]):
        kept = torch.cat([torch.arange(taken), torch.tensor([7, 8])])
        alone = [x[row : row + 1, kept], mask[row : row + 1, kept], pairs[row : row + 1, kept][:, :, kept]]
        only, worth = network()(alone)
        torch.testing.assert_close(logits[row, :taken], only[0], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(value[row], worth[0], rtol=1e-4, atol=1e-5)
        assert torch.isinf(logits[row, taken:]).all() and (logits[row, taken:] < 0).all()


def test_pairs_count_and_may_be_missing():
    """Pairs change the logits; a network without them takes None."""
    x, mask, pairs = tokens(2, 5, [5, 5])
    assert not torch.allclose(network()((x, mask, pairs))[0], network()((x, mask, 2 * pairs))[0])
    logits, _ = network(pairs=0)((x, mask, None))
    assert logits.shape == (2, 5) and torch.isfinite(logits).all()


def test_no_rows_and_empty_rows():
    """No rows give empty outputs; a row without any token gives -inf and a finite value."""
    logits, value = network()(tokens(0, 5, []))
    assert logits.shape == (0, 5) and value.shape == (0,)
    x, mask, pairs = tokens(2, 5, [5, 0])
    mask[1] = False
    logits, value = network()((x, mask, pairs))
    assert torch.isfinite(value).all() and torch.isinf(logits[1]).all() and torch.isfinite(logits[0]).all()


def test_without_a_value_head_values_are_zero():
    """`has_value` says so."""
    _, value = network(value=False)(tokens(2, 5, [5, 3]))
    assert not network(value=False).has_value and (value == 0).all()


def test_config_rebuilds_it():
    """cls(**config) takes the weights and gives the same logits."""
    first = network()
    second = AttentionPolicy(**first.config)
    second.load_state_dict(first.state_dict())
    torch.testing.assert_close(second(tokens(2, 5, [5, 3]))[0], first(tokens(2, 5, [5, 3]))[0])


@pytest.mark.parametrize("sizes", [{"width": 10, "heads": 4}, {"layers": 0}, {"inputs": 0}])
def test_sizes_are_checked(sizes):
    """Sizes that make no network are refused in one line."""
    with pytest.raises(UsageError, match="accepted"):
        AttentionPolicy(**({"problem": "tsp", "features": "plane", "inputs": 4} | sizes))


def test_an_evaluator_reads_the_pool():
    """Logits have a column for each action, values are in the environment's units: a doubled plane doubles them."""
    instance = uniform(size=30, edge_weight_type="EXACT_2D", seed=1)
    doubled = type(instance)("doubled", "EXACT_2D", 2.0 * instance.points)
    environment = TspEnvironment([instance, doubled], 2)
    environment.reset([0, 1], [0, 1])
    policy = AttentionPolicy("tsp", "plane", TOKENS, PAIRS, width=8, layers=1, heads=1).eval()
    logits, value = policy.on(environment).evaluate(environment.view(np.array([0, 1])))
    assert logits.shape == environment.actions([0, 1]).shape and logits.dtype == np.float32 and value.dtype == np.float64
    np.testing.assert_allclose(logits[1], logits[0], rtol=1e-4)
    np.testing.assert_allclose(value[1], 2.0 * value[0], rtol=1e-4)


def test_parts_of_other_widths_are_filled_up():
    """Collated together, rows of pools of 5 and 7 slots have the logits and values that they have alone."""
    made, parts, alone = network(), [], []
    for slots, taken in ((5, [5, 2]), (7, [7, 4])):
        x, mask, pairs = tokens(2, slots, taken, seed=slots)
        parts.append({"x": x.numpy(), "mask": mask.numpy(), "pairs": pairs.numpy(), "scale": np.ones(2)})
        alone.append(made((x, mask, pairs)))
    logits, value = made(made.collate([{}], parts, np.zeros(4, np.int64)))
    assert logits.shape == (4, 7)
    torch.testing.assert_close(value, torch.cat([alone[0][1], alone[1][1]]), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(logits[:2, :5], alone[0][0], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(logits[2:], alone[1][0], rtol=1e-4, atol=1e-5)
    assert torch.isinf(logits[:2, 5:]).all()


def test_unknown_features_are_refused():
    """The message lists those that the problem has."""
    policy = AttentionPolicy("tsp", "planet", TOKENS)
    with pytest.raises(UsageError, match="accepted: plane"):
        policy.tokens({})


@pytest.mark.parametrize("kind", ["attention", "muzero"])
def test_grid(kind):
    """The last tokens are an image: which stand beside each other counts, once the convolution has weights; not without."""
    from corl.networks.muzero import MuZeroNetwork

    made = {"attention": AttentionPolicy, "muzero": MuZeroNetwork}[kind]
    shape = {"extra": 5, "width": 8, "layers": 1, "heads": 2, "feedforward": 8}
    x, mask = torch.randn(3, 7, F, generator=torch.Generator().manual_seed(0)), torch.ones(3, 7, dtype=torch.bool)
    order = torch.tensor([0, 1, 2, 3, 6, 4, 5])
    for grid, counts in ((0, False), (4, True)):
        torch.manual_seed(1)
        network = made("tsp", "plane", F, **shape, grid=grid).eval()
        if grid:
            torch.nn.init.normal_(network.embed.join.weight)
        assert made(**network.config).load_state_dict(network.state_dict())
        for layer in network.layers:
            torch.nn.init.constant_(layer.rezero, 0.7)
        (_, value), (_, other) = network((x, mask, None)), network((x[:, order], mask, None))
        assert torch.allclose(value, other, atol=1e-5) != counts
        torch.testing.assert_close(network((x[:1], mask[:1], None))[1], value[:1])
    with pytest.raises(UsageError):
        made("tsp", "plane", F, **shape, grid=-1)


@pytest.mark.parametrize("pairs", [0, 3])
def test_groups_change_nothing_but_rounding(pairs):
    """Where gradients are asked for, rows are computed in groups without their empty slots: logits, values and gradients are
    those of all together, to rounding, wherever the empty slots are; so padding changes none of them."""
    torch.manual_seed(0)
    network = AttentionPolicy("tsp", "plane", 5, pairs, width=16, layers=2, heads=4, feedforward=16).double()
    for layer in network.layers:
        torch.nn.init.ones_(layer.rezero)
    rows, slots = 150, 11
    mask = torch.rand(rows, slots + 2) < torch.rand(rows, 1)
    mask[:, -2:] = True
    mask[3], mask[7] = False, True
    x = torch.randn(rows, slots + 2, 5).double()
    batch = TokenBatch(x, mask, torch.randn(rows, slots + 2, slots + 2, pairs).double() if pairs else None)
    found = []
    for forward in (network, network._whole_batch):
        network.zero_grad()
        logits, values = forward(batch)
        (torch.where(torch.isfinite(logits), logits, 0.0).square().sum() + values.square().sum()).backward()
        found.append((logits, values, *(parameter.grad.clone() for parameter in network.parameters())))
    for one, other in zip(*found):
        torch.testing.assert_close(one, other)
    assert (torch.isfinite(found[0][0]) == mask[:, :-2]).all()


def test_caution_is_subtracted_where_the_network_plays_but_not_where_it_imitates():
    """`forward` has the logits of `imitated` less `caution` times the first feature; a loss of imitation has none of it."""
    batch = tokens(3, 6, [6, 4, 2])
    plain, careful = network(), network(caution=2)
    assert careful.config["caution"] == 2 and AttentionPolicy(**careful.config).caution == 2
    logits, values = plain(batch)
    torch.testing.assert_close(careful.imitated(batch)[0], logits)
    played, same = careful(batch)
    torch.testing.assert_close(same, values)
    for row, taken in enumerate([6, 4, 2]):
        torch.testing.assert_close(played[row, :taken], logits[row, :taken] - 2 * batch[0][row, :taken, 0])
        assert torch.isneginf(played[row, taken:]).all()
    with pytest.raises(UsageError, match="positive sizes"):
        network(caution=-1)

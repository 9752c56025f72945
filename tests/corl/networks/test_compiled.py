"""Each primitive of compiled networks computes what torch does, on shapes of all sizes, and touches nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from corl.networks.compiled import (
    add_product,
    array_of,
    attend,
    dense,
    dense_lanes,
    draw,
    exponential,
    exponentials,
    rectify,
)
from corl.rng import random_state

SHAPES = ((1, 1), (1, 8), (5, 3), (16, 32), (40, 17))
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def made(*shape, seed=0, dtype=np.float32):
    """Standard normal numbers."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("inputs", "outputs"), SHAPES)
def test_layers(inputs, outputs, dtype):
    """A layer from longer scratch into longer scratch, then a product added to it: the rest of `out` stays; nothing is written
    to x."""
    layer, x, out = made(inputs + 1, outputs, dtype=dtype), made(inputs + 3, dtype=dtype), np.full(outputs + 2, 7, dtype)
    before, torchs = x.copy(), torch.from_numpy(layer)
    dense(x, layer, out)
    expected = functional.linear(torch.from_numpy(x[:inputs]), torchs[:-1].T, torchs[-1])
    np.testing.assert_allclose(out[:outputs], expected.numpy(), **CLOSE)
    add_product(x, inputs, layer, out)
    expected += torch.from_numpy(x[:inputs]) @ torchs[:-1]
    np.testing.assert_allclose(out[:outputs], expected.numpy(), **CLOSE)
    assert (out[outputs:] == 7).all() and (x == before).all() and out.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_relu(dtype):
    """Of the first numbers alone."""
    x = made(20, dtype=dtype)
    expected = np.concatenate([functional.relu(torch.from_numpy(x[:15])).numpy(), x[15:]])
    rectify(x, 15)
    assert (x == expected).all() and (expected[:15] == 0).any() and (expected[15:] < 0).any()


@pytest.mark.parametrize(("inputs", "outputs", "lanes"), [(4, 2, 1), (12, 6, 5), (36, 32, 160), (64, 2, 33)])
def test_layers_of_many_lanes(inputs, outputs, lanes):
    """The columns as torch's rows; those behind stay; a column alone has the same bits."""
    weight, bias, x = made(outputs, inputs), made(outputs), made(inputs, lanes + 3)
    out = np.full((outputs, lanes + 3), 7, np.float32)
    dense_lanes(weight, bias, x, out, np.uint64(lanes))
    expected = functional.linear(*(torch.from_numpy(part) for part in (x.T[:lanes], weight, bias)))
    np.testing.assert_allclose(out[:, :lanes].T, expected.numpy(), **CLOSE)
    assert (out[:, lanes:] == 7).all()
    alone = np.empty((outputs, 1), np.float32)
    dense_lanes(weight, bias, np.ascontiguousarray(x[:, lanes - 1 : lanes]), alone, np.uint64(1))
    assert (alone[:, 0] == out[:, lanes - 1]).all()


@pytest.mark.parametrize("count", [1, 2, 9, 200])
def test_softmax(count):
    """Scores far apart and far from 0; what stands behind them stays."""
    score = 30.0 * made(count + 1) + np.float32(200.0)
    expected, last = torch.softmax(torch.from_numpy(score[:count].copy()), 0).numpy(), score[count]
    total = exponentials(score, count)
    np.testing.assert_allclose(score[:count] / total, expected, **CLOSE)
    assert score[count] == last and isinstance(total, float)


@pytest.mark.parametrize(("size", "width"), [(1, 1), (2, 16), (7, 8), (50, 5)])
def test_attention(size, width):
    """Of one query to some of the keys."""
    query, out = made(width), np.empty(width, np.float32)
    keys, values = 3.0 * made(size + 2, width, seed=1), made(size + 2, width, seed=2)
    attend(query, keys, values, size, np.empty(size, np.float32), out)
    torchs = (torch.from_numpy(part)[None] for part in (query[None], keys[:size], values[:size]))
    np.testing.assert_allclose(out, functional.scaled_dot_product_attention(*torchs)[0, 0].numpy(), **CLOSE)


def test_the_exponential_is_one():
    """Relative error below 3e-7 + 1.2e-7 |x| from -87 to 88, and exactly 1 at 0."""
    x = np.linspace(-87.0, 88.0, 1001).astype(np.float32)
    found = np.array([exponential(value) for value in x], np.float64)
    assert (np.abs(found / torch.exp(torch.from_numpy(x).double()).numpy() - 1.0) < 3e-7 + 1.2e-7 * np.abs(x)).all()
    assert exponential(np.float32(0.0)) == 1.0


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_draws(temperature):
    """Frequencies within five standard deviations of torch's softmax, of the places in the range alone; the stream's own luck."""
    logits, begin, end, draws = 2.0 * made(9), 2, 8, 20_000
    share = torch.softmax(torch.from_numpy(logits[begin:end]) / temperature, 0).numpy()

    def drawn(seed, draws=50):
        random = random_state(seed)
        return [draw(logits.copy(), begin, end, temperature, random) for _ in range(draws)]

    counts = np.bincount(drawn(1, draws), minlength=9)
    assert counts[:begin].sum() + counts[end:].sum() == 0
    assert (np.abs(counts[begin:end] - draws * share) < 5.0 * np.sqrt(draws * share * (1.0 - share)) + 1.0).all()
    assert drawn(1) == drawn(1) != drawn(2)


def test_the_likeliest():
    """At temperature 0: the first of the largest; logits and stream stay as they are."""
    logits, random = np.array([9.0, 1.0, 4.0, 4.0, -np.inf, 5.0], np.float32), random_state(3)
    before = logits.copy(), random.copy()
    assert draw(logits, 1, 5, 0.0, random) == 2 and draw(logits, 0, 6, 0.0, random) == 0
    assert (logits == before[0]).all() and (random == before[1]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_are_copies(dtype):
    """Of a transposed parameter: its values, C-contiguous, and what is learned later is not seen."""
    parameter = torch.nn.Linear(3, 4).weight
    array = array_of(parameter.t(), dtype)
    assert array.flags.c_contiguous and array.shape == (3, 4) and array.dtype == dtype
    assert (array == parameter.detach().numpy().T).all()
    with torch.no_grad():
        parameter.zero_()
    assert array.any()

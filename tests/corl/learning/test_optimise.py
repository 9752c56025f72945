"""corl.learning.optimise: the share of the learning rate over a run, and the step that all recipes make."""

import math

import pytest

from corl.learning.optimise import optimiser_step, rate_share


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

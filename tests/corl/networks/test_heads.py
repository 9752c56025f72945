"""HL-Gauss: a distribution around the target whose mean is the target, learned by its own loss."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from corl.errors import UsageError
from corl.networks.heads import HLGauss


@given(st.floats(-1.5, 2.5), st.integers(20, 80))
def test_the_mean_of_the_histogram_is_the_target(target, bins):
    """Away from the ends the probabilities sum to 1 and their mean is the target within a thousandth of a bin."""
    head = HLGauss(-2.0, 3.0, bins)
    width = 5.0 / bins
    chance = head.histogram(torch.tensor(target))
    assert chance.sum().item() == pytest.approx(1.0, abs=1e-5)
    if -2.0 + 4 * width < target < 3.0 - 4 * width:
        assert head.mean(chance.clamp_min(1e-30).log()).item() == pytest.approx(target, abs=2e-2 * width)


def test_the_histogram_is_that_of_a_gaussian():
    """Against the formula of the paper, bin by bin (standard deviation 0.75 bins, normalised over the range)."""
    head = HLGauss(0.0, 10.0, 10)

    def below(edge):
        return 0.5 * (1 + math.erf((edge - 3.3) / (0.75 * math.sqrt(2))))

    total = below(10.0) - below(0.0)
    expected = [(below(k + 1) - below(k)) / total for k in range(10)]
    torch.testing.assert_close(head.histogram(torch.tensor(3.3)), torch.tensor(expected), atol=1e-6, rtol=0)


def test_targets_outside_count_as_the_end():
    """Beyond the range a target is its end: no NaN, the same histogram."""
    head = HLGauss(-1.0, 1.0, 10)
    assert torch.equal(head.histogram(torch.tensor([-9.0, 9.0])), head.histogram(torch.tensor([-1.0, 1.0])))


def test_the_loss_has_its_minimum_at_the_target():
    """Logits of the target's own histogram have a lower loss than those of another, and a zero gradient."""
    head, target = HLGauss(0.0, 1.0, 12), torch.tensor([0.4])
    right = head.histogram(target).clamp_min(1e-9).log().requires_grad_()
    wrong = head.histogram(torch.tensor([0.6])).clamp_min(1e-9).log()
    loss = head.loss(right, target)
    loss.sum().backward()
    assert loss.item() < head.loss(wrong, target).item()
    assert right.grad.abs().max().item() < 1e-6


@pytest.mark.parametrize("arguments", [(0.0, 1.0, 1), (1.0, 1.0, 10), (0.0, math.inf, 10)])
def test_ranges_are_checked(arguments):
    """At least two bins over a finite range."""
    with pytest.raises(UsageError, match="HL-Gauss takes at least 2 bins and finite low < high"):
        HLGauss(*arguments)

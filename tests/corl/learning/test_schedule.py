"""corl.learning.schedule: the share of the learning rate over a run."""

import pytest

from corl.learning.schedule import warm_cosine


def test_it_rises_and_then_falls_to_nothing():
    """The rate starts above 0, rises while warm, is largest then, and falls to 0 at the end."""
    shares = [warm_cosine(k / 200, 0.05) for k in range(201)]
    top = shares.index(max(shares))
    assert 0 < shares[0] < 0.05 and 5 <= top <= 15 and shares[top] > 0.95
    assert shares[: top + 1] == sorted(shares[: top + 1]) and shares[top:] == sorted(shares[top:], reverse=True)
    assert shares[-1] == pytest.approx(0)

"""The study of workers: what a trace has, and how much longer one worker takes."""

from __future__ import annotations

import pytest
from jobshop_workers import speed_up, value_at


def test_value_of_a_trace():
    """The best so far; none before the first solution."""
    trace = [(0.5, 20.0, None), (1.0, 20.0, 5.0), (2.0, 15.0, 5.0)]
    assert [value_at(trace, seconds) for seconds in (0.1, 1, 1.9, 9)] == [float("inf"), 20, 20, 15]


def test_speed_up():
    """Two workers have at 10 s what one has halfway between 10 and 20; what one never has is left out."""
    rows = [
        {"instance": "a", "workers": workers, "seconds": seconds, "value": value}
        for workers, seconds, value in [("1", "10", "120"), ("1", "20", "110"), ("2", "10", "115"), ("2", "20", "100")]
    ]
    assert speed_up(rows) == pytest.approx({10: 1.5})

"""The study at equal time: its splits, and what it has compiled for small tours."""

from __future__ import annotations

import numpy as np
import pytest
import routing_policies
from equal_time import REGIMES, SPLITS, exchange, play

from corl.rng import random_state


def test_splits_are_apart():
    """Of each other and of those of other studies, by more than any regime has instances."""
    most = max(max(declared.get(part, 0) for part in SPLITS) for declared in REGIMES.values())
    assert min(np.diff(sorted([*SPLITS.values(), *routing_policies.SPLITS.values()]))) > most


def test_perceptron_goes_to_the_nearest():
    """With weights that see distances from here alone: nearest neighbour's tour, on points where that is best."""
    points = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [6.0, 0.0], [6.0, 9.0]])
    first, second = np.zeros((9, 1), np.float32), np.array([[-1.0], [0.0]], np.float32)
    first[0, 0] = 1.0
    found = play(points, first, second, 1, 0.5, random_state(1))
    assert found == pytest.approx(sum(np.hypot(*(points[k] - points[k - 1])) for k in range(5)))
    assert play(points, first, second, 30, 0.5, random_state(1)) <= found


def test_exchange():
    """Nearest insertion and 2-opt go around points on a circle, in whatever order these are listed."""
    angles = np.arange(12) * 5 % 12 * np.pi / 6
    points = np.column_stack([np.cos(angles), np.sin(angles)])
    assert exchange(points, 1) == pytest.approx(12 * 2 * np.sin(np.pi / 12))

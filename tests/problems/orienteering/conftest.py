"""Shared by the tests of orienteering: small random instances, and the best score by enumeration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.families import orienteering as family


@pytest.fixture(scope="session")
def random_instance():
    """A function (n, kind, seed, closed) -> OrienteeringInstance."""
    return family.random_instance


@pytest.fixture(scope="session")
def most():
    """A function: the best score of an instance of at most about seven nodes."""
    return family.most


@pytest.fixture(scope="session")
def turned():
    """A function (instance, change): the plane turned, mirrored, scaled or moved, or the scores in other units."""
    return _turned


def _turned(instance, change):
    """The same instance with the plane rotated, mirrored, scaled or moved, or its scores in other units."""
    angle, factor = (0.7, 1.0) if change == "turn" else (0.0, 4.0 if change == "scale" else 1.0)
    matrix = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]) * factor
    if change == "mirror":
        matrix = np.array([[-1.0, 0.0], [0.0, 1.0]])
    shift = np.array([2.0, -1.0]) if change == "move" else np.zeros(2)
    points = instance.graph.points @ matrix + shift
    units = 4.0 if change == "scores" else 1.0
    graph = replace(instance.graph, points=points)
    return replace(instance, graph=graph, scores=instance.scores * units, limit=instance.limit * factor)

"""Pictures of instances and tours."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from corl.problems.tsp.drawing import positions
from corl.problems.tsp.generators import asymmetric
from corl.problems.tsp.instance import EDGE_WEIGHT_TYPES, TspInstance
from corl.problems.tsp.problem import Tsp


def picture(instance, tour):
    """The axes with the drawing, rendered."""
    figure = Figure()
    axes = figure.add_subplot()
    Tsp().draw(instance, tour, axes)
    FigureCanvasAgg(figure).draw()
    return axes


@pytest.mark.parametrize("kind", [*EDGE_WEIGHT_TYPES, "ATSP"])
@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_every_kind_is_drawn(random_instance, kind, n):
    """Any instance is drawn with and without a tour: the line goes through all cities and back, the title has the length."""
    instance = random_instance(kind, n)
    tour = np.random.default_rng(0).permutation(n)
    (line,) = picture(instance, tour).lines
    xy = line.get_xydata()
    assert xy.shape == (n + 1, 2) and np.isfinite(xy).all() and np.array_equal(xy[0], xy[-1])
    title = picture(instance, tour).get_title()
    assert instance.name in title and f"length {Tsp().evaluate(instance, tour):,.10g}" in title
    assert not picture(instance, None).lines


def test_positions_of_a_matrix_of_distances_in_the_plane():
    """Multidimensional scaling finds the plane again, up to a motion."""
    points = np.random.default_rng(0).random((20, 2))
    matrix = np.linalg.norm(points[:, None] - points, axis=2)
    found = positions(TspInstance("x", "EXPLICIT", matrix=matrix))
    again = np.linalg.norm(found[:, None] - found, axis=2)
    assert np.allclose(again / again.max(), matrix / matrix.max(), atol=1e-9)


def test_positions_of_a_large_matrix(monkeypatch):
    """A large matrix is drawn on a circle in the order of the tour."""
    monkeypatch.setattr("corl.problems.tsp.drawing._MOST_SCALED", 5)
    tour = np.array([3, 0, 5, 1, 4, 2])
    xy = positions(asymmetric(size=6), tour)[tour]
    steps = np.linalg.norm(np.diff(xy, axis=0), axis=1)
    assert np.allclose(steps, steps[0])


def test_display_coordinates_are_used():
    """Where the file gives display coordinates, those are drawn at; GEO has north up."""
    display = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    instance = TspInstance("x", "EXPLICIT", matrix=np.ones((3, 3)), display=display)
    assert np.array_equal(positions(instance), display)
    geo = TspInstance("x", "GEO", np.array([[50.0, 8.0], [40.0, -3.0]]))
    assert positions(geo).tolist() == [[8.0, 50.0], [-3.0, 40.0]]

"""What every picture has: a title inside the figure, whole numbers where things are counted, names where they can be read."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.quiver import Quiver

from corl import registry
from corl.files import drawing
from corl.problems.vrp.instance import Vehicles, VrpInstance


def picture(problem: str, instance, solution=None) -> Figure:
    """The figure that `corl plot` would save."""
    figure = Figure(figsize=(7, 7), layout="constrained")
    FigureCanvasAgg(figure)
    registry.problem(problem).draw(instance, solution, figure.add_subplot())
    drawing._fit_titles(figure)
    figure.draw_without_rendering()
    return figure


def made(problem: str, kind: str, **parameters):
    return registry.problem(problem).generators[kind](**parameters)


@pytest.mark.parametrize(
    "name", ["short", "a-program-with-a-name-that-is-as-long-as-those-of-MIPLIB-sometimes-are", "x" * 150, "a, b: c, " * 12]
)
@pytest.mark.parametrize("problem", ["knapsack", "tsp"])
def test_titles_are_inside_the_figure(problem, name):
    """However long the instance's name is, the whole title is seen; a short one stays in one line and in its size."""
    instance = dataclasses.replace(made(problem, "uniform", size=10), name=name)
    figure = picture(problem, instance)
    title = figure.axes[0].title
    box = title.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.width and box.y1 <= figure.bbox.height
    if name == "short":
        assert "\n" not in title.get_text() and title.get_fontsize() == Figure().add_subplot().title.get_fontsize()


@pytest.mark.parametrize(
    ("problem", "kind", "parameters", "axes"),
    [
        ("bandits", "capacity", {"arms": 10, "pulls": 3}, "xy"), ("bandits", "capacity", {"arms": 3, "pulls": 1}, "xy"),
        ("milp", "set-cover", {"rows": 3, "columns": 4, "density": 0.7}, "xy"),
        ("jobshop", "taillard", {"jobs": 2, "machines": 2}, "x"), ("memory-static", None, [[0, 2, 1], [1, 3, 1]], "xy"),
    ],
)  # fmt: skip
def test_what_is_counted_has_whole_ticks(problem, kind, parameters, axes):
    """No arm 2.5, no constraint 0.5, no half unit of time; and no power of ten in a corner."""
    instance = made(problem, kind, **parameters) if kind else registry.problem(problem).adapt(parameters)
    (drawn, *_) = picture(problem, instance).axes
    for name in axes:
        axis = getattr(drawn, f"{name}axis")
        places, low, high = axis.get_majorticklocs(), *sorted(axis.get_view_interval())
        assert (places == np.round(places)).all() and ((places >= low) & (places <= high)).any()
        assert axis.get_offset_text().get_text() == ""


def ids_in(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def test_nodes_have_their_numbers_where_they_can_be_read():
    """The file's own ids, up to a hundred of them; depots are squares and have none."""
    few, many = (made("orienteering", next(iter(registry.problem("orienteering").generators)), size=size) for size in (30, 101))
    assert ids_in(picture("orienteering", few)) == list(map(str, few.graph.ids)) and ids_in(picture("orienteering", many)) == []
    routed = made("vrp", "uniform", size=20)
    assert ids_in(picture("vrp", routed)) == list(map(str, routed.ids[1:]))


def test_made_up_places_are_said():
    """A tour with arrows where it has a direction, and a line that says how a file without coordinates is laid out."""
    tour = np.arange(12)
    figure = picture("tsp", made("tsp", "asymmetric", size=12), tour)
    (arrows,) = [artist for artist in figure.axes[0].collections if isinstance(artist, Quiver)]
    assert arrows.N == 12 and ids_in(figure) == [
        "no coordinates: placed by multidimensional scaling of the distances (the mean of both ways)"
    ]
    symmetric = picture("tsp", made("tsp", "uniform", size=12), tour)
    assert not [artist for artist in symmetric.axes[0].collections if isinstance(artist, Quiver)] and ids_in(symmetric) == []
    matrix = np.array([[0.0, 1, 2], [1, 0, 3], [2, 3, 0]])
    routes = VrpInstance("m", "EXPLICIT", np.array([0.0, 1, 1]), Vehicles(2.0), matrix=matrix)
    assert "no coordinates: the clients are on a circle around the depots" in ids_in(picture("vrp", routes))

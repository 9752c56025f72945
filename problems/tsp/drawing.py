"""Pictures of instances and tours: with matplotlib, and as scenes for pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.files.drawing import note
from corl.problems.tsp.evaluation import check, objective
from corl.problems.tsp.instance import TspInstance
from corl.view.scene import Scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw", "layout_of", "positions", "scene"]

_MOST_SCALED = 1000  # most cities of a matrix that are placed by multidimensional scaling (an eigenvalue problem, O(n^3))
_TOUR, _CITY = "#1f6feb", "#24292f"
_MOST_POINTS = 20_000  # most cities that a scene shows as points; larger instances show the tour alone


def draw(instance: TspInstance, solution: Any, axes: Axes) -> None:
    """Draw the cities at `positions` and the closed tour `solution` (None: the cities alone), with its length in the title.

    Asymmetric tours have arrows. If the instance has no coordinates, a note says how the cities were placed. Markers and lines
    get finer as the number of cities grows; from 20,000 cities on, a tour is drawn without markers.
    """
    n = instance.n
    tour = None if solution is None else check(instance, solution)
    xy = positions(instance, tour)
    if tour is not None:
        closed = xy[np.append(tour, tour[0])]
        (line,) = axes.plot(closed[:, 0], closed[:, 1], color=_TOUR, linewidth=float(np.clip(30 / np.sqrt(n), 0.15, 1.5)))
        line.set_solid_joinstyle("round")
        if not instance.symmetric and n > 1:
            leg = np.diff(closed, axis=0)
            axes.quiver(*closed[:-1].T, *leg.T, angles="xy", scale_units="xy", scale=1, units="inches", color=_TOUR,
                        width=line.get_linewidth() / 72, headwidth=5, headlength=7, headaxislength=6)  # fmt: skip
    if tour is None or n < 20_000:
        size = float(np.clip(4000 / n, 0.05, 18))
        axes.scatter(xy[:, 0], xy[:, 1], s=size, color=_CITY, linewidths=0, zorder=3, rasterized=n > 20_000)
    length = "" if tour is None else f", length {objective(instance, tour):,.10g}"
    axes.set_title(f"{instance.name or 'TSP'}: {n:,} {'city' if n == 1 else 'cities'}{length}")
    if layout := layout_of(instance):
        note(axes, layout)
    axes.set_aspect("equal", adjustable="box")
    axes.set_axis_off()


def positions(instance: TspInstance, tour: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
    """Return the positions at which the cities are drawn, float64 [n, 2].

    These are the file's display coordinates, or else the cities' coordinates (x and y of three; for GEO longitude and latitude).
    If an instance has neither, up to 1000 cities are placed by classical multidimensional scaling of the distances (Torgerson,
    1952), and more cities on a circle in the order of `tour`, int64 [n] (None: in the order of their numbers).
    """
    if instance.display is not None:
        return instance.display
    if instance.points is not None:
        return instance.points[:, ::-1] if instance.edge_weight_type == "GEO" else instance.points[:, :2]
    assert instance.matrix is not None
    if _is_scaled(instance):
        return _scaled(instance.matrix)
    angle = np.empty(instance.n)
    angle[np.arange(instance.n) if tour is None else tour] = np.linspace(0, 2 * np.pi, instance.n, endpoint=False)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def layout_of(instance: TspInstance) -> str:
    """Return a sentence on how `positions` places the cities of an instance without coordinates; "" if it has coordinates."""
    if instance.display is not None or instance.points is not None:
        return ""
    if not _is_scaled(instance):
        return "no coordinates: the cities are on a circle, in the order of the tour"
    way = "" if instance.symmetric else " (the mean of both ways)"
    return f"no coordinates: placed by multidimensional scaling of the distances{way}"


def _is_scaled(instance: TspInstance) -> bool:
    """Return whether the cities of an instance without coordinates are placed by multidimensional scaling."""
    return 2 < instance.n <= _MOST_SCALED


def _scaled(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points whose distances approximate the matrix, float64 [n, 2], by classical multidimensional scaling.

    Each coordinate is a scaled eigenvector, for one of the two largest eigenvalues, of -1/2 times the centred squared distances.
    """
    size = np.abs(matrix).max() or 1.0
    squared = ((matrix + matrix.T) / (2 * size)) ** 2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    return np.asarray(vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0.0)))


def scene(instance: TspInstance, solution: Any) -> Scene:
    """Return the scene of the cities at `positions` and the closed tour `solution` (None: the cities alone)."""
    tour = None if solution is None else check(instance, solution)
    xy = positions(instance, tour)
    scene = Scene(f"{instance.name or 'TSP'}: {instance.n:,} cities", equal=True, note=layout_of(instance) or "")
    if tour is not None:
        closed = xy[np.append(tour, tour[0])]
        scene.lines.append((closed[:, 0].tolist(), closed[:, 1].tolist(), "", 0))
    place = np.empty(instance.n, np.int64)
    place[np.arange(instance.n) if tour is None else tour] = np.arange(instance.n)
    if instance.n <= _MOST_POINTS:
        labels = instance.ids.tolist() if instance.names is None else instance.names
        where = "" if tour is None else ", stop {} of the tour"
        for k, ((x, y), at) in enumerate(zip(xy.tolist(), place.tolist())):
            scene.points.append((x, y, f"city {labels[k]}" + where.format(at + 1), -1, ""))
    return scene

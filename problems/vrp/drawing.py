"""Drawing instances and routes with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.files.drawing import note, write_ids
from corl.problems.vrp.evaluation import objective, routes_of, schedule
from corl.problems.vrp.instance import VrpInstance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_routes", "positions"]

_CLIENT, _DEPOT, _MISSED = "#24292f", "#d1242f", "#8c959f"
_NAMED = 12  # routes that a legend names
_LEGS = 2000  # clients from which the legs to and from the depot are not drawn


def draw_routes(instance: VrpInstance, solution: Any, axes: Axes) -> None:
    """Draw depots and clients at `positions`, and the routes `solution` (None: the instance alone); the title gives the cost.

    Routes have colours by their direction from the depot, so that neighbours look alike but not the same; their ways from
    and to the depot are thin. The legend names up to twelve: number of clients and load. Up to a hundred clients
    have their numbers in the file.
    """
    import matplotlib

    xy, n, depots = positions(instance), instance.n, instance.depots
    size = float(np.clip(4000 / n, 0.1, 16))
    routes = [] if solution is None else routes_of(instance, solution)
    colours = matplotlib.colormaps["tab20"].colors  # type: ignore[attr-defined]
    width = float(np.clip(30 / np.sqrt(n), 0.3, 1.4))
    for number, route in enumerate(sorted(routes, key=lambda route: _angle(instance, xy, route))):
        start, end = instance.vehicles.start[route.vehicle], instance.vehicles.end[route.vehicle]
        path, colour = xy[[start, *route.visits, end]], colours[(2 * number + number // 10) % 20]
        label = None
        if len(routes) <= _NAMED:
            label = f"{_clients(int((route.visits >= depots).sum()))}, load {schedule(instance, route).load:.10g}"
        axes.plot(path[1:-1, 0], path[1:-1, 1], color=colour, linewidth=width, label=label)
        if n < _LEGS:
            back = instance.rules is None or instance.rules.stays_out is None or not instance.rules.stays_out[route.vehicle]
            for leg in (path[:2], path[-2:]) if back else (path[:2],):
                axes.plot(leg[:, 0], leg[:, 1], color=colour, linewidth=0.4 * width, linestyle=(0, (4, 3)))
    missed = np.arange(n) >= depots
    for route in routes:
        missed[route.visits] = False
    missed &= solution is not None
    served = (np.arange(n) >= depots) & ~missed
    axes.scatter(xy[served, 0], xy[served, 1], s=size, color=_CLIENT, linewidths=0, zorder=3, rasterized=n > 20_000)
    if missed.any():
        axes.scatter(
            xy[missed, 0],
            xy[missed, 1],
            s=2 * size,
            facecolors="none",
            edgecolors=_MISSED,
            linewidths=0.6,
            zorder=3,
            label="left out",
        )
    axes.scatter(
        xy[:depots, 0], xy[:depots, 1], s=max(40.0, 3 * size), color=_DEPOT, marker="s", linewidths=0, zorder=4, label="depot"
    )
    cost = (
        "" if solution is None else f", {len(routes)} route{'s' * (len(routes) != 1)}, cost {objective(instance, routes):,.10g}"
    )
    write_ids(axes, xy[depots:], instance.names[depots:] or instance.ids[depots:])
    axes.set_title(f"{instance.name or 'VRP'}: {_clients(instance.clients)}{cost}")
    placed = instance.display is not None or instance.points is not None
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, -0.01 if placed else -0.05), ncols=4, fontsize="x-small", frameon=False)
    if not placed:
        note(axes, "no coordinates: the clients are on a circle around the depots")
    axes.set_aspect("equal", adjustable="box")
    axes.set_axis_off()


def _clients(count: int) -> str:
    return f"{count:,} client{'s' * (count != 1)}"


def _angle(instance: VrpInstance, xy: NDArray[np.float64], route: Any) -> float:
    """The direction in which a route lies."""
    middle = xy[route.visits].mean(axis=0) - xy[instance.vehicles.start[route.vehicle]]
    return float(np.arctan2(middle[1], middle[0]))


def positions(instance: VrpInstance) -> NDArray[np.float64]:
    """Where to draw the nodes, float64 [n, 2]: display coordinates, or their own (GEO with east to the right).

    With a matrix alone the depots are in the middle of a circle of clients.
    """
    if instance.display is not None:
        return instance.display
    if instance.points is not None:
        return instance.points[:, 1::-1] if instance.edge_weight_type == "GEO" else instance.points[:, :2]
    angle = np.linspace(0, 2 * np.pi, instance.clients, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    middle = np.column_stack([0.1 * np.arange(instance.depots), np.zeros(instance.depots)])
    return np.concatenate([middle, ring])

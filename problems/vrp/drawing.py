"""Pictures of instances and routes: with matplotlib, and as scenes of `corl view` with the stops, times and loads of routes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.files.drawing import note, write_ids
from corl.problems.vrp.evaluation import objective, routes_of, schedule
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.routes import Route
from corl.problems.vrp.timetable import length_unit, stops
from corl.view.scene import Group, Play, Scene, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw", "positions", "scene"]

_CLIENT, _DEPOT, _MISSED = "#24292f", "#d1242f", "#8c959f"
_MAX_LEGEND = 12  # routes in the legend
_DEPOT_LEGS_BELOW = 2000  # nodes; larger instances are drawn without the legs to and from depots


def draw(instance: VrpInstance, solution: Any, axes: Axes) -> None:
    """Draw depots and clients at `positions`, and the routes of `solution` (None: the instance alone); the title states the cost.

    Routes are coloured in the order of their directions from the depot, so that neighbouring routes have different colours. Their
    legs from and to the depot are thin. The legend has up to twelve routes, with the number of clients and the load of each. Up
    to a hundred clients are labelled with their ids.
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
        if len(routes) <= _MAX_LEGEND:
            label = f"{_count_of_clients(int((route.visits >= depots).sum()))}, load {schedule(instance, route).load:.10g}"
        axes.plot(path[1:-1, 0], path[1:-1, 1], color=colour, linewidth=width, label=label)
        if n < _DEPOT_LEGS_BELOW:
            returns = instance.rules is None or instance.rules.stays_out is None or not instance.rules.stays_out[route.vehicle]
            for leg in (path[:2], path[-2:]) if returns else (path[:2],):
                axes.plot(leg[:, 0], leg[:, 1], color=colour, linewidth=0.4 * width, linestyle=(0, (4, 3)))
    unserved = np.arange(n) >= depots
    for route in routes:
        unserved[route.visits] = False
    unserved &= solution is not None
    served = (np.arange(n) >= depots) & ~unserved
    axes.scatter(xy[served, 0], xy[served, 1], s=size, color=_CLIENT, linewidths=0, zorder=3, rasterized=n > 20_000)
    if unserved.any():
        axes.scatter(
            xy[unserved, 0],
            xy[unserved, 1],
            s=2 * size,
            facecolors="none",
            edgecolors=_MISSED,
            linewidths=0.6,
            zorder=3,
            label="unserved",
        )
    axes.scatter(
        xy[:depots, 0], xy[:depots, 1], s=max(40.0, 3 * size), color=_DEPOT, marker="s", linewidths=0, zorder=4, label="depot"
    )
    cost = (
        "" if solution is None else f", {len(routes)} route{'s' * (len(routes) != 1)}, cost {objective(instance, routes):,.10g}"
    )
    write_ids(axes, xy[depots:], instance.names[depots:] or instance.ids[depots:])
    axes.set_title(f"{instance.name or 'VRP'}: {_count_of_clients(instance.clients)}{cost}")
    has_positions = instance.display is not None or instance.points is not None
    axes.legend(
        loc="upper left", bbox_to_anchor=(0.0, -0.01 if has_positions else -0.05), ncols=4, fontsize="x-small", frameon=False
    )
    if not has_positions:
        note(axes, "no coordinates: the clients are on a circle around the depots")
    axes.set_aspect("equal", adjustable="box")
    axes.set_axis_off()


def _count_of_clients(count: int) -> str:
    """Return a number of clients in words."""
    return f"{count:,} client{'s' * (count != 1)}"


def _angle(instance: VrpInstance, xy: NDArray[np.float64], route: Any) -> float:
    """Return the direction of the route's centre from its depot, in radians."""
    centre = xy[route.visits].mean(axis=0) - xy[instance.vehicles.start[route.vehicle]]
    return float(np.arctan2(centre[1], centre[0]))


def positions(instance: VrpInstance) -> NDArray[np.float64]:
    """Return where to draw the nodes, float64 [n, 2]: at display coordinates, or at their points (for GEO: longitude, latitude).

    An instance with only a matrix is drawn as a circle of clients around the depots.
    """
    if instance.display is not None:
        return instance.display
    if instance.points is not None:
        return instance.points[:, 1::-1] if instance.edge_weight_type == "GEO" else instance.points[:, :2]
    angle = np.linspace(0, 2 * np.pi, instance.clients, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    centre = np.column_stack([0.1 * np.arange(instance.depots), np.zeros(instance.depots)])
    return np.concatenate([centre, circle])


def scene(instance: VrpInstance, solution: Any) -> Scene:
    """Return the scene of depots, clients and routes at `positions`; each group of the scene is a route."""
    routes = [] if solution is None else routes_of(instance, solution)
    xy, depots = positions(instance), instance.depots
    scene = Scene(f"{instance.name or 'vehicle routing'}: {instance.clients:,} clients", equal=True)
    scene.head = ("route", "clients", "load", "distance")
    scene.steps_head = ("client", "arrival", "wait", "break", "begin", "service", "departure", "load", length_unit(instance)[0])
    owner = np.full(instance.n, -1)
    scene.globe, scene.labels = instance.on_globe, [str(_name_or_id(instance, node)) for node in range(instance.n)]
    if routes and (instance.timed or instance.rules is not None):
        scene.play = _play(instance, routes, xy)
        scene.bars = [bar for number, route in enumerate(routes) for bar in _bars(instance, number, route)]
    for number, route in enumerate(routes):
        owner[route.visits] = number
        _add_route(scene, instance, number, route, xy)
    for node in range(instance.n):
        kind = "depot" if node < depots else "out" if solution is not None and owner[node] < 0 else ""
        scene.points.append((*xy[node].tolist(), _text(instance, node), int(owner[node]) if node >= depots else -1, kind))
    return scene


def _add_route(scene: Scene, instance: VrpInstance, number: int, route: Route, xy: Any) -> None:
    """Add a route to a scene: its line, its table of stops, and its tight limits."""
    vehicles, times, scale = instance.vehicles, schedule(instance, route), instance.scale
    vehicle, visits = route.vehicle, route.visits.tolist()
    path = [int(vehicles.start[vehicle]), *visits, int(vehicles.end[vehicle])]
    if instance.rules is not None and instance.rules.stays_out is not None and instance.rules.stays_out[vehicle]:
        path.pop()
    vehicle_name = instance.vehicle_names[vehicle] if instance.vehicle_names else f"vehicle {vehicle + 1}"
    name = f"{number + 1}" if vehicles.types == 1 else f"{number + 1}, {vehicle_name}"
    clients = sum(node >= instance.depots for node in visits)
    capacity, distance = float(vehicles.capacity[vehicle]), times.distance / scale
    of_capacity = f" of {short(capacity)}" if np.isfinite(capacity) else ""
    latest, steps = instance.latest, []
    for stop, begin in zip(stops(instance, route), times.begin.tolist()):
        stop_times = (stop.arrival, stop.wait, stop.pause, stop.begin, stop.service, stop.departure)
        load = stop.load[0] if len(stop.load) == 1 else ", ".join(map(short, stop.load))
        steps.append((_name_or_id(instance, stop.node), *stop_times, load, stop.distance))
        node = stop.node
        if node >= instance.depots and latest is not None and np.isclose(begin, latest[node], rtol=0, atol=1e-9):
            scene.tight.append(f"route {number + 1}: client {instance.labels[node]} is served as its window closes")
        for amount, side in ((stop.early, "before"), (stop.late, "after")):
            if amount > 0.0:
                words = f"is served {short(round(amount, 6))} {side} its soft window"
                scene.tight.append(f"route {number + 1}: client {instance.labels[node]} {words}")
    scene.groups.append(Group((name, clients, f"{short(times.load)}{of_capacity}", short(round(distance, 6))), steps))
    text = f"route {number + 1}: {clients} clients, load {short(times.load)}{of_capacity}\ndistance {short(round(distance, 6))}"
    scene.lines.append((xy[path, 0].tolist(), xy[path, 1].tolist(), text, number))
    if times.load == capacity:
        scene.tight.append(f"route {number + 1}: the vehicle is full ({short(capacity)})")


def _play(instance: VrpInstance, routes: Sequence[Route], xy: NDArray[np.float64]) -> Play:
    """Return where the vehicles are at each time, when clients become known (their release) and when their service begins."""
    unit, rules, vehicles = instance.scale * instance.speed, instance.rules, instance.vehicles
    known = np.zeros(instance.n) if rules is None or rules.release is None else rules.release / unit
    begins = np.full(instance.n, np.inf)
    moves: list[tuple[Sequence[float], Sequence[float], Sequence[float], int]] = []
    for number, route in enumerate(routes):
        timing = schedule(instance, route)
        times, path = [timing.leave / unit], [int(vehicles.start[route.vehicle])]
        for stop in stops(instance, route):
            times += [stop.arrival, stop.departure]
            path += [stop.node, stop.node]
            begins[stop.node] = stop.begin
        if rules is None or rules.stays_out is None or not rules.stays_out[route.vehicle]:
            times.append(max(times[-1], timing.back / unit))
            path.append(int(vehicles.end[route.vehicle]))
        moves.append(([round(time, 6) for time in times], xy[path, 0].tolist(), xy[path, 1].tolist(), number))
    end = max(times[-1] for times, *_ in moves)
    begin = min(min(times[0] for times, *_ in moves), float(known[known > 0].min(initial=end)))
    begins[: instance.depots] = np.inf
    points = [(max(one, begin), two if np.isfinite(two) else None) for one, two in zip(known.tolist(), begins.tolist())]
    return Play(begin, end, {"s": 1.0, "min": 60.0, "h": 3600.0}.get(instance.units[1], 0.0), points=points, moves=moves)


def _bars(instance: VrpInstance, number: int, route: Route) -> list[tuple[int, float, float, str, str]]:
    """Return what the vehicle of a route does at which times, as `Scene.bars`."""
    unit, timing = instance.scale * instance.speed, schedule(instance, route)
    bars, time, text = [], timing.leave / unit, ""

    def add(end: float, kind: str) -> None:
        nonlocal time
        if end > time + 1e-9:
            bars.append((number, time, end, kind, f"{text}\n{kind} {short(round(time, 6))} to {short(round(end, 6))}"))
        time = max(time, end)

    def add_pause(duration: float, end: float) -> None:
        """Add a break, if there is one, and waiting before and after it until `end`."""
        if duration > 0.0:
            add(min(_break_begin(instance, route.vehicle, duration, time), end - duration), "wait")
            add(time + duration, "break")
        add(end, "wait")

    for stop in stops(instance, route):
        served = stop.node >= instance.depots
        text = f"{'client' if served else 'depot'} {_name_or_id(instance, stop.node)}"
        add(stop.arrival, "travel")
        add_pause(stop.pause - stop.pause_after, stop.begin)
        if served:
            add(stop.begin + stop.service, "service")
        else:
            bars.append((number, stop.begin, stop.begin, "reload", f"{text}\nreload at {short(round(stop.begin, 6))}"))
        add_pause(stop.pause_after, stop.departure)
    rules = instance.rules
    if rules is None or rules.stays_out is None or not rules.stays_out[route.vehicle]:
        text = f"depot {_name_or_id(instance, int(instance.vehicles.end[route.vehicle]))}"
        add(timing.back / unit, "travel")
    return bars


def _break_begin(instance: VrpInstance, kind: int, duration: float, time: float) -> float:
    """Return when a break of this duration may begin, from `time` on: at the opening of its window, or at once for a rest."""
    unit, rules = instance.scale * instance.speed, instance.rules
    breaks = np.zeros((0, 4)) if rules is None or rules.breaks is None else rules.breaks[rules.breaks[:, 0] == kind] / unit
    fitting = breaks[np.isclose(breaks[:, 3], duration) & (breaks[:, 2] >= time - 1e-6)]
    return max(time, float(fitting[:, 1].min())) if len(fitting) else time


def _name_or_id(instance: VrpInstance, node: int) -> str | int:
    """Return the name of a node, or its id if nodes have no names."""
    return instance.names[node] if instance.names else int(instance.ids[node])


def _text(instance: VrpInstance, node: int) -> str:
    """Return a description of a node: name, demand, window and prize."""
    if node < instance.depots:
        return f"depot {_name_or_id(instance, node)}"
    text, unit = (
        f"client {_name_or_id(instance, node)}, demand {short(float(instance.demand[node]))}",
        instance.scale * instance.speed,
    )
    if instance.earliest is not None and instance.latest is not None and np.isfinite(instance.latest[node]):
        text += f"\nwindow {short(instance.earliest[node] / unit)} to {short(instance.latest[node] / unit)}"
    if instance.rules is not None and instance.rules.soft_windows is not None:
        begin, end = (instance.rules.soft_windows[node] / unit).tolist()
        soft = f"from {short(begin)} " * (begin > 0.0) + f"to {short(end)}" * bool(np.isfinite(end))
        text += f"\nsoft window {soft.strip()}" if soft else ""
    if not instance.required[node] and instance.prize[node]:
        text += f"\nprize {short(instance.prize[node] / instance.scale)}"
    return text

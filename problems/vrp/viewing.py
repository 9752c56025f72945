"""What a page shows of routes: the map, and of each route its stops with times and loads."""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.problems.vrp.drawing import positions
from corl.problems.vrp.evaluation import routes_of, schedule
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.routes import Route
from corl.problems.vrp.timetable import length_unit, stops
from corl.view.scene import Group, Scene, short

__all__ = ["scene_of"]


def scene_of(instance: VrpInstance, solution: Any) -> Scene:
    """Depots, clients and routes at `positions`; a group is a route."""
    routes = [] if solution is None else routes_of(instance, solution)
    xy, depots = positions(instance), instance.depots
    scene = Scene(f"{instance.name or 'vehicle routing'}: {instance.clients:,} clients", equal=True)
    scene.head = ("route", "clients", "load", "distance")
    scene.steps_head = ("client", "arrival", "wait", "break", "begin", "service", "departure", "load", length_unit(instance)[0])
    owner = np.full(instance.n, -1)
    for number, route in enumerate(routes):
        owner[route.visits] = number
        _add_route(scene, instance, number, route, xy)
    for node in range(instance.n):
        kind = "depot" if node < depots else "out" if solution is not None and owner[node] < 0 else ""
        scene.points.append((*xy[node].tolist(), _text(instance, node), int(owner[node]) if node >= depots else -1, kind))
    return scene


def _add_route(scene: Scene, instance: VrpInstance, number: int, route: Route, xy: Any) -> None:
    vehicles, found, scale = instance.vehicles, schedule(instance, route), instance.scale
    kind, visits = route.vehicle, route.visits.tolist()
    path = [int(vehicles.start[kind]), *visits, int(vehicles.end[kind])]
    if instance.rules is not None and instance.rules.stays_out is not None and instance.rules.stays_out[kind]:
        path.pop()
    of = instance.vehicle_names[kind] if instance.vehicle_names else f"vehicle {kind + 1}"
    name = f"{number + 1}" if vehicles.types == 1 else f"{number + 1}, {of}"
    clients = sum(node >= instance.depots for node in visits)
    capacity, distance = float(vehicles.capacity[kind]), found.distance / scale
    full = f" of {short(capacity)}" if np.isfinite(capacity) else ""
    latest, steps = instance.latest, []
    for stop, begin in zip(stops(instance, route), found.begin.tolist()):
        times = (stop.arrival, stop.wait, stop.pause, stop.begin, stop.service, stop.departure)
        load = stop.load[0] if len(stop.load) == 1 else ", ".join(map(short, stop.load))
        steps.append((_called(instance, stop.node), *times, load, stop.distance))
        node = stop.node
        if node >= instance.depots and latest is not None and np.isclose(begin, latest[node], rtol=0, atol=1e-9):
            scene.tight.append(f"route {number + 1}: client {instance.labels[node]} is served as its window closes")
    scene.groups.append(Group((name, clients, f"{short(found.load)}{full}", short(round(distance, 6))), steps))
    text = f"route {number + 1}: {clients} clients, load {short(found.load)}{full}\ndistance {short(round(distance, 6))}"
    scene.lines.append((xy[path, 0].tolist(), xy[path, 1].tolist(), text, number))
    if found.load == capacity:
        scene.tight.append(f"route {number + 1}: the vehicle is full ({short(capacity)})")


def _called(instance: VrpInstance, node: int) -> str | int:
    return instance.names[node] if instance.names else int(instance.ids[node])


def _text(instance: VrpInstance, node: int) -> str:
    if node < instance.depots:
        return f"depot {_called(instance, node)}"
    text, unit = (
        f"client {_called(instance, node)}, demand {short(float(instance.demand[node]))}",
        instance.scale * instance.speed,
    )
    if instance.earliest is not None and instance.latest is not None and np.isfinite(instance.latest[node]):
        text += f"\nwindow {short(instance.earliest[node] / unit)} to {short(instance.latest[node] / unit)}"
    if not instance.required[node] and instance.prize[node]:
        text += f"\nprize {short(instance.prize[node] / instance.scale)}"
    return text

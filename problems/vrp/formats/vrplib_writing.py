"""Writing VRPLIB instance files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.files.opening import writing
from corl.problems.vrp.instance import VrpInstance
from corl.routing.tsplib import numerals, write_coordinates

__all__ = ["write_instance"]

_SECTIONS = {  # keyword -> field of Vehicles, and the value that needs no line
    "CAPACITY": ("capacity", None),
    "VEHICLES_MAX_DURATION": ("max_duration", np.inf),
    "VEHICLES_MAX_DISTANCE": ("max_distance", np.inf),
    "VEHICLES_FIXED_COST": ("fixed_cost", 0.0),
    "VEHICLES_UNIT_DISTANCE_COST": ("unit_cost", 1.0),
}


def write_instance(instance: VrpInstance, path: str | Path) -> None:
    """Write a VRPLIB file, from which an identical instance is read. Raises UsageError for what only JSON can express."""
    _check(instance)
    kind, rounding = {"TENTHS_2D": ("EUC_2D", "DIMACS"), "EUC_2D": ("EUC_2D", "NINT")}.get(
        instance.edge_weight_type, (instance.edge_weight_type, "")
    )
    optional = bool((instance.prize > 0).any())
    header = [f"NAME : {instance.name}", f"TYPE : {_type(instance, optional)}"]
    header += [f"COMMENT : {line}" for line in instance.comment.splitlines()]
    header += [f"DIMENSION : {instance.n}", f"EDGE_WEIGHT_TYPE : {kind}"]
    header += [f"ROUNDING : {rounding}"] if rounding else []
    header += ["FLEET : FEWEST"] if instance.fleet == "fewest" else []
    with writing(path) as stream:
        sections = _vehicles(instance, header)
        if instance.matrix is not None:
            rows = np.argsort(instance.ids)  # row i of a matrix is node i
            stream.write("\n".join([*header, "EDGE_WEIGHT_FORMAT : FULL_MATRIX", "EDGE_WEIGHT_SECTION", ""]))
            stream.writelines(" ".join(numerals(row)) + "\n" for row in instance.matrix[np.ix_(rows, rows)])
            if instance.display is not None:
                stream.write("NODE_COORD_SECTION\n")
                write_coordinates(stream, instance.ids[rows], instance.display[rows])
        else:
            assert instance.points is not None
            stream.write("\n".join([*header, "NODE_COORD_SECTION", ""]))
            write_coordinates(stream, instance.ids, instance.points)
        scale = instance.scale
        stream.writelines(_section("DEMAND_SECTION", instance.ids, instance.demand))
        if instance.service is not None:
            stream.writelines(_section("SERVICE_TIME_SECTION", instance.ids, instance.service / scale))
        if instance.earliest is not None and instance.latest is not None:
            stream.writelines(_section("TIME_WINDOW_SECTION", instance.ids, instance.earliest / scale, instance.latest / scale))
        if optional:
            stream.writelines(_section("PRIZE_SECTION", instance.ids, instance.prize / scale))
        stream.writelines(sections)
        stream.writelines(["DEPOT_SECTION\n", *(f"{depot}\n" for depot in instance.ids[: instance.depots]), "-1\nEOF\n"])


def _check(instance: VrpInstance) -> None:
    """Raise UsageError for features of an instance that VRPLIB cannot express."""
    vehicles, ids = instance.vehicles, instance.ids
    reasons = {
        "a window without an end": instance.latest is not None and not np.isfinite(instance.latest).all(),
        "optional clients without a prize, or required ones with one": bool(
            ((instance.prize > 0) == instance.required)[instance.depots :].any()
        ),
        "vehicles that end at another depot": bool((vehicles.start != vehicles.end).any()),
        "unlimited vehicles, except one unlimited type that is the same at every depot": bool((vehicles.count < 0).any())
        and not _unlimited_everywhere(instance),
        "a vehicle type of no vehicles": bool((vehicles.count == 0).any()),
        "a matrix with ids other than 1..n": instance.matrix is not None
        and not np.array_equal(np.sort(ids), np.arange(1, instance.n + 1)),
        "units, or a speed": instance.speed != 1.0 or any(instance.units),
        "an unlimited capacity": not np.isfinite(vehicles.capacity).all(),
        "longitudes and latitudes besides a matrix": instance.geographic,
        "display coordinates besides points": instance.points is not None and instance.display is not None,
    }
    if instance.rules is not None and instance.rules.names:
        reasons |= {instance.rules.names[0]: True}
    for reason, holds in reasons.items():
        if holds:
            raise UsageError(f"VRPLIB's format does not know {reason}; write a .json file")


def _unlimited_everywhere(instance: VrpInstance) -> bool:
    """Return whether there is an unlimited number of identical vehicles at every depot."""
    vehicles = instance.vehicles
    identical = all((getattr(vehicles, name) == getattr(vehicles, name)[0]).all() for name, _ in _SECTIONS.values())
    return identical and bool((vehicles.count < 0).all()) and np.array_equal(vehicles.start, np.arange(instance.depots))


def _type(instance: VrpInstance, optional: bool) -> str:
    """Return the value of TYPE; `optional`: whether there are optional clients."""
    word = "PCVRP" if optional else "MDVRP" if instance.depots > 1 else "VRP" if instance.windows else "CVRP"
    return f"{word}TW" if instance.windows else word


def _vehicles(instance: VrpInstance, header: list[str]) -> list[str]:
    """Append the values that all vehicles share to the header, in place; return the lines of sections for the other values."""
    vehicles = instance.vehicles
    lines: list[str] = []
    total = int(vehicles.count.sum()) if (vehicles.count >= 0).all() else -1
    header += [f"VEHICLES : {total}"] if total >= 0 else []
    for keyword, (name, default) in _SECTIONS.items():
        values = getattr(vehicles, name)
        if name in ("max_duration", "max_distance", "fixed_cost"):
            values = values / instance.scale
        if (values == values[0]).all():
            header += [] if values[0] == default else [f"{keyword} : {next(iter(numerals(values)))}"]
            continue
        if np.isinf(values).any():
            raise UsageError(f"VRPLIB's format does not know vehicles of which only some have a {name}; write a .json file")
        lines += _section(f"{keyword}_SECTION", np.arange(1, total + 1), np.repeat(values, vehicles.count))
    if instance.depots > 1 and total >= 0:
        starts = instance.ids[np.repeat(vehicles.start, vehicles.count)].astype(np.float64)
        lines += _section("VEHICLES_DEPOT_SECTION", np.arange(1, total + 1), starts)
    return lines


def _section(keyword: str, ids: NDArray[np.int64], *columns: NDArray[np.float64]) -> Iterable[str]:
    """Return the lines of a section: the keyword, then for each id the id and its values."""
    texts = [map(str, ids.tolist()), *map(numerals, columns)]
    return [f"{keyword}\n", *(" ".join(row) + "\n" for row in zip(*texts))]

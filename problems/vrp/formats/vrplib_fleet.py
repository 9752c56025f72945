"""The vehicles of a VRPLIB file, described by header lines for all vehicles or by sections with a line for each vehicle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.files.text import Entry, Text
from corl.problems.vrp.instance import Vehicles
from corl.routing.edge_weights import LARGEST

__all__ = ["fleet", "vehicle_count"]

_MAX_VEHICLES = 1_000_000


def fleet(
    text: Text, header: dict[str, Entry], sections: dict[str, Text], depots: NDArray[np.int64], scale: int,
    more: dict[str, NDArray[np.float64]],
) -> tuple[Vehicles, dict[str, NDArray[np.float64]]]:  # fmt: skip
    """Return the vehicle types, and `more` with one value per type. Vehicles that are identical in all columns are one type.

    DISTANCE limits a route's length or, if there are service times, its duration (Christofides, Mingozzi and Toth).

    Args:
        text: The file.
        header: The header lines.
        sections: The sections.
        depots: int64 [D], the ids of the depots.
        scale: The instance's `scale`.
        more: Further columns of vehicles, float64 [1] (for all) or [count].

    Raises:
        InputError: A malformed value, or one that the file lacks.
    """
    count = vehicle_count(text, header)
    limit_keyword = (
        "VEHICLES_MAX_DURATION" if {"SERVICE_TIME", "SERVICE_TIME_SECTION"} & {*header, *sections} else "VEHICLES_MAX_DISTANCE"
    )
    if "DISTANCE" in header:
        if limit_keyword in header or f"{limit_keyword}_SECTION" in sections:
            raise text.error(
                f"given together with {limit_keyword}; accepted: one of them", line=header["DISTANCE"].line, field="DISTANCE"
            )
        header = header | {limit_keyword: header["DISTANCE"]}
    each = {
        "capacity": _values(text, header, sections, "CAPACITY", count, None),
        "max_duration": _values(text, header, sections, "VEHICLES_MAX_DURATION", count, np.inf),
        "max_distance": _values(text, header, sections, "VEHICLES_MAX_DISTANCE", count, np.inf),
        "fixed_cost": _values(text, header, sections, "VEHICLES_FIXED_COST", count, 0.0),
        "unit_cost": _values(text, header, sections, "VEHICLES_UNIT_DISTANCE_COST", count, 1.0),
        "start": _starts(text, sections, count, depots),
    } | more
    for name in ("max_duration", "max_distance", "fixed_cost"):
        each[name] = np.floor(each[name] * scale) if scale > 1 else each[name]
    if all(values.size == 1 for values in each.values()):
        table, counts = np.array([[float(values[0]) for values in each.values()]]), np.array([count])
    else:
        length = max(count, *(values.size for values in each.values()))
        rows = np.column_stack([np.broadcast_to(values, length) for values in each.values()]).astype(np.float64)
        table, first, sizes = np.unique(rows, axis=0, return_index=True, return_counts=True)
        order = np.argsort(first)
        table, counts = table[order], np.where(count < 0, -1, sizes[order])
    columns = dict(zip(each, table.T))
    more_by_type = {name: columns.pop(name) for name in more}
    try:
        return Vehicles(**columns, count=counts, end=columns["start"]), more_by_type
    except InputError as error:
        raise text.error(error.reason, field=error.field) from None


def vehicle_count(text: Text, header: dict[str, Entry]) -> int:
    """Return the number of vehicles in a file; -1 if it is unlimited."""
    if "VEHICLES" not in header:
        return -1
    entry = header["VEHICLES"]
    return text.integer(entry.value, "VEHICLES", entry.line, 1, _MAX_VEHICLES)


def _values(
    text: Text, header: dict[str, Entry], sections: dict[str, Text], keyword: str, count: int, default: float | None
) -> NDArray[np.float64]:
    """Return one value for all vehicles, float64 [1], or from a section one for each vehicle, float64 [count]."""
    if f"{keyword}_SECTION" in sections:
        return _by_vehicle(text, sections, f"{keyword}_SECTION", count)
    if keyword in header:
        entry = header[keyword]
        return np.array([text.number(entry.value, keyword, entry.line, 0, LARGEST)])
    if default is None:
        raise text.error(f"missing; accepted: a line {keyword} : value before the data", line=text.last_line, field=keyword)
    return np.array([default])


def _by_vehicle(text: Text, sections: dict[str, Text], keyword: str, count: int) -> NDArray[np.float64]:
    """Return float64 [count]: the values of a section with a line "vehicle value" for each of the vehicles 1..count."""
    part = sections[keyword]
    if count < 0:
        raise text.error(f"missing; {keyword} needs it", line=text.last_line, field="VEHICLES")
    table = part.table(keyword, 2)
    if len(table) != count or not np.array_equal(np.sort(table[:, 0]), np.arange(1, count + 1)):
        message = f"{len(table):,} lines; accepted: one for each of the vehicles 1 to {count:,}"
        raise part.error(message, line=part.last_line, field=keyword)
    if (bad := (table[:, 1] < 0) | (table[:, 1] > LARGEST)).any():
        row = int(bad.argmax())
        raise part.error(f"{table[row, 1]:g} is not accepted; accepted: 0 to {LARGEST:g}", line=part.row_line(row), field=keyword)
    return np.array(table[np.argsort(table[:, 0]), 1])


def _starts(text: Text, sections: dict[str, Text], count: int, depots: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the index of each vehicle's depot, float64 [vehicles].

    Without VEHICLES, one entry per depot stands for an unlimited number of vehicles there.
    """
    keyword = "VEHICLES_DEPOT_SECTION"
    if keyword not in sections:
        if len(depots) > 1 and count >= 0:
            message = f"missing; {len(depots)} depots and {count} vehicles need it"
            raise text.error(message, line=text.last_line, field=keyword)
        return np.arange(len(depots), dtype=np.float64)
    wanted = _by_vehicle(text, sections, keyword, count)
    matches = wanted[:, None] == depots
    if (bad := ~matches.any(axis=1)).any():
        part, vehicle = sections[keyword], int(bad.argmax())
        row = int(np.flatnonzero(part.table(keyword, 2)[:, 0] == vehicle + 1)[0])
        message = f"node {wanted[vehicle]:g} is no depot; accepted: {', '.join(map(str, depots[:10]))}"
        raise part.error(message, line=part.row_line(row), field=keyword)
    return np.array(matches.argmax(axis=1), np.float64)

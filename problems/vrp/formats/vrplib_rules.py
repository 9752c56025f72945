"""Side constraints of a VRPLIB file, in PyVRP's dialect: backhauls, shipments, reloads, releases, groups, allowed clients."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.files.text import Entry, Text, quoted
from corl.problems.vrp.rules import SideConstraints
from corl.routing.edge_weights import LARGEST

__all__ = ["KEYWORDS", "Columns", "rules_of", "shipments_of", "vehicle_columns"]

KEYWORDS = (
    "LINEHAUL_SECTION", "BACKHAUL_SECTION", "PICKUP_AND_DELIVERY_SECTION", "RELEASE_TIME_SECTION",
    "MUTUALLY_EXCLUSIVE_GROUP_SECTION", "VEHICLES_ALLOWED_CLIENTS_SECTION", "VEHICLES_RELOAD_DEPOT_SECTION",
    "VEHICLES_MAX_RELOADS", "VEHICLES_MAX_RELOADS_SECTION", "VEHICLES_UNIT_DURATION_COST", "VEHICLES_UNIT_DURATION_COST_SECTION",
)  # fmt: skip

_Floats = NDArray[np.float64]


class Columns(NamedTuple):
    """Attributes of vehicles besides those of Vehicles: float64 [1] for all vehicles, or [count]."""

    values: dict[str, _Floats]
    """allowed and reload_depots: an index of `sets`; reloads: the greatest number; duration_cost."""
    sets: dict[str, list[NDArray[np.int64]]]
    """Sets of nodes, by their position in the file."""


def vehicle_columns(
    text: Text, header: dict[str, Entry], sections: dict[str, Text], ids: NDArray[np.int64], count: int
) -> Columns:
    """Return the columns that a file has. Raises InputError."""
    values: dict[str, _Floats] = {}
    sets: dict[str, list[NDArray[np.int64]]] = {}
    for name, keyword in (("allowed", "VEHICLES_ALLOWED_CLIENTS_SECTION"), ("reload_depots", "VEHICLES_RELOAD_DEPOT_SECTION")):
        if keyword in sections:
            if count < 0:
                raise text.error(f"missing; {keyword} needs it", line=text.last_line, field="VEHICLES")
            values[name], sets[name] = _sets(sections[keyword], keyword, ids, count)
    if "reload_depots" in values:
        values["reloads"] = _numbers(text, header, sections, "VEHICLES_MAX_RELOADS", count, float(len(ids)))
    cost = "VEHICLES_UNIT_DURATION_COST"
    if cost in header or f"{cost}_SECTION" in sections:
        values["duration_cost"] = _numbers(text, header, sections, cost, count, 0.0)
    return Columns(values, sets)


def _sets(part: Text, keyword: str, ids: NDArray[np.int64], count: int) -> tuple[_Floats, list[NDArray[np.int64]]]:
    """Return which set of nodes each vehicle has, and the distinct sets; lines are: vehicle, node, node, ..."""
    known = {node: place for place, node in enumerate(ids.tolist())}
    found: dict[tuple[int, ...], int] = {}
    which = np.full(count, -1.0)
    for line, row in part.lines():
        vehicle, *nodes = (part.integer(token, keyword, line) for token in row.split())
        if not 1 <= vehicle <= count or which[vehicle - 1] >= 0:
            raise part.error(f"vehicle {vehicle}; accepted: each of 1 to {count} once", line=line, field=keyword)
        if bad := [node for node in nodes if node not in known]:
            raise part.error(f"node {bad[0]} is not in the instance", line=line, field=keyword)
        which[vehicle - 1] = found.setdefault(tuple(sorted({known[node] for node in nodes})), len(found))
    if (which < 0).any():
        vehicle = int((which < 0).argmax()) + 1
        raise part.error(f"vehicle {vehicle} is missing", line=part.last_line, field=keyword)
    return which, [np.array(each, np.int64) for each in found]


def _numbers(
    text: Text, header: dict[str, Entry], sections: dict[str, Text], keyword: str, count: int, default: float
) -> _Floats:
    if f"{keyword}_SECTION" in sections:
        part = sections[f"{keyword}_SECTION"]
        table = part.table(f"{keyword}_SECTION", 2)
        if not np.array_equal(np.sort(table[:, 0]), np.arange(1, count + 1)) or (table[:, 1] < 0).any():
            message = f"accepted: a number from 0 for each of the vehicles 1 to {count}"
            raise part.error(message, line=part.last_line, field=f"{keyword}_SECTION")
        return np.array(table[np.argsort(table[:, 0]), 1])
    if keyword in header:
        entry = header[keyword]
        return np.array([text.number(entry.value, keyword, entry.line, 0, LARGEST)])
    return np.array([default])


def shipments_of(part: Text, n: int) -> tuple[_Floats, NDArray[np.int64], _Floats]:
    """Return the data of a PICKUP_AND_DELIVERY_SECTION. Raises InputError.

    Lines are: node, demand, from, to, service, the line (1..n) of its pickup, and that of its delivery; 0 for none.

    Returns:
        float64 [n, 3], windows and service of each line's node; int64 [S, 2], the lines of each shipment, from 0; float64 [S, 1],
        its amount.
    """
    field = "PICKUP_AND_DELIVERY_SECTION"
    table = part.table(field, 7)
    if len(table) != n:
        raise part.error(f"{len(table):,} lines for {n:,} nodes", line=part.last_line, field=field)
    if ((table[:, 2:5] < 0) | (table[:, 2:5] > LARGEST)).any() or (table[:, 5:] != np.floor(table[:, 5:])).any():
        raise part.error(f"accepted: times from 0 to {LARGEST:g} and whole numbers of lines", line=part.last_line, field=field)
    pairs = []
    for row in range(n):
        before, after = int(table[row, 5]), int(table[row, 6])
        if after and not before:
            other = after - 1
            if not 0 <= other < n or int(table[other, 5]) != row + 1 or table[other, 1] != -table[row, 1] or table[row, 1] < 0:
                message = f"the pickup in line {row + 1} has no matching delivery in line {after}"
                raise part.error(message, line=part.row_line(row), field=field)
            pairs.append((row, other))
    shipments = np.array(pairs, np.int64).reshape(-1, 2)
    return table[:, 2:5], shipments, table[shipments[:, 0], 1:2]


def rules_of(
    header: dict[str, Entry], sections: dict[str, Text], order: NDArray[np.int64], ids: NDArray[np.int64], depots: int,
    types: dict[str, _Floats], columns: Columns, nodes: dict[str, Any],
) -> tuple[SideConstraints | None, NDArray[np.bool_]]:  # fmt: skip
    """Return the side constraints of a file (None if there are none), and bool [n], which nodes are in a group.

    Args:
        header: The header.
        sections: The sections.
        order: int64 [n], the file's nodes, depots first.
        ids: int64 [n], the ids in the file's order.
        depots: The number of depots.
        types: The values of `columns`, one per vehicle type.
        columns: See `vehicle_columns`.
        nodes: Arrays in the file's order: pickup, release, shipments, amounts.
    """
    n, given = len(order), {}  # type: int, dict[str, Any]
    place = np.argsort(order)
    word = (header["TYPE"].value.split() or [""])[0].upper() if "TYPE" in header else ""
    if "pickup" in nodes:
        given |= {"pickups": nodes["pickup"][order][:, None], "backhauls_last": word == "VRPB"}
    if "release" in nodes:
        given["release"] = nodes["release"][order]
    if "shipments" in nodes:
        given |= {"shipments": place[nodes["shipments"]], "amounts": nodes["amounts"]}
    if "allowed" in types:
        given["allowed"] = _members(types["allowed"], columns.sets["allowed"], n)[:, order]
        given["allowed"][:, :depots] = True
    if "reloads" in types:
        given["reloads"] = np.minimum(types["reloads"], n).astype(np.int64)
        given["reload_depots"] = _members(types["reload_depots"], columns.sets["reload_depots"], n)[:, order][:, :depots]
    if "duration_cost" in types:
        given["duration_cost"] = types["duration_cost"]
    if word == "OVRP" or word == "OVRPTW":
        given["stays_out"] = np.ones(len(next(iter(types.values()))), bool)
    grouped = np.zeros(n, bool)
    if (keyword := "MUTUALLY_EXCLUSIVE_GROUP_SECTION") in sections:
        groups = _groups(sections[keyword], keyword, ids)[order]
        if (groups[:depots] >= 0).any():
            raise sections[keyword].error("a depot is in a group", line=sections[keyword].first_line, field=keyword)
        grouped = groups >= 0
        given |= {"groups": groups, "group_required": np.ones(int(groups.max(initial=-1)) + 1, bool)}
    return (SideConstraints(**given) if given else None), grouped


def _members(which: _Floats, sets: list[NDArray[np.int64]], n: int) -> NDArray[np.bool_]:
    """Return bool [types, n]: whether a node is in the set of a type."""
    inside = np.zeros((len(which), n), bool)
    for row, each in enumerate(which.astype(np.int64)):
        inside[row, sets[each]] = True
    return inside


def _groups(part: Text, keyword: str, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64 [n], in the file's order: each node's group; -1: none, or a group of one. Lines are: group, node, node, ..."""
    known = {node: place for place, node in enumerate(ids.tolist())}
    groups, count = np.full(len(ids), -1), 0
    for line, row in part.lines():
        _, *nodes = (part.integer(token, keyword, line) for token in row.split())
        for node in nodes:
            if node not in known or groups[known[node]] >= 0:
                message = f"node {quoted(str(node))} is not in the instance, or in two groups"
                raise part.error(message, line=line, field=keyword)
        if len(nodes) > 1:
            groups[[known[node] for node in nodes]] = count
            count += 1
    return groups

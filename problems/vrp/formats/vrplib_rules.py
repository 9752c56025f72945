"""Reader of side constraints in PyVRP's dialect of VRPLIB: backhauls, shipments, reloads, releases, groups, allowed clients."""

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
    """Attributes of vehicles for side constraints: float64 [1] for all vehicles, or [count] for each."""

    values: dict[str, _Floats]
    """allowed, reload_depots: an index into `sets`; reloads: the greatest number of reloads; duration_cost."""
    sets: dict[str, list[NDArray[np.int64]]]
    """allowed, reload_depots: different sets of nodes, each as positions in the file."""


def vehicle_columns(
    text: Text, header: dict[str, Entry], sections: dict[str, Text], ids: NDArray[np.int64], count: int
) -> Columns:
    """Return the attributes of vehicles that a file has. Raises InputError."""
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
    """Return the index of each vehicle's set of nodes, and the distinct sets, from lines "vehicle node node ..."."""
    position_of = {node: place for place, node in enumerate(ids.tolist())}
    distinct: dict[tuple[int, ...], int] = {}
    set_of_vehicle = np.full(count, -1.0)
    for line, row in part.lines():
        vehicle, *nodes = (part.integer(token, keyword, line) for token in row.split())
        if not 1 <= vehicle <= count or set_of_vehicle[vehicle - 1] >= 0:
            raise part.error(f"vehicle {vehicle}; accepted: each of 1 to {count} once", line=line, field=keyword)
        if bad := [node for node in nodes if node not in position_of]:
            raise part.error(f"node {bad[0]} is not in the instance", line=line, field=keyword)
        set_of_vehicle[vehicle - 1] = distinct.setdefault(tuple(sorted({position_of[node] for node in nodes})), len(distinct))
    if (set_of_vehicle < 0).any():
        vehicle = int((set_of_vehicle < 0).argmax()) + 1
        raise part.error(f"vehicle {vehicle} is missing", line=part.last_line, field=keyword)
    return set_of_vehicle, [np.array(each, np.int64) for each in distinct]


def _numbers(
    text: Text, header: dict[str, Entry], sections: dict[str, Text], keyword: str, count: int, default: float
) -> _Floats:
    """Return one number for all vehicles, float64 [1], or from a section one for each vehicle, float64 [count]."""
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

    A line is: node, demand, earliest, latest, service, line number (1..n) of the node's pickup, line number of its delivery; 0
    for none.

    Returns:
        Earliest, latest and service of each node, float64 [n, 3]; the rows of the pickup and the delivery of each shipment, int64
        [S, 2]; the amount of each shipment, float64 [S, 1].
    """
    field = "PICKUP_AND_DELIVERY_SECTION"
    table = part.table(field, 7)
    if len(table) != n:
        raise part.error(f"{len(table):,} lines for {n:,} nodes", line=part.last_line, field=field)
    if ((table[:, 2:5] < 0) | (table[:, 2:5] > LARGEST)).any() or (table[:, 5:] != np.floor(table[:, 5:])).any():
        message = f"accepted: times from 0 to {LARGEST:g}, and integers as the line numbers of pickup and delivery"
        raise part.error(message, line=part.last_line, field=field)
    pairs = []
    for row in range(n):
        pickup_line, delivery_line = int(table[row, 5]), int(table[row, 6])
        if delivery_line and not pickup_line:
            other = delivery_line - 1
            if not 0 <= other < n or int(table[other, 5]) != row + 1 or table[other, 1] != -table[row, 1] or table[row, 1] < 0:
                message = f"the pickup in line {row + 1} has no matching delivery in line {delivery_line}"
                raise part.error(message, line=part.row_line(row), field=field)
            pairs.append((row, other))
    shipments = np.array(pairs, np.int64).reshape(-1, 2)
    return table[:, 2:5], shipments, table[shipments[:, 0], 1:2]


def rules_of(
    header: dict[str, Entry], sections: dict[str, Text], order: NDArray[np.int64], ids: NDArray[np.int64], depots: int,
    types: dict[str, _Floats], columns: Columns, nodes: dict[str, Any],
) -> tuple[SideConstraints | None, NDArray[np.bool_]]:  # fmt: skip
    """Return the side constraints of a file (None if there are none), and whether each node is in a group, bool [n].

    Args:
        header: The header lines.
        sections: The sections.
        order: int64 [n], positions in the file of the instance's nodes, the depots first.
        ids: int64 [n], the ids in the file's order.
        depots: The number of depots.
        types: Arrays with one value per vehicle type: those of `columns.values` and perhaps others; at least one, from whose
            length the number of types is read.
        columns: See `vehicle_columns`.
        nodes: Arrays in the file's order: pickup, release, shipments, amounts.
    """
    n, fields = len(order), {}  # type: int, dict[str, Any]
    node_of_position = np.argsort(order)
    type_word = (header["TYPE"].value.split() or [""])[0].upper() if "TYPE" in header else ""
    if "pickup" in nodes:
        fields |= {"pickups": nodes["pickup"][order][:, None], "backhauls_last": type_word == "VRPB"}
    if "release" in nodes:
        fields["release"] = nodes["release"][order]
    if "shipments" in nodes:
        fields |= {"shipments": node_of_position[nodes["shipments"]], "amounts": nodes["amounts"]}
    if "allowed" in types:
        fields["allowed"] = _members(types["allowed"], columns.sets["allowed"], n)[:, order]
        fields["allowed"][:, :depots] = True
    if "reloads" in types:
        fields["reloads"] = np.minimum(types["reloads"], n).astype(np.int64)
        fields["reload_depots"] = _members(types["reload_depots"], columns.sets["reload_depots"], n)[:, order][:, :depots]
    if "duration_cost" in types:
        fields["duration_cost"] = types["duration_cost"]
    if type_word == "OVRP" or type_word == "OVRPTW":
        fields["stays_out"] = np.ones(len(next(iter(types.values()))), bool)
    grouped = np.zeros(n, bool)
    if (keyword := "MUTUALLY_EXCLUSIVE_GROUP_SECTION") in sections:
        groups = _groups(sections[keyword], keyword, ids)[order]
        if (groups[:depots] >= 0).any():
            raise sections[keyword].error("a depot is in a group", line=sections[keyword].first_line, field=keyword)
        grouped = groups >= 0
        fields |= {"groups": groups, "group_required": np.ones(int(groups.max(initial=-1)) + 1, bool)}
    return (SideConstraints(**fields) if fields else None), grouped


def _members(which: _Floats, sets: list[NDArray[np.int64]], n: int) -> NDArray[np.bool_]:
    """Return bool [types, n]: whether a node is in the set of a type; `which` are the indices of the sets."""
    inside = np.zeros((len(which), n), bool)
    for row, each in enumerate(which.astype(np.int64)):
        inside[row, sets[each]] = True
    return inside


def _groups(part: Text, keyword: str, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each node's group from lines "group node node ...", int64 [n] in the file's order; -1: none, or a group of one."""
    position_of = {node: place for place, node in enumerate(ids.tolist())}
    groups, count = np.full(len(ids), -1), 0
    for line, row in part.lines():
        _, *nodes = (part.integer(token, keyword, line) for token in row.split())
        for node in nodes:
            if node not in position_of or groups[position_of[node]] >= 0:
                message = f"node {quoted(str(node))} is not in the instance, or in two groups"
                raise part.error(message, line=line, field=keyword)
        if len(nodes) > 1:
            groups[[position_of[node] for node in nodes]] = count
            count += 1
    return groups

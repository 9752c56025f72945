"""Reader of VRPLIB instance files: CVRPLIB's, and PyVRP's dialect with windows, vehicle types, depots and prizes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.files.text import Entry, Text, keyword_parts, quoted
from corl.problems.vrp.formats import vrplib_rules
from corl.problems.vrp.formats.vrplib_fleet import fleet, vehicle_count
from corl.problems.vrp.instance import VrpInstance
from corl.routing.edge_weights import COORDINATE_TYPES, LARGEST
from corl.routing.tsplib import coordinates, dimension, one_of, section, square

__all__ = ["ROUNDINGS", "node_values", "read_text", "recognises", "rounded"]

ROUNDINGS = {"NINT": "EUC_2D", "EXACT": "EXACT_2D", "DIMACS": "TENTHS_2D"}
"""Value of ROUNDING, a keyword added by corl, -> the edge weight type that EUC_2D means."""

_TYPES = (
    "CVRP", "VRP", "ACVRP", "DCVRP", "DVRP", "VRPTW", "CVRPTW", "MDVRP", "MDVRPTW", "HVRP", "HFVRP", "HFVRPTW", "FSMVRP", "PCVRP",
    "PCVRPTW", "CPTP", "VRPB", "VRPMPD", "VRPSPD", "MTVRPTW", "MTVRPTWR", "SDVRPTW", "GVRP", "PDPTW", "OVRP", "OVRPTW",
)  # fmt: skip
_REFUSED_TYPES = {
    "TSP": "this is a travelling salesman problem", "ATSP": "this is a travelling salesman problem",
    "SDVRP": "split deliveries are not supported", "GTSP": "this is a travelling salesman problem with groups",
    "TDVRP": "travel times that depend on the hour are not supported",
    "TDVRPTW": "travel times that depend on the hour are not supported",
    "PDPTWL": "last in, first out is not supported",
}  # fmt: skip
_REFUSED = {
    "PICKUP_SECTION": "not known; accepted: BACKHAUL_SECTION for pickups at clients",
    "SPEED": 'not supported in this format; accepted: "speed" in a JSON file',
    "TOUR_SECTION": "this is a tour, not an instance; accepted: an instance of a vehicle routing problem",
}
_KEYWORDS = (
    "NAME", "TYPE", "COMMENT", "DIMENSION", "EDGE_WEIGHT_TYPE", "EDGE_WEIGHT_FORMAT", "NODE_COORD_TYPE", "DISPLAY_DATA_TYPE",
    "ROUNDING", "FLEET", "CAPACITY", "VEHICLES", "DISTANCE", "SERVICE_TIME",
    "VEHICLES_MAX_DURATION", "VEHICLES_MAX_DISTANCE", "VEHICLES_FIXED_COST", "VEHICLES_UNIT_DISTANCE_COST",
    "NODE_COORD_SECTION", "EDGE_WEIGHT_SECTION", "DEMAND_SECTION", "DEPOT_SECTION", "TIME_WINDOW_SECTION",
    "SERVICE_TIME_SECTION", "PRIZE_SECTION", "CAPACITY_SECTION", "VEHICLES_DEPOT_SECTION", "VEHICLES_MAX_DURATION_SECTION",
    "VEHICLES_MAX_DISTANCE_SECTION", "VEHICLES_FIXED_COST_SECTION", "VEHICLES_UNIT_DISTANCE_COST_SECTION", "EOF",
    *vrplib_rules.KEYWORDS,
)  # fmt: skip
_KEYWORD_IN_HEAD = re.compile(
    r"^\s*(CAPACITY|VEHICLES\w*|DEMAND_SECTION|DEPOT_SECTION|TIME_WINDOW_SECTION|CAPACITY_SECTION)\b",
    re.IGNORECASE | re.MULTILINE,
)
_TYPE = re.compile(r"^\s*TYPE\s*:?\s*(\w+)", re.IGNORECASE | re.MULTILINE)
_UNROUNDED = re.compile(r"(CMT|tai|Golden_?|Li_?)\d+", re.IGNORECASE)
"""Names in those sets of CVRPLIB whose published costs are not rounded, although their files do not say so."""
_UNROUNDED_TYPES = ("MDVRP", "MDVRPTW", "SDVRPTW", "HVRP", "HFVRP", "FSMVRP")
"""Values of TYPE whose sets (Cordeau's and Vidal's depots, Cordeau and Laporte's sites, the fleets of X) have unrounded costs."""


def recognises(head: str) -> bool:
    """Return whether this is the head of a VRPLIB file. Unsupported TYPEs are recognised, so that `read_text` refuses them."""
    if kind := _TYPE.search(head):
        word = kind[1].upper()
        return word in (*_TYPES, *_REFUSED_TYPES) and word not in ("TSP", "ATSP")
    return bool(_KEYWORD_IN_HEAD.search(head)) and "DIMENSION" in head.upper()


def read_text(text: Text, name: str = "") -> VrpInstance:
    """Return the instance in the text of a VRPLIB file; `name` replaces a missing NAME. Raises InputError."""
    header, sections = keyword_parts(text, _KEYWORDS, _REFUSED)
    _check_type(text, header)
    n = dimension(text, header)
    kind = one_of(text, header, "EDGE_WEIGHT_TYPE", (*COORDINATE_TYPES, "EXPLICIT"), {})
    has_shipments = "PICKUP_AND_DELIVERY_SECTION" in sections
    timed = "TIME_WINDOW_SECTION" in sections
    given_name = header["NAME"].value if "NAME" in header else ""
    rounding = one_of(text, header, "ROUNDING", tuple(ROUNDINGS), {}, required=False) or ("EXACT" if has_shipments else "")
    kind, scale = rounded(kind, rounding, timed, given_name or name, _type_word(header))
    ids, points, matrix, display = _places(text, header, sections, kind, n)
    ids = np.arange(1, n + 1) if has_shipments else ids  # files with shipments refer to nodes by line numbers
    first_node = Text(f"{ids[0]} -1", text.file, text.last_line)  # the depot of PyVRP's site-dependent files, which name none
    names_depots = "DEPOT_SECTION" in sections or "VEHICLES_ALLOWED_CLIENTS_SECTION" not in sections
    order, depots = _depots(
        section(text, sections, "DEPOT_SECTION", "a vehicle routing problem") if names_depots else first_node, ids
    )
    demand, nodes, windows, service = _loads_and_times(text, header, sections, ids, order[:depots])
    columns = vrplib_rules.vehicle_columns(text, header, sections, ids, vehicle_count(text, header))
    vehicles, types = fleet(text, header, sections, ids[order[:depots]], scale, columns.values)
    prize = node_values(sections["PRIZE_SECTION"], "PRIZE_SECTION", ids)[:, 0] if "PRIZE_SECTION" in sections else np.zeros(n)

    def times(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.floor(values[order] * scale) if scale > 1 else values[order]

    if "release" in nodes and scale > 1:
        nodes["release"] = np.floor(nodes["release"] * scale)
    types |= {"count": vehicles.capacity}  # any array of length K, from which `rules_of` reads the number of types
    rules, grouped = vrplib_rules.rules_of(header, sections, order, ids, depots, types, columns, nodes)
    required = (prize[order] == 0) & ~grouped
    required[:depots] = False
    try:
        return VrpInstance(
            name=given_name or name,
            edge_weight_type=kind,
            demand=demand[order],
            vehicles=vehicles,
            points=None if points is None else points[order],
            matrix=None if matrix is None else matrix[np.ix_(order, order)],
            depots=depots,
            earliest=None if windows is None else times(windows[:, 0]),
            latest=None if windows is None else times(windows[:, 1]),
            service=None if service is None else times(service),
            prize=times(prize),
            required=required,
            fleet=(one_of(text, header, "FLEET", ("DISTANCE", "FEWEST"), {}, required=False) or "DISTANCE").lower(),
            ids=ids[order],
            scale=scale,
            display=None if display is None else display[order],
            comment=header["COMMENT"].value if "COMMENT" in header else "",
            rules=rules,
        )
    except InputError as error:
        raise text.error(error.reason, line=_section_line(error, header, sections), field=error.field) from None


def _places(
    text: Text, header: dict[str, Entry], sections: dict[str, Text], kind: str, n: int
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None, NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Return the nodes' ids, and `points`, `matrix` and `display` of the instance in the order of the file. Raises InputError.

    Args:
        text: The whole text.
        header: The lines with a keyword and a value.
        sections: The sections by keyword.
        kind: The edge weight type.
        n: The number of nodes.
    """
    if kind != "EXPLICIT":
        section(text, sections, "NODE_COORD_SECTION", f"EDGE_WEIGHT_TYPE {kind}")
        ids, points = coordinates(sections, "NODE_COORD_SECTION", n, COORDINATE_TYPES.get(kind, 2))
        return ids, points, None, None
    matrix = _matrix(text, header, sections, n)
    if "NODE_COORD_SECTION" not in sections:
        return np.arange(1, n + 1), None, matrix, None
    ids, display = coordinates(sections, "NODE_COORD_SECTION", n, 2)
    return ids, None, matrix, display


def rounded(kind: str, rounding: str, timed: bool, name: str, problem_type: str = "") -> tuple[str, int]:
    """Return the edge weight type that `kind` means, and the instance's scale.

    Without `rounding`, EUC_2D has the meaning of published results: unrounded distances for several depots, sites and fleets
    (by `problem_type`, the value of TYPE) and for four sets of CVRPLIB, whole tenths with time windows (DIMACS 2022), otherwise
    the nearest integer.
    """
    if kind != "EUC_2D":
        return kind, 1
    if not rounding:
        unrounded = problem_type in _UNROUNDED_TYPES or (not timed and _UNROUNDED.match(name))
        rounding = "EXACT" if unrounded else "DIMACS" if timed else "NINT"
    return ROUNDINGS[rounding], 10 if rounding == "DIMACS" else 1


def node_values(part: Text, keyword: str, ids: NDArray[np.int64], columns: int = 1) -> NDArray[np.float64]:
    """Return float64 [n, columns], in the order of `ids`: the values of a section of lines "id value ...". Raises InputError."""
    table = part.table(keyword, 1 + columns)
    place = np.minimum(np.searchsorted(ids, table[:, 0], sorter=(order := np.argsort(ids, kind="stable"))), len(ids) - 1)
    rows = order[place]
    if (bad := ids[rows] != table[:, 0]).any():
        row = int(bad.argmax())
        raise part.error(f"node {table[row, 0]:g} is not in the instance", line=part.row_line(row), field=keyword)
    counts = np.bincount(rows, minlength=len(ids))
    if (counts > 1).any():
        node = int((counts > 1).argmax())
        row = int(np.flatnonzero(rows == node)[1])
        raise part.error(f"node {ids[node]} is given twice", line=part.row_line(row), field=keyword)
    if (counts == 0).any():
        missing = ids[int((counts == 0).argmax())]
        raise part.error(
            f"{len(table):,} lines for {len(ids):,} nodes; node {missing} is missing", line=part.last_line, field=keyword
        )
    if (bad := ((table[:, 1:] < 0) | (table[:, 1:] > LARGEST)).any(axis=1)).any():
        row = int(bad.argmax())
        value = next(v for v in table[row, 1:] if not 0 <= v <= LARGEST)
        message = f"{value:g} is not accepted; accepted: 0 to {LARGEST:g}"
        raise part.error(message, line=part.row_line(row), field=keyword)
    values = np.empty((len(ids), columns))
    values[rows] = table[:, 1:]
    return values


# -------------------------------------------------------------------- the header
def _check_type(text: Text, header: dict[str, Entry]) -> None:
    """Raise InputError for an unsupported TYPE. Only the first word of TYPE counts; TYPE may be missing."""
    if "TYPE" not in header:
        return
    word = _type_word(header)
    if word not in _TYPES:
        reason = _REFUSED_TYPES.get(word, f"{quoted(word)} is not known")
        raise text.error(f"{reason}; accepted: {', '.join(_TYPES)}", line=header["TYPE"].line, field="TYPE")


def _type_word(header: dict[str, Entry]) -> str:
    """Return the first word of TYPE in capitals, empty without one."""
    words = header["TYPE"].value.split() if "TYPE" in header else []
    return words[0].upper() if words else ""


def _matrix(text: Text, header: dict[str, Entry], sections: dict[str, Text], n: int) -> NDArray[np.float64]:
    """Return the matrix of an EXPLICIT instance, float64 [n, n]. Raises InputError for a negative distance."""
    matrix = square(text, header, sections, n, symmetric=False)
    if (matrix < 0).any():
        i, j = divmod(int((matrix < 0).argmax()), n)
        message = f"the distance from node {i + 1} to node {j + 1} is {matrix[i, j]:g}; accepted: 0 or more"
        raise text.error(message, line=_negative_line(sections["EDGE_WEIGHT_SECTION"]), field="EDGE_WEIGHT_SECTION")
    return matrix


def _negative_line(part: Text) -> int:
    """Return the number of the first line with a negative number (which may be on the diagonal)."""
    return next((line for line, token in part.tokens() if token.startswith("-") and float(token) < 0), part.first_line)


# -------------------------------------------------------------------- the sections
def _depots(part: Text, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return the nodes in an order with the depots first, int64 [n], and the number of depots. Raises InputError."""
    position_of = {node: place for place, node in enumerate(ids.tolist())}
    depots: list[int] = []
    ended = False
    for line, token in part.tokens():
        if ended:
            raise part.error(f"{quoted(token)} after the -1 that ends the depots", line=line, field="DEPOT_SECTION")
        node = part.integer(token, "DEPOT_SECTION", line)
        if node == -1:
            ended = True
            continue
        if node not in position_of:
            raise part.error(f"node {node} is not in the instance", line=line, field="DEPOT_SECTION")
        if position_of[node] in depots:
            raise part.error(f"depot {node} is given twice", line=line, field="DEPOT_SECTION")
        depots.append(position_of[node])
    if not depots:
        raise part.error("there must be a depot", line=part.first_line, field="DEPOT_SECTION")
    if len(depots) == len(ids) > 1:
        raise part.error("there must be a client; every node is a depot", line=part.last_line, field="DEPOT_SECTION")
    others = np.setdiff1d(np.arange(len(ids)), depots)
    return np.concatenate([np.array(depots, np.int64), others]), len(depots)


def _loads_and_times(
    text: Text, header: dict[str, Entry], sections: dict[str, Text], ids: NDArray[np.int64], depots: NDArray[np.int64]
) -> tuple[NDArray[np.float64], dict[str, Any], NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Return demands, other arrays of nodes, windows and service times, in the file's order. Raises InputError.

    Returns:
        Demands, float64 [n]; a dict of pickup, release, shipments and amounts, as far as the file has them; windows, float64
        [n, 2], or None; service times, float64 [n], or None.
    """
    nodes: dict[str, Any] = {}
    if (keyword := "PICKUP_AND_DELIVERY_SECTION") in sections:
        times, nodes["shipments"], nodes["amounts"] = vrplib_rules.shipments_of(sections[keyword], len(ids))
        service = times[:, 2].copy()
        service[depots] = 0.0
        return np.zeros(len(ids)), nodes, times[:, :2], service
    keyword = "LINEHAUL_SECTION" if "LINEHAUL_SECTION" in sections else "DEMAND_SECTION"
    demand = node_values(section(text, sections, keyword, "a vehicle routing problem"), keyword, ids)[:, 0]
    _check_depot_demand(sections[keyword], keyword, demand, ids, depots)
    for name, keyword in (("pickup", "BACKHAUL_SECTION"), ("release", "RELEASE_TIME_SECTION")):
        if keyword in sections:
            nodes[name] = node_values(sections[keyword], keyword, ids)[:, 0]
    if "pickup" in nodes and nodes["pickup"][depots].any():
        part = sections["BACKHAUL_SECTION"]
        raise part.error("a depot has a pickup; accepted: 0", line=part.first_line, field="BACKHAUL_SECTION")
    windows = _windows(sections["TIME_WINDOW_SECTION"], ids) if "TIME_WINDOW_SECTION" in sections else None
    return demand, nodes, windows, _service(text, header, sections, ids, depots)


def _check_depot_demand(
    part: Text, keyword: str, demand: NDArray[np.float64], ids: NDArray[np.int64], depots: NDArray[np.int64]
) -> None:
    """Raise InputError for a depot with a demand."""
    for depot in depots:
        if demand[depot]:
            message = f"depot {ids[depot]} has demand {demand[depot]:g}; accepted: 0"
            row = int(np.flatnonzero(part.table(keyword, 2)[:, 0] == ids[depot])[0])
            raise part.error(message, line=part.row_line(row), field=keyword)


def _windows(part: Text, ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the time windows in the file's order, float64 [n, 2]. Raises InputError."""
    windows = node_values(part, "TIME_WINDOW_SECTION", ids, 2)
    if (bad := windows[:, 1] < windows[:, 0]).any():
        node = int(bad.argmax())
        row = int(np.flatnonzero(part.table("TIME_WINDOW_SECTION", 3)[:, 0] == ids[node])[0])
        message = f"node {ids[node]}'s window ends at {windows[node, 1]:g}, before it begins at {windows[node, 0]:g}"
        raise part.error(message, line=part.row_line(row), field="TIME_WINDOW_SECTION")
    return windows


def _service(
    text: Text, header: dict[str, Entry], sections: dict[str, Text], ids: NDArray[np.int64], depots: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """Return the service times in the file's order, float64 [n], 0 at depots; None if the file has none."""
    if "SERVICE_TIME_SECTION" in sections:
        service = node_values(sections["SERVICE_TIME_SECTION"], "SERVICE_TIME_SECTION", ids)[:, 0]
    elif "SERVICE_TIME" in header:
        entry = header["SERVICE_TIME"]
        service = np.full(len(ids), text.number(entry.value, "SERVICE_TIME", entry.line, 0, LARGEST))
    else:
        return None
    service[depots] = 0.0
    return service


_SECTION_OF = {  # field of VrpInstance -> the section that it comes from
    "demand": "DEMAND_SECTION",
    "latest": "TIME_WINDOW_SECTION",
    "prize": "PRIZE_SECTION",
    "matrix": "EDGE_WEIGHT_SECTION",
}


def _section_line(error: InputError, header: dict[str, Entry], sections: dict[str, Text]) -> int | None:
    """Return the number of the first line of the section at fault in an error of VrpInstance; None if it is unknown."""
    part = sections.get(_SECTION_OF.get(error.field or "", ""))
    return part.first_line if part else None

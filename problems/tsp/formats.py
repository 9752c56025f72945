"""Reader and writer of TSPLIB 95 instance files (G. Reinelt, TSPLIB 95, section 1)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.files.opening import plain_name, writing
from corl.files.text import Entry, Text, keyword_parts, quoted
from corl.problems.tsp.instance import EDGE_WEIGHT_TYPES, TspInstance
from corl.routing.edge_weights import COORDINATE_TYPES
from corl.routing.tsplib import coordinates, dimension, numerals, one_of, section, square, write_coordinates

__all__ = ["KEYWORDS", "instance_of", "read_instance", "read_text", "write_instance", "write_text"]

KEYWORDS = (
    "NAME", "TYPE", "COMMENT", "DIMENSION", "EDGE_WEIGHT_TYPE", "EDGE_WEIGHT_FORMAT", "NODE_COORD_TYPE", "DISPLAY_DATA_TYPE",
    "NODE_COORD_SECTION", "DISPLAY_DATA_SECTION", "EDGE_WEIGHT_SECTION", "EOF",
)  # fmt: skip
_VEHICLES = "belongs to a vehicle routing problem, which is not a TSP; accepted: TYPE TSP or ATSP"
_REFUSED_KEYWORDS = {
    "FIXED_EDGES_SECTION": "edges that every tour must use are not supported; accepted: an instance without them",
    "EDGE_DATA_FORMAT": "a graph that is not complete is not supported; accepted: NODE_COORD_SECTION or EDGE_WEIGHT_SECTION",
    "EDGE_DATA_SECTION": "a graph that is not complete is not supported; accepted: NODE_COORD_SECTION or EDGE_WEIGHT_SECTION",
    "TOUR_SECTION": "this is a tour, not an instance; accepted: TYPE TSP or ATSP",
    **dict.fromkeys(
        ("CAPACITY", "VEHICLES", "DISTANCE", "SERVICE_TIME", "DEMAND_SECTION", "DEPOT_SECTION", "TIME_WINDOW_SECTION",
         "SERVICE_TIME_SECTION", "BACKHAUL_SECTION", "PICKUP_AND_DELIVERY_SECTION"), _VEHICLES,
    ),
}  # fmt: skip
_REFUSED_TYPES = {
    "SOP": "sequential ordering problems (precedence between cities) are not supported",
    "HCP": "Hamiltonian cycle problems (a graph without distances) are not supported",
    "CVRP": "this is a vehicle routing problem",
    "TOUR": "this is a tour, not an instance",
}
_REFUSED_WEIGHTS = {
    "XRAY1": "the crystallography distances are not supported",
    "XRAY2": "the crystallography distances are not supported",
    "SPECIAL": "its distances are defined outside the file",
}


def read_instance(path: str | Path) -> TspInstance:
    """Return the instance in a TSPLIB file. Raises InputError with file, line, field and what is accepted, or OSError."""
    return read_text(Text.read(path), plain_name(path).stem)


def read_text(text: Text, name: str = "") -> TspInstance:
    """Return the instance in the text of a TSPLIB file; `name` replaces a missing NAME. Raises InputError."""
    return instance_of(text, *keyword_parts(text, KEYWORDS, _REFUSED_KEYWORDS), name)


def instance_of(text: Text, header: dict[str, Entry], sections: dict[str, Text], name: str = "") -> TspInstance:
    """Return the instance in the header and sections of a file in TSPLIB's style; other parts are ignored. Raises InputError."""
    symmetric = _type(text, header)
    n = dimension(text, header)
    kind = one_of(text, header, "EDGE_WEIGHT_TYPE", EDGE_WEIGHT_TYPES, _REFUSED_WEIGHTS)
    one_of(text, header, "NODE_COORD_TYPE", ("TWOD_COORDS", "THREED_COORDS", "NO_COORDS"), {}, required=False)
    one_of(text, header, "DISPLAY_DATA_TYPE", ("COORD_DISPLAY", "TWOD_DISPLAY", "NO_DISPLAY"), {}, required=False)
    if kind != "EXPLICIT" and not symmetric:
        line = header["EDGE_WEIGHT_TYPE"].line
        raise text.error(f"{kind} distances are symmetric; accepted for TYPE ATSP: EXPLICIT", line=line, field="EDGE_WEIGHT_TYPE")
    points = matrix = display = ids = None
    if kind == "EXPLICIT":
        matrix = square(text, header, sections, n, symmetric)
        if "NODE_COORD_SECTION" in sections:
            ids, display = _by_city(*coordinates(sections, "NODE_COORD_SECTION", n, 2))
    else:
        section(text, sections, "NODE_COORD_SECTION", f"EDGE_WEIGHT_TYPE {kind}")
        if "EDGE_WEIGHT_SECTION" in sections:
            message, line = (
                f"{kind} distances come from coordinates; accepted: EXPLICIT",
                sections["EDGE_WEIGHT_SECTION"].first_line,
            )
            raise text.error(message, line=line, field="EDGE_WEIGHT_SECTION")
        one_of(text, header, "EDGE_WEIGHT_FORMAT", ("FUNCTION",), {}, required=False)
        ids, points = coordinates(sections, "NODE_COORD_SECTION", n, COORDINATE_TYPES[kind])
    if "DISPLAY_DATA_SECTION" in sections:
        ids, display = _display(sections, n, ids)
    given = header.get("NAME")
    comment = header["COMMENT"].value if "COMMENT" in header else ""
    name = given.value if given and given.value else name
    try:
        return TspInstance(name, kind, points, matrix, symmetric, ids, display, comment)  # type: ignore[arg-type]
    except InputError as error:
        raise text.error(error.reason, field=error.field) from None


# -------------------------------------------------------------------- the header
def _type(text: Text, header: dict[str, Entry]) -> bool:
    """Return whether TYPE is TSP, also by default, rather than ATSP. Remarks after that word are ignored."""
    entry = header.get("TYPE")
    if entry is None:
        return True
    word = (entry.value.split() or [""])[0].upper()
    if word not in ("TSP", "ATSP"):
        reason = f"{_REFUSED_TYPES.get(word, f'{quoted(word)} is not known')}; accepted: TSP, ATSP"
        raise text.error(reason, line=entry.line, field="TYPE")
    return word == "TSP"


# -------------------------------------------------------------------- display coordinates
def _display(sections: dict[str, Text], n: int, ids: NDArray[np.int64] | None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return (ids, display coordinates float64 [n, 2] in their order); if `ids` is None, the ids are those of the section."""
    part = sections["DISPLAY_DATA_SECTION"]
    section_ids, display = coordinates(sections, "DISPLAY_DATA_SECTION", n, 2)
    if ids is None:
        return _by_city(section_ids, display)
    by_id, order = np.argsort(ids, kind="stable"), np.argsort(section_ids, kind="stable")
    if (differs := section_ids[order] != ids[by_id]).any():
        row = int(order[differs.argmax()])
        message = f"city {section_ids[row]} is not in NODE_COORD_SECTION"
        raise part.error(message, line=part.row_line(row), field="DISPLAY_DATA_SECTION")
    placed = np.empty_like(display)
    placed[by_id] = display[order]
    return ids, placed


def _by_city(ids: NDArray[np.int64], display: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the ids and display coordinates of a matrix instance, sorted by id if the ids are 1..n: row i is then city i."""
    order = np.argsort(ids, kind="stable")
    in_rows = np.array_equal(ids[order], np.arange(1, len(ids) + 1))
    return (ids[order], display[order]) if in_rows else (ids, display)


# -------------------------------------------------------------------- the writer
def write_instance(instance: TspInstance, path: str | Path) -> None:
    """Write a TSPLIB file from which `read_instance` returns an identical instance.

    TSPLIB has no ids for a matrix: row i is city i. If the ids are a permutation of 1..n, the rows are therefore written in the
    order of the ids. Other ids are written only with display coordinates; without these, the cities are 1..n in the file.
    """
    with writing(path) as stream:
        write_text(instance, stream)


def write_text(instance: TspInstance, stream: TextIO) -> None:
    """Write an instance to an open text stream; see `write_instance`."""
    instance = _in_rows(instance)
    header = [f"NAME : {instance.name}", f"TYPE : {'TSP' if instance.symmetric else 'ATSP'}"]
    header += [f"COMMENT : {line}" for line in instance.comment.splitlines()]
    header += [f"DIMENSION : {instance.n}", f"EDGE_WEIGHT_TYPE : {instance.edge_weight_type}"]
    if instance.matrix is not None:
        header += ["EDGE_WEIGHT_FORMAT : FULL_MATRIX"]
        header += ["DISPLAY_DATA_TYPE : TWOD_DISPLAY"] if instance.display is not None else []
        stream.write("\n".join([*header, "EDGE_WEIGHT_SECTION", ""]))
        stream.writelines(" ".join(numerals(row)) + "\n" for row in instance.matrix)
    else:
        assert instance.points is not None
        stream.write("\n".join([*header, "NODE_COORD_SECTION", ""]))
        write_coordinates(stream, instance.ids, instance.points)
    if instance.display is not None:
        stream.write("DISPLAY_DATA_SECTION\n")
        write_coordinates(stream, instance.ids, instance.display)
    stream.write("EOF\n")


def _in_rows(instance: TspInstance) -> TspInstance:
    """Return a matrix instance whose ids are a permutation of 1..n with rows in the order of the ids; others unchanged."""
    order = np.argsort(instance.ids, kind="stable")
    permuted = np.array_equal(instance.ids[order], np.arange(1, instance.n + 1)) and (np.diff(order) != 1).any()
    if instance.matrix is None or not permuted:
        return instance
    display = None if instance.display is None else instance.display[order]
    return replace(instance, matrix=instance.matrix[np.ix_(order, order)], ids=instance.ids[order], display=display)

"""Reader and writer of TSPLIB 95 tour files, and tours as lists of a file's city ids."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.errors import Infeasible
from corl.files.opening import writing
from corl.files.text import Text, keyword_parts, quoted
from corl.problems.tsp.evaluation import check
from corl.problems.tsp.instance import TspInstance
from corl.routing.tsplib import LARGEST_DIMENSION

__all__ = ["cities_called", "cities_of", "read_tour", "write_tour"]

_KEYWORDS = ("NAME", "TYPE", "COMMENT", "DIMENSION", "TOUR_SECTION", "EOF")
_INSTANCE = "belongs to an instance; accepted: a file of TYPE TOUR"
_REFUSED = dict.fromkeys(
    ("EDGE_WEIGHT_TYPE", "EDGE_WEIGHT_FORMAT", "NODE_COORD_SECTION", "EDGE_WEIGHT_SECTION", "DISPLAY_DATA_SECTION"), _INSTANCE
)


def read_tour(instance: TspInstance, path: str | Path) -> NDArray[np.int32]:
    """Return the tour in a TSPLIB file as cities 0..n-1, int32 [cities in the file].

    Raises InputError if the file is not a tour file, Infeasible if it visits a city that the instance does not have, or OSError.
    Whether every city is visited once is not checked here, but by `corl.problems.tsp.evaluation.check`.
    """
    text = Text.read(path)
    header, sections = keyword_parts(text, _KEYWORDS, _REFUSED)
    kind = header.get("TYPE")
    if kind is not None and (kind.value.split() or [""])[0].upper() != "TOUR":
        raise text.error(f"{quoted(kind.value)} is not a tour; accepted: TOUR", line=kind.line, field="TYPE")
    if "TOUR_SECTION" not in sections:
        raise text.error("missing; a tour file needs it", line=text.last_line, field="TOUR_SECTION")
    ids = _ids(sections["TOUR_SECTION"])
    size = header.get("DIMENSION")
    if size is not None:
        n = text.integer(size.value, "DIMENSION", size.line, 1, LARGEST_DIMENSION)
        if n != len(ids):
            raise text.error(f"{n:,}, but TOUR_SECTION has {len(ids):,} cities", line=size.line, field="DIMENSION")
    return cities_of(instance, ids)


def _ids(part: Text) -> NDArray[np.int64]:
    """Return the numbers of a TOUR_SECTION before its final -1, which may be missing, int64 [cities in the file]."""
    values = part.numbers("TOUR_SECTION")
    ends = np.flatnonzero(values == -1)
    if len(ends) and ends[0] + 1 < len(values):
        line = part.token_line(int(ends[0]) + 1)
        raise part.error("more than one tour; accepted: one, ended by -1", line=line, field="TOUR_SECTION")
    values = values[: ends[0]] if len(ends) else values
    if len(wrong := np.flatnonzero((values != np.floor(values)) | (np.abs(values) > 2**53))):
        line, value = part.token_line(int(wrong[0])), values[wrong[0]]
        raise part.error(f"{value:g} is no city; accepted: an integer", line=line, field="TOUR_SECTION")
    return values.astype(np.int64)


def cities_of(instance: TspInstance, ids: ArrayLike) -> NDArray[np.int32]:
    """Return the cities 0..n-1 with the given file ids, int32 [m]. Raises Infeasible for an id that is not in the instance."""
    wanted = np.asarray(ids, np.int64)
    order = np.argsort(instance.ids, kind="stable")
    place = np.minimum(np.searchsorted(instance.ids, wanted, sorter=order), instance.n - 1)
    cities = order[place]
    if (unknown := instance.ids[cities] != wanted).any():
        raise Infeasible(f"city {wanted[unknown.argmax()]} of the tour is not in the instance")
    return cities.astype(np.int32)


def cities_called(instance: TspInstance, names: Iterable[str]) -> NDArray[np.int32]:
    """Return the cities 0..n-1 with the given names, int32 [m]. Raises Infeasible for a name that the instance does not have."""
    place = {name: city for city, name in enumerate(instance.names or ())}
    if unknown := [name for name in names if name not in place]:
        raise Infeasible(f"city {quoted(unknown[0])} of the tour is not in the instance")
    return np.array([place[name] for name in names], np.int32)


def write_tour(instance: TspInstance, tour: ArrayLike, path: str | Path, comments: Iterable[str] = ()) -> None:
    """Write a TSPLIB tour file in the instance's own ids. Raises Infeasible if `tour` is not a tour."""
    ids = instance.ids[check(instance, tour)]
    header = [f"NAME : {instance.name}", *(f"COMMENT : {line}" for line in comments), "TYPE : TOUR", f"DIMENSION : {len(ids)}"]
    with writing(path) as stream:
        stream.write("\n".join([*header, "TOUR_SECTION", ""]))
        stream.writelines(f"{city}\n" for city in ids.tolist())
        stream.write("-1\nEOF\n")

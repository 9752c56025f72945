"""Travel matrices from a Valhalla server (its matrix service, sources_to_targets)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.request import Request

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.modelling.servers import answer_to, travel_matrix

__all__ = ["travel_matrices"]


def travel_matrices(
    url: str, places: Sequence[tuple[float, float]], costing: str = "auto", timeout: float = 60.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the distances and travel times between places, by one request to the server. Raises InputError.

    Servers limit the number of places in a request; for more places, the error contains the server's message.

    Args:
        url: The address of the server.
        places: n pairs (latitude, longitude).
        costing: The server's costing model, such as "auto".
        timeout: In seconds.

    Returns:
        float64 [n, n] in metres and float64 [n, n] in seconds, from row to column.
    """
    points = [{"lat": lat, "lon": lon} for lat, lon in places]
    question = {"sources": points, "targets": points, "costing": costing, "units": "km"}
    body = json.dumps(question).encode()
    address = f"{url.rstrip('/')}/sources_to_targets"
    answer = answer_to(Request(address, body, {"Content-Type": "application/json"}), url, "error", timeout)
    rows = answer.get("sources_to_targets") if isinstance(answer, dict) else None
    if not isinstance(rows, list):
        raise InputError("no travel times: the answer has no list sources_to_targets", field=url)
    kilometres = travel_matrix(_column(rows, "distance"), "distance", len(places), url)
    return 1000.0 * kilometres, travel_matrix(_column(rows, "time"), "time", len(places), url)


def _column(rows: list[Any], key: str) -> Any:
    """Return one field of each entry of the rows; None if the rows are malformed."""
    try:
        return [[entry[key] for entry in row] for row in rows]
    except (TypeError, KeyError):
        return None

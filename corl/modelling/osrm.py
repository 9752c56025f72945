"""Travel matrices from an OSRM server (its table service: project-osrm.org, HTTP API v1)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import urlopen

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError

__all__ = ["travel_matrices"]


def travel_matrices(
    url: str, places: Sequence[tuple[float, float]], profile: str = "driving", timeout: float = 60.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (metres [n, n], seconds [n, n]), float64, between places (latitude, longitude), by one request. Raises InputError.

    If the server refuses a request with that many places, the error repeats the server's message.
    """
    points = ";".join(f"{lon:.6f},{lat:.6f}" for lat, lon in places)
    address = f"{url.rstrip('/')}/table/v1/{quote(profile)}/{points}?annotations=distance,duration"
    try:
        with urlopen(address, timeout=timeout) as response:  # http or https, as given by the user
            table = json.load(response)
    except URLError as error:  # its body may be JSON with the reason
        raise InputError(f"no travel times: {_reason(error)}", field=url) from None
    except (OSError, ValueError) as error:
        raise InputError(f"no travel times: {error}", field=url) from None
    if not isinstance(table, dict) or table.get("code") != "Ok":
        raise InputError(f"no travel times: {table.get('message', table) if isinstance(table, dict) else table}", field=url)
    return _matrix(table, "distances", len(places), url), _matrix(table, "durations", len(places), url)


def _reason(error: URLError) -> str:
    try:
        return str(json.loads(error.read())["message"])  # type: ignore[attr-defined]
    except Exception:
        return str(error.reason)


def _matrix(table: dict[str, Any], key: str, n: int, url: str) -> NDArray[np.float64]:
    """Return a matrix of the answer, float64 [n, n]. Raises InputError for null: two places without a connection."""
    try:
        found = np.array(table.get(key), np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != (n, n):
        raise InputError(f"{key}: accepted: {n} x {n} numbers", field=url)
    if np.isnan(found).any():
        i, j = np.argwhere(np.isnan(found))[0]
        raise InputError(f"{key}: there is no route from place {i} to place {j}", field=url)
    return found

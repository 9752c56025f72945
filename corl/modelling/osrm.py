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
    """Return the distances and travel times between places, by one request to the server. Raises InputError.

    Servers limit the number of places in a request; for more places, the error contains the server's message.

    Args:
        url: The address of the server.
        places: n pairs (latitude, longitude).
        profile: The server's profile, such as "driving".
        timeout: In seconds.

    Returns:
        float64 [n, n] in metres and float64 [n, n] in seconds, from row to column.
    """
    points = ";".join(f"{lon:.6f},{lat:.6f}" for lat, lon in places)
    request = f"{url.rstrip('/')}/table/v1/{quote(profile)}/{points}?annotations=distance,duration"
    try:
        with urlopen(request, timeout=timeout) as stream:  # http or https, as in `url`
            answer = json.load(stream)
    except URLError as error:  # for an HTTP error, OSRM sends the reason as JSON
        raise InputError(f"no travel times: {_reason(error)}", field=url) from None
    except (OSError, ValueError) as error:
        raise InputError(f"no travel times: {error}", field=url) from None
    if not isinstance(answer, dict) or answer.get("code") != "Ok":
        raise InputError(f"no travel times: {answer.get('message', answer) if isinstance(answer, dict) else answer}", field=url)
    return _matrix(answer, "distances", len(places), url), _matrix(answer, "durations", len(places), url)


def _reason(error: URLError) -> str:
    """Return the server's message in an HTTP error, otherwise the reason of the error."""
    try:
        return str(json.loads(error.read())["message"])  # type: ignore[attr-defined]
    except Exception:
        return str(error.reason)


def _matrix(answer: dict[str, Any], key: str, n: int, url: str) -> NDArray[np.float64]:
    """Return a matrix of the answer, float64 [n, n]. Raises InputError if it is malformed or two places are not connected."""
    try:
        found = np.array(answer.get(key), np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != (n, n):
        raise InputError(f"{key}: accepted: {n} x {n} numbers", field=url)
    if np.isnan(found).any():
        i, j = np.argwhere(np.isnan(found))[0]
        raise InputError(f"{key}: there is no way from place {i} to place {j}", field=url)
    return found

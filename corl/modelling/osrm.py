"""Travel matrices from an OSRM server (its table service: project-osrm.org, HTTP API v1)."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.modelling.servers import answer_to, travel_matrix

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
    answer = answer_to(request, url, "message", timeout)
    if not isinstance(answer, dict) or answer.get("code") != "Ok":
        raise InputError(f"no travel times: {answer.get('message', answer) if isinstance(answer, dict) else answer}", field=url)
    distances, durations = (travel_matrix(answer.get(key), key, len(places), url) for key in ("distances", "durations"))
    return distances, durations

"""Requests to servers that compute travel matrices."""

from __future__ import annotations

import json
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError

__all__ = ["answer_to", "travel_matrix"]


def answer_to(request: Request | str, url: str, reason_key: str, timeout: float) -> Any:
    """Return the JSON value that a server answers. Raises InputError with the server's reason.

    Args:
        request: The request, by http or https.
        url: The address of the server, for errors.
        reason_key: The key of the reason in the JSON object that the server sends with an HTTP error.
        timeout: In seconds.
    """
    try:
        with urlopen(request, timeout=timeout) as stream:
            return json.load(stream)
    except URLError as error:
        raise InputError(f"no travel times: {_reason(error, reason_key)}", field=url) from None
    except (OSError, ValueError) as error:
        raise InputError(f"no travel times: {error}", field=url) from None


def _reason(error: URLError, key: str) -> str:
    """Return the server's reason in an HTTP error, otherwise the reason of the error."""
    try:
        return str(json.loads(error.read())[key])  # type: ignore[attr-defined]
    except Exception:
        return str(error.reason)


def travel_matrix(given: Any, key: str, n: int, url: str) -> NDArray[np.float64]:
    """Return a matrix of an answer, float64 [n, n]; `key`: its name in errors.

    Raises InputError if it is malformed or two places are not connected.
    """
    try:
        found = np.array(given, np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != (n, n):
        raise InputError(f"{key}: accepted: {n} x {n} numbers", field=url)
    if np.isnan(found).any():
        i, j = np.argwhere(np.isnan(found))[0]
        raise InputError(f"{key}: there is no way from place {i} to place {j}", field=url)
    return found

"""Travel matrices of a RoutingModel: distances and durations by profile, and the fields of an instance that they make."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from corl import arguments as check
from corl.errors import UsageError, shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["places_of", "square", "travel_fields", "travel_of", "without_matrix"]

_Matrix = list[list[float]]


def travel_of(distances: ArrayLike, durations: ArrayLike | None) -> dict[str, _Matrix]:
    """Return the matrices "distances" and, if given, "durations" of one profile. Raises UsageError."""
    matrix = square("distances", distances)
    times = None if durations is None else square("durations", durations)
    if times is not None and len(times) != len(matrix):
        raise UsageError(f"durations: {len(times)} rows are not accepted; accepted: {len(matrix)}, as of distances")
    return {"distances": matrix} | ({} if times is None else {"durations": times})


def travel_fields(
    travel: Mapping[str, Mapping[str, _Matrix]], profiles: Mapping[Hashable, str], speed: float
) -> tuple[dict[str, Any], list[int]]:
    """Return the fields "matrix" and "profiles" of an instance file, and for each vehicle the number of its profile.

    There are no "profiles" if one matrix of distances is all. Raises UsageError if the matrices of a vehicle are missing.

    Args:
        travel: Profile -> its matrices, as `travel_of` returns them.
        profiles: Vehicle -> the name of its profile.
        speed: Units of distance per unit of time, for profiles without durations.
    """
    for vehicle, profile in profiles.items():
        if profile not in travel:
            raise UsageError(f"vehicle {shown(vehicle)}: {without_matrix(profile)}")
    used = list(dict.fromkeys(profiles.values())) or list(travel)
    first = travel[used[0]]
    fields: dict[str, Any] = {"matrix": first["distances"]}
    if any(len(travel[name]["distances"]) != len(first["distances"]) for name in used):
        raise UsageError("set_matrix: the matrices of all profiles have a row for each depot and client")
    if len(used) > 1 or "durations" in first:
        timed = any("durations" in travel[name] for name in used)
        fields["profiles"] = [dict(travel[name]) | (_durations(travel[name], speed) if timed else {}) for name in used]
    return fields, [used.index(each) for each in profiles.values()]


def without_matrix(profile: str) -> str:
    """Return the words for a profile whose matrices are missing."""
    if not profile:
        return "it has no profile, and all matrices have one; accepted: set_matrix without profile, or add_vehicle(profile=...)"
    return f"there are no matrices of profile {profile!r}; set_matrix(..., profile={profile!r}) sets them"


def _durations(travel: Mapping[str, _Matrix], speed: float) -> dict[str, _Matrix]:
    """Return the durations of one profile; by default, distance divided by speed."""
    return {"durations": travel.get("durations") or (np.array(travel["distances"]) / speed).tolist()}


def places_of(nodes: Sequence[Mapping[str, Any]]) -> list[tuple[float, float]]:
    """Return latitude and longitude of each node, for a server. Raises UsageError if one is missing."""
    if any("lat" not in node or "lon" not in node for node in nodes):
        raise UsageError("a server needs lat and lon of every depot and client")
    return [(node["lat"], node["lon"]) for node in nodes]


def square(of: str, given: Any) -> list[list[float]]:
    """Return a square matrix of numbers from 0 as lists. Raises UsageError."""
    accepted = "a square matrix of finite numbers from 0"
    try:
        found = np.asarray(given, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise check.refusal(of, given, accepted) from None
    if (
        found.ndim != 2
        or found.shape[0] != found.shape[1]
        or not found.size
        or not ((found >= 0) & (found <= check.LARGEST)).all()
    ):
        raise check.refusal(of, given, accepted)
    return found.tolist()  # type: ignore[no-any-return]

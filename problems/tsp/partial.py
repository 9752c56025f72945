"""Incomplete tours, such as a tour of an earlier version of an instance: missing cities are inserted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.tsp.evaluation import edge_lengths
from corl.problems.tsp.instance import TspInstance

__all__ = ["completed_tour"]

_LEAST_SHARE = 0.5  # of the cities that must be on the given tour: less is rather a mistake than an earlier tour


def completed_tour(instance: TspInstance, value: Any, as_json: bool) -> tuple[NDArray[np.int64], str]:
    """Return a tour that follows a given one, and a note on what is left out.

    Unknown cities and second visits are left out. Missing cities are inserted in the order of their numbers, each where it
    lengthens the tour least.

    Args:
        instance: The instance.
        value: A list or an array of cities, or its JSON form.
        as_json: Whether `value` lists ids or names.

    Raises:
        Infeasible: `value` is no list of cities, or it has fewer than half of the cities.
    """
    listed = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(listed, (list, tuple)) or not all(isinstance(city, (int, str, np.integer)) for city in listed):
        raise Infeasible("a tour is a list of cities")
    labels: dict[Any, int] = {city: city for city in range(instance.n)}
    if as_json:
        labels = {label: city for city, label in enumerate(np.asarray(instance.ids).tolist())}
        labels |= {label: city for city, label in enumerate(instance.names or ())}
    tour = list(dict.fromkeys(labels[city] for city in listed if city in labels))
    if len(tour) < _LEAST_SHARE * instance.n:
        raise Infeasible("the tour has fewer than half of the cities")
    found = np.array(tour, np.int64)
    for city in np.setdiff1d(np.arange(instance.n), found):
        found = _with_city(instance, found, int(city))
    left_out = len(listed) - len(tour)
    visits = "1 visit" if left_out == 1 else f"{left_out} visits"
    return found, f"left out: {visits} to cities that are unknown or visited before" if left_out else ""


def _with_city(instance: TspInstance, tour: NDArray[np.int64], city: int) -> NDArray[np.int64]:
    """Return the tour with a city at its cheapest place."""
    following, cities = np.roll(tour, -1), np.full(len(tour), city)
    detour = edge_lengths(instance, tour, cities) + edge_lengths(instance, cities, following)
    return np.insert(tour, int((detour - edge_lengths(instance, tour, following)).argmin()) + 1, city)

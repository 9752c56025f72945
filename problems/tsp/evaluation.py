"""The judge: the length of a tour, by the formulas of corl.routing.edge_weights, and its feasibility."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.errors import Infeasible
from corl.problems.tsp.instance import TspInstance
from corl.routing import edge_weights

__all__ = ["check", "edge_lengths", "objective"]


def check(instance: TspInstance, solution: ArrayLike) -> NDArray[np.int64]:
    """Return `solution` as int64 [n] if it visits every city 0..n-1 once.

    Raises Infeasible with the first fault; the message names cities by their ids in the file.
    """
    try:
        cities = np.asarray(solution)
    except ValueError:  # ragged
        raise Infeasible("a tour is a list of cities") from None
    if cities.ndim != 1:
        raise Infeasible(f"a tour is a list of cities, not an array of shape {list(cities.shape)}")
    if cities.dtype.kind not in "iu":
        raise Infeasible(f"a tour is a list of integers, not of {cities.dtype}")
    n, ids = instance.n, instance.ids
    outside = (cities < 0) | (cities >= n)
    if outside.any():
        at = int(outside.argmax())
        raise Infeasible(f"position {at + 1} of the tour is city index {cities[at]}; accepted: 0 to {n - 1}")
    first = np.full(n, -1, np.int64)
    first[cities[::-1]] = np.arange(len(cities) - 1, -1, -1)  # the last write wins: the first position of each city
    again = first[cities] != np.arange(len(cities))
    if again.any():
        at = int(again.argmax())
        city = cities[at]
        raise Infeasible(f"city {ids[city]} is visited twice, at positions {first[city] + 1} and {at + 1} of the tour")
    if len(cities) < n:
        missing = int((first < 0).argmax())
        raise Infeasible(f"city {ids[missing]} is not visited; the tour has {len(cities)} of {n} cities")
    return cities.astype(np.int64)


def objective(instance: TspInstance, solution: ArrayLike) -> float:
    """Return the length of the closed tour (0 for one city). Raises Infeasible if `solution` is not a tour."""
    cities = check(instance, solution)
    return float(edge_lengths(instance, cities, np.roll(cities, -1)).sum())


def edge_lengths(instance: TspInstance, tails: NDArray[np.integer], heads: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the distances from cities tails[i] to heads[i]: float64 [len(tails)]."""
    return edge_weights.edge_lengths(instance.edge_weight_type, instance.points, instance.matrix, tails, heads)

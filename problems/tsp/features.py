"""Features of a partial tour with symmetric distances: distances, ranks, and a relaxation of what remains (remaining_tree.py).

What remains is a path from the origin (the last city of the partial tour) through the unvisited cities to the destination (its
first city). All features are functions of distances between cities, in units derived from these distances. So they do not change
when the plane is rotated, mirrored, moved or scaled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.tsp.remaining_tree import branch, new_relaxation, relax
from corl.tokens import Tokens

__all__ = ["PAIRS", "SHOWN", "TOKENS", "Effort", "plane"]

TOKENS = 26
"""The number of features of a token (see _describe and _look_ahead)."""
(
    _FROM_ORIGIN, _TO_DESTINATION, _NEAREST, _SECOND, _THIRD, _ORIGIN_SHARE, _DESTINATION_SHARE, _ORIGIN_ALPHA,
    _DESTINATION_ALPHA, _PRICED_LENGTH, _PRICE, _DEGREE, _LARGEST_SHARE, _SECOND_SHARE, _OUTSIDE_SHARE, _OUTSIDE_LENGTH,
    _LINKED, _PLACE, _IS_ORIGIN, _IS_DESTINATION, _TOKENS_SHOWN, _NOT_SHOWN, _BRANCHED, _WORSE, _LIKELY, _GAIN,
) = range(TOKENS)  # fmt: skip
PAIRS = 6
"""The number of features of a pair of tokens (see _describe_pairs)."""
_LENGTH, _NEARNESS, _SQUARED_NEARNESS, _PAIR_SHARE, _PAIR_ALPHA, _SAME = range(PAIRS)
SHOWN = 20
"""The default window: the greatest number of slots (listed cities) that a network observes. In optimal tours, one next city in
10,000 is farther down the list.
"""
# The first three are in units of the mean distance to the nearest city, and tuned.
_FIRST_STEP = 0.2  # the first subgradient step; tuned, as `Effort.trees` is, by the share of correct next cities on 300 tours
_BEYOND = 1.0  # how much farther than their lower bound the cities outside the relaxation are assumed to be
_BRANCH_FIRST_STEP = 0.1  # the first subgradient step of a branch
_CLOSE = 1.5  # slots are branched on if they seem at most this many mean edge lengths worse than the best slot


class Effort(NamedTuple):
    """The size of the relaxation of what remains, and the number of spanning trees computed for it.

    To branch on a slot is to compute the relaxation's bound for paths whose first step goes to the slot's city.
    """

    around: int = 24
    """The greatest number of cities beyond the listed slots that the relaxation includes."""
    trees: int = 32
    """The number of spanning trees of the relaxation."""
    branches: int = 4
    """The greatest number of slots branched on; 999 in 1000 optimal next cities are among the best four slots."""
    branch_trees: int = 12
    """The number of spanning trees of each branch."""
    enough: float = math.inf
    """A branch ends once its bound exceeds the least bound of the earlier branches by this many times the relaxation's mean edge
    length."""


_DEFAULT_EFFORT = Effort()


def plane(observation: Mapping[str, NDArray[Any]], window: int = SHOWN, effort: Effort = _DEFAULT_EFFORT) -> Tokens:
    """Return the tokens of TspEnvironment's observations: K + 2 for the K slots, the origin and the destination.

    Distances are straight lines between the points of the array "coordinates", or for matrices the entries of the array
    "distances" (the mean of both directions). `scale`, the unit of the values of states, is about the length of the remaining
    path.

    Args:
        observation: The arrays that TspEnvironment observes, for R states.
        window: The greatest number of slots shown. Later slots are masked, but their cities and those of the array
            "surroundings" are part of the relaxation.
        effort: The size of the relaxation.
    """
    mask = np.ascontiguousarray(observation["mask"])
    rows, tokens = mask.shape
    no_array = np.zeros((rows, 0, 0))
    points = np.ascontiguousarray(observation.get("coordinates", no_array))
    around = np.ascontiguousarray(observation.get("surroundings", no_array)[:, : effort.around])
    matrix = np.ascontiguousarray(observation.get("distances", no_array))
    shown = mask.copy()
    shown[:, min(window, tokens - 2) : tokens - 2] = False
    x = np.zeros((rows, tokens, TOKENS), np.float32)
    pairs = np.zeros((rows, tokens, tokens, PAIRS), np.float32)
    scale = np.ones(rows)
    work = new_relaxation(tokens + around.shape[1] + 1)
    _features(mask, observation["remaining"], points, around, matrix, window, effort, work, x, pairs, scale)
    return Tokens(x, shown, pairs, scale)


@kernel
def _features(
    mask: Any,
    remaining: Any,
    points: Any,
    around: Any,
    matrix: Any,
    window: Any,
    effort: Any,
    work: Any,
    x: Any,
    pairs: Any,
    scale: Any,
) -> None:
    """Write the features of R states of K slots to x, pairs and scale, in place; nothing for a state without a listed city.

    The first `listed` nodes of a relaxation are the cities of the slots; the first `cities` nodes include the surroundings.
    Node `cities` is the origin, node `cities` + 1 the destination. If there are further unvisited cities, node `cities` + 2
    represents all of them.

    Args:
        mask: bool [R, K + 2], whether a slot contains a city.
        remaining: int32 [R], unvisited cities.
        points: float64 [R, K + 2, 3], coordinates; [R, 0, 0] if there are none.
        around: float64 [R, A, 3], coordinates of the surroundings; [R, 0, 0] if there are none.
        matrix: float64 [R, K + 2, K + 2], distances; [R, 0, 0] if there are none.
        window: The greatest number of slots shown.
        effort: Effort.
        work: Relaxation of at least K + A + 3 nodes, overwritten.
        x: float32 [R, K + 2, TOKENS], receives the features of tokens.
        pairs: float32 [R, K + 2, K + 2, PAIRS], receives the features of pairs.
        scale: float64 [R], receives the unit of each state's values.
    """
    slots = mask.shape[1] - 2
    near = np.empty((slots + around.shape[1] + 2, 3))
    prices = np.empty(slots + around.shape[1] + 3)
    for row in range(len(mask)):
        listed = 0
        while listed < slots and mask[row, listed]:
            listed += 1
        if listed == 0:
            continue
        cities = listed
        planar = points.shape[1] > 0 and (matrix.shape[1] == 0 or not matrix[row].any())
        if around.shape[1] and planar and listed == slots:
            cities += min(around.shape[1], remaining[row] - listed)
        _costs(points, around, matrix, row, listed, cities, work.cost)
        _nearest(work.cost, cities, near)
        unit = near[:cities, 0].mean()
        outside = remaining[row] > cities
        if outside:
            _outside(work.cost, cities, unit)
        nodes = cities + 3 if outside else cities + 2
        between = work.cost[cities, cities + 1]
        barred = work.cost[:nodes, :nodes].sum() + 1.0  # a path never has the edge from the origin to the destination
        work.cost[cities, cities + 1] = work.cost[cities + 1, cities] = barred
        nearest_mean = unit
        bound = relax(work, nodes, cities, outside, effort.trees, _FIRST_STEP * nearest_mean)
        work.cost[cities, cities + 1] = work.cost[cities + 1, cities] = between
        unit = bound / (nodes - 1)
        if not unit > 0.0:  # all cities are at one point
            unit = 1.0
        scale[row] = unit * (remaining[row] + 1)
        shown = min(listed, window)
        _describe(work, near, shown, cities, outside, remaining[row], unit, x[row])
        _describe_pairs(work, shown, cities, unit, pairs[row])
        work.cost[cities, cities + 1] = work.cost[cities + 1, cities] = barred
        _look_ahead(work, prices, shown, cities, outside, bound, unit, nearest_mean, effort, x[row])


@kernel
def _point(points: Any, around: Any, row: Any, listed: Any, cities: Any, node: Any) -> Any:
    """Return the coordinates of a node, float64 [3]; other arguments as in `_features`."""
    if node < listed:
        return points[row, node]
    return around[row, node - listed] if node < cities else points[row, points.shape[1] - 2 + node - cities]


@kernel
def _costs(points: Any, around: Any, matrix: Any, row: Any, listed: Any, cities: Any, cost: Any) -> None:
    """Write the distances among the first `cities` + 2 nodes of a row to float64 `cost` [M, M].

    Other arguments: see `_features`.
    """
    ends = matrix.shape[1] - 2
    for i in range(cities + 2):
        cost[i, i] = 0.0
        for j in range(i):
            length = 0.0
            if points.shape[1]:
                a, b = _point(points, around, row, listed, cities, i), _point(points, around, row, listed, cities, j)
                length = math.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)
            if matrix.shape[1] and cities == listed:  # `matrix` is zero in rows with coordinates, and has no surroundings
                p, q = (i if i < listed else ends + i - cities), (j if j < listed else ends + j - cities)
                length += 0.5 * (matrix[row, p, q] + matrix[row, q, p])
            cost[i, j] = cost[j, i] = length


@kernel
def _nearest(cost: Any, cities: Any, near: Any) -> None:
    """Write to float64 `near` [cities + 2, 3] the distances of each node to its three nearest neighbours.

    The first `cities` nodes are cities, then come the origin and the destination. Neighbours of a node are the cities and the
    destination, but the destination is no neighbour of the origin. If there are fewer than three, the largest distance is
    repeated.
    """
    for i in range(cities + 2):
        first = second = third = np.inf
        for j in range(cities + 2):
            if j in (i, cities) or (i == cities and j == cities + 1):
                continue
            length = cost[i, j]
            if length < first:
                first, second, third = length, first, second
            elif length < second:
                second, third = length, second
            elif length < third:
                third = length
        near[i, 0] = first
        near[i, 1] = second if second < np.inf else near[i, 0]
        near[i, 2] = third if third < np.inf else near[i, 1]


@kernel
def _outside(cost: Any, cities: Any, unit: Any) -> None:
    """Add node `cities` + 2, which represents all cities outside the relaxation, to `cost`; `unit` is the mean nearest distance.

    These cities are at least as far from the origin as every city inside. The triangle inequality then bounds their distances to
    the other nodes from below.
    """
    radius = 0.0
    for i in range(cities):
        radius = max(radius, cost[cities, i])
    for i in range(cities + 2):
        cost[cities + 2, i] = cost[i, cities + 2] = max(0.0, radius - cost[cities, i]) + _BEYOND * unit
    cost[cities + 2, cities + 2] = 0.0


@kernel
def _describe(work: Any, near: Any, shown: Any, cities: Any, outside: Any, remaining: Any, unit: Any, x: Any) -> None:
    """Write the features of each token of a row to `x`; lengths are in units of the relaxation's mean edge.

    Args:
        work: Relaxation, computed for this row.
        near: float64 [cities + 2, 3], the distances of each node to its three nearest neighbours.
        shown: The number of slots shown.
        cities: The number of cities of the relaxation.
        outside: Whether node `cities` + 2 represents further cities.
        remaining: The number of unvisited cities.
        unit: The relaxation's mean edge.
        x: float32 [K + 2, TOKENS], receives the features.
    """
    cost, share, alpha, price = work.cost, work.share, work.alpha, work.price
    origin, destination, slots = cities, cities + 1, len(x) - 2
    cheapest = np.inf
    for i in range(cities):
        cheapest = min(cheapest, cost[origin, i] + price[i])
    for token in range(shown + 2):
        i = token if token < shown else cities + token - shown
        f = x[token if token < shown else slots + token - shown]
        f[_FROM_ORIGIN] = math.log1p(cost[origin, i] / unit)
        f[_TO_DESTINATION] = math.log1p(cost[destination, i] / unit)
        for k in range(3):
            f[_NEAREST + k] = math.log1p(near[i, k] / unit)
        f[_ORIGIN_SHARE], f[_DESTINATION_SHARE] = share[origin, i], share[destination, i]
        if i < cities:
            f[_ORIGIN_ALPHA] = math.log1p(max(0.0, alpha[origin, i]) / unit)
            f[_DESTINATION_ALPHA] = math.log1p(max(0.0, alpha[destination, i]) / unit)
            f[_PRICED_LENGTH] = math.log1p((cost[origin, i] + price[i] - cheapest) / unit)
        f[_PRICE] = max(-3.0, min(3.0, price[i] / unit))
        total = most = second = 0.0
        for j in range(cities + 3 if outside else cities + 2):
            if j != i:
                total += share[i, j]
                if share[i, j] > most:
                    most, second = share[i, j], most
                elif share[i, j] > second:
                    second = share[i, j]
        f[_DEGREE], f[_LARGEST_SHARE], f[_SECOND_SHARE] = total - 2.0, most, second
        if outside:
            f[_OUTSIDE_SHARE], f[_OUTSIDE_LENGTH] = share[cities + 2, i], math.log1p(cost[cities + 2, i] / unit)
        f[_LINKED] = 1.0 if work.parent[i] == origin or work.parent[origin] == i else 0.0
        f[_PLACE] = i / 16.0 if i < cities else 0.0
        f[_IS_ORIGIN], f[_IS_DESTINATION] = 1.0 if i == origin else 0.0, 1.0 if i == destination else 0.0
        f[_TOKENS_SHOWN], f[_NOT_SHOWN] = shown / 16.0, math.log1p(remaining - shown)


@kernel
def _describe_pairs(work: Any, shown: Any, cities: Any, unit: Any, pairs: Any) -> None:
    """Write the features of each pair of tokens of a row to float32 `pairs` [K + 2, K + 2, PAIRS].

    The features are the distance on three scales, the share of the spanning trees that contain the edge, the edge's alpha as a
    nearness (Relaxation.alpha), and whether both tokens are the same. Other arguments are those of `_describe`.
    """
    slots = len(pairs) - 2
    for first in range(shown + 2):
        i, p = (first, first) if first < shown else (cities + first - shown, slots + first - shown)
        for second in range(first + 1):
            j, q = (second, second) if second < shown else (cities + second - shown, slots + second - shown)
            length = work.cost[i, j] / unit
            f = pairs[p, q]
            f[_LENGTH] = math.log1p(length)
            f[_NEARNESS] = math.exp(-length)
            f[_SQUARED_NEARNESS] = math.exp(-length * length)
            if i != j:
                f[_PAIR_SHARE] = work.share[i, j]
                f[_PAIR_ALPHA] = math.exp(-2.0 * max(0.0, work.alpha[i, j]) / unit)
            else:
                f[_SAME] = 1.0
            pairs[q, p] = f


@kernel
def _look_ahead(
    work: Any, prices: Any, shown: Any, cities: Any, outside: Any, bound: Any, unit: Any, nearest_mean: Any, effort: Any, x: Any
) -> None:
    """Branch on the most promising slots, and write how much the relaxation's bound grows if the first step goes to their cities.

    Args:
        work: Relaxation, computed for this row; its prices and tree change.
        prices: float64 [M], work array, overwritten.
        shown: The number of slots shown.
        cities: The number of cities of the relaxation.
        outside: Whether node `cities` + 2 represents further cities.
        bound: The bound of the relaxation before branching.
        unit: The relaxation's mean edge.
        nearest_mean: The mean distance of a city to its nearest neighbour.
        effort: Effort.
        x: float32 [K + 2, TOKENS], receives the features.
    """
    nodes = cities + 3 if outside else cities + 2
    prices[:nodes] = work.price[:nodes]
    guess, bounds = np.empty(shown), np.full(shown, np.inf)
    for i in range(shown):
        guess[i] = (work.cost[cities, i] + prices[i]) / unit - work.share[cities, i]
    least, best = guess.min(), np.inf
    for _ in range(min(shown, effort.branches)):
        slot = guess.argmin()
        if guess[slot] > least + _CLOSE:
            break
        guess[slot] = np.inf
        bounds[slot] = branch(
            work,
            nodes,
            cities,
            outside,
            slot,
            effort.branch_trees,
            _BRANCH_FIRST_STEP * nearest_mean,
            prices,
            best + effort.enough * unit,
        )
        best = min(best, bounds[slot])
    for i in range(shown):
        worse = min(3.0, (bounds[i] - best) / unit)
        x[i, _BRANCHED], x[i, _WORSE], x[i, _LIKELY] = (
            1.0 if bounds[i] < np.inf else 0.0,
            math.log1p(worse),
            math.exp(-8.0 * worse),
        )
        x[i, _GAIN] = max(-1.0, min(1.0, (best - bound) / unit))

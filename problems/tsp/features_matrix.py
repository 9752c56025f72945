"""Features of a partial tour on a matrix: reduced costs, and the assignment problem of what remains.

What remains is a path from the origin (the last city of the partial tour) through the unvisited cities to the destination (its
first city). assignment_lookahead.py explains the assignment problem's values. The features are functions of reduced costs, in
units derived from them. So they do not change when a constant is added to a row or a column of the matrix, when the matrix is
scaled or when its cities are renumbered (provided that the assignment problem has only one solution).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.jit import kernel
from corl.problems.tsp.assignment_lookahead import ANY_ARC, CYCLES, HEAD, JOINING, OWN_ARC, REGRET, TAIL, AssignmentLookahead
from corl.tokens import Tokens

__all__ = ["PAIRS", "TOKENS", "matrix"]

TOKENS = 24
"""The number of features of a token: of costs (_describe), of the assignment (_flag), of actions (_look_ahead)."""
(
    _FROM_ORIGIN, _FROM_ORIGIN_LOG, _TO_DESTINATION, _TO_DESTINATION_LOG, _RANK, _SECOND_OUT, _SECOND_IN, _IS_ORIGIN,
    _IS_DESTINATION, _REMAINING, _IS_HIDDEN, _FOLLOWS_ORIGIN, _ENDS, _ON_PATH, _PATCH_OUT, _PATCH_IN, _REGRET, _REGRET_LOG,
    _CYCLES, _JOINING, _JOINING_LOG, _WORSE, _WORSE_LOG, _IS_BEST,
) = range(TOKENS)  # fmt: skip
PAIRS = 8
"""The number of features of a pair of tokens (see _describe_pairs and _flag)."""
_THERE, _BACK, _THERE_CLOSE, _BACK_CLOSE, _SAME, _ARC, _ARC_BACK, _JOINT = range(PAIRS)
_SHOWN = 16  # slots; in the best tours every next city is among the 16 nearest by reduced cost (transitions.py)
_LEVELS = {"raw": 0, "reduced": 1, "flags": 2, "actions": 3}


def matrix(observation: Mapping[str, NDArray[Any]], level: str = "actions") -> Tokens:
    """Return the tokens of TspEnvironment's observations of matrix instances: K + 2 for the K slots, the origin, the destination.

    Only the 16 listed cities that increase the cost of the assignment least are shown; the other slots are masked. `scale`, the
    unit of the values of states, is about the length of the remaining path. Raises UsageError if an observation has no matrix.

    Args:
        observation: The arrays that TspEnvironment observes.
        level: Which features are computed. "raw": costs only, which change if a constant is added to a row. "reduced": reduced
            costs instead. "flags": also the assignment's arcs and cycles, and the cost of joining cycles. "actions": also the
            effect of each action on the assignment; the shipped policy uses this level.
    """
    if "prices" not in observation:
        raise UsageError("the features 'matrix' are for instances that are given by a matrix; accepted for others: 'plane'")
    mask = np.ascontiguousarray(observation["mask"]).copy()
    rows, tokens = mask.shape
    regret = np.where(mask[:, :-2], observation["actions"][..., REGRET], np.inf)
    rank = np.argsort(np.argsort(regret, axis=1, kind="stable"), axis=1)
    mask[:, :-2] &= rank < _SHOWN
    mask[~mask[:, :-2].any(axis=1)] = False  # states at the end of their episode
    x = np.zeros((rows, tokens, TOKENS), np.float32)
    pairs = np.zeros((rows, tokens, tokens, PAIRS), np.float32)
    scale = np.ones(rows)
    cities, remaining, distances = (np.ascontiguousarray(observation[name]) for name in ("cities", "remaining", "distances"))
    lookahead = AssignmentLookahead(*(np.ascontiguousarray(observation[name]) for name in AssignmentLookahead._fields))
    _features(mask, cities, remaining, distances, lookahead, rank, _LEVELS[level], x, pairs, scale)
    return Tokens(x, mask, pairs, scale)


@kernel
def _features(
    mask: Any, cities: Any, remaining: Any, distances: Any, lookahead: Any, rank: Any, level: Any, x: Any, pairs: Any, scale: Any
) -> None:
    """Write the features of R states of K slots to x, pairs and scale, in place. States without a shown slot are left unchanged.

    Args:
        mask: bool [R, K + 2], whether a slot is shown.
        cities: int32 [R, K + 2], the city of each slot.
        remaining: int32 [R], unvisited cities.
        distances: float64 [R, K + 2, K + 2], from slot to slot.
        lookahead: AssignmentLookahead of R states.
        rank: int64 [R, K], the rank of each slot by regret (AssignmentLookahead.actions), from 0.
        level: 0 to 3, a value of `_LEVELS`.
        x: float32 [R, K + 2, TOKENS], receives the features of tokens.
        pairs: float32 [R, K + 2, K + 2, PAIRS], receives the features of pairs.
        scale: float64 [R], receives the unit of each state's values.
    """
    slots = mask.shape[1] - 2
    slot = np.empty(slots + 2, np.int64)
    cost = np.empty((slots + 2, slots + 2))
    for row in range(len(mask)):
        m = 0
        for i in range(slots + 2):
            if mask[row, i]:
                slot[m] = i
                m += 1
        if m == 0:
            continue
        _costs(distances[row], lookahead.prices[row], slot[:m], level, cost)
        unit = _unit(cost, m)
        least = np.inf
        for i in range(m - 2):
            least = min(least, lookahead.actions[row, slot[i], REGRET] + lookahead.actions[row, slot[i], JOINING])
        _describe(cost, unit, slot[:m], remaining[row], level, x[row])
        _describe_pairs(cost, unit, slot[:m], pairs[row])
        if level > 1:
            _flag(unit, slot[:m], cities[row], lookahead, row, x[row], pairs[row])
        if level > 2:
            _look_ahead(unit, slot[:m], rank[row], lookahead.actions[row], least, x[row])
        length = lookahead.bound[row] + least
        scale[row] = length if length > 0.0 else unit * (remaining[row] + 1)


@kernel
def _costs(distances: Any, prices: Any, slot: Any, level: Any, cost: Any) -> None:
    """Write the costs (level 0) or the reduced costs between a state's m shown tokens to `cost`; infinite for impossible arcs.

    Args:
        distances: float64 [K + 2, K + 2], from slot to slot.
        prices: float64 [K + 2, 2], the dual price of each slot as a tail and as a head.
        slot: int64 [m], the slot of each token; the last two are the origin and the destination.
        level: 0 to 3, a value of `_LEVELS`.
        cost: float64 [m or more, m or more], receives the costs.
    """
    m = len(slot)
    for i in range(m):
        for j in range(m):
            length = distances[slot[i], slot[j]]
            if level:
                length = max(0.0, length - prices[slot[i], TAIL] - prices[slot[j], HEAD])
            cost[i, j] = length if i != j and i != m - 1 and j != m - 2 else np.inf
    cost[m - 2, m - 1] = np.inf


@kernel
def _unit(cost: Any, m: Any) -> Any:
    """Return the unit of costs: the mean over tokens of the second cheapest outgoing arc; if that is 0, the mean of all arcs."""
    total, count, whole, arcs = 0.0, 0, 0.0, 0
    for i in range(m - 1):
        best, second = np.inf, np.inf
        for j in range(m):
            if cost[i, j] < np.inf:
                whole, arcs = whole + cost[i, j], arcs + 1
                if cost[i, j] < best:
                    best, second = cost[i, j], best
                elif cost[i, j] < second:
                    second = cost[i, j]
        if second < np.inf:
            total, count = total + second, count + 1
    if total > 0.0:
        return total / count
    return whole / arcs if whole > 0.0 else 1.0


@kernel(inline=True)
def _near(cost: Any, unit: Any) -> Any:
    """Return unit / (unit + cost): 1 for a cost of 0, and near 0 for high costs; 0 for infinite costs."""
    return unit / (unit + max(0.0, cost))


@kernel
def _describe(cost: Any, unit: Any, slot: Any, remaining: Any, level: Any, x: Any) -> None:
    """Write the features that depend on costs only to float32 `x` [K + 2, TOKENS].

    Other arguments: see `_costs` and `_features`.
    """
    m = len(slot)
    o, d = m - 2, m - 1
    for i in range(m):
        f = x[slot[i]]
        if i < o:
            f[_FROM_ORIGIN], f[_FROM_ORIGIN_LOG] = (
                _near(cost[o, i], unit),
                math.log1p(cost[o, i] / unit) if cost[o, i] > -unit else 0.0,
            )
            f[_TO_DESTINATION], f[_TO_DESTINATION_LOG] = (
                _near(cost[i, d], unit),
                math.log1p(cost[i, d] / unit) if cost[i, d] > -unit else 0.0,
            )
        least_out = second_out = least_in = second_in = np.inf
        for j in range(m):
            if cost[i, j] < least_out:
                least_out, second_out = cost[i, j], least_out
            elif cost[i, j] < second_out:
                second_out = cost[i, j]
            if cost[j, i] < least_in:
                least_in, second_in = cost[j, i], least_in
            elif cost[j, i] < second_in:
                second_in = cost[j, i]
        f[_SECOND_OUT], f[_SECOND_IN] = _near(second_out, unit), _near(second_in, unit)
        f[_IS_ORIGIN], f[_IS_DESTINATION] = 1.0 if i == o else 0.0, 1.0 if i == d else 0.0
        f[_REMAINING], f[_IS_HIDDEN] = 0.2 * math.log(remaining), 1.0 if remaining > o else 0.0


@kernel
def _describe_pairs(cost: Any, unit: Any, slot: Any, pairs: Any) -> None:
    """Write, for each pair of tokens, the costs in both directions on two scales, and whether both tokens are the same."""
    m = len(slot)
    for i in range(m):
        for j in range(m):
            f = pairs[slot[i], slot[j]]
            f[_THERE], f[_BACK] = _near(cost[i, j], unit), _near(cost[j, i], unit)
            f[_THERE_CLOSE], f[_BACK_CLOSE] = _near(cost[i, j], 0.1 * unit), _near(cost[j, i], 0.1 * unit)
        pairs[slot[i], slot[i], _SAME] = 1.0


@kernel
def _flag(unit: Any, slot: Any, cities: Any, lookahead: Any, row: Any, x: Any, pairs: Any) -> None:
    """Write the features of the assignment's arcs and cycles, and of joining cycles, for one state.

    Args:
        unit: The unit of costs.
        slot: int64 [m], the slots of the tokens; the last two are the origin and the destination.
        cities: int32 [K + 2], the city of each slot.
        lookahead: AssignmentLookahead.
        row: The row of `lookahead`.
        x: float32 [K + 2, TOKENS], receives the features of tokens.
        pairs: float32 [K + 2, K + 2, PAIRS], receives the features of pairs.
    """
    m = len(slot)
    o, d = slot[m - 2], slot[m - 1]
    successors, cycles, joints, patches = (
        lookahead.successors[row],
        lookahead.cycles[row],
        lookahead.joints[row],
        lookahead.patches[row],
    )
    for i in slot:
        f = x[i]
        if i < o:
            f[_FOLLOWS_ORIGIN] = 1.0 if successors[o] == cities[i] else 0.0
            f[_ENDS] = 1.0 if successors[i] == cities[d] else 0.0
        f[_ON_PATH] = 1.0 if cycles[i] == 0 else 0.0
        f[_PATCH_OUT], f[_PATCH_IN] = _near(patches[i, OWN_ARC], unit), _near(patches[i, ANY_ARC], unit)
        for j in slot:
            f = pairs[i, j]
            if i != j and i != d and j != o and successors[i] == cities[j]:
                f[_ARC] = pairs[j, i, _ARC_BACK] = 1.0
            f[_JOINT] = _near(joints[i, j], unit) if cycles[i] != cycles[j] else -_near(joints[i, j], unit)


@kernel
def _look_ahead(unit: Any, slot: Any, rank: Any, actions: Any, least: Any, x: Any) -> None:
    """Write the effect of each action on the assignment, the action's rank, and how much worse its estimate is than the best.

    Args:
        unit: The unit of costs.
        slot: int64 [m], the slots of the tokens.
        rank: int64 [K], the rank of each slot by regret.
        actions: float64 [K, 3], the state's row of AssignmentLookahead.actions.
        least: The least estimate, regret plus cost of joining cycles, of a slot shown.
        x: float32 [K + 2, TOKENS], receives the features.
    """
    for i in slot[:-2]:
        f = x[i]
        regret, cycles, joining = actions[i, REGRET], actions[i, CYCLES], actions[i, JOINING]
        f[_REGRET], f[_REGRET_LOG] = _near(regret, unit), math.log1p(regret / unit)
        f[_RANK], f[_CYCLES] = rank[i] / 16.0, 0.2 * cycles
        f[_JOINING], f[_JOINING_LOG] = _near(joining, unit), math.log1p(joining / unit)
        worse = regret + joining - least
        f[_WORSE], f[_WORSE_LOG] = _near(worse, 0.2 * unit), math.log1p(worse / unit)
        f[_IS_BEST] = 1.0 if worse <= 1e-9 * unit else 0.0

"""The oracles' kernels. In each, row r of the result is the best action for row r of the worths or gains."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = [
    "NEEDED",
    "best_effects",
    "best_packing",
    "best_schedule",
    "best_visits",
    "dearest",
    "falling",
    "keep_largest",
    "knapsack",
    "within_any",
]

NEEDED = 2
"""Working slots that a pull takes (scheduling)."""


def falling(gains: NDArray[np.float64]) -> NDArray[np.int64]:
    """The arms by falling gain in each row [R, J], of equal ones the first; not a kernel, for a sort takes seconds to compile."""
    return np.argsort(-gains, axis=1, kind="stable")


@kernel
def dearest(gains: Any, orders: Any, pulls: Any, actions: Any) -> None:
    """Pull the `pulls` arms of highest positive gain; of equal ones the first. orders: `falling`."""
    for r in range(len(gains)):
        order = orders[r]
        for k in range(min(pulls, len(order))):
            if gains[r, order[k]] > 0.0:
                actions[r, order[k]] = 1


@kernel
def knapsack(gains: Any, costs: Any, budget: Any, actions: Any) -> None:
    """The 0/1 knapsack by dynamic programming over the budget."""
    arms = len(costs)
    best = np.zeros(budget + 1)
    took = np.zeros((arms, budget + 1), np.bool_)
    for r in range(len(gains)):
        best[:] = 0.0
        for j in range(arms):
            cost, gain = costs[j], gains[r, j]
            took[j] = False
            if gain > 0.0:
                for b in range(budget, cost - 1, -1):
                    if best[b - cost] + gain > best[b]:
                        best[b] = best[b - cost] + gain
                        took[j, b] = True
        left = budget
        for j in range(arms - 1, -1, -1):
            if took[j, left]:
                actions[r, j] = 1
                left -= costs[j]


@kernel
def keep_largest(vectors: Any, kept: Any, count: Any) -> Any:
    """Append to the `count` vectors of `kept`, from the last one down, those that none of `kept` is as large as in all entries.

    Vectors in lexicographic order, and before those of `kept`: only a later one can be as large. Returns the new count.
    """
    for i in range(len(vectors) - 1, -1, -1):
        exceeded = False
        for q in range(count - 1, -1, -1):
            exceeded = True
            for k in range(vectors.shape[1]):
                if kept[q, k] < vectors[i, k]:
                    exceeded = False
                    break
            if exceeded:
                break
        if not exceeded:
            for k in range(vectors.shape[1]):  # not a slice: numba would compile the text of an error message with it
                kept[count, k] = vectors[i, k]
            count += 1
    return count


@kernel
def within_any(needs: Any, sizes: Any) -> Any:
    """Whether some room of `sizes` [V, M] is at least as large as needs [R, M] in all entries, bool [R]."""
    found = np.zeros(len(needs), np.bool_)
    for r in range(len(needs)):
        for v in range(len(sizes)):
            inside = True
            for k in range(sizes.shape[1]):
                if needs[r, k] > sizes[v, k]:
                    inside = False
                    break
            if inside:
                found[r] = True
                break
    return found


@kernel
def best_packing(sums: Any, packings: Any, chosen: Any) -> None:
    """The packing whose arms gain most; sums[r, k, n] is what the n dearest arms of cost k gain."""
    for r in range(len(sums)):
        best = -1.0
        for v in range(len(packings)):
            total = 0.0
            for k in range(packings.shape[1]):
                total += sums[r, k, packings[v, k]]
            if total > best:
                best = total
                chosen[r] = v


@kernel
def best_schedule(gains: Any, orders: Any, inside: Any, offered: Any, budget: Any, actions: Any) -> None:
    """For each row depth-first search over the arms by falling gain (`orders`), taking an arm first.

    used[s] counts the arms taken that are served within the set of slots s only; they need no more than offered[s].
    """
    arms, sets = len(inside), len(offered)
    used = np.zeros(sets, np.int64)
    room = np.empty(sets)
    taken = np.zeros(arms, np.int8)
    for r in range(len(gains)):
        order = orders[r]
        used[:] = 0
        taken[:] = 0
        best, total, count, depth = -1.0, 0.0, 0, 0
        while True:
            ahead = depth < arms and gains[r, order[depth]] > 0.0
            if ahead:
                bound = total + _bound(gains[r], inside, offered, used, budget - count, order, depth, room)
                ahead = bound > best + 1e-12 * abs(best)
            elif total > best:
                best = total
                for j in range(arms):
                    actions[r, j] = taken[j]
            if ahead:
                arm = order[depth]
                if count < budget and _allowed(inside[arm], offered, used):
                    _count(inside[arm], used, 1)
                    taken[arm] = 1
                    total += gains[r, arm]
                    count += 1
                depth += 1
                continue
            depth -= 1  # back to the last arm taken, and leave it out
            while depth >= 0 and taken[order[depth]] == 0:
                depth -= 1
            if depth < 0:
                break
            arm = order[depth]
            _count(inside[arm], used, -1)
            taken[arm] = 0
            total -= gains[r, arm]
            count -= 1
            depth += 1


@kernel
def _allowed(slots: Any, offered: Any, used: Any) -> Any:
    """Whether one more arm with these slots can be served."""
    allowed = True
    for s in range(len(offered)):
        allowed &= slots & ~s != 0 or NEEDED * (used[s] + 1) <= offered[s]
    return allowed


@kernel
def _count(slots: Any, used: Any, more: Any) -> None:
    for s in range(len(used)):
        if slots & ~s == 0:
            used[s] += more


@kernel
def _bound(gains: Any, inside: Any, offered: Any, used: Any, pulls: Any, order: Any, depth: Any, room: Any) -> Any:
    """What the arms from `depth` on can add at most: the greedy on fractions of pulls."""
    for s in range(len(offered)):
        room[s] = offered[s] / NEEDED - used[s]
    left, total = float(pulls), 0.0
    for k in range(depth, len(order)):
        arm = order[k]
        if gains[arm] <= 0.0 or left <= 0.0:
            break
        part = min(1.0, left)
        for s in range(len(room)):
            if inside[arm] & ~s == 0:
                part = min(part, room[s])
        if part > 0.0:
            total += part * gains[arm]
            left -= part
            for s in range(len(room)):
                if inside[arm] & ~s == 0:
                    room[s] -= part
    return total


@kernel
def best_visits(gains: Any, orders: Any, visits: Any, budget: Any, actions: Any) -> None:
    """For each row the set of visits whose `budget` dearest places gain most; visits bool [V, J]."""
    for r in range(len(gains)):
        order = orders[r]
        best, at = -1.0, 0
        for v in range(len(visits)):
            total = _dearest_of(gains[r], visits[v], order, budget, best)
            if total > best:
                best, at = total, v
        left = budget
        for arm in order:
            if left > 0 and visits[at, arm] and gains[r, arm] > 0.0:
                actions[r, arm] = 1
                left -= 1


@kernel
def _dearest_of(gains: Any, visited: Any, order: Any, pulls: Any, best: Any) -> Any:
    """The sum of the `pulls` highest gains among the places visited; less where it cannot exceed `best`."""
    total, left = 0.0, pulls
    for arm in order:
        if left == 0 or gains[arm] <= 0.0 or total + left * gains[arm] <= best:
            break
        if visited[arm]:
            total += gains[arm]
            left -= 1
    return total


@kernel
def best_effects(worth: Any, levels: Any, chosen: Any) -> None:
    """The first of the actions with the highest sum of worth; worth [R, J, A], levels int8 [V, J]."""
    for r in range(len(worth)):
        best = -np.inf
        for v in range(len(levels)):
            total = 0.0
            for j in range(levels.shape[1]):
                total += worth[r, j, levels[v, j]]
            if total > best:
                best = total
                chosen[r] = v

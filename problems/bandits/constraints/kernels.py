"""Kernels of the constraints' oracles. Row r of a result is the best feasible action for row r of the gains or values.

R is the number of rows, J of arms. A gain is what pulling an arm adds to the value of an action.
"""

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
    "pull_best",
    "by_decreasing_gain",
    "keep_largest",
    "knapsack",
    "within_any",
]

NEEDED = 2
"""Scheduling: the number of working slots (a worker in a slot) that a pull takes."""


def by_decreasing_gain(gains: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the arms by decreasing gain in each row, int64 [R, J]; of equal gains, the lower number first.

    Not a kernel, because a sort takes seconds to compile.
    """
    return np.argsort(-gains, axis=1, kind="stable")


@kernel
def pull_best(gains: Any, orders: Any, pulls: Any, actions: Any) -> None:
    """Pull the `pulls` arms of largest positive gain, in place.

    Args:
        gains: float64 [R, J].
        orders: int64 [R, J], the arms by decreasing gain.
        pulls: The maximum number of pulls.
        actions: int8 [R, J], zeros at first.
    """
    for r in range(len(gains)):
        order = orders[r]
        for k in range(min(pulls, len(order))):
            if gains[r, order[k]] > 0.0:
                actions[r, order[k]] = 1


@kernel
def knapsack(gains: Any, costs: Any, budget: Any, actions: Any) -> None:
    """Solve 0-1 knapsacks by dynamic programming over the budget.

    Args:
        gains: float64 [R, J].
        costs: int64 [J].
        budget: The largest sum of costs.
        actions: int8 [R, J], zeros at first, changed in place.
    """
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
        remaining = budget
        for j in range(arms - 1, -1, -1):
            if took[j, remaining]:
                actions[r, j] = 1
                remaining -= costs[j]


@kernel
def keep_largest(vectors: Any, kept: Any, count: Any) -> Any:
    """Append to `kept`, in place, the vectors that no vector in `kept` dominates (is at least as large in all entries).

    Args:
        vectors: int64 [n, K], in lexicographic order and before those of `kept`. A vector can be dominated only by one that
            follows it in that order, so they are examined from the last to the first.
        kept: int64 [m, K], of which the first `count` rows are used.
        count: The number of vectors in `kept`.

    Returns:
        The new count.
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
            for k in range(vectors.shape[1]):  # a slice would take longer to compile
                kept[count, k] = vectors[i, k]
            count += 1
    return count


@kernel
def within_any(needs: Any, sizes: Any) -> Any:
    """Return, bool [R], for each row of needs, int64 [R, M], whether some row of sizes, int64 [V, M], is nowhere smaller."""
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
    """Write the index of each row's best packing to `chosen`, in place.

    Args:
        sums: float64 [R, K, N + 1]: sums[r, k, n] is the total gain of the n best arms of the k-th cost.
        packings: int64 [V, K], the number of arms of each cost.
        chosen: int64 [R], the result.
    """
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
    """Find the best schedule of each row by depth-first branch and bound, in place.

    Depth d decides on the arm with the d-th largest gain; the branch that pulls it comes first. `used[s]` is the number of pulled
    arms whose slots all lie in the set s of slots. By Hall's theorem the pulls are feasible if NEEDED * used[s] <= offered[s] for
    every set s.

    Args:
        gains: float64 [R, J].
        orders: int64 [R, J], the arms by decreasing gain.
        inside: int64 [J], the slots of each arm: bit s is set if the arm is available in slot s.
        offered: int64 [2^slots], the number of working slots of all workers in each set of slots.
        budget: The maximum number of pulls.
        actions: int8 [R, J], the result.
    """
    arms, sets = len(inside), len(offered)
    used = np.zeros(sets, np.int64)
    capacity = np.empty(sets)
    taken = np.zeros(arms, np.int8)
    for r in range(len(gains)):
        order = orders[r]
        used[:] = 0
        taken[:] = 0
        best, total, count, depth = -1.0, 0.0, 0, 0
        while True:
            descend = depth < arms and gains[r, order[depth]] > 0.0
            if descend:
                bound = total + _bound(gains[r], inside, offered, used, budget - count, order, depth, capacity)
                descend = bound > best + 1e-12 * abs(best)
            elif total > best:
                best = total
                for j in range(arms):
                    actions[r, j] = taken[j]
            if descend:
                arm = order[depth]
                if count < budget and _allowed(inside[arm], offered, used):
                    _count(inside[arm], used, 1)
                    taken[arm] = 1
                    total += gains[r, arm]
                    count += 1
                depth += 1
                continue
            depth -= 1  # return to the last arm pulled, and leave it out
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
    """Return whether one more arm with these slots (as bits) can be pulled; see `best_schedule`."""
    allowed = True
    for s in range(len(offered)):
        allowed &= slots & ~s != 0 or NEEDED * (used[s] + 1) <= offered[s]
    return allowed


@kernel
def _count(slots: Any, used: Any, more: Any) -> None:
    """Add `more` to used[s] for every set s that contains all of `slots`, in place."""
    for s in range(len(used)):
        if slots & ~s == 0:
            used[s] += more


@kernel
def _bound(gains: Any, inside: Any, offered: Any, used: Any, pulls: Any, order: Any, depth: Any, capacity: Any) -> Any:
    """Return an upper bound on the gain of the arms from `depth` on: the greedy solution with fractional pulls.

    `capacity`, float64 [2^slots], is a work array: the pulls that each set of slots can still serve.
    """
    for s in range(len(offered)):
        capacity[s] = offered[s] / NEEDED - used[s]
    pulls_left, total = float(pulls), 0.0
    for k in range(depth, len(order)):
        arm = order[k]
        if gains[arm] <= 0.0 or pulls_left <= 0.0:
            break
        part = min(1.0, pulls_left)
        for s in range(len(capacity)):
            if inside[arm] & ~s == 0:
                part = min(part, capacity[s])
        if part > 0.0:
            total += part * gains[arm]
            pulls_left -= part
            for s in range(len(capacity)):
                if inside[arm] & ~s == 0:
                    capacity[s] -= part
    return total


@kernel
def best_visits(gains: Any, orders: Any, visits: Any, budget: Any, actions: Any) -> None:
    """Find for each row the set of visited places whose `budget` largest gains have the largest sum, and pull these, in place.

    Args:
        gains: float64 [R, J].
        orders: int64 [R, J], the arms by decreasing gain.
        visits: bool [V, J], the sets of places that a walk can visit.
        budget: The maximum number of pulls.
        actions: int8 [R, J], zeros at first.
    """
    for r in range(len(gains)):
        order = orders[r]
        best, best_set = -1.0, 0
        for v in range(len(visits)):
            total = _best_gains_among(gains[r], visits[v], order, budget, best)
            if total > best:
                best, best_set = total, v
        pulls_left = budget
        for arm in order:
            if pulls_left > 0 and visits[best_set, arm] and gains[r, arm] > 0.0:
                actions[r, arm] = 1
                pulls_left -= 1


@kernel
def _best_gains_among(gains: Any, visited: Any, order: Any, pulls: Any, best: Any) -> Any:
    """Return the sum of the `pulls` largest gains among the places visited, or a smaller number if it cannot exceed `best`."""
    total, pulls_left = 0.0, pulls
    for arm in order:
        if pulls_left == 0 or gains[arm] <= 0.0 or total + pulls_left * gains[arm] <= best:
            break
        if visited[arm]:
            total += gains[arm]
            pulls_left -= 1
    return total


@kernel
def best_effects(level_values: Any, levels: Any, chosen: Any) -> None:
    """Write the index of the action with the largest sum of values to `chosen`, in place; of equal sums, the first.

    Args:
        level_values: float64 [R, J, A].
        levels: int8 [V, J], the levels that each action gives.
        chosen: int64 [R], the result.
    """
    for r in range(len(level_values)):
        best = -np.inf
        for v in range(len(levels)):
            total = 0.0
            for j in range(levels.shape[1]):
                total += level_values[r, j, levels[v, j]]
            if total > best:
                best = total
                chosen[r] = v

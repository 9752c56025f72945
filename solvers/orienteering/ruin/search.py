"""Ruin and recreate on a path with a limit: kernels of `RuinRecreate`.

After J. Christiaens and G. Vanden Berghe, Slack induction by string removals for vehicle routing problems, Transportation
Science 54, 2020: strings of nodes near a seed are removed, and nodes near by, these or others, are inserted one by one at their
cheapest places beside neighbours, in one of several orders, with blinks; simulated annealing decides. The value of a path is
its score less a price for its length, so that a detour is given up in one place for another elsewhere, also one step later.
While it is hot, a path may be longer than the limit, which only the price holds back: so it can take up a part of the plane
before it gives up another, and the ends of a run differ less. What is allowed above the limit falls to nothing with time.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.annealing import allowance, geometric
from corl.kernels.copy import copy
from corl.kernels.sorted_lists import sort_pairs
from corl.rng import below, next_u64, uniform
from corl.routing.metric import distance
from corl.solvers.orienteering.ruin.path import LENGTH, SCORE, Path, insert, remove, undo

__all__ = ["CANDIDATES", "ITERATION", "MORE", "PLANNED", "PRICE", "Search", "advance", "new_search"]

MORE = 1.0 + 1e-9  # times a score: what is not above that differs by the rounding of sums, which the judge does not see
CANDIDATES = 64  # nodes that a step looks at for insertion, at the most
_BLINK = 128  # one in so many positions is passed over (Christiaens and Vanden Berghe: one in a hundred)
PLANNED, _HOT, _COLD, PRICE, _LIMIT, _EXCESS, _CAP = range(7)  # what `plan` holds
ITERATION, _STAMP = range(2)  # what `counts` holds
_FAR = 1e300
_EVERY = 64  # steps between two looks at temperature and price,
_LOOKS = 32  # or fewer: there are so many looks at least
_STRICT = 0.9  # of the steps: from then on no path may be too long
_FIRST = 0.5  # the first price, in scores over the limit
_SWIFT = 0.02  # the most by which the price changes then


class Search(NamedTuple):
    """The state of a search; `advance` goes on from it."""

    path: Path
    neighbours: NDArray[np.int32]
    """[N, K] nearest first"""
    ways: NDArray[np.float64]
    """[N, K] the distances to them"""
    plan: NDArray[np.float64]
    """[7] iterations planned in all; first and last temperature; the price of a unit of length; the limit; the share of it by
    which a path may be too long at first; the length that no path exceeds at present."""
    strings: NDArray[np.int64]
    """[2] the longest string, and how many strings at the most, that are removed."""
    best: NDArray[np.int32]
    """[N] `after` of the best path so far."""
    record: NDArray[np.float64]
    """[2] its length and score."""
    counts: NDArray[np.int64]
    """[2] iterations done, the present stamp."""
    stamps: NDArray[np.int64]
    """[N] the stamp of a node that is among the candidates."""
    candidates: NDArray[np.int32]
    """[CANDIDATES]"""
    keys: NDArray[np.float64]
    """[CANDIDATES] by which they are sorted, least first."""
    random: NDArray[np.uint64]
    """[1]"""


def new_search(path: Path, neighbours: NDArray[np.int32], random: NDArray[np.uint64]) -> Search:
    """A search that begins with `path`; fill `plan` and `strings`."""
    n = len(path.scores)
    ways = np.empty(neighbours.shape)
    _measure(path.metric, neighbours, ways)
    return Search(
        path,
        neighbours,
        ways,
        np.zeros(7),
        np.array([10, 3]),
        path.after.copy(),
        path.sums.copy(),
        np.zeros(2, np.int64),
        np.zeros(n, np.int64),
        np.zeros(CANDIDATES, np.int32),
        np.zeros(CANDIDATES),
        random,
    )


@kernel
def _measure(metric, neighbours, ways):
    """Fill in the distances to the neighbours."""
    for node in range(len(neighbours)):
        for k in range(neighbours.shape[1]):
            ways[node, k] = distance(metric, node, neighbours[node, k])


@kernel
def advance(search, steps):
    """Make `steps` steps; the temperature falls geometrically over the iterations that are planned."""
    path, plan, random = search.path, search.plan, search.random
    temperature = 0.0
    every = max(1, int(min(float(_EVERY), plan[PLANNED] / _LOOKS)))
    for step in range(steps):
        done = search.counts[ITERATION]
        if step == 0 or done % every == 0:
            share = min(1.0, (done - done % every) / max(1.0, plan[PLANNED]))  # whatever the chunk
            temperature = geometric(plan[_HOT], plan[_COLD], share)
        if done % every == 0:
            _steer(search)
            plan[_CAP] = plan[_LIMIT] * (1.0 + plan[_EXCESS] * max(0.0, 1.0 - share / _STRICT))
        search.counts[ITERATION] += 1
        length, score = path.sums[LENGTH], path.sums[SCORE]
        price = plan[PRICE]
        path.noted[0] = 0
        count = _ruin(search)
        _recreate(search, count, price)
        gain = path.sums[SCORE] - score - price * (path.sums[LENGTH] - length)
        late = length > plan[_CAP] and path.sums[LENGTH] < length  # it has to get shorter, whatever it costs
        if gain < 0.0 and not late and -gain > allowance(temperature, random):
            undo(path, length, score)
        elif path.sums[SCORE] > MORE * search.record[SCORE] and path.sums[LENGTH] <= plan[_LIMIT]:
            # of paths alike the first, whatever is reported when
            copy(path.sums, search.record, len(search.record))
            copy(path.after, search.best, len(search.best))


@kernel(borrow=True)
def _steer(search):
    """Change the price of length so that the path comes to use all of the limit and no more; nothing has one until it does."""
    plan, path = search.plan, search.path
    used = path.sums[LENGTH] / plan[_LIMIT]
    if plan[PRICE] > 0.0:
        plan[PRICE] *= 1.0 + min(_SWIFT, max(-_SWIFT, used - 1.0))
    elif used > 1.0:
        plan[PRICE] = _FIRST * path.sums[SCORE] / plan[_LIMIT]


@kernel(borrow=True)
def _ruin(search):
    """Remove strings near a random seed; returns how many candidates for insertion there are: these, and others near by."""
    path, random, candidates = search.path, search.random, search.candidates
    inner = len(path.scores) - 2
    seed = 1 + below(random, inner)
    strings, longest = 1 + below(random, search.strings[1]), search.strings[0]
    search.counts[_STAMP] += 1
    stamp, count = search.counts[_STAMP], 0
    for k in range(-1, search.neighbours.shape[1]):
        node = seed if k < 0 else search.neighbours[seed, k]
        if node == 0 or node == inner + 1 or search.stamps[node] == stamp:
            continue
        if path.on[node]:
            if strings == 0:
                continue
            strings -= 1
            count = _remove_string(search, node, 1 + below(random, longest), count)
        elif count < CANDIDATES // 2:
            search.stamps[node] = stamp
            candidates[count] = node
            count += 1
    removed = path.noted[0]
    for k in range(removed):
        node = path.journal[k, 0]
        for _ in range(2):
            if count == CANDIDATES:
                return count
            near = search.neighbours[node, below(random, search.neighbours.shape[1])]
            if not path.on[near] and search.stamps[near] != stamp:
                search.stamps[near] = stamp
                candidates[count] = near
                count += 1
    return count


@kernel(borrow=True)
def _remove_string(search, node, size, count):
    """Remove up to `size` nodes in a row, `node` among them; they become candidates. Returns how many there are then."""
    path, random = search.path, search.random
    last = len(path.scores) - 1
    first = node
    for _ in range(below(random, size)):
        if path.before[first] == 0:
            break
        first = path.before[first]
    while size > 0 and first != last and count < CANDIDATES:
        following = path.after[first]
        remove(path, first)
        search.stamps[first] = search.counts[_STAMP]
        search.candidates[count] = first
        count += 1
        size -= 1
        first = following
    return count


@kernel(borrow=True)
def _recreate(search, count, price):
    """Insert candidates in one of four orders, if their scores justify the detour and the limit allows it."""
    path, random, candidates, keys = search.path, search.random, search.candidates, search.keys
    order = below(random, 4)
    for k in range(count):
        node = candidates[k]
        if order == 0:
            keys[k] = uniform(random)
        elif order == 1:
            keys[k] = -path.scores[node]
        elif order == 2:
            keys[k] = -path.scores[node] * (0.5 + uniform(random))
        else:
            keys[k] = _cheapest(search, node)[0] / path.scores[node]
    sort_pairs(keys, candidates, count)
    for k in range(count):
        node = candidates[k]
        cost, behind = _cheapest(search, node)
        if path.sums[LENGTH] + cost <= search.plan[_CAP] and path.scores[node] >= price * cost:
            insert(path, node, behind)


@kernel(borrow=True)
def _cheapest(search, node):
    """The least detour to a node beside one of its neighbours, with blinks, and its predecessor there.

    Now and then, if none of the neighbours is on the path, the whole path is examined.
    """
    path, random = search.path, search.random
    least, place, last = _FAR, 0, len(path.scores) - 1
    bits = next_u64(random)
    for k in range(search.neighbours.shape[1]):
        near = search.neighbours[node, k]
        if not path.on[near]:
            continue
        if bits < np.uint64(2**20):
            bits = next_u64(random)
        if bits % np.uint64(_BLINK) == 0:
            bits = next_u64(random)
            continue
        bits >>= np.uint64(1)
        way = search.ways[node, k]
        if near != last and 2.0 * (way - path.ahead[near]) < least:  # no detour is less, by the triangle inequality
            detour = way + distance(path.metric, node, path.after[near]) - path.ahead[near]
            if detour < least:
                least, place = detour, near
        if near == 0:
            continue
        behind = path.before[near]
        if 2.0 * (way - path.ahead[behind]) < least:
            detour = way + distance(path.metric, node, behind) - path.ahead[behind]
            if detour < least:
                least, place = detour, behind
    if least == _FAR and below(random, 8) == 0:
        at = 0
        while at != last:
            following = path.after[at]
            detour = distance(path.metric, at, node) + distance(path.metric, node, following) - path.ahead[at]
            if detour < least:
                least, place = detour, at
            at = following
    return least, place

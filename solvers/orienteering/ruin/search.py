"""Ruin and recreate on a path with a limit: kernels of `RuinRecreate`.

After J. Christiaens and G. Vanden Berghe, Slack induction by string removals for vehicle routing problems, Transportation
Science 54, 2020. An iteration removes strings (consecutive nodes) near a random node, the seed: this is the ruin. Recreate
inserts these and other nearby nodes one by one, in one of four orders, each at its cheapest position next to a neighbour; a few
positions are skipped at random ("blinks"). Simulated annealing accepts or rejects the candidate.

The value of a path is its score minus a charge for its length, so that a detour in one place can be exchanged for a detour
elsewhere, even in a later iteration. Length beyond the limit costs more than length up to it. With one price for both, the paths
of largest value may be far shorter and far longer than the limit, and the search then keeps to a short one while it cools. At
first the path may exceed the limit by some share, which falls to 0 in the course of the search. The path can then visit a new
part of the plane before it gives up another, and the results of different runs differ less.

Now and then 2-opt and or-opt moves shorten the path (shortening.py), and nodes that still fit are inserted.
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
from corl.rng import below, uniform
from corl.routing.metric import distance
from corl.solvers.orienteering.ruin.path import LENGTH, SCORE, Path, insert, remove, undo
from corl.solvers.orienteering.ruin.polishing import polish
from corl.solvers.orienteering.ruin.positions import cheapest
from corl.solvers.orienteering.ruin.shortening import Order, new_order

__all__ = ["BETTER", "CANDIDATES", "ITERATION", "PLANNED", "PRICE", "PathSearch", "advance", "new_search"]

BETTER = 1.0 + 1e-9  # a score is better than another if it exceeds this factor times the other; smaller gains are rounding
CANDIDATES = 64  # greatest number of nodes that an iteration may insert
PLANNED, _FIRST_TEMPERATURE, _LAST_TEMPERATURE, PRICE, _LIMIT, _EXCESS, _LENGTH_CAP, _KINK = range(8)  # indices of `schedule`
ITERATION, _STAMP = range(2)  # indices of `counts`
_MAX_UPDATE_PERIOD = 64  # greatest number of iterations between two updates of temperature and price
_MIN_UPDATES = 32  # least number of such updates
_EXCESS_SHARE = 0.9  # share of the iterations after which no path may exceed the limit
_POLISHING_PERIOD = 5  # iterations per node between two calls of `polish`
_INITIAL_PRICE = 0.5  # the first price of a unit of length, in units of score / limit
_MAX_PRICE_CHANGE = 0.02  # the greatest relative change of the price in one update


class PathSearch(NamedTuple):
    """The state of a search, from which `advance` continues."""

    path: Path
    """The current path."""
    neighbours: NDArray[np.int32]
    """[N, K] the nearest other nodes of each node, nearest first."""
    lengths: NDArray[np.float64]
    """[N, K] the distances to these neighbours."""
    schedule: NDArray[np.float64]
    """[8] planned iterations; first temperature; last temperature; price of a unit of length; limit of the length; share by which
    a path may exceed the limit at first; length that no path may exceed now; kink, by which the price is multiplied beyond the
    limit and divided up to it.
    """
    strings: NDArray[np.int64]
    """[2] the greatest number of nodes of a string, and the greatest number of strings that an iteration removes."""
    best: NDArray[np.int32]
    """[N] the best path so far, as `Path.after`: the next node of each node."""
    best_sums: NDArray[np.float64]
    """[2] the length and the score of the best path."""
    order: Order
    """Work space for shortening the path."""
    counts: NDArray[np.int64]
    """[2] the number of iterations done, and the stamp of the current iteration."""
    stamps: NDArray[np.int64]
    """[N] the stamp of the last iteration in which the node was a candidate."""
    candidates: NDArray[np.int32]
    """[CANDIDATES] the nodes that may be inserted in this iteration."""
    keys: NDArray[np.float64]
    """[CANDIDATES] the sort keys of the candidates; the least is inserted first."""
    random: NDArray[np.uint64]
    """[1] the state of the random number generator (corl.rng)."""


def new_search(path: Path, neighbours: NDArray[np.int32], random: NDArray[np.uint64]) -> PathSearch:
    """Return a search that begins with `path`. The caller must fill `schedule` and `strings`."""
    n = len(path.scores)
    lengths = np.empty(neighbours.shape)
    _measure(path.metric, neighbours, lengths)
    return PathSearch(
        path,
        neighbours,
        lengths,
        np.zeros(8),
        np.array([10, 3]),
        path.after.copy(),
        path.sums.copy(),
        new_order(n),
        np.zeros(2, np.int64),
        np.zeros(n, np.int64),
        np.zeros(CANDIDATES, np.int32),
        np.zeros(CANDIDATES),
        random,
    )


@kernel
def _measure(metric, neighbours, lengths):
    """Write the distances to the neighbours, int32 [N, K], to `lengths`, float64 [N, K], in place."""
    for node in range(len(neighbours)):
        for k in range(neighbours.shape[1]):
            lengths[node, k] = distance(metric, node, neighbours[node, k])


@kernel
def advance(search, steps):
    """Make `steps` iterations, in place. The temperature falls geometrically over the planned iterations."""
    path, schedule, random = search.path, search.schedule, search.random
    temperature = 0.0
    update_period = max(1, int(min(float(_MAX_UPDATE_PERIOD), schedule[PLANNED] / _MIN_UPDATES)))
    polishing_period = _POLISHING_PERIOD * len(path.scores)
    for step in range(steps):
        done = search.counts[ITERATION]
        if step == 0 or done % update_period == 0:
            share = min(1.0, (done - done % update_period) / max(1.0, schedule[PLANNED]))  # the same wherever a call begins
            temperature = geometric(schedule[_FIRST_TEMPERATURE], schedule[_LAST_TEMPERATURE], share)
        if done % update_period == 0:
            if share < _EXCESS_SHARE:
                _adjust_price(search)
            schedule[_LENGTH_CAP] = schedule[_LIMIT] * (1.0 + schedule[_EXCESS] * max(0.0, 1.0 - share / _EXCESS_SHARE))
        if done % polishing_period == 0:
            polish(search, schedule[_LIMIT])
            _keep_best(search)
        search.counts[ITERATION] += 1
        length, score = path.sums[LENGTH], path.sums[SCORE]
        price = schedule[PRICE]
        path.noted[0] = 0
        count = _ruin(search)
        _recreate(search, count, price)
        gain = path.sums[SCORE] - score - price * (_charge(schedule, path.sums[LENGTH]) - _charge(schedule, length))
        # A path that is too long now is replaced by any shorter candidate.
        shortens_excess = length > schedule[_LENGTH_CAP] and path.sums[LENGTH] < length
        if gain < 0.0 and not shortens_excess and -gain > allowance(temperature, random):
            undo(path, length, score)
        else:
            _keep_best(search)


@kernel(inline=True, borrow=True)
def _keep_best(search):
    """Make the current path the best path, in place, if it scores more and is not too long."""
    path = search.path
    if path.sums[SCORE] > BETTER * search.best_sums[SCORE] and path.sums[LENGTH] <= search.schedule[_LIMIT]:
        # Of paths with equal scores the first one is kept: the result does not depend on when paths are reported.
        copy(path.sums, search.best_sums, len(search.best_sums))
        copy(path.after, search.best, len(search.best))


@kernel(inline=True, borrow=True)
def _charge(schedule, length):
    """Return the charge for the length of a path, in prices: the slope is 1 / kink up to the limit, and kink beyond it."""
    limit, kink = schedule[_LIMIT], schedule[_KINK]
    return length / kink if length <= limit else limit / kink + (length - limit) * kink


@kernel(borrow=True)
def _adjust_price(search):
    """Adjust the price of length so that the path's length approaches the limit.

    The price is 0 until a path exceeds the limit.
    """
    schedule, path = search.schedule, search.path
    used = path.sums[LENGTH] / schedule[_LIMIT]
    if schedule[PRICE] > 0.0:
        schedule[PRICE] *= 1.0 + min(_MAX_PRICE_CHANGE, max(-_MAX_PRICE_CHANGE, used - 1.0))
    elif used > 1.0:
        schedule[PRICE] = _INITIAL_PRICE * path.sums[SCORE] / schedule[_LIMIT]


@kernel(borrow=True)
def _ruin(search):
    """Remove strings near a random node, in place; return the number of candidates.

    The candidates are the removed nodes and other nodes nearby; they are written to `search.candidates`.
    """
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
    """Remove up to `size` consecutive nodes, `node` included, and append them to the candidates; return the number of candidates.

    count: The number of candidates before.
    """
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
    """Insert each of `count` candidates, if its score is at least the price of its detour and the path does not become too long.

    Candidates are inserted in an order chosen at random: random, by score, by score with noise, or by detour per score.
    """
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
            keys[k] = cheapest(search, node)[0] / path.scores[node]
    sort_pairs(keys, candidates, count)
    for k in range(count):
        node = candidates[k]
        cost, predecessor = cheapest(search, node)
        length = path.sums[LENGTH]
        if length + cost > search.schedule[_LENGTH_CAP]:
            continue
        if path.scores[node] >= price * (_charge(search.schedule, length + cost) - _charge(search.schedule, length)):
            insert(path, node, predecessor)

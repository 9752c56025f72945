"""The Held-Karp 1-tree bound (Held & Karp, Operations Research 18, 1970; Mathematical Programming 1, 1971).

For any penalties pi of the cities, take the minimum 1-tree under the weights distance(i, j) + pi[i] + pi[j]. Its weight minus
twice the sum of pi is at most the length of any tour. Good penalties are found by subgradient ascent on the sparse graph of
neighbours (update rule: Helsgaun, EJOR 126, 2000, section 4). The 1-tree of the complete graph then proves the bound.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.copy import copy
from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import EXPLICIT, Metric, distance
from corl.run import Run
from corl.solvers.tsp.construction.kernels import candidate_edges, greedy_edge
from corl.solvers.tsp.held_karp.complete_tree import boxes, fit, forest, grow, prim
from corl.solvers.tsp.held_karp.sparse_tree import sparse_tree
from corl.solvers.tsp.tours.renumbering import along_curve, inverse

__all__ = ["complete_tree", "held_karp_bound"]

_LONG_STEP_ITERATIONS = 1000  # from this many iterations on, a long first step is better (clustered instances need it)
_LONG_STEP, _SHORT_STEP = 1.0, 0.3  # the first step, in typical edge lengths (tuned on TSPLIB, uniform 1000 and 10,000)
_ASCENTS = ((50_000, 4), (300_000, 2))  # (cities, number of ascents up to that size), each with a proof; one for larger sizes
_PRIM_CITIES = 20  # cities up to which Prim's algorithm is as fast as the tree of boxes
_DISTANCES_PER_CHECK = 2_000_000  # distances computed between two checks of the time limit: about 20 ms
_DISTANCES_PER_SEARCH = 200  # roughly the greatest number of distances that one search in the tree of boxes computes


def held_karp_bound(
    instance: TspInstance,
    metric: Metric,
    neighbours: NDArray[np.int32],
    lengths: NDArray[np.float64],
    run: Run,
    *,
    seconds: float | None = None,
    iterations: int | None = None,
) -> float | None:
    """Return a proven lower bound on the length of any tour of a symmetric instance; None if `run` ended before one was found.

    It is typically 0.7 to 0.8 % below the optimum. Distances may be negative; if they are integral, so is the bound.
    Memory: O(n K).

    Args:
        instance: The instance.
        metric: Its metric, in a numbering of the cities that may differ from the instance's.
        neighbours: int32 [n, K], candidate neighbours in the metric's numbering.
        lengths: float64 [n, K], the distances to them.
        run: The run whose limits end the computation.
        seconds: Roughly the time limit of the ascent; ignored if the run is limited in iterations.
        iterations: The number of steps of the ascent; None: 6,000,000 / n, but 20 to 2000.
    """
    n = len(neighbours)
    if n < 4:
        cities = np.arange(n, dtype=np.int32)
        return float(_distances(metric, cities, (cities + 1) % n).sum()) if n > 1 else 0.0  # there is only one tour
    if run.iterations is not None:
        seconds = None
    until = math.inf if seconds is None else time.perf_counter() + seconds
    if metric.kind != EXPLICIT:
        metric, neighbours, lengths = _in_space_order(metric, neighbours, lengths)
    u, v, d = candidate_edges(neighbours, lengths)
    tour = greedy_edge(metric, neighbours, lengths)  # a tour in the graph limits the ascent's bound
    u, v, d = _with_edges(metric, u, v, d, np.stack((tour, np.roll(tour, -1)), 1))
    total = max(20, min(2000, 6_000_000 // n)) if iterations is None else iterations
    step = _typical(lengths) * (_LONG_STEP if total >= _LONG_STEP_ITERATIONS else _SHORT_STEP)
    ascents = next((c for most, c in _ASCENTS if n <= most), 1)
    pi, bound = np.zeros(n), None
    for ascent in range(ascents):  # each on the sparse graph plus the edges of the trees that proved earlier bounds
        pi = _ascent(u, v, d, pi, step, total // ascents, (until - time.perf_counter()) / (ascents - ascent), run)
        tree = complete_tree(metric, pi, u, v, d, run)
        if tree is None:
            break
        proven = _one_tree_bound(metric, pi, tree, instance.integral)
        bound = proven if bound is None else max(bound, proven)
        if ascent < ascents - 1:
            u, v, d = _with_edges(metric, u, v, d, tree)
    return bound


def _in_space_order(metric: Metric, neighbours: NDArray, lengths: NDArray) -> tuple[Metric, NDArray, NDArray]:
    """Return the three arguments with cities renumbered along a space-filling curve, as the tree of boxes requires."""
    order, metric = along_curve(metric)
    return metric, inverse(order)[neighbours[order]], lengths[order]


def _typical(lengths: NDArray[np.float64]) -> float:
    """Return the unit of step lengths: the mean difference between a city's distances to its fifth and its nearest neighbour."""
    spread = float(np.mean(lengths[:, min(4, lengths.shape[1] - 1)] - lengths[:, 0]))
    return spread if spread > 0 else float(np.mean(np.abs(lengths[:, 0])))


def _with_edges(metric: Metric, u: NDArray, v: NDArray, d: NDArray, tree: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Return the sparse graph, edges (u, v) of lengths d, with the edges of a tree or a tour, int32 `tree` [m, 2], added."""
    small, large = tree.min(1).astype(np.int64), tree.max(1).astype(np.int64)
    n = int(large.max()) + 1
    old_edges = np.minimum(u, v).astype(np.int64) * n + np.maximum(u, v)
    is_new = ~np.isin(small * n + large, old_edges)
    small, large = small[is_new].astype(np.int32), large[is_new].astype(np.int32)
    return np.append(u, small), np.append(v, large), np.append(d, _distances(metric, small, large))


# ---------------------------------------------------------------- the ascent
def _ascent(
    u: NDArray, v: NDArray, d: NDArray, pi: NDArray, step: float, total: int, seconds: float, run: Run
) -> NDArray[np.float64]:
    """Do a subgradient ascent from the penalties `pi` on a connected sparse graph; return the best penalties found, float64 [n].

    The length of step k of M is step * (1 - k / M)^2. M is `total`, or fewer if `seconds` do not suffice.

    Args:
        u: int32 [m], first ends of the edges.
        v: int32 [m], second ends.
        d: float64 [m], their lengths.
        pi: float64 [n], the initial penalties.
        step: The first step length, in units of distance.
        total: The greatest number of steps.
        seconds: The time limit; may be infinite.
        run: The run whose limits end the ascent.
    """
    n, m = len(pi), len(u)
    current_pi, best_pi = pi.copy(), pi.copy()
    before = np.zeros(n, np.int32)
    best = np.array([-np.inf])
    scratch = np.empty(m, np.int32), np.empty(m, np.int32), np.empty(m), np.empty(n, np.int32), np.empty(n, np.int32)
    started, k, chunk, most_steps = time.perf_counter(), 0, max(1, _DISTANCES_PER_CHECK // (20 * m)), total
    while k < total and not run.should_stop:
        more = min(chunk, total - k)
        _ascend(u, v, d, current_pi, before, best, best_pi, step, k, more, total, *scratch)
        k += more
        if seconds < math.inf:
            total = min(most_steps, max(k, int(k * seconds / (time.perf_counter() - started))))
    return best_pi


@kernel
def _ascend(
    u: NDArray[np.int32],
    v: NDArray[np.int32],
    d: NDArray[np.float64],
    pi: NDArray[np.float64],
    before: NDArray[np.int32],
    best: NDArray[np.float64],
    best_pi: NDArray[np.float64],
    step: float,
    first: int,
    more: int,
    total: int,
    edge_u: NDArray[np.int32],
    edge_v: NDArray[np.int32],
    edge_w: NDArray[np.float64],
    scratch: NDArray[np.int32],
    name: NDArray[np.int32],
) -> None:
    """Do steps `first` to `first` + `more` - 1 of an ascent of `total` steps, in place.

    Args:
        u: int32 [m], first ends of the edges.
        v: int32 [m], second ends.
        d: float64 [m], their distances.
        pi: float64 [n], the current penalties.
        before: int32 [n], the previous subgradient (degree - 2).
        best: float64 [1], the best bound on the sparse graph.
        best_pi: float64 [n], the penalties of the best bound.
        step: The first step length, in units of distance.
        first: The number of the first step.
        more: The number of steps.
        total: The number of steps of the whole ascent.
        edge_u: int32 [m], work array of `sparse_tree`, overwritten.
        edge_v: int32 [m], work array, overwritten.
        edge_w: float64 [m], work array, overwritten.
        scratch: int32 [n], work array, overwritten.
        name: int32 [n], work array, overwritten.
    """
    n = len(pi)
    degree = np.empty(n, np.int32)
    for k in range(first, first + more):
        weight = sparse_tree(u, v, d, pi, edge_u, edge_v, edge_w, scratch, name, degree) - 2.0 * pi.sum()
        if weight > best[0]:
            best[0] = weight
            copy(pi, best_pi, n)
        t = step * (1.0 - k / total) ** 2
        for i in range(n):
            pi[i] += t * (0.7 * (degree[i] - 2) + 0.3 * before[i])
            before[i] = degree[i] - 2


# ---------------------------------------------------------------- the proof
def complete_tree(
    metric: Metric, pi: NDArray[np.float64], u: NDArray, v: NDArray, d: NDArray[np.float64], run: Run
) -> NDArray[np.int32] | None:
    """Return the edges, int32 [n - 1, 2], of a minimum spanning tree of the complete graph under penalties `pi`.

    Returns None if `run` ended first. Points must be in the order of a space-filling curve. The sparse graph, edges (u, v) of
    lengths d, only makes the search faster.
    """
    n = len(pi)
    if metric.kind == EXPLICIT or n <= _PRIM_CITIES:
        edges, count = np.empty((n - 1, 2), np.int32), np.zeros(2, np.int64)
        closest, parent = np.full(n, np.inf), np.full(n, -1, np.int32)
        while not prim(metric, pi, closest, parent, edges, count, max(1, _DISTANCES_PER_CHECK // n)):
            if run.should_stop:
                return None
        return edges
    tree, state = boxes(n), forest(n)
    fit(tree, metric.points, pi)
    slack = 1e-12 * (float(np.abs(pi).max()) + float(np.abs(metric.points).max()) + 1.0)
    while not grow(metric, tree, pi, u, v, d, state, slack, _DISTANCES_PER_CHECK // _DISTANCES_PER_SEARCH):
        if run.should_stop:
            return None
    return state.edges


def _one_tree_bound(metric: Metric, pi: NDArray[np.float64], tree: NDArray[np.int32], integral: bool) -> float:
    """Return the weight of a 1-tree minus 2 sum(pi) and possible rounding errors; rounded up if distances are integral.

    The 1-tree is a minimum spanning tree, int32 `tree` [n - 1, 2], plus one edge: the second shortest edge of a leaf of the tree.
    Every leaf gives a valid bound. Among a few leaves (`_remote`), the one with the longest second shortest edge is taken.
    """
    n = len(pi)
    lengths = _distances(metric, *np.ascontiguousarray(tree.T))
    leaves = np.flatnonzero(np.bincount(tree.ravel(), minlength=n) == 1)
    extra = max(_second(metric, pi, leaf) for leaf in _remote(tree, leaves, lengths + pi[tree].sum(1)))
    terms = np.concatenate((lengths, pi[tree[:, 0]], pi[tree[:, 1]], [extra], -2.0 * pi))
    error = 1e-13 * float(np.abs(terms).sum()) + 1e-12 * (1.0 + float(np.abs(pi).max()))
    bound = math.fsum(terms) - error
    return float(math.ceil(bound - 1e-6)) if integral else bound


def _remote(tree: NDArray[np.int32], leaves: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return up to ten `leaves` with the heaviest edges, whose second shortest edges are probably the longest."""
    of_leaf = np.full(len(tree) + 1, -np.inf)
    of_leaf[tree[:, 0]] = weights
    of_leaf[tree[:, 1]] = np.maximum(of_leaf[tree[:, 1]], weights)
    return leaves[np.argsort(-of_leaf[leaves], kind="stable")[:10]]


def _second(metric: Metric, pi: NDArray[np.float64], i: int) -> float:
    """Return the weight of the second lightest edge at city i in the complete graph."""
    others = np.delete(np.arange(len(pi), dtype=np.int32), i)
    weights = _distances(metric, np.full_like(others, i), others) + (pi[i] + pi[others])
    return float(np.partition(weights, 1)[1])


@kernel
def _distances(metric: Metric, i: NDArray[np.integer], j: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the distances from city i[k] to city j[k], float64 [m]."""
    out = np.empty(len(i))
    for k in range(len(i)):
        out[k] = distance(metric, i[k], j[k])
    return out

"""The Held-Karp 1-tree bound (Held & Karp, Operations Research 18, 1970; Mathematical Programming 1, 1971).

For any penalties pi, the weight of a minimum 1-tree under distance(i, j) + pi[i] + pi[j], minus twice the sum of pi, is at most
the length of any tour. Good penalties are found by subgradient ascent on the sparse graph of neighbours (update rule: Helsgaun,
EJOR 126, 2000, section 4); the bound returned is then proven on the complete graph.
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
from corl.solvers.tsp.construction.kernels import greedy_edge
from corl.solvers.tsp.held_karp.complete_tree import boxes, fit, forest, grow, prim
from corl.solvers.tsp.held_karp.sparse_tree import sparse_edges, sparse_tree
from corl.solvers.tsp.tours.renumbering import along_curve, inverse

__all__ = ["complete_tree", "held_karp_bound"]

_ENOUGH = 1000  # iterations from which long first steps are better (clustered instances need them)
_STEP, _SHORT_STEP = 1.0, 0.3  # the first step, in typical edge lengths (tuned on TSPLIB, uniform 1000 and 10,000)
_CLIMBS = ((50_000, 4), (300_000, 2))  # (cities, number of climbs up to that size), each with a proof; one climb beyond
_PRIM_MOST = 20  # cities up to which Prim's algorithm is as fast as the tree of boxes
_CHUNK = 2_000_000  # distances computed between two readings of the clock, about 20 ms
_SEARCH = 200  # distances that a search in the boxes computes, at most about


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
        lengths: float64 [n, K], their distances.
        run: Its limits.
        seconds: Roughly the time limit of the ascent; a run counted in iterations ignores it.
        iterations: Of the ascent; None: 2000, decreasing to 20 with n.
    """
    n = len(neighbours)
    if n < 4:
        around = np.arange(n)
        return float(_distances(metric, around, (around + 1) % n).sum()) if n > 1 else 0.0  # every tour is this one
    if run.iterations is not None:
        seconds = None
    until = math.inf if seconds is None else time.perf_counter() + seconds
    if metric.kind != EXPLICIT:
        metric, neighbours, lengths = _in_space_order(metric, neighbours, lengths)
    u, v, d = sparse_edges(neighbours, lengths)
    tour = greedy_edge(metric, neighbours, lengths)  # with a tour in the graph the ascent has an end
    u, v, d = _with_edges(metric, u, v, d, np.stack((tour, np.roll(tour, -1)), 1))
    total = max(20, min(2000, 6_000_000 // n)) if iterations is None else iterations
    step = _typical(lengths) * (_STEP if total >= _ENOUGH else _SHORT_STEP)
    climbs = next((c for most, c in _CLIMBS if n <= most), 1)
    pi, bound = np.zeros(n), None
    for climb in range(climbs):  # each includes the edges that earlier proofs found outside the sparse graph
        pi = _climb(u, v, d, pi, step, total // climbs, (until - time.perf_counter()) / (climbs - climb), run)
        tree = complete_tree(metric, pi, u, v, d, run)
        if tree is None:
            break
        proven = _one_tree_bound(metric, pi, tree, instance.integral)
        bound = proven if bound is None else max(bound, proven)
        if climb < climbs - 1:
            u, v, d = _with_edges(metric, u, v, d, tree)
    return bound


def _in_space_order(metric: Metric, neighbours: NDArray, lengths: NDArray) -> tuple[Metric, NDArray, NDArray]:
    """Return the arguments with cities renumbered along a space-filling curve, as the tree of boxes requires."""
    order, metric = along_curve(metric)
    return metric, inverse(order)[neighbours[order]], lengths[order]


def _typical(lengths: NDArray[np.float64]) -> float:
    """Return a scale for steps: the mean difference between a city's distances to its fifth and to its nearest neighbour."""
    spread = float(np.mean(lengths[:, min(4, lengths.shape[1] - 1)] - lengths[:, 0]))
    return spread if spread > 0 else float(np.mean(np.abs(lengths[:, 0])))


def _with_edges(metric: Metric, u: NDArray, v: NDArray, d: NDArray, tree: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Return the sparse graph with the edges (int32 [m, 2]) of a tree or a tour added."""
    small, large = tree.min(1).astype(np.int64), tree.max(1).astype(np.int64)
    n = int(large.max()) + 1
    known = np.minimum(u, v).astype(np.int64) * n + np.maximum(u, v)
    fresh = ~np.isin(small * n + large, known)
    small, large = small[fresh].astype(np.int32), large[fresh].astype(np.int32)
    return np.append(u, small), np.append(v, large), np.append(d, _distances(metric, small, large))


# ---------------------------------------------------------------- the ascent
def _climb(
    u: NDArray, v: NDArray, d: NDArray, pi: NDArray, step: float, total: int, seconds: float, run: Run
) -> NDArray[np.float64]:
    """Do a subgradient ascent from `pi` on a connected sparse graph; return the best penalties found.

    Step k of M is step * (1 - k / M)^2. M is `total`, or fewer if `seconds` do not suffice.
    """
    n, m = len(pi), len(u)
    at, best_pi = pi.copy(), pi.copy()
    before = np.zeros(n, np.int32)
    best = np.array([-np.inf])
    scratch = np.empty(m, np.int32), np.empty(m, np.int32), np.empty(m), np.empty(n, np.int32), np.empty(n, np.int32)
    started, k, chunk, wanted = time.perf_counter(), 0, max(1, _CHUNK // (20 * m)), total
    while k < total and not run.should_stop:
        more = min(chunk, total - k)
        _ascend(u, v, d, at, before, best, best_pi, step, k, more, total, *scratch)
        k += more
        if seconds < math.inf:
            total = min(wanted, max(k, int(k * seconds / (time.perf_counter() - started))))
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
    """Do iterations `first` to `first` + `more` - 1 of `total`, in place.

    Args:
        u: int32 [m], first ends of the edges.
        v: int32 [m], second ends.
        d: float64 [m], their distances.
        pi: float64 [n], the current penalties.
        before: int32 [n], the last subgradient (degree - 2).
        best: float64 [1], the best bound.
        best_pi: float64 [n], its penalties.
        step: The first step length.
        first: The number of the first iteration.
        more: The number of iterations.
        total: Iterations of the whole ascent.
        edge_u: int32 [m], scratch.
        edge_v: int32 [m], scratch.
        edge_w: float64 [m], scratch.
        scratch: int32 [n], scratch.
        name: int32 [n], scratch.
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

    Returns None if `run` ended first. Points must be in space order; the sparse edges u, v, d only make it faster.
    """
    n = len(pi)
    if metric.kind == EXPLICIT or n <= _PRIM_MOST:
        edges, count = np.empty((n - 1, 2), np.int32), np.zeros(2, np.int64)
        closest, parent = np.full(n, np.inf), np.full(n, -1, np.int32)
        while not prim(metric, pi, closest, parent, edges, count, max(1, _CHUNK // n)):
            if run.should_stop:
                return None
        return edges
    tree, state = boxes(n), forest(n)
    fit(tree, metric.points, pi)
    slack = 1e-12 * (float(np.abs(pi).max()) + float(np.abs(metric.points).max()) + 1.0)
    while not grow(metric, tree, pi, u, v, d, state, slack, _CHUNK // _SEARCH):
        if run.should_stop:
            return None
    return state.edges


def _one_tree_bound(metric: Metric, pi: NDArray[np.float64], tree: NDArray[np.int32], integral: bool) -> float:
    """Return the weight of a 1-tree minus 2 sum(pi) and possible rounding errors; rounded up if distances are integral.

    The 1-tree is a minimum spanning tree, int32 tree [n - 1, 2], and the longest second shortest edge of some of its leaves.
    """
    n = len(pi)
    lengths = _distances(metric, tree[:, 0], tree[:, 1])
    leaves = np.flatnonzero(np.bincount(tree.ravel(), minlength=n) == 1)
    extra = max(_second(metric, pi, leaf) for leaf in _remote(tree, leaves, lengths + pi[tree].sum(1)))
    terms = np.concatenate((lengths, pi[tree[:, 0]], pi[tree[:, 1]], [extra], -2.0 * pi))
    error = 1e-13 * float(np.abs(terms).sum()) + 1e-12 * (1.0 + float(np.abs(pi).max()))
    bound = math.fsum(terms) - error
    return float(math.ceil(bound - 1e-6)) if integral else bound


def _remote(tree: NDArray[np.int32], leaves: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return up to ten leaves on the heaviest edges; their second edges are likely the longest, and any leaf gives a bound."""
    of_leaf = np.full(len(tree) + 1, -np.inf)
    of_leaf[tree[:, 0]] = weights
    of_leaf[tree[:, 1]] = np.maximum(of_leaf[tree[:, 1]], weights)
    return leaves[np.argsort(-of_leaf[leaves], kind="stable")[:10]]


@kernel
def _second(metric: Metric, pi: NDArray[np.float64], i: int) -> float:
    """Return the second smallest weight of an edge at city i in the complete graph."""
    first = second = np.inf
    for j in range(len(pi)):
        if j != i:
            w = distance(metric, i, j) + (pi[i] + pi[j])
            first, second = min(first, w), min(second, max(first, w))
    return second


@kernel
def _distances(metric: Metric, i: NDArray[np.integer], j: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the distances from city i[k] to city j[k], float64 [m]."""
    out = np.empty(len(i))
    for k in range(len(i)):
        out[k] = distance(metric, i[k], j[k])
    return out

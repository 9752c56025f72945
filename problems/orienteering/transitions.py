"""The pool of partial paths and its kernels: what `corl.search` calls through `corl.hooks`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl import hooks
from corl.hooks import attach
from corl.jit import kernel
from corl.kernels.sorted_lists import insert_nearest
from corl.problems.orienteering.environments.insertion.insertion import TURNS, plan_anew
from corl.routing.graph_pool import GraphPool, graph_metric
from corl.routing.metric import distance

__all__ = ["State", "reset_rows"]


class State(NamedTuple):
    """The pool. I instances of n nodes each (N at most), R rows."""

    graphs: GraphPool
    scores: NDArray[np.float64]
    """[sum of n]"""
    limit: NDArray[np.float64]
    """[I] with half the judge's tolerance."""
    start: NDArray[np.int64]
    """[I]"""
    end: NDArray[np.int64]
    """[I]"""
    instance: NDArray[np.int32]
    """[R] the row's instance."""
    visited: NDArray[np.int32]
    """[R] how many nodes the path has, the start among them."""
    length: NDArray[np.float64]
    """[R] its length, without the way to the end."""
    order: NDArray[np.int32]
    """[R, N] the path, then the nodes that can still be visited."""
    open: NDArray[np.int32]
    """[R] how many these are."""
    power: NDArray[np.float64]
    """[2] nodes are listed by this power of their score over the distance, and plans filled by that over the detour."""
    plan: NDArray[np.int32]
    """[R, N] the nodes of a plan for the rest of the path, in order; [0, 0] without plans."""
    planned: NDArray[np.int32]
    """[R] how many these are."""


@kernel
def reset_rows(state: Any, rows: Any, instances: Any) -> None:
    """Make each of `rows` the path of the start alone, in instances[i]."""
    for i in range(len(rows)):
        row, instance = rows[i], instances[i]
        state.instance[row], state.visited[row], state.length[row] = instance, 1, 0.0
        order, count = state.order[row], 1
        order[0] = state.start[instance]
        for node in range(state.graphs.size[instance]):
            if node != state.start[instance] and node != state.end[instance]:
                order[count] = node
                count += 1
        state.open[row] = _keep(state, row, order[1:count])


@kernel
def _keep(state: Any, row: Any, nodes: Any) -> Any:
    """Write after the path those of `nodes` (may be there already) from which the end is near enough; return their number."""
    instance, t = state.instance[row], state.visited[row]
    metric, order = graph_metric(state.graphs, instance), state.order[row]
    here, left, end = order[t - 1], state.limit[instance] - state.length[row], state.end[instance]
    kept = 0
    for node in nodes:
        if distance(metric, here, node) + distance(metric, node, end) <= left:
            order[t + kept] = node
            kept += 1
    return kept


@attach(hooks.step, State)
def _step(state: Any, src: Any, dst: Any, action: Any) -> Any:
    """Go to a node that can be visited; the reward is its score."""
    t, count = state.visited[src], state.open[src]
    found = False
    for k in range(t, t + count):
        if state.order[src, k] == action:
            found = True
            break
    if not found:
        return math.nan
    instance = state.instance[src]
    length = state.length[src] + distance(graph_metric(state.graphs, instance), state.order[src, t - 1], action)
    if src != dst:
        state.instance[dst] = instance
        state.order[dst, : t + count] = state.order[src, : t + count]
    order = state.order[dst]
    for k in range(t, t + count):  # the first of the others gives way; what is kept moves to the front below
        if order[k] == action:
            order[k] = order[t]
            order[t] = action
            break
    state.visited[dst], state.length[dst] = t + 1, length
    state.open[dst] = _keep(state, dst, order[t + 1 : t + count])
    if len(state.plan):
        planned = state.planned[src]
        if src != dst:
            state.planned[dst] = planned
            state.plan[dst, :planned] = state.plan[src, :planned]
        plan_anew(state, dst, 1 if planned > 0 and state.plan[dst, 0] == action else 0, TURNS)
    return state.scores[state.graphs.nodes_start[instance] + action]


@attach(hooks.actions, State)
def _actions(state: Any, row: Any, out: Any) -> Any:
    """List the nodes that can be visited by score (to `power`) per distance, highest first; ties by the lower number."""
    instance, t = state.instance[row], state.visited[row]
    metric, first, here = graph_metric(state.graphs, instance), state.graphs.nodes_start[instance], state.order[row, t - 1]
    lengths = np.empty(len(out))
    count = 0
    for node in state.order[row, t : t + state.open[row]]:
        worth = state.scores[first + node]
        if state.power[0] != 1.0:
            worth = worth ** state.power[0]
        worth /= max(1e-12, distance(metric, here, node))
        count = insert_nearest(lengths, out, count, -worth, node)
    return count

"""The pool of partial paths (arrays with a row for each path) and its kernels, which `corl.search` calls through `corl.hooks`.

A partial path begins at the start; a node can be visited if the end can still be reached from it within the limit. In the
environment "insertion", each path also has a plan: a sequence of nodes from its last node to the end.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl import hooks
from corl.hooks import attach
from corl.jit import kernel
from corl.kernels.sorted_lists import insert_nearest
from corl.problems.orienteering.environments.insertion.lookahead import ROUNDS, replan
from corl.routing.graph_pool import GraphPool, graph_metric
from corl.routing.metric import distance

__all__ = ["State", "reset_rows"]


class State(NamedTuple):
    """The pool, with R rows. It has I instances; n is the number of nodes of an instance, N the greatest n."""

    graphs: GraphPool
    """The nodes and distances of all instances."""
    scores: NDArray[np.float64]
    """[sum of n] the scores of the nodes of all instances, one instance after the other."""
    limit: NDArray[np.float64]
    """[I] the limit on the length, with half the judge's tolerance."""
    start: NDArray[np.int64]
    """[I] the first node."""
    end: NDArray[np.int64]
    """[I] the last node."""
    instance: NDArray[np.int32]
    """[R] the index of the row's instance."""
    visited: NDArray[np.int32]
    """[R] the number of nodes on the partial path, the start included."""
    length: NDArray[np.float64]
    """[R] the length of the partial path, without the leg to the end."""
    order: NDArray[np.int32]
    """[R, N] the partial path, then the nodes that can still be visited."""
    reachable: NDArray[np.int32]
    """[R] the number of nodes that can still be visited."""
    power: NDArray[np.float64]
    """[2] exponents of scores. Nodes are listed by score ** power[0] / distance, and inserted into plans by score ** power[1] /
    detour.
    """
    plan: NDArray[np.int32]
    """[R, N] the nodes of the plan, in order, without the end; [0, 0] without plans."""
    planned: NDArray[np.int32]
    """[R] the number of nodes in the plan; [0] without plans."""


@kernel
def reset_rows(state: Any, rows: Any, instances: Any) -> None:
    """Make row rows[i] the partial path of instance instances[i] that consists of the start, in place."""
    for i in range(len(rows)):
        row, instance = rows[i], instances[i]
        state.instance[row], state.visited[row], state.length[row] = instance, 1, 0.0
        order, count = state.order[row], 1
        order[0] = state.start[instance]
        for node in range(state.graphs.size[instance]):
            if node != state.start[instance] and node != state.end[instance]:
                order[count] = node
                count += 1
        state.reachable[row] = _list_reachable(state, row, order[1:count])


@kernel
def _list_reachable(state: Any, row: Any, nodes: Any) -> Any:
    """Write the nodes that can be visited to state.order[row], after the partial path, in place; return their number.

    nodes: int32 [k], the candidates; may be a view of the part of `order` that is written.
    """
    instance, t = state.instance[row], state.visited[row]
    metric, order = graph_metric(state.graphs, instance), state.order[row]
    last_node, length_left, end = order[t - 1], state.limit[instance] - state.length[row], state.end[instance]
    reachable_count = 0
    for node in nodes:
        if distance(metric, last_node, node) + distance(metric, node, end) <= length_left:
            order[t + reachable_count] = node
            reachable_count += 1
    return reachable_count


@attach(hooks.step, State)
def _step(state: Any, src: Any, dst: Any, action: Any) -> Any:
    """Go to a node that can be visited; the reward is the node's score. If rows have plans, the plan is repaired."""
    t, count = state.visited[src], state.reachable[src]
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
    for k in range(t, t + count):  # exchange the chosen node with the node that follows the partial path
        if order[k] == action:
            order[k] = order[t]
            order[t] = action
            break
    state.visited[dst], state.length[dst] = t + 1, length
    state.reachable[dst] = _list_reachable(state, dst, order[t + 1 : t + count])
    if len(state.plan):
        planned = state.planned[src]
        if src != dst:
            state.planned[dst] = planned
            state.plan[dst, :planned] = state.plan[src, :planned]
        replan(state, dst, 1 if planned > 0 and state.plan[dst, 0] == action else 0, ROUNDS)
    return state.scores[state.graphs.nodes_start[instance] + action]


@attach(hooks.actions, State)
def _actions(state: Any, row: Any, out: Any) -> Any:
    """List the nodes that can be visited, the highest score ** power[0] / distance first; of equal nodes, the lower number."""
    instance, t = state.instance[row], state.visited[row]
    metric, first, last_node = graph_metric(state.graphs, instance), state.graphs.nodes_start[instance], state.order[row, t - 1]
    lengths = np.empty(len(out))
    count = 0
    for node in state.order[row, t : t + state.reachable[row]]:
        ratio = state.scores[first + node]
        if state.power[0] != 1.0:
            ratio = ratio ** state.power[0]
        ratio /= max(1e-12, distance(metric, last_node, node))
        count = insert_nearest(lengths, out, count, -ratio, node)
    return count

"""Clusters of clients: one route serves a cluster, in a row if the cluster asks for it.

Sevaux & Sörensen, Hamiltonian paths in large clustered routing problems, EU/MEeting 2008, introduced the problem. Positions that
would divide a cluster are refused in constant time. A client whose cluster is served in part is inserted beside the other clients
of the cluster. The clients of a cluster are inserted one after another, and half of the ruins remove whole clusters: the
neighbourhoods of Hintsch & Irnich, Large multiple neighborhood search for the clustered vehicle-routing problem, EJOR 270 (2018),
move whole clusters, too. A slot is a place for one route (state.py).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from corl.jit import kernel
from corl.rng import below
from corl.solvers.vrp.ruin.constraint_tables import LOADS
from corl.solvers.vrp.ruin.state import REMOVED

__all__ = ["count_cluster", "cuts_cluster", "joins_cluster", "keep_together", "keeps_clusters", "mark_cuts", "removes_clusters"]

_WHOLE_PERIOD = 2  # one in so many ruins of a route removes the clusters that it touches as a whole


@kernel(inline=True, borrow=True)
def joins_cluster(plan, rules, client):
    """Return whether some other client of the client's cluster is served."""
    if not rules.structure.has_clusters:
        return False
    cluster = rules.structure.cluster[client]
    return cluster >= 0 and plan.segments.structure.served[cluster] > 0


@kernel(inline=True, borrow=True)
def cuts_cluster(plan, rules, node):
    """Return whether a cut of a route after a node would divide a cluster."""
    return rules.structure.has_clusters and plan.segments.structure.cut[node] > 0


@kernel(inline=True, borrow=True)
def keeps_clusters(data, plan, rules, client, node, successor, slot):
    """Return whether clusters allow an unserved client between `node` and `successor`, two nodes of a route."""
    if not rules.structure.has_clusters:
        return True
    return _keeps(data, plan, rules, client, node, successor, slot)


@kernel(borrow=True, shared=True)
def _keeps(data, plan, rules, client, node, successor, slot):
    """Return the result of `keeps_clusters` if there are clusters."""
    structure = rules.structure
    own, before, after = structure.cluster[client], -1, -1
    if node < data.clients:
        before = structure.cluster[node]
    if successor < data.clients:
        after = structure.cluster[successor]
    if before >= 0 and before == after and before != own and structure.in_a_row[before]:
        return False
    if own < 0:
        return True
    if plan.segments.structure.served[own] == 0:
        return _has_room(plan, rules, own, node, successor, slot)
    if structure.in_a_row[own]:
        return before == own or after == own
    return slot == cluster_slot(plan, rules, own)


@kernel(borrow=True)
def cluster_slot(plan, rules, cluster):
    """Return the slot of the route that serves a cluster; -1 if no client of the cluster is served."""
    structure = rules.structure
    for k in range(structure.member_start[cluster], structure.member_start[cluster + 1]):
        slot = plan.route[structure.members[k]]
        if slot >= 0:
            return slot
    return -1


@kernel(borrow=True)
def _has_room(plan, rules, cluster, node, successor, slot):
    """Return whether the demand of a whole cluster fits into a route, of which no client is served; True with reloads."""
    if rules.multi_trip:
        return True
    head, tail, kind = plan.segments.head, plan.segments.tail, plan.type[slot]
    for q in range(rules.dimensions):
        column = LOADS + 3 * q
        load = head[node, column] + tail[successor, column] + rules.initial_load[kind, q]
        if load + rules.structure.cluster_demand[cluster, q] > rules.capacity[kind, q]:
            return False
    return True


@kernel(inline=True, borrow=True)
def count_cluster(plan, rules, client, change):
    """Add `change` to the number of served clients of the client's cluster."""
    if rules.structure.has_clusters and rules.structure.cluster[client] >= 0:
        plan.segments.structure.served[rules.structure.cluster[client]] += change


@kernel(borrow=True, shared=True)
def mark_cuts(data, plan, rules, slot):
    """Recompute, for each node of a route, how many clusters a cut after the node divides, in place."""
    state, depot, divided = plan.segments.structure, data.clients + slot, 0
    state.cut[depot] = 0
    node = plan.next[depot]
    while node < data.clients:
        cluster = rules.structure.cluster[node]
        if cluster >= 0 and state.served[cluster] > 1:
            state.seen[cluster] += 1
            if state.seen[cluster] == 1:
                divided += 1
            if state.seen[cluster] == state.served[cluster]:
                divided -= 1
        state.cut[node] = divided
        node = plan.next[node]
    node = plan.next[depot]
    while node < data.clients:
        cluster = rules.structure.cluster[node]
        if cluster >= 0:
            state.seen[cluster] = 0
        node = plan.next[node]


# -------------------------------------------------------------------- ruin and recreate
@kernel(inline=True, borrow=True)
def removes_clusters(work, rules):
    """Return, at random, whether a ruin removes the clusters that it touches as a whole."""
    return rules.structure.has_clusters and below(work.random, _WHOLE_PERIOD) == 0


@kernel(borrow=True, shared=True)
def keep_together(work, rules):
    """Sort the removed clients, in place, so that those of a cluster follow the first of them; otherwise the order remains."""
    cluster, k, count = rules.structure.cluster, 0, work.counts[REMOVED]
    while k < count:
        own = cluster[work.removed[k]]
        k += 1
        if own < 0:
            continue
        for place in range(k, count):
            client = work.removed[place]
            if cluster[client] == own:
                for later in range(place, k, -1):
                    work.removed[later] = work.removed[later - 1]
                work.removed[k] = client
                k += 1

"""Repair of a route with side constraints after a ruin, that is, after the removal of some of its clients.

A slot is a place for one route (state.py).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from corl.jit import kernel
from corl.solvers.vrp.ruin.clusters import removes_clusters
from corl.solvers.vrp.ruin.routes import remove
from corl.solvers.vrp.ruin.segments import refresh
from corl.solvers.vrp.ruin.state import REMOVED

__all__ = ["repair_route"]


@kernel(borrow=True, shared=True)
def repair_route(data, plan, work, rules, slot, since):
    """Remove nodes that are invalid after a ruin from a route, in place, and recompute its segments; return the change in cost.

    In half of the cases, the other clients of the clusters of the removed clients are removed, too.

    Invalid nodes are: the second node of a shipment whose other node was removed; all clients, if trips must deliver before they
    collect and nothing is left to deliver; a reload before or after an empty trip.

    Args:
        data: RoutingData.
        plan: Plan, changed in place.
        work: Work; clients are appended to `work.removed`, and the removals are logged.
        rules: ConstraintTables, or None: then nothing is done.
        slot: The slot of the route.
        since: The index in `work.removed` of the first client that the ruin of this route removed.
    """
    if rules is None:
        return 0.0
    change = 0.0
    if rules.has_shipments:
        k = since
        while k < work.counts[REMOVED]:
            partner = rules.partner[work.removed[k]]
            if partner >= 0 and plan.route[partner] == slot and not rules.locked[partner]:
                work.removed[work.counts[REMOVED]] = partner
                work.counts[REMOVED] += 1
                change += remove(data, plan, work, partner)
            k += 1
    if removes_clusters(work, rules):
        change += _remove_rest(data, plan, work, rules, slot, since)
    if rules.linehaul_first and not _has_delivery(data, plan, rules, slot):
        node = plan.next[data.clients + slot]
        while node < data.clients:
            successor = plan.next[node]
            if not rules.locked[node]:
                work.removed[work.counts[REMOVED]] = node
                work.counts[REMOVED] += 1
                change += remove(data, plan, work, node)
            node = successor
    if rules.multi_trip:
        node = plan.next[data.clients + slot]
        while node < data.clients:
            successor = plan.next[node]
            if node >= rules.first_reload and (plan.prev[node] >= rules.first_reload or successor >= data.clients):
                change += remove(data, plan, work, node)
            node = successor
        node = plan.prev[data.clients + slot]
        while rules.first_reload <= node < data.clients:
            before = plan.prev[node]
            change += remove(data, plan, work, node)
            node = before
    return change + refresh(data, plan, rules, slot)


@kernel(borrow=True)
def _remove_rest(data, plan, work, rules, slot, since):
    """Remove the other clients of the removed clients' clusters from a route, in place; return the change in cost."""
    structure, change = rules.structure, 0.0
    for k in range(since, work.counts[REMOVED]):
        cluster = structure.cluster[work.removed[k]]
        if cluster < 0 or plan.segments.structure.served[cluster] == 0:
            continue
        for place in range(structure.member_start[cluster], structure.member_start[cluster + 1]):
            client = structure.members[place]
            if plan.route[client] == slot:
                work.removed[work.counts[REMOVED]] = client
                work.counts[REMOVED] += 1
                change += remove(data, plan, work, client)
    return change


@kernel(borrow=True)
def _has_delivery(data, plan, rules, slot):
    """Return whether the route of a slot delivers something."""
    node = plan.next[data.clients + slot]
    while node < data.clients:
        for q in range(rules.dimensions):
            if rules.delivery[node, q] > 0.0:
                return True
        node = plan.next[node]
    return False

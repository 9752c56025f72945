"""Search for a solution that serves all mandatory clients, possibly with fewer vehicles.

Christiaens & Vanden Berghe (2020), section 5.4. The search counts how often each client has been unserved. A candidate is
accepted if it leaves fewer clients unserved, or clients whose counts have a smaller sum.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.rng import uniform
from corl.solvers.vrp.ruin.constrained_insertion import awaits_insertion, must_serve, removable
from corl.solvers.vrp.ruin.recreate import recreate
from corl.solvers.vrp.ruin.route_checks import count_infeasible, touched_feasible
from corl.solvers.vrp.ruin.routes import remove, undo
from corl.solvers.vrp.ruin.state import DONE, LOGGED, REMOVED, TOUCHED, UNSERVED, USED
from corl.solvers.vrp.ruin.strings import ruin

__all__ = ["drop_route", "insert_unserved", "list_unserved"]


@kernel
def insert_unserved(data, plan, work, unserved, unserved_counts, temperature, max_routes, iterations):
    """Make ruin-and-recreate iterations until all mandatory clients are served; return the number of iterations made.

    A fixed beginning (visits with which a route must begin) may violate a limit until other clients are served after it. While a
    route is infeasible, a candidate with fewer infeasible routes is accepted, and one with more is rejected.

    Args:
        data: RoutingData.
        plan: Plan, changed in place.
        work: Work.
        unserved: int32 [n + 1], the number of unserved mandatory clients, then these clients; updated in place.
        unserved_counts: int64 [n], how often each client has been unserved; updated in place.
        temperature: The temperature, in units of cost, for candidates whose unserved clients are neither better nor worse.
        max_routes: No route is opened beyond this number.
        iterations: The greatest number of iterations.
    """
    infeasible = count_infeasible(data, plan)
    for iteration in range(iterations):
        if unserved[0] == 0 and infeasible == 0:
            return iteration
        change = ruin(data, plan, work)
        for k in range(unserved[0]):
            work.removed[work.counts[REMOVED]] = unserved[1 + k]
            work.counts[REMOVED] += 1
        change += recreate(data, plan, work, max_routes, False, math.inf, 1.0, False)
        plan.counts[DONE] += 1
        count_before, count_after = 0, 0
        for k in range(unserved[0]):
            count_before += unserved_counts[unserved[1 + k]]
        for k in range(work.counts[REMOVED]):
            client = work.removed[k]
            if plan.route[client] < 0 and must_serve(data, plan, data.rules, client):
                count_after += unserved_counts[client]
                unserved_counts[client] += 1
        is_better = work.counts[UNSERVED] < unserved[0] or count_after < count_before
        is_equal = work.counts[UNSERVED] == unserved[0] and count_after == count_before
        accepted = is_better or (is_equal and change < -temperature * math.log(1.0 - uniform(work.random)))
        if infeasible > 0:
            infeasible_now = count_infeasible(data, plan)
            accepted = infeasible_now < infeasible or (infeasible_now == infeasible and accepted)
        else:
            infeasible_now = 0
            accepted = accepted and touched_feasible(data, plan, work)
        if accepted:
            infeasible = infeasible_now
            unserved[0] = 0
            for k in range(work.counts[REMOVED]):
                client = work.removed[k]
                if plan.route[client] < 0 and must_serve(data, plan, data.rules, client):
                    unserved[0] += 1
                    unserved[unserved[0]] = client
        else:
            undo(data, plan, work)
    return iterations


@kernel
def drop_route(data, plan, work, unserved, unserved_counts):
    """Empty the route whose clients have been unserved least often, in place; return the number of routes that remain.

    `unserved` receives the mandatory clients of this route, see `insert_unserved`. Routes with a fixed beginning are not emptied.
    """
    emptied_slot, min_total = -1, 0
    for slot in range(len(plan.size)):
        if plan.size[slot] > 0:
            slot_total, node = 0, plan.next[data.clients + slot]
            if not removable(data.rules, node):  # a fixed beginning
                continue
            while node < data.clients:
                slot_total += unserved_counts[node]
                node = plan.next[node]
            if emptied_slot < 0 or slot_total < min_total:
                emptied_slot, min_total = slot, slot_total
    work.counts[LOGGED] = work.counts[TOUCHED] = 0
    unserved[0] = 0
    if emptied_slot < 0:
        return plan.counts[USED]
    node = plan.next[data.clients + emptied_slot]
    while node < data.clients:
        successor = plan.next[node]
        remove(data, plan, work, node)
        if must_serve(data, plan, data.rules, node):
            unserved[0] += 1
            unserved[unserved[0]] = node
        node = successor
    return plan.counts[USED]


@kernel
def list_unserved(data, plan, unserved):
    """Write the number of unserved mandatory clients, then these clients, to `unserved`, in place.

    The first client of a group stands for the group.
    """
    unserved[0] = 0
    for client in range(data.clients):
        if awaits_insertion(data, plan, data.rules, client) and must_serve(data, plan, data.rules, client):
            unserved[0] += 1
            unserved[unserved[0]] = client

"""Search for a solution that serves all mandatory clients, possibly with fewer vehicles.

Christiaens & Vanden Berghe (2020), section 5.4: a candidate is accepted if its unserved clients have been unserved less often.
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
    """Make ruin-and-recreate iterations until all mandatory clients are served; return how many were made.

    A fixed beginning of a route may violate a limit until other clients are served after it: the number of infeasible routes
    never grows.

    Args:
        data: RoutingData.
        plan: Plan, changed in place.
        work: Work.
        unserved: int32 [n + 1], the number of unserved mandatory clients, then these; updated in place.
        unserved_counts: int64 [n], how often each client has been unserved; updated in place.
        temperature: For the acceptance of candidates with equally good unserved clients.
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
        change += recreate(data, plan, work, max_routes, False, math.inf, 1.0)
        plan.counts[DONE] += 1
        count_before, count_after = 0, 0
        for k in range(unserved[0]):
            count_before += unserved_counts[unserved[1 + k]]
        for k in range(work.counts[REMOVED]):
            client = work.removed[k]
            if plan.route[client] < 0 and must_serve(data, plan, data.rules, client):
                count_after += unserved_counts[client]
                unserved_counts[client] += 1
        fewer = work.counts[UNSERVED] < unserved[0] or count_after < count_before
        equal = work.counts[UNSERVED] == unserved[0] and count_after == count_before
        better = fewer or (equal and change < -temperature * math.log(1.0 - uniform(work.random)))
        if infeasible > 0:
            infeasible_now = count_infeasible(data, plan)
            better = infeasible_now < infeasible or (infeasible_now == infeasible and better)
        else:
            infeasible_now = 0
            better = better and touched_feasible(data, plan, work)
        if better:
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

    `unserved` receives its mandatory clients, see `insert_unserved`. If every route has a fixed beginning, none is emptied.
    """
    least, worst = -1, 0
    for slot in range(len(plan.size)):
        if plan.size[slot] > 0:
            total, node = 0, plan.next[data.clients + slot]
            if not removable(data.rules, node):  # a fixed beginning
                continue
            while node < data.clients:
                total += unserved_counts[node]
                node = plan.next[node]
            if least < 0 or total < worst:
                least, worst = slot, total
    work.counts[LOGGED] = work.counts[TOUCHED] = 0
    unserved[0] = 0
    if least < 0:
        return plan.counts[USED]
    node = plan.next[data.clients + least]
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
    """Write the number of unserved mandatory clients and these to `unserved`; of an unserved group, its first client."""
    unserved[0] = 0
    for client in range(data.clients):
        if awaits_insertion(data, plan, data.rules, client) and must_serve(data, plan, data.rules, client):
            unserved[0] += 1
            unserved[unserved[0]] = client

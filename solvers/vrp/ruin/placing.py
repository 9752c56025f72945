"""What rules add to ruin and recreate: a place that keeps them, pairs and groups and trips inserted, and routes mended.

Every function does nothing where there are no rules (`terms` is None), which the compiler sees: plain instances pay nothing.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.rng import below
from corl.solvers.vrp.ruin.joining import walked
from corl.solvers.vrp.ruin.routes import distance, insert, remove
from corl.solvers.vrp.ruin.segments import close, extend, may_serve, refresh, travel
from corl.solvers.vrp.ruin.state import REMOVED, USED
from corl.solvers.vrp.ruin.terms import LATE, LOADS

__all__ = [
    "mended", "movable", "must_serve", "place_pair", "place_trip", "real_clients", "waits", "worth_of",
]  # fmt: skip

_ROUTES = 16  # that are looked at for one more trip


@kernel(inline=True, borrow=True)
def real_clients(data, terms):
    """How many clients there are that are no reloads."""
    if terms is None:
        return data.clients
    return terms.real


@kernel(inline=True, borrow=True)
def movable(terms, node):
    """Whether ruin may take a node out: no reload, and nobody on a fixed beginning."""
    if terms is None:
        return True
    return node < terms.real and not terms.locked[node]


@kernel(inline=True, borrow=True)
def must_serve(data, plan, terms, client):
    """Whether a plan is incomplete in which this client has no route."""
    if terms is None:
        return data.prize[client] == math.inf
    if terms.grouped and terms.group[client] >= 0:
        group = terms.group[client]
        return terms.needed[group] and plan.segments.served[group] == 0
    return data.prize[client] == math.inf


@kernel(inline=True, borrow=True)
def worth_of(data, terms, client):
    """What serving a client spares: its prize, and no end of it where it, or one of its group, must be served."""
    if terms is None:
        return data.prize[client]
    if terms.grouped and terms.group[client] >= 0 and terms.needed[terms.group[client]]:
        return math.inf
    return data.prize[client]


@kernel(inline=True, borrow=True)
def waits(data, plan, terms, client):
    """Whether a client without a route is looked at: of a group without one, the first stands for all."""
    if plan.route[client] >= 0:
        return False
    if terms is None:
        return True
    if client >= terms.real:
        return False
    if terms.grouped and terms.group[client] >= 0:
        group = terms.group[client]
        return plan.segments.served[group] == 0 and terms.members[terms.member_from[group]] == client
    return True


# -------------------------------------------------------------------- pairs
@kernel(borrow=True)
def place_pair(data, plan, work, terms, client, reach, most_routes, allowed):
    """Insert a shipment where it costs least, less than `allowed`; returns the change of cost, inf where there is no place.

    Looked at are the routes of the neighbours of both nodes, and a new one of each type.
    """
    start = client if terms.first[client] else terms.partner[client]
    end, segments = terms.partner[start], plan.segments
    segments.mark[len(plan.size)] += 1
    now, best = segments.mark[len(plan.size)], allowed
    segments.found[0] = -1
    if plan.route[start] >= 0:  # on a fixed beginning
        best = _best_pair(data, plan, terms, start, end, plan.route[start], best)
    else:
        for side in range(2):
            node = start if side == 0 else end
            for a in range(reach):
                slot = plan.route[data.near[node, a]]
                if slot >= 0 and segments.mark[slot] != now:
                    segments.mark[slot] = now
                    if below(work.random, 100) > 0:
                        best = _best_pair(data, plan, terms, start, end, slot, best)
        if plan.counts[USED] < most_routes:
            for kind in range(len(plan.free_size)):
                if plan.free_size[kind] > 0:
                    slot = plan.free[plan.first[kind] + plan.free_size[kind] - 1]
                    best = _best_pair(data, plan, terms, start, end, slot, best)
    if segments.found[0] < 0:
        return math.inf
    change, after, last = 0.0, segments.found[0], segments.found[1]
    if plan.route[start] < 0:
        change += insert(data, plan, work, start, after)
    return change + insert(data, plan, work, end, last)


@kernel(borrow=True)
def _best_pair(data, plan, terms, start, end, slot, best):
    """The least that a shipment costs in a route, if that is less than `best`; where is then in segments.found."""
    kind, depot = plan.type[slot], data.clients + slot
    if not may_serve(terms, kind, start) or not may_serve(terms, kind, end):
        return best
    rate, fixed = data.unit[kind], data.fixed[kind] if plan.size[slot] == 0 else 0.0
    if plan.route[start] == slot:
        return _best_end(data, plan, terms, start, end, slot, start, plan.next[start], 0.0, best)
    node = depot
    while True:
        behind = plan.next[node]
        if not (behind < data.clients and terms.locked[behind]):
            to, leg = distance(data, node, start), plan.leg[node]
            detour = to + distance(data, start, behind) - leg
            if fixed + rate * (detour - data.slack) < best:
                row = data.clients + len(plan.size)
                extend(data, terms, plan.segments.head, node, row, start, travel(data, terms, node, start, kind, to))
                if plan.segments.head[row, LATE] == 0.0:
                    best = _best_end(data, plan, terms, start, end, slot, node, behind, fixed, best)
                elif data.slack < math.inf:  # too late here and farther on
                    break
        node = behind
        if node >= data.clients:
            return best
    return best


@kernel(borrow=True)
def _best_end(data, plan, terms, start, end, slot, node, behind, fixed, best):
    """Where a shipment that is picked up behind `node` is brought best: its head is in the first register, if it is new."""
    kind, row, segments = plan.type[slot], data.clients + len(plan.size), plan.segments
    there = node == start
    rate, before, at = data.unit[kind], start, node if there else row
    detour = 0.0 if there else distance(data, node, start) - plan.leg[node]
    longest = data.longest[kind] - plan.length[slot] if data.limited else math.inf
    while True:
        # The ways there are now: node - start - ... - before - behind, of which that from start on is new at first.
        to, fro = distance(data, before, end), distance(data, end, behind)
        more = detour + to + fro
        if there or before != start:
            more -= plan.leg[before]
        cost = fixed + rate * more
        if cost < best and more <= longest:
            extend(data, terms, segments.head, at, row + 1, end, travel(data, terms, before, end, kind, to))
            way = travel(data, terms, end, behind, kind, fro)
            cost += close(data, plan, terms, row + 1, behind, way, slot) - segments.extra[slot]
            looked = cost < best and terms.paused
            if looked and not walked(data, plan, terms, slot, -1 if there else node, start, before, end):
                cost = math.inf
            if cost < best:
                best = cost
                segments.found[0], segments.found[1] = node, before
        if behind >= data.clients or (terms.locked[behind] and not there):
            return best
        leg = distance(data, before, behind)
        if not there and before == start:
            detour += leg
        extend(data, terms, segments.head, at, row + 2, behind, travel(data, terms, before, behind, kind, leg))
        if segments.head[row + 2, LATE] > 0.0:
            return best
        for q in range(terms.dimensions):
            if segments.head[row + 2, LOADS + 3 * q + 2] > terms.capacity[kind, q]:
                return best
        for place in range(segments.head.shape[1]):
            segments.head[row, place] = segments.head[row + 2, place]
        at, before, behind = row, behind, plan.next[behind]


# -------------------------------------------------------------------- trips
@kernel(borrow=True)
def place_trip(data, plan, work, terms, client, allowed):
    """Insert a client as a trip of its own, before or after one that there is, if that costs less than `allowed`.

    Returns the change of cost, inf where there is no place.
    """
    best, after, reload_first, node_of_reload = allowed, -1, False, -1
    slots = len(plan.size)
    begin = below(work.random, slots)
    looked = 0
    for k in range(slots):
        slot = (begin + k) % slots
        kind = plan.type[slot]
        if plan.size[slot] == 0 or terms.reloads[kind] == 0 or not may_serve(terms, kind, client):
            continue
        looked += 1
        if looked > _ROUTES:
            break
        reload = _spare(data, plan, work, terms, kind)
        if reload < 0:
            continue
        node = data.clients + slot
        while True:
            behind = plan.next[node]
            if node >= terms.real:  # a trip begins here: this one before it
                cost = _trip_cost(data, plan, terms, slot, node, behind, client, reload)
                if cost < best:
                    best, after, reload_first, node_of_reload = cost, node, False, reload
            if behind >= terms.real:  # a trip ends here: this one after it
                cost = _trip_cost(data, plan, terms, slot, node, behind, reload, client)
                if cost < best:
                    best, after, reload_first, node_of_reload = cost, node, True, reload
            node = behind
            if node >= data.clients:
                break
    if after < 0:
        return math.inf
    if reload_first:
        change = insert(data, plan, work, node_of_reload, after)
        return change + insert(data, plan, work, client, node_of_reload)
    change = insert(data, plan, work, client, after)
    return change + insert(data, plan, work, node_of_reload, client)


@kernel(borrow=True)
def _spare(data, plan, work, terms, kind):
    """A reload node without a route that a type may use; -1 where none was found."""
    count = data.clients - terms.real
    begin = below(work.random, count)
    for k in range(count):
        node = terms.real + (begin + k) % count
        if plan.route[node] < 0 and terms.allowed[kind, node]:
            return node
    return -1


@kernel(borrow=True)
def _trip_cost(data, plan, terms, slot, node, behind, first, second):
    """What it costs to go from a node to two new ones and then on."""
    kind, row, head = plan.type[slot], data.clients + len(plan.size), plan.segments.head
    to, between, fro = distance(data, node, first), distance(data, first, second), distance(data, second, behind)
    cost = data.unit[kind] * (to + between + fro - plan.leg[node])
    if data.limited and plan.length[slot] + to + between + fro - plan.leg[node] > data.longest[kind]:
        return math.inf
    extend(data, terms, head, node, row, first, travel(data, terms, node, first, kind, to))
    for q in range(terms.dimensions):  # a reload ends this trip, and `close` sees the next one's load alone
        if head[row, LOADS + 3 * q + 2] > terms.capacity[kind, q]:
            return math.inf
    extend(data, terms, head, row, row + 1, second, travel(data, terms, first, second, kind, between))
    cost += close(data, plan, terms, row + 1, behind, travel(data, terms, second, behind, kind, fro), slot)
    if cost < math.inf and terms.paused and not walked(data, plan, terms, slot, node, first, first, second):
        return math.inf
    return cost - plan.segments.extra[slot]


# -------------------------------------------------------------------- what a ruin leaves
@kernel(borrow=True)
def mended(data, plan, work, terms, slot, since):
    """Take out of a route what cannot stay when work.removed[since:] has left it, and bring it up to date: the other nodes of
    shipments, collections without a delivery, reloads beside nothing. Returns the change of cost."""
    if terms is None:
        return 0.0
    change = 0.0
    if terms.paired:
        k = since
        while k < work.counts[REMOVED]:
            partner = terms.partner[work.removed[k]]
            if partner >= 0 and plan.route[partner] == slot and not terms.locked[partner]:
                work.removed[work.counts[REMOVED]] = partner
                work.counts[REMOVED] += 1
                change += remove(data, plan, work, partner)
            k += 1
    if terms.ordered and not _brings(data, plan, terms, slot):
        node = plan.next[data.clients + slot]
        while node < data.clients:
            behind = plan.next[node]
            if not terms.locked[node]:
                work.removed[work.counts[REMOVED]] = node
                work.counts[REMOVED] += 1
                change += remove(data, plan, work, node)
            node = behind
    if terms.trips:
        node = plan.next[data.clients + slot]
        while node < data.clients:
            behind = plan.next[node]
            if node >= terms.real and (plan.prev[node] >= terms.real or behind >= data.clients):
                change += remove(data, plan, work, node)
            node = behind
        node = plan.prev[data.clients + slot]
        while terms.real <= node < data.clients:
            before = plan.prev[node]
            change += remove(data, plan, work, node)
            node = before
    return change + refresh(data, plan, terms, slot)


@kernel(borrow=True)
def _brings(data, plan, terms, slot):
    node = plan.next[data.clients + slot]
    while node < data.clients:
        for q in range(terms.dimensions):
            if terms.delivery[node, q] > 0.0:
                return True
        node = plan.next[node]
    return False

"""Recreate: clients go back one by one to the cheapest position found, a few positions overlooked ("blinks").

Christiaens & Vanden Berghe (2020), section 5.3. Only positions beside a client's nearest others are looked at,
and now and then some farther away, so that an iteration costs the same in a large instance as in a small one.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

import numpy as np

from corl.jit import kernel
from corl.rng import below, uniform
from corl.solvers.vrp.ruin.joining import extra_cost
from corl.solvers.vrp.ruin.lasting import spared, time_cost, timed_anew
from corl.solvers.vrp.ruin.placing import mended, must_serve, place_pair, place_trip, real_clients, worth_of
from corl.solvers.vrp.ruin.routes import distance, insert, remove, retime_backward, retime_forward
from corl.solvers.vrp.ruin.state import BLINK, MISSED, REMOVED, TOUCHED, USED

__all__ = ["GENEROUS", "cheapest", "drop_unworthy", "fits", "order", "recreate"]

GENEROUS = 1e12
"""Times its prize a client is worth where a route may be opened at a loss, for the clients that are still to come."""

_BLINK = 0.01  # the paper's gamma
_LAST = 1e12  # above all other keys
_MEMBER = 4  # in one of so many insertions of a group one client of it, at random, stands for all
_FARTHER = 4  # in one of so many iterations the neighbours farther away are looked at too


@kernel(borrow=True)
def recreate(data, plan, work, most, strict, allowed, worth):
    """Insert the clients in work.removed, in a random one of the orders; returns the change of cost.

    most: no route is opened beyond so many. work.counts[MISSED] counts clients that must be served and found no position;
    strict: stop at the first. allowed: a position that costs more, with those taken before it, is none; inf for any.
    worth: times its prize an optional client may cost; with more than 1 `drop_unworthy` comes after it.
    """
    if len(plan.size) > 0:  # otherwise there is no depot, and no place either
        order(data, work)
    work.counts[MISSED] = 0
    reach = data.near.shape[1] if below(work.random, _FARTHER) == 0 else data.close
    change = 0.0
    for k in range(work.counts[REMOVED]):
        client = work.removed[k]
        cost = _place(data, plan, work, data.rules, client, reach, most, worth, allowed - change)
        if cost < math.inf:
            change += cost
        elif must_serve(data, plan, data.rules, client):
            work.counts[MISSED] += 1
            if strict:
                break
    return change


@kernel(inline=True, borrow=True)
def _place(data, plan, work, terms, client, reach, most, worth, allowed):
    """Insert a client at the cheapest place found, if it costs less than `allowed`; returns the change of cost, or inf."""
    if terms is None:
        after = cheapest(data, plan, work, client, reach, most, min(worth * data.prize[client], allowed))
        return insert(data, plan, work, client, after) if after >= 0 else math.inf
    return _place_by_rules(data, plan, work, terms, client, reach, most, worth, allowed)


@kernel(borrow=True)
def _place_by_rules(data, plan, work, terms, client, reach, most, worth, allowed):
    """As `_place`: a shipment with its other node, of a group the cheapest client, maybe on a trip of its own."""
    if plan.route[client] >= 0:
        return 0.0
    if terms.paired and terms.partner[client] >= 0:
        return place_pair(data, plan, work, terms, client, reach, most, allowed)
    first, last, group = np.int64(0), np.int64(1), -1
    if terms.grouped and terms.group[client] >= 0:
        group = terms.group[client]
        if plan.segments.served[group] > 0:
            return 0.0
        first, last = terms.member_from[group], terms.member_from[group + 1]
        if below(work.random, _MEMBER) == 0:  # the cheapest one alone is not so beside those that are still to come
            first += below(work.random, last - first)
            last = first + 1
    after, chosen, least = -1, client, allowed
    for k in range(first, last):
        member = client if group < 0 else terms.members[k]
        prize = worth * worth_of(data, terms, member)
        found = cheapest(data, plan, work, member, reach, most, min(prize, least))
        if found >= 0:
            after, chosen, least = found, member, work.key[len(work.key) - 1]
    if terms.trips:
        for k in range(first, last):
            member = client if group < 0 else terms.members[k]
            if after >= 0 and member != chosen:
                continue
            bound = min(worth * worth_of(data, terms, member), allowed) if after < 0 else least
            cost = place_trip(data, plan, work, terms, member, bound)
            if cost < math.inf:
                return cost
    return insert(data, plan, work, chosen, after) if after >= 0 else math.inf


@kernel(borrow=True)
def drop_unworthy(data, plan, work):
    """Of the routes touched, take out those that cost more than their prizes, and of the others optional clients that do;
    returns the change of cost."""
    change = 0.0
    for k in range(work.counts[TOUCHED]):
        slot = work.touched[k]
        pays = _pays(data, plan, slot)
        node = plan.next[data.clients + slot]
        while node < data.clients:
            before, behind = plan.prev[node], plan.next[node]
            direct = distance(data, before, behind)
            saved = data.unit[plan.type[slot]] * (plan.leg[before] + plan.leg[node] - direct)
            saved += spared(data, plan, data.rules, before, behind, direct, slot)
            lone = node < real_clients(data, data.rules) and saved > worth_of(data, data.rules, node)  # no reload, that is
            if not pays or lone:
                change += remove(data, plan, work, node) + timed_anew(data, plan, data.rules, slot)
                if data.timed and plan.size[slot] > 0:
                    retime_forward(data, plan, behind, behind)
                    retime_backward(data, plan, before, before)
            node = behind
        change += mended(data, plan, work, data.rules, slot, work.counts[REMOVED])
    return change


@kernel(borrow=True)
def _pays(data, plan, slot):
    """Whether a route costs no more than its prizes, or serves a client that must be served."""
    node, length, prizes = data.clients + slot, plan.leg[data.clients + slot], 0.0
    while plan.next[node] < data.clients:
        node = plan.next[node]
        length += plan.leg[node]
        prizes += worth_of(data, data.rules, node)
    time = time_cost(plan, data.rules, slot)
    return data.fixed[plan.type[slot]] + data.unit[plan.type[slot]] * length + time <= prizes


@kernel(inline=True, borrow=True)
def order(data, work):
    """Sort work.removed: at random, by demand, far or close first (4 : 4 : 2 : 1); with windows also narrow, early or late
    first (2 each). Where a trip delivers first, deliveries come first here too."""
    random, count = work.random, work.counts[REMOVED]
    kind = below(random, 17 if data.windows else 11)
    depot = data.clients
    for k in range(count):
        client = work.removed[k]
        if kind < 4:
            key = uniform(random)
        elif kind < 8:
            key = -data.demand[client]
        elif kind < 10:
            key = -distance(data, depot, client)
        elif kind == 10:
            key = distance(data, depot, client)
        elif kind < 13:
            key = data.latest[client] - data.earliest[client]
        elif kind < 15:
            key = data.earliest[client]
        else:
            key = -data.latest[client]
        key += _after_deliveries(data.rules, client)
        place = k
        while place > 0 and work.key[place - 1] > key:
            work.key[place], work.removed[place] = work.key[place - 1], work.removed[place - 1]
            place -= 1
        work.key[place], work.removed[place] = key, client


@kernel(inline=True, borrow=True)
def _after_deliveries(terms, client):
    """What is added to the key of a client that is only collected from, where a trip delivers first."""
    if terms is None:
        return 0.0
    return _LAST if terms.ordered and terms.collects[client] else 0.0


@kernel(inline=True, borrow=True)
def cheapest(data, plan, work, client, reach, most, allowed):
    """The node behind which a client goes best, beside its first `reach` neighbours or in a new route.

    -1 where there is no place, or none that costs less than `allowed`.
    """
    best, found = allowed, -1
    demand, blink, rate = data.demand[client], work.counts[BLINK], 1.0
    for a in range(reach):
        other = data.near[client, a]
        slot = plan.route[other]
        if slot < 0 or plan.room[slot] < demand:
            continue
        blink -= 2
        if blink < 0:  # both sides of one neighbour at a time
            blink = _next_blink(work)
            continue
        if data.mixed:
            rate = data.unit[plan.type[slot]]
        apart, leg = data.apart[client, a], plan.leg[other]
        if rate * (2.0 * (apart - leg) - data.slack) < best:  # the triangle inequality; behind the other
            behind = plan.next[other]
            to = apart if data.symmetric else distance(data, other, client)
            if _in_time(data, plan, client, other, behind, to):
                fro = distance(data, client, behind)
                cost = rate * (to + fro - leg)
                if cost < best and fits(data, plan, client, other, behind, to, fro, slot):
                    cost += extra_cost(data, plan, data.rules, client, other, behind, to, fro, slot)
                    if cost < best:
                        best, found = cost, other
        before = plan.prev[other]
        leg = plan.leg[before]
        if rate * (2.0 * (apart - leg) - data.slack) < best:  # before the other
            to = distance(data, before, client)
            cost = rate * (to + apart - leg)
            if cost < best and fits(data, plan, client, before, other, to, apart, slot):
                cost += extra_cost(data, plan, data.rules, client, before, other, to, apart, slot)
                if cost < best:
                    best, found = cost, before
    if plan.counts[USED] < most:
        types = len(plan.free_size)
        only = below(work.random, 2 * types) if types > 1 else types  # the cheapest type for one client is not so for all
        for kind in range(types):
            if plan.free_size[kind] > 0 and (only >= types or only == kind):
                slot = plan.free[plan.first[kind] + plan.free_size[kind] - 1]
                node = data.clients + slot
                to, fro = distance(data, node, client), distance(data, client, node)
                cost = data.unit[kind] * (to + fro) + data.fixed[kind]
                if cost < best and demand <= plan.room[slot] and fits(data, plan, client, node, node, to, fro, slot):
                    cost += extra_cost(data, plan, data.rules, client, node, node, to, fro, slot)
                    if cost < best:
                        best, found = cost, node
    work.counts[BLINK] = blink
    if data.rules is not None:
        work.key[len(work.key) - 1] = best
    return found


@kernel(inline=True, borrow=True)
def _in_time(data, plan, client, node, behind, to):
    """False where windows would not let a client in behind a node though the next one were at the same place."""
    if not data.timed:
        return True
    start = max(data.earliest[client], plan.begin[node] + data.service[node] + to)
    return start <= data.latest[client] and start + data.service[client] <= plan.last[behind]


@kernel(inline=True, borrow=True)
def fits(data, plan, client, node, behind, to, fro, slot):
    """Whether time windows and the route's longest length let a client in between two nodes, in constant time."""
    if data.limited:
        longest = data.longest[plan.type[slot]]
        if plan.length[slot] + to + fro - plan.leg[node] + data.burden[client] > longest:
            return False
    if not data.timed:
        return True
    start = max(data.earliest[client], plan.begin[node] + data.service[node] + to)
    return start <= data.latest[client] and start + data.service[client] + fro <= plan.last[behind]


@kernel(borrow=True)
def _next_blink(work):
    """How many positions are looked at before the next ones are overlooked: geometric, one draw for each blink."""
    return int(math.log(1.0 - uniform(work.random)) / math.log(1.0 - _BLINK))

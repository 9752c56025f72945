"""Exchange of tails between two routes (2-opt*), and splits of one, which strings of a few clients cannot do in long routes.

Potvin & Rousseau, An Exchange Heuristic for Routing Problems with Time Windows, JORS 46 (1995). With the earliest and latest
starts that a plan keeps, time windows take constant time to check; loads are added up only where the cost is right.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.rng import below
from corl.solvers.vrp.ruin.joining import join_cost
from corl.solvers.vrp.ruin.placing import real_clients
from corl.solvers.vrp.ruin.routes import distance, retime_backward, retime_forward
from corl.solvers.vrp.ruin.segments import refreshed
from corl.solvers.vrp.ruin.state import TOUCHED, USED

__all__ = ["exchange_tails"]


@kernel(borrow=True)
def exchange_tails(data, plan, work, allowed):
    """Let a random client's route go on with the tail of another route, and that one with what followed the client.

    The best tail is taken that begins at one of the client's nearest and changes the cost by less than `allowed`; or none, where
    a route of its own is better for what followed. Returns the change of cost, with both slots in work.touched, or inf where
    nothing was changed. Both routes have one type of vehicle.
    """
    work.counts[TOUCHED] = 0
    client = below(work.random, real_clients(data, data.rules))
    slot = plan.route[client]
    if slot < 0:
        return math.inf
    kind, behind, rate = plan.type[slot], plan.next[client], data.unit[plan.type[slot]]
    count, load, length = -1, 0.0, 0.0
    best, found = allowed, -1
    for a in range(data.close):
        other = data.near[client, a]
        another = plan.route[other]
        if another < 0 or another == slot or plan.type[another] != kind:
            continue
        before = plan.prev[other]
        empties = before >= data.clients and behind >= data.clients  # both routes become one
        gain = rate * (plan.leg[client] + plan.leg[before]) + (data.fixed[kind] if empties else 0.0)
        if rate * data.apart[client, a] - gain >= best:
            continue
        to = data.apart[client, a] if data.symmetric else distance(data, client, other)
        fro = 0.0 if empties else distance(data, before, behind)
        if rate * (to + fro) - gain >= best or not _in_time(data, plan, client, other, to):
            continue
        if not _in_time(data, plan, before, behind, fro):
            continue
        if count < 0:
            count, load, length = _tail(data, plan, behind)
        if _fits(data, plan, client, other, to, fro, load, length):
            change = rate * (to + fro) - gain + _swapped(data, plan, data.rules, client, other, to, fro)
            if change < best:
                best, found = change, other
    if behind < data.clients and plan.free_size[kind] > 0:
        fresh = plan.free[plan.first[kind] + plan.free_size[kind] - 1]
        change = _split_costs(data, plan, client, fresh)
        if change < best:
            work.touched[0], work.touched[1], work.counts[TOUCHED] = slot, fresh, 2
            _split(data, plan, client, fresh)
            return change
    if found < 0:
        return math.inf
    work.touched[0], work.touched[1], work.counts[TOUCHED] = slot, plan.route[found], 2
    _exchange(data, plan, client, found)
    return best


@kernel(inline=True, borrow=True)
def _swapped(data, plan, terms, client, other, to, fro):
    """What the time of both routes costs more when the tail from `other` comes behind `client`; inf where that breaks a rule."""
    if terms is None:
        return 0.0
    slot, another = plan.route[client], plan.route[other]
    behind, before = plan.next[client], plan.prev[other]
    cost = join_cost(data, plan, terms, client, other, to, slot)
    if before >= data.clients and behind >= data.clients:
        return cost - plan.segments.extra[another]
    if before >= terms.real and behind >= terms.real:  # a trip to nobody
        return math.inf
    return cost + join_cost(data, plan, terms, before, behind, fro, another)


@kernel(inline=True, borrow=True)
def _parted(data, plan, terms, client, fresh, to, fro):
    """As `_swapped`, where a free slot takes what follows a client."""
    if terms is None:
        return 0.0
    slot, behind, home, elsewhere = plan.route[client], plan.next[client], data.clients + plan.route[client], data.clients + fresh
    if behind >= terms.real:
        return math.inf
    cost = join_cost(data, plan, terms, client, home, to, slot)
    return cost + join_cost(data, plan, terms, elsewhere, behind, fro, fresh)


@kernel(inline=True, borrow=True)
def _in_time(data, plan, before, behind, leg):
    """Whether a node may directly follow another, the head of the one's route and the tail of the other's being as they are."""
    return not data.timed or plan.begin[before] + data.service[before] + leg <= plan.last[behind]


@kernel(borrow=True)
def _tail(data, plan, node):
    """Of the clients from a node to the end of its route: how many, their demand, and their length with the way home."""
    count, load, length = 0, 0.0, 0.0
    while node < data.clients:
        count += 1
        load += data.demand[node]
        if data.limited:
            length += plan.leg[node] + data.burden[node]
        node = plan.next[node]
    return count, load, length


@kernel(borrow=True)
def _fits(data, plan, client, other, to, fro, load, length):
    """Whether both routes keep their capacity and longest length when the tail from `other` comes behind `client`.

    load, length: of the tail that follows `client` now.
    """
    slot, another, before = plan.route[client], plan.route[other], plan.prev[other]
    _, coming, way = _tail(data, plan, other)
    if plan.room[slot] + load < coming or plan.room[another] + coming < load:
        return False
    if not data.limited:
        return True
    longest = data.longest[plan.type[slot]]
    one = plan.length[slot] - plan.leg[client] - length + to + way
    return one <= longest and plan.length[another] - plan.leg[before] - way + fro + length <= longest


@kernel(borrow=True)
def _split_costs(data, plan, client, fresh):
    """What changes where a client becomes its route's last and a free slot takes what follows it; inf where limits forbid it."""
    slot, behind = plan.route[client], plan.next[client]
    kind, home, elsewhere = plan.type[slot], data.clients + slot, data.clients + fresh
    to, fro = distance(data, client, home), distance(data, elsewhere, behind)
    if not _in_time(data, plan, client, home, to) or not _in_time(data, plan, elsewhere, behind, fro):
        return math.inf
    if data.limited:
        _, _, length = _tail(data, plan, behind)
        left = plan.length[slot] - plan.leg[client] - length + to
        if left > data.longest[kind] or fro + length > data.longest[kind]:
            return math.inf
    change = data.unit[kind] * (to + fro - plan.leg[client]) + data.fixed[kind]
    return change + _parted(data, plan, data.rules, client, fresh, to, fro)


@kernel(borrow=True)
def _split(data, plan, client, fresh):
    """Link a client to its depot, and what followed it behind the depot of the slot at the top of its stack."""
    slot, behind = plan.route[client], plan.next[client]
    home, elsewhere = data.clients + slot, data.clients + fresh
    end = plan.prev[home]
    going, load, length = _tail(data, plan, behind)
    if data.limited:
        plan.length[slot] -= plan.leg[client] + length
    plan.next[client], plan.prev[home], plan.leg[client] = home, client, distance(data, client, home)
    plan.next[elsewhere], plan.prev[behind], plan.leg[elsewhere] = behind, elsewhere, distance(data, elsewhere, behind)
    plan.next[end], plan.prev[elsewhere] = elsewhere, end
    _move(data, plan, behind, fresh)
    plan.size[slot] -= going
    plan.size[fresh] = going
    plan.room[slot] += load
    plan.room[fresh] -= load
    if data.limited:
        plan.length[slot] += plan.leg[client]
        plan.length[fresh] += plan.leg[elsewhere] + length
    plan.counts[USED] += 1
    plan.free_size[plan.type[slot]] -= 1
    if data.timed:
        _retime(data, plan, client, slot)
        _retime(data, plan, elsewhere, fresh)
    refreshed(data, plan, data.rules, slot)
    refreshed(data, plan, data.rules, fresh)


@kernel(borrow=True)
def _exchange(data, plan, client, other):
    """Link the tail from `other` behind `client`, and what followed `client` behind what came before `other`."""
    slot, another = plan.route[client], plan.route[other]
    behind, before = plan.next[client], plan.prev[other]
    depot, elsewhere = data.clients + slot, data.clients + another
    end, end_there = plan.prev[depot], plan.prev[elsewhere]
    going, load, length = _tail(data, plan, behind)
    coming, load_there, length_there = _tail(data, plan, other)
    if data.limited:
        plan.length[slot] -= plan.leg[client] + length
        plan.length[another] -= plan.leg[before] + length_there
    plan.next[client], plan.prev[other], plan.leg[client] = other, client, distance(data, client, other)
    plan.next[end_there], plan.prev[depot] = depot, end_there
    if going > 0:
        plan.next[before], plan.prev[behind], plan.leg[before] = behind, before, distance(data, before, behind)
        plan.next[end], plan.prev[elsewhere] = elsewhere, end
    else:
        plan.next[before], plan.prev[elsewhere] = elsewhere, before
        plan.leg[before] = 0.0 if before == elsewhere else distance(data, before, elsewhere)
    _move(data, plan, other, slot)
    _move(data, plan, plan.next[before], another)
    plan.size[slot] += coming - going
    plan.size[another] += going - coming
    plan.room[slot] += load - load_there
    plan.room[another] += load_there - load
    if data.limited:
        plan.length[slot] += plan.leg[client] + length_there
        plan.length[another] += plan.leg[before] + length
    if plan.size[another] == 0:
        _release(plan, another)
    if data.timed:
        _retime(data, plan, client, slot)
        _retime(data, plan, before, another)
    refreshed(data, plan, data.rules, slot)
    refreshed(data, plan, data.rules, another)


@kernel(borrow=True)
def _retime(data, plan, node, slot):
    """Bring the times of a route up to date where what follows a node is new."""
    retime_forward(data, plan, plan.next[node], data.clients + slot)
    retime_backward(data, plan, node, data.clients + slot)


@kernel(borrow=True)
def _move(data, plan, node, slot):
    """Tell the clients from a node on which route they belong to."""
    while node < data.clients:
        plan.route[node] = slot
        node = plan.next[node]


@kernel(inline=True, borrow=True)
def _release(plan, slot):
    """Put a slot that has become empty onto its stack."""
    kind = plan.type[slot]
    plan.counts[USED] -= 1
    plan.free[plan.first[kind] + plan.free_size[kind]] = slot
    plan.free_size[kind] += 1

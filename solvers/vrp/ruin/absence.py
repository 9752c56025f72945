"""Until everybody is served, and with fewer vehicles: clients without a route are counted, and those that are often without
one get their place first. Christiaens & Vanden Berghe (2020), section 5.4."""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.rng import uniform
from corl.solvers.vrp.ruin.joining import breaking, touched_keep
from corl.solvers.vrp.ruin.placing import movable, must_serve, waits
from corl.solvers.vrp.ruin.recreate import recreate
from corl.solvers.vrp.ruin.routes import remove, undo
from corl.solvers.vrp.ruin.state import DONE, LOGGED, MISSED, REMOVED, TOUCHED, USED
from corl.solvers.vrp.ruin.strings import ruin

__all__ = ["drop_route", "missing", "seek"]


@kernel
def seek(data, plan, work, absent, absences, temperature, most, units):
    """Up to `units` iterations, fewer if all are served that must be; returns how many were made.

    absent: int32 [n + 1], the number of clients that are missing, then these; absences: int64 [n], how often each was.
    A fixed beginning of a route may break a limit before others are served behind it: no route more is let break one.
    """
    broken = breaking(data, plan)
    for unit in range(units):
        if absent[0] == 0 and broken == 0:
            return unit
        change = ruin(data, plan, work)
        for k in range(absent[0]):
            work.removed[work.counts[REMOVED]] = absent[1 + k]
            work.counts[REMOVED] += 1
        change += recreate(data, plan, work, most, False, math.inf, 1.0)
        plan.counts[DONE] += 1
        before, after = 0, 0
        for k in range(absent[0]):
            before += absences[absent[1 + k]]
        for k in range(work.counts[REMOVED]):
            client = work.removed[k]
            if plan.route[client] < 0 and must_serve(data, plan, data.rules, client):
                after += absences[client]
                absences[client] += 1
        fewer = work.counts[MISSED] < absent[0] or after < before
        alike = work.counts[MISSED] == absent[0] and after == before
        better = fewer or (alike and change < -temperature * math.log(1.0 - uniform(work.random)))
        if broken > 0:
            still = breaking(data, plan)
            better = still < broken or (still == broken and better)
        else:
            still = 0
            better = better and touched_keep(data, plan, work)
        if better:
            broken = still
            absent[0] = 0
            for k in range(work.counts[REMOVED]):
                client = work.removed[k]
                if plan.route[client] < 0 and must_serve(data, plan, data.rules, client):
                    absent[0] += 1
                    absent[absent[0]] = client
        else:
            undo(data, plan, work)
    return units


@kernel
def drop_route(data, plan, work, absent, absences):
    """Take all clients out of the route whose clients were missing least; they are then what is absent."""
    least, worst = -1, 0
    for slot in range(len(plan.size)):
        if plan.size[slot] > 0:
            total, node = 0, plan.next[data.clients + slot]
            if not movable(data.rules, node):  # it is under way
                continue
            while node < data.clients:
                total += absences[node]
                node = plan.next[node]
            if least < 0 or total < worst:
                least, worst = slot, total
    work.counts[LOGGED] = work.counts[TOUCHED] = 0
    absent[0] = 0
    if least < 0:
        return plan.counts[USED]
    node = plan.next[data.clients + least]
    while node < data.clients:
        behind = plan.next[node]
        remove(data, plan, work, node)
        if must_serve(data, plan, data.rules, node):
            absent[0] += 1
            absent[absent[0]] = node
        node = behind
    return plan.counts[USED]


@kernel
def missing(data, plan, absent):
    """Count in absent[0], and list behind it, the clients that must be served and are not; of a group its first."""
    absent[0] = 0
    for client in range(data.clients):
        if waits(data, plan, data.rules, client) and must_serve(data, plan, data.rules, client):
            absent[0] += 1
            absent[absent[0]] = client

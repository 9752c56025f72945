"""Schedules built operation by operation by the policy, many at once.

After Corsini, Porrello, Calderara and Dell'Amico (NeurIPS 2024, section 4).

As in the paper an action is a job, whose next operation is put behind all that its machine does so far, as early as it can
start (semi-active schedules). Of its 11 context features those that compare a job and its machine with the quartiles of all
are kept; instead of the means and one ratio there are the operation's start beside the earliest one, and the lower bounds that
follow for the job and for the machine beside the largest ones, which say how critical both are. Differences of times are
bounded, so that what the network sees at 100 jobs it has seen at 20.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.networks.compiled import draw
from corl.rng import random_state
from corl.solvers.jobshop.slim.decoder import Lanes, logits
from corl.solvers.jobshop.slim.instance import SlimInstance
from corl.solvers.jobshop.slim.weights import Weights

__all__ = ["PartialSchedules", "advance", "complete", "new_partial", "observe"]

_BOUND = np.float32(4.0)  # mean durations at which a difference counts half of what it can at most


class PartialSchedules(NamedTuple):
    """S partial schedules of one instance, all with as many operations placed."""

    step: NDArray[np.int64]
    """[1] how many that are."""
    upcoming: NDArray[np.int32]
    """[S, J] the next operation of each job; that of the job after it where it is done."""
    ready: NDArray[np.int32]
    """[S, J] when the job's last placed operation ends."""
    free: NDArray[np.int32]
    """[S, M] when the machine's last placed operation ends."""
    load: NDArray[np.int32]
    """[S, M] durations that are not placed yet."""
    ready_sorted: NDArray[np.int32]
    """[S, J]"""
    free_sorted: NDArray[np.int32]
    """[S, M]"""
    start: NDArray[np.int64]
    """[S, N]"""
    chosen: NDArray[np.int32]
    """[S, N] the job of each step."""
    random: NDArray[np.uint64]
    """[S, 1] a generator for each."""


def new_partial(shop: SlimInstance, schedules: int, seed: int = 0, number: int = 0) -> PartialSchedules:
    """Empty schedules number, number + 1, ...: how one goes on depends on the seed and its number alone."""
    jobs, machines, n = len(shop.release), len(shop.load), len(shop.machine)
    ready, load = np.tile(shop.release, (schedules, 1)), np.tile(shop.load, (schedules, 1))
    random = np.stack([random_state(seed, number + s) for s in range(schedules)])
    free, start = np.zeros((schedules, machines), np.int32), np.zeros((schedules, n), np.int64)
    upcoming, chosen = np.tile(shop.first[:jobs], (schedules, 1)), np.zeros((schedules, n), np.int32)
    return PartialSchedules(
        np.zeros(1, np.int64), upcoming, ready, free, load, np.sort(ready, 1), free.copy(), start, chosen, random
    )


@kernel
def advance(
    shop: SlimInstance,
    weights: Weights,
    embedded: NDArray[np.float32],
    partial: PartialSchedules,
    lanes: Lanes,
    temperature: float,
    steps: int,
) -> None:
    """Place `steps` more operations of every schedule, at most as many as are left; temperature 0: always the likeliest."""
    n = len(shop.machine)
    for _ in range(min(steps, n - partial.step[0])):
        end = np.int64(0)
        lanes.begin[0] = 0
        for s in range(len(partial.start)):
            end = observe(shop, partial, s, lanes, end)
            lanes.begin[s + 1] = end
        logits(weights, embedded, lanes)
        for s in range(len(partial.start)):
            at = draw(lanes.logit, lanes.begin[s], lanes.begin[s + 1], temperature, partial.random[s])
            _place(shop, partial, s, np.int64(lanes.job[at]))
        partial.step[0] += 1


@kernel
def complete(shop: SlimInstance, partial: PartialSchedules, s: int) -> None:
    """Place all that is left of schedule s by a rule: what can start first, of equals what has most work left."""
    n = len(shop.machine)
    for _ in range(n - partial.step[0]):
        chosen, best, most = np.int64(-1), 0, 0
        for j in range(len(shop.release)):
            i = partial.upcoming[s, j]
            if i < shop.first[j + 1]:
                start = max(partial.ready[s, j], partial.free[s, shop.machine[i]])
                if chosen < 0 or start < best or (start == best and shop.rest[i] > most):
                    chosen, best, most = np.int64(j), start, shop.rest[i]
        _place(shop, partial, s, chosen)
        partial.step[0] += 1


@kernel
def observe(shop, partial, s, lanes, begin):
    """The lanes of schedule s, from `begin` on, with operation, job and context; returns where they end."""
    end, earliest, latest = begin, 2**31 - 1, 0
    for j in range(len(shop.release)):
        i = partial.upcoming[s, j]
        if i < shop.first[j + 1]:
            lanes.job[end], lanes.operation[end] = j, i
            end += 1
            start = max(partial.ready[s, j], partial.free[s, shop.machine[i]])
            earliest, latest = min(earliest, start), max(latest, start + shop.rest[i])
    busiest, makespan = 0, partial.ready_sorted[s, -1]
    for m in range(len(shop.load)):
        busiest = max(busiest, partial.free[s, m] + partial.load[s, m])
    scale, context = _BOUND * np.float32(shop.unit), lanes.context
    whole = np.float32(max(makespan, 1))
    r1, r2, r3 = _quartiles(partial.ready_sorted, s)
    f1, f2, f3 = _quartiles(partial.free_sorted, s)
    for at in range(begin, end):
        j, i = lanes.job[at], lanes.operation[at]
        m = shop.machine[i]
        ready, free = partial.ready[s, j], partial.free[s, m]
        r, f, start = np.float32(ready), np.float32(free), max(ready, free)
        context[0, at] = _bounded(r - f, scale)
        context[1, at] = _bounded(r - r1, scale)
        context[2, at] = _bounded(r - r2, scale)
        context[3, at] = _bounded(r - r3, scale)
        context[4, at] = _bounded(f - f1, scale)
        context[5, at] = _bounded(f - f2, scale)
        context[6, at] = _bounded(f - f3, scale)
        context[7, at] = r / whole
        context[8, at] = _bounded(np.float32(start - earliest), scale)
        context[9, at] = _bounded(np.float32(latest - start - shop.rest[i]), scale)
        context[10, at] = _bounded(np.float32(busiest - free - partial.load[s, m]), scale)
    return end


@kernel(inline=True)
def _bounded(difference, scale):
    """A float32 in -1..1 that grows with the difference."""
    return difference / (abs(difference) + scale)


@kernel
def _quartiles(table, s):
    """The quartiles of a sorted row, between its entries where they fall there."""
    return _quantile(table, s, np.float32(0.25)), _quantile(table, s, np.float32(0.5)), _quantile(table, s, np.float32(0.75))


@kernel
def _quantile(table, s, share):
    last = table.shape[1] - 1
    place = share * np.float32(last)
    low = int(place)
    high = min(low + 1, last)
    part = place - np.float32(low)
    a = np.float32(table[s, low])
    return a + part * (np.float32(table[s, high]) - a)


@kernel
def _place(shop, partial, s, job):
    """Put the next operation of a job of schedule s behind all that its machine does, as early as it can start."""
    i = partial.upcoming[s, job]
    m = shop.machine[i]
    start = max(partial.ready[s, job], partial.free[s, m])
    end = start + shop.duration[i]
    partial.start[s, i] = start
    partial.chosen[s, partial.step[0]] = job
    _raise(partial.ready_sorted, s, partial.ready[s, job], end)
    _raise(partial.free_sorted, s, partial.free[s, m], end)
    partial.ready[s, job] = end
    partial.free[s, m] = end
    partial.load[s, m] -= shop.duration[i]
    partial.upcoming[s, job] = i + 1


@kernel
def _raise(table, s, before, after):
    """Replace an entry of a sorted row by one that is not smaller."""
    at = 0
    while table[s, at] != before:
        at += 1
    last = table.shape[1] - 1
    while at < last and table[s, at + 1] < after:
        table[s, at] = table[s, at + 1]
        at += 1
    table[s, at] = after

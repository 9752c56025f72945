"""The objective value of a sequence with a job inserted at each of its places.

Makespan: E. Taillard, Some efficient heuristic methods for the flow shop sequencing problem, EJOR 47, 1990, section 2; with
set-ups R. Ruiz and T. Stützle, EJOR 187, 2008, section 3.2: from heads and tails all places together in n * m steps, over the
places in the inner loop, several at a time. Total completion time: no such acceleration is known; the places are lanes that
pass the rest of the sequence together, each with the job before another one of it, n^2 * m / 2 steps, also several at a time.

Arithmetic is in int32, on uint64 indices: in int64 and with wrapped indices the loops would not become vector instructions.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import numpy as np

from corl.jit import kernel

__all__ = ["extend", "makespans", "quietest", "totals"]

_ONE, _TWO, _THREE, _FOUR = (np.uint64(k) for k in range(1, 5))


@kernel
def extend(side, length):
    """Make `done` known for the first `length` jobs of a side's sequence."""
    known = side.known[0]
    if known >= length:
        return
    side.known[0] = length
    if side.setup.size > 1:
        _extend_with_setups(side, known, length)
        return
    duration, jobs, done = side.duration, side.jobs, side.done
    machines, k = np.uint64(done.shape[0]), np.uint64(known)
    while k + _FOUR <= np.uint64(length):  # four jobs in one pass over the machines: four chains that wait for each other less
        a, b, c, d = np.uint64(jobs[k]), np.uint64(jobs[k + _ONE]), np.uint64(jobs[k + _TWO]), np.uint64(jobs[k + _THREE])
        va = vb = vc = vd = np.int32(0)
        for i in range(machines):
            va = np.int32(max(va, done[i, k]) + duration[a, i])
            vb = np.int32(max(vb, va) + duration[b, i])
            vc = np.int32(max(vc, vb) + duration[c, i])
            vd = np.int32(max(vd, vc) + duration[d, i])
            done[i, k + _ONE], done[i, k + _TWO], done[i, k + _THREE], done[i, k + _FOUR] = va, vb, vc, vd
        k += _FOUR
    while k < np.uint64(length):
        job, value = np.uint64(jobs[k]), np.int32(0)
        for i in range(machines):
            value = np.int32(max(value, done[i, k]) + duration[job, i])
            done[i, k + _ONE] = value
        k += _ONE


@kernel
def _extend_with_setups(side, known, length):
    machines, n = side.done.shape[0], len(side.duration)
    for k in range(known, length):
        job, value = side.jobs[k], np.int32(0)
        before = side.jobs[k - 1] if k > 0 else n
        for i in range(machines):
            ready = np.int32(side.done[i, k] + side.setup[i, job, before])
            value = np.int32(max(value, ready) + side.duration[job, i])
            side.done[i, k + 1] = value


@kernel
def _ready(side, length, machine, job, out):
    """Write to out [length + 1], for all k, when a machine is ready for `job` after the first k jobs of the sequence."""
    n, done = np.uint64(len(side.duration)), side.done
    i, j = np.uint64(machine), np.uint64(job)
    out[0] = side.setup[i, j, n]
    for k in range(_ONE, np.uint64(length + 1)):
        out[k] = np.int32(done[i, k] + side.setup[i, j, np.uint64(side.jobs[k - _ONE])])


@kernel
def makespans(front, back, length, job, room, values):
    """values [length + 1]: the makespan of the sequence of both sides with `job` at each place. room: int32 [3, n + 1]."""
    extend(front, length)
    extend(back, length)
    machines, setups = front.done.shape[0], front.setup.size > 1
    ends, count, last = room[0], np.uint64(length + 1), np.uint64(length)
    for k in range(count):
        ends[k] = values[k] = np.int32(0)
    for i in range(machines):
        mirrored = machines - 1 - i
        duration = front.duration[job, i]
        heads, tails = front.done[i], back.done[mirrored]
        if setups:
            heads, tails = room[1], room[2]
            _ready(front, length, i, job, heads)
            _ready(back, length, mirrored, job, tails)
        for k in range(count):
            end = np.int32(max(heads[k], ends[k]) + duration)
            ends[k] = end
            values[k] = max(values[k], np.int32(end + tails[last - k]))


@kernel
def totals(front, length, job, lanes, ends, sums):
    """sums int64 [length + 1]: the total completion time of the sequence with `job` at each place. lanes: int32 [m, n + 1]; ends:
    int32 [n + 1]."""
    extend(front, length)
    machines, n, setups = front.done.shape[0], len(front.duration), front.setup.size > 1
    last, before, ended = machines - 1, n, 0
    for place in range(length + 1):
        value = np.int32(0)
        for i in range(machines):  # a new lane: the job behind the first `place` ones
            ready = front.done[i, place]
            if setups:
                ready = np.int32(ready + front.setup[i, job, before])
            value = np.int32(max(value, ready) + front.duration[job, i])
            lanes[i, place] = value
        sums[place] = ended + value
        if place == length:
            return
        after = front.jobs[place]
        if setups:
            _pass_with_setups(front, lanes, ends, place, before, job, after)
        else:
            _pass(front, lanes, ends, place, after)
        for k in range(np.uint64(place + 1)):
            sums[k] += ends[k]
        before = after
        ended += front.done[last, place + 1]


@kernel
def _pass(front, lanes, ends, place, after):
    """The job `after` comes next in the lanes 0..place; it ends at `ends`, an array of its own, which vectors need."""
    duration, count, job = front.duration, np.uint64(place + 1), np.uint64(after)
    for k in range(count):
        ends[k] = np.int32(0)
    for i in range(np.uint64(front.done.shape[0])):
        needed = duration[job, i]
        for k in range(count):
            end = np.int32(max(lanes[i, k], ends[k]) + needed)
            lanes[i, k] = ends[k] = end


@kernel
def _pass_with_setups(front, lanes, ends, place, before, job, after):
    """As `_pass`: in the lane `place` it comes behind the inserted job, in the others behind `before`."""
    duration, setup, count, new = front.duration, front.setup, np.uint64(place), np.uint64(place)
    for k in range(np.uint64(place + 1)):
        ends[k] = np.int32(0)
    for i in range(np.uint64(front.done.shape[0])):
        between, needed = setup[i, after, before], duration[after, i]
        for k in range(count):
            end = np.int32(max(np.int32(lanes[i, k] + between), ends[k]) + needed)
            lanes[i, k] = ends[k] = end
        end = np.int32(max(np.int32(lanes[i, new] + setup[i, after, job]), ends[new]) + needed)
        lanes[i, new] = ends[new] = end


@kernel
def quietest(front, length, job, values, best):
    """Of the places of `job` whose makespan is `best`, that where machines wait least before it and the job behind it.

    V. Fernandez-Viagas and J. Framinan, On insertion tie-breaking rules in heuristics for the permutation flowshop scheduling
    problem, Computers & Operations Research 45, 2014, section 3. Without set-ups.
    """
    machines, chosen, least = front.done.shape[0], -1, 2**62
    for place in range(length + 1):
        if values[place] != best:
            continue
        end, behind, idle = 0, 0, 0
        after = front.jobs[place]
        for i in range(machines):
            end = max(end, front.done[i, place]) + front.duration[job, i]
            if place == length:
                idle += end - front.duration[job, i] - front.done[i, place] if i > 0 else 0
                continue
            if i > 0:
                idle += end - front.done[i, place + 1] + front.duration[after, i] - front.duration[job, i]
                idle += max(0, behind - end)
            behind = max(behind, end) + front.duration[after, i]
        if idle < least:
            chosen, least = place, idle
    return chosen

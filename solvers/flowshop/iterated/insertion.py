"""The objective value of a sequence with a job inserted at each of its positions.

Makespan: E. Taillard, Some efficient heuristic methods for the flow shop sequencing problem, EJOR 47, 1990, section 2; with
set-ups R. Ruiz and T. Stützle, EJOR 187, 2008, section 3.2. Heads and tails give the values of all positions in n * m steps; the
inner loop runs over the positions and is vectorised. Total completion time: no such acceleration is known. Each position is a
lane, that is, the sequence with the job at this position; the remaining jobs are appended to all lanes together, n^2 * m / 2
steps, also vectorised.

Arithmetic is in int32 on uint64 indices: with int64, or signed indices, the loops would not become vector instructions.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import numpy as np

from corl.jit import kernel

__all__ = ["extend", "makespans", "least_idle_place", "totals"]

_ONE, _TWO, _THREE, _FOUR = (np.uint64(k) for k in range(1, 5))


@kernel
def extend(side, length):
    """Compute `done` for the first `length` jobs of a side's sequence, in place, as far as it is not known yet."""
    known = side.known[0]
    if known >= length:
        return
    side.known[0] = length
    if side.setup.size > 1:
        _extend_with_setups(side, known, length)
        return
    duration, jobs, done = side.duration, side.jobs, side.done
    machines, k = np.uint64(done.shape[0]), np.uint64(known)
    while k + _FOUR <= np.uint64(length):  # four jobs in one pass over the machines: their chains depend less on each other
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
    """`extend` with set-ups: compute `done` for the jobs known..length - 1 of the sequence."""
    machines, n = side.done.shape[0], len(side.duration)
    for k in range(known, length):
        job, value = side.jobs[k], np.int32(0)
        before = side.jobs[k - 1] if k > 0 else n
        for i in range(machines):
            ready = np.int32(side.done[i, k] + side.setup[i, job, before])
            value = np.int32(max(value, ready) + side.duration[job, i])
            side.done[i, k + 1] = value


@kernel
def _ready_times(side, length, machine, job, out):
    """Write to out [length + 1] when a machine is ready for `job` after the first k jobs of the sequence, for each k."""
    n, done = np.uint64(len(side.duration)), side.done
    i, j = np.uint64(machine), np.uint64(job)
    out[0] = side.setup[i, j, n]
    for k in range(_ONE, np.uint64(length + 1)):
        out[k] = np.int32(done[i, k] + side.setup[i, j, np.uint64(side.jobs[k - _ONE])])


@kernel
def makespans(front, back, length, job, scratch, values):
    """Compute the makespan of the sequence with `job` inserted at each position.

    Args:
        front: The forward Side.
        back: The mirrored Side of the same sequence.
        length: Jobs in the sequence.
        job: The job to insert.
        scratch: int32 [at least 3, n + 1], overwritten.
        values: int32 [at least length + 1], the makespans are written here.
    """
    extend(front, length)
    extend(back, length)
    machines, setups = front.done.shape[0], front.setup.size > 1
    ends, count, last = scratch[0], np.uint64(length + 1), np.uint64(length)
    for k in range(count):
        ends[k] = values[k] = np.int32(0)
    for i in range(machines):
        mirrored = machines - 1 - i
        duration = front.duration[job, i]
        heads, tails = front.done[i], back.done[mirrored]
        if setups:
            heads, tails = scratch[1], scratch[2]
            _ready_times(front, length, i, job, heads)
            _ready_times(back, length, mirrored, job, tails)
        for k in range(count):
            end = np.int32(max(heads[k], ends[k]) + duration)
            ends[k] = end
            values[k] = max(values[k], np.int32(end + tails[last - k]))


@kernel
def totals(front, length, job, lanes, ends, sums):
    """Compute the total completion time of the sequence with `job` inserted at each position.

    Args:
        front: The forward Side.
        length: Jobs in the sequence.
        job: The job to insert.
        lanes: int32 [m, n + 1], scratch: when each machine is free in each lane.
        ends: int32 [n + 1], scratch: the end of the last job in each lane.
        sums: int64 [at least length + 1], the total completion times are written here.
    """
    extend(front, length)
    machines, n, setups = front.done.shape[0], len(front.duration), front.setup.size > 1
    last, before, ended = machines - 1, n, 0
    for place in range(length + 1):
        value = np.int32(0)
        for i in range(machines):  # a new lane: the job after the first `place` ones
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
            _append_with_setups(front, lanes, ends, place, before, job, after)
        else:
            _append_to_lanes(front, lanes, ends, place, after)
        for k in range(np.uint64(place + 1)):
            sums[k] += ends[k]
        before = after
        ended += front.done[last, place + 1]


@kernel
def _append_to_lanes(front, lanes, ends, place, after):
    """Append the job `after` to the lanes 0..place, in place; write its ends to `ends`, a separate array for vectorisation."""
    duration, count, job = front.duration, np.uint64(place + 1), np.uint64(after)
    for k in range(count):
        ends[k] = np.int32(0)
    for i in range(np.uint64(front.done.shape[0])):
        needed = duration[job, i]
        for k in range(count):
            end = np.int32(max(lanes[i, k], ends[k]) + needed)
            lanes[i, k] = ends[k] = end


@kernel
def _append_with_setups(front, lanes, ends, place, before, job, after):
    """`_append_to_lanes` with set-ups: `after` follows the inserted `job` in the lane `place`, and `before` in the others."""
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
def least_idle_place(front, length, job, values, best):
    """Return the position of `job`, among those of makespan `best`, with the least idle time before it and its successor.

    V. Fernandez-Viagas and J. Framinan, On insertion tie-breaking rules in heuristics for the permutation flowshop scheduling
    problem, Computers & Operations Research 45, 2014, section 3. Without set-ups.

    Args:
        front: The forward Side; `done` is valid for `length` jobs.
        length: Jobs in the sequence.
        job: The job to insert.
        values: integers [at least length + 1], the makespan at each position.
        best: The least of them.
    """
    machines, chosen, least = front.done.shape[0], -1, 2**62
    for place in range(length + 1):
        if values[place] != best:
            continue
        end, next_end, idle = 0, 0, 0
        after = front.jobs[place]
        for i in range(machines):
            end = max(end, front.done[i, place]) + front.duration[job, i]
            if place == length:
                idle += end - front.duration[job, i] - front.done[i, place] if i > 0 else 0
                continue
            if i > 0:
                idle += end - front.done[i, place + 1] + front.duration[after, i] - front.duration[job, i]
                idle += max(0, next_end - end)
            next_end = max(next_end, end) + front.duration[after, i]
        if idle < least:
            chosen, least = place, idle
    return chosen

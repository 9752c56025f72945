"""The objective value of a sequence with a job inserted at each of its positions.

Makespan: heads and tails give the values of all positions in n * m steps; the inner loop, over the positions, is vectorised (E.
Taillard, Some efficient heuristic methods for the flow shop sequencing problem, EJOR 47, 1990, section 2; with set-ups R. Ruiz
and T. Stützle, EJOR 187, 2008, section 3.2).

Total completion time: no such acceleration is known. The sequence with the job inserted at one of the positions is called a lane.
The jobs after the position are appended to all lanes together, in n^2 * m / 2 steps, which are also vectorised.

Values are int32 and indices uint64: with int64 values or signed indices the compiler would not vectorise the loops.
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
    """Make `done` valid for the first `length` jobs of a side's sequence, in place."""
    valid_length = side.valid_length[0]
    if valid_length >= length:
        return
    side.valid_length[0] = length
    if side.setup.size > 1:
        _extend_with_setups(side, valid_length, length)
        return
    duration, jobs, done = side.duration, side.jobs, side.done
    machines, k = np.uint64(done.shape[0]), np.uint64(valid_length)
    while k + _FOUR <= np.uint64(length):  # four jobs in one pass: the processor overlaps their chains of additions
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
def _extend_with_setups(side, valid_length, length):
    """Compute `done` with set-ups for the jobs at positions valid_length..length - 1, in place."""
    machines, n = side.done.shape[0], len(side.duration)
    for k in range(valid_length, length):
        job, value = side.jobs[k], np.int32(0)
        before = side.jobs[k - 1] if k > 0 else n
        for i in range(machines):
            ready = np.int32(side.done[i, k] + side.setup[i, job, before])
            value = np.int32(max(value, ready) + side.duration[job, i])
            side.done[i, k + 1] = value


@kernel
def _ready_times(side, length, machine, job, out):
    """Write to out[k] (int32) when `machine` is set up for `job` after the first k jobs of the sequence, k = 0..length."""
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
        length: The number of jobs in the sequence.
        job: The job to insert.
        scratch: int32 [at least 3, n + 1], a work array, overwritten.
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
        length: The number of jobs in the sequence.
        job: The job to insert.
        lanes: int32 [m, n + 1], a work array, overwritten: when each machine is free in each lane.
        ends: int32 [n + 1], a work array, overwritten: the end of the last job in each lane.
        sums: int64 [at least length + 1], the total completion times are written here.
    """
    extend(front, length)
    machines, n, setups = front.done.shape[0], len(front.duration), front.setup.size > 1
    last, before, ended = machines - 1, n, 0
    for place in range(length + 1):
        value = np.int32(0)
        for i in range(machines):  # a new lane: the first `place` jobs, then the inserted job
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
    """Append job `after` to the lanes 0..place, in place, and write its end in each lane to `ends`."""
    duration, count, job = front.duration, np.uint64(place + 1), np.uint64(after)
    for k in range(count):
        ends[k] = np.int32(0)
    for i in range(np.uint64(front.done.shape[0])):
        job_duration = duration[job, i]
        for k in range(count):
            end = np.int32(max(lanes[i, k], ends[k]) + job_duration)
            lanes[i, k] = ends[k] = end


@kernel
def _append_with_setups(front, lanes, ends, place, before, job, after):
    """Do what `_append_to_lanes` does, with set-ups: `after` follows `job` in the last lane, `before` in the other lanes."""
    duration, setup, count, new = front.duration, front.setup, np.uint64(place), np.uint64(place)
    for k in range(np.uint64(place + 1)):
        ends[k] = np.int32(0)
    for i in range(np.uint64(front.done.shape[0])):
        setup_time, job_duration = setup[i, after, before], duration[after, i]
        for k in range(count):
            end = np.int32(max(np.int32(lanes[i, k] + setup_time), ends[k]) + job_duration)
            lanes[i, k] = ends[k] = end
        end = np.int32(max(np.int32(lanes[i, new] + setup[i, after, job]), ends[new]) + job_duration)
        lanes[i, new] = ends[new] = end


@kernel
def least_idle_place(front, length, job, values, best):
    """Of the positions at which `job` gives the makespan `best`, return the one with the least idle time before the job and its
    successor.

    The tie-breaking rule is that of V. Fernandez-Viagas and J. Framinan, On insertion tie-breaking rules in heuristics for the
    permutation flowshop scheduling problem, Computers & Operations Research 45, 2014, section 3. Set-ups are not supported.

    Args:
        front: The forward Side; `done` is valid for `length` jobs.
        length: The number of jobs in the sequence.
        job: The job to insert.
        values: integers [at least length + 1], the makespan at each position.
        best: The smallest of these makespans.
    """
    machines, chosen, least_idle = front.done.shape[0], -1, 2**62
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
        if idle < least_idle:
            chosen, least_idle = place, idle
    return chosen

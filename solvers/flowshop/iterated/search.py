"""Iterated greedy in steps of one insertion each, so that the search can be interrupted and resumed after any insertion.

A sequence built by NEH is improved by a local search that moves single jobs. Then, repeatedly, some jobs are removed and inserted
again greedily, the sequence is improved, and the result is accepted or rejected as in annealing at a constant temperature (R.
Ruiz and T. Stützle, A simple and effective iterated greedy algorithm for the permutation flowshop scheduling problem, EJOR 177,
2007). The partial sequence may be improved before the removed jobs are inserted again (J. Dubois-Lacoste, F. Pagnozzi and T.
Stützle, An iterated greedy algorithm with optimization of partial solutions, Computers & Operations Research 81, 2017).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.jit import kernel
from corl.kernels.annealing import metropolis
from corl.kernels.rotate import rotate
from corl.problems.flowshop.instance import FlowShopInstance
from corl.rng import below, random_state, shuffle
from corl.solvers.flowshop.iterated.insertion import extend, least_idle_place, makespans, totals
from corl.solvers.flowshop.iterated.shop import Side, sides

__all__ = ["BEST", "LENGTH", "WAITING", "IteratedGreedyState", "begin", "begin_at", "search", "sequence"]

PHASE, LENGTH, WAITING, CURSOR, FAILED, VALUE, CURRENT, BEST = range(8)
"""The entries of `IteratedGreedyState.counts`.

PHASE: BUILDING or IMPROVING. LENGTH: the number of jobs in the sequence. WAITING: the number of jobs to insert. CURSOR: the index
in `order` of the job that local search tries next. FAILED: the number of jobs tried since the last improvement. VALUE, CURRENT,
BEST: the objective values of the candidate (the sequence being changed), of the current and of the best sequence; -1 if none.
"""
BUILDING, IMPROVING = 0, 1
"""Phases: BUILDING inserts the waiting jobs, IMPROVING is the local search."""


class IteratedGreedyState(NamedTuple):
    """The state of a search on n jobs and m machines."""

    front: Side
    """The candidate: the sequence that is being changed."""
    back: Side
    """The candidate, mirrored."""
    total: bool
    """True if the objective is the total completion time, False if it is the makespan."""
    counts: NDArray[np.int64]
    """[8] numbers that describe the search; the constants PHASE, ..., BEST are their indices."""
    waiting: NDArray[np.int32]
    """[n] the jobs to insert into the sequence; the next one to insert is the last."""
    order: NDArray[np.int32]
    """[n] the jobs of the sequence, in the order in which local search tries them."""
    current: NDArray[np.int32]
    """[n] the current sequence: the last one that was accepted."""
    best: NDArray[np.int32]
    """[n] the best sequence."""
    values: NDArray[np.int64]
    """[n + 1] the objective values of the sequence with a job inserted at each position."""
    makespans: NDArray[np.int32]
    """[n + 1] a work array for `insertion.makespans`, which writes int32."""
    scratch: NDArray[np.int32]
    """[max(m, 3), n + 1] a work array."""
    ends: NDArray[np.int32]
    """[n + 1] a work array."""
    random: NDArray[np.uint64]
    """[1] the state of the random number generator."""


def begin(instance: FlowShopInstance, seed: int) -> IteratedGreedyState:
    """Return a search that begins by building a sequence with NEH (M. Nawaz, E. Enscore and I. Ham, Omega 11, 1983).

    The jobs with the largest sums of durations are inserted first. For the total completion time those with the smallest are, as
    in J. Framinan, R. Leisten and R. Ruiz-Usano (EJOR 141, 2002).
    """
    n, m = instance.duration.shape
    total = instance.objective == "total_completion_time"
    work = instance.duration.sum(axis=1)
    order = np.argsort(-work if total else work, kind="stable")
    front, back = sides(instance)
    counts = np.full(8, -1, np.int64)
    counts[[PHASE, LENGTH, WAITING, CURSOR, FAILED, VALUE]] = BUILDING, 0, n, 0, 0, 0
    return IteratedGreedyState(
        front=front,
        back=back,
        total=total,
        counts=counts,
        waiting=order.astype(np.int32),
        order=np.zeros(n, np.int32),
        current=np.zeros(n, np.int32),
        best=np.zeros(n, np.int32),
        values=np.zeros(n + 1, np.int64),
        makespans=np.zeros(n + 1, np.int32),
        scratch=np.zeros((max(m, 3), n + 1), np.int32),
        ends=np.zeros(n + 1, np.int32),
        random=random_state(seed),
    )


def begin_at(state: IteratedGreedyState, jobs: ArrayLike, value: float) -> None:
    """Make the search continue with local search from the sequence `jobs` (n integers) of objective value `value`, in place."""
    jobs = np.asarray(jobs, np.int32)
    n = len(jobs)
    state.front.jobs[:n], state.back.jobs[:n], state.best[:] = jobs, jobs[::-1], jobs
    state.front.valid_length[0] = state.back.valid_length[0] = 0
    state.counts[[LENGTH, WAITING, VALUE, BEST]] = n, 0, value, value
    improve(state)


def sequence(state: IteratedGreedyState) -> NDArray[np.int64]:
    """Return the best sequence, int64 [n]; if there is none yet, the partial sequence followed by the waiting jobs."""
    if state.counts[BEST] >= 0:
        return state.best.astype(np.int64)
    partial, waiting = state.front.jobs[: state.counts[LENGTH]], state.waiting[: state.counts[WAITING]]
    return np.concatenate([partial, waiting[::-1]]).astype(np.int64)


@kernel
def search(state, steps, removals, temperature, partial, ties):
    """Continue the search for `steps` insertions.

    Args:
        state: The state, updated in place.
        steps: The number of insertions to make.
        removals: The number of jobs removed in an iteration.
        temperature: The temperature of the acceptance rule, in the objective's units.
        partial: Whether the partial sequence is improved before the removed jobs are inserted again.
        ties: Whether positions of equal makespan are chosen by the least idle time, instead of at random.
    """
    counts = state.counts
    for _ in range(steps):
        if counts[PHASE] == BUILDING:
            counts[WAITING] -= 1
            job = state.waiting[counts[WAITING]]
            place = _best_place(state, job, ties)
            counts[VALUE] = state.values[place]
            insert(state, place, job)
            if counts[WAITING] == 0:
                improve(state)
            continue
        _try_next(state, ties)
        if counts[FAILED] < counts[LENGTH]:
            continue
        if counts[WAITING] > 0:  # the partial sequence is locally optimal
            counts[PHASE] = BUILDING
            continue
        _accept(state, temperature)
        _remove_random(state, removals)
        if partial:
            improve(state)
        else:
            counts[PHASE] = BUILDING


@kernel
def _best_place(state, job, ties):
    """Return the best position of a job that is not in the sequence, and write the values of all positions to `values`."""
    length, values = state.counts[LENGTH], state.values
    if state.total:
        totals(state.front, length, job, state.scratch, state.ends, values)
    else:
        makespans(state.front, state.back, length, job, state.scratch, state.makespans)
        for k in range(length + 1):
            values[k] = state.makespans[k]
    place, count = 0, 1
    for k in range(1, length + 1):
        if values[k] < values[place]:
            place, count = k, 1
        elif values[k] == values[place]:
            count += 1
    if count == 1:
        return place
    if ties and not state.total and state.front.setup.size == 1:
        return least_idle_place(state.front, length, job, values, values[place])
    chosen, least = below(state.random, count), values[place]
    for k in range(place, length + 1):
        if values[k] == least:
            if chosen == 0:
                return k
            chosen -= 1
    return place


@kernel(borrow=True)
def insert(state, place, job):
    """Insert a job into the sequence at a position, in place."""
    length = state.counts[LENGTH]
    for side, k in ((state.front, place), (state.back, length - place)):
        side.jobs[length] = job
        rotate(side.jobs, length, k)
        side.valid_length[0] = min(side.valid_length[0], k)
    state.counts[LENGTH] = length + 1


@kernel(borrow=True)
def remove(state, place):
    """Remove the job at a position from the sequence, in place, and return the job."""
    length, job = state.counts[LENGTH] - 1, state.front.jobs[place]
    for side, k in ((state.front, place), (state.back, length - place)):
        rotate(side.jobs, k, length)
        side.valid_length[0] = min(side.valid_length[0], k)
    state.counts[LENGTH] = length
    return job


@kernel
def improve(state):
    """Begin a local search on the sequence: its jobs are tried in random order, repeatedly."""
    counts = state.counts
    length = counts[LENGTH]
    state.order[:length] = state.front.jobs[:length]
    shuffle(state.random, state.order[:length])
    counts[PHASE], counts[CURSOR], counts[FAILED] = IMPROVING, 0, 0


@kernel
def _try_next(state, ties):
    """Remove the next job of `order`, and insert it at its best position.

    The job may change its position even if the old position is equally good.
    """
    counts = state.counts
    job, old_place = state.order[counts[CURSOR]], 0
    counts[CURSOR] = (counts[CURSOR] + 1) % counts[LENGTH]
    while state.front.jobs[old_place] != job:
        old_place += 1
    remove(state, old_place)
    place = _best_place(state, job, ties)
    insert(state, place, job)
    counts[FAILED] += 1
    if state.values[place] < counts[VALUE]:
        counts[VALUE], counts[FAILED] = state.values[place], 0


@kernel
def _accept(state, temperature):
    """Accept the candidate as the current sequence, or restore the current one (section 3.3 of Ruiz and Stützle)."""
    counts, n = state.counts, state.counts[LENGTH]
    if counts[BEST] < 0 or counts[VALUE] < counts[BEST]:
        counts[BEST] = counts[VALUE]
        state.best[:] = state.front.jobs[:n]
    increase = counts[VALUE] - counts[CURRENT]
    if counts[CURRENT] < 0 or metropolis(increase, temperature, state.random):
        counts[CURRENT] = counts[VALUE]
        state.current[:] = state.front.jobs[:n]
        return
    counts[VALUE] = counts[CURRENT]
    for k in range(n):
        state.front.jobs[k], state.back.jobs[k] = state.current[k], state.current[n - 1 - k]
    state.front.valid_length[0] = state.back.valid_length[0] = 0


@kernel
def _remove_random(state, removals):
    """Move `removals` random jobs from the sequence to the waiting jobs; one job always stays."""
    counts = state.counts
    for _ in range(min(removals, counts[LENGTH] - 1)):
        state.waiting[counts[WAITING]] = remove(state, below(state.random, counts[LENGTH]))
        counts[WAITING] += 1
    extend(state.front, counts[LENGTH])
    ends = state.front.done[-1]
    counts[VALUE] = ends[1 : counts[LENGTH] + 1].sum() if state.total else ends[counts[LENGTH]]

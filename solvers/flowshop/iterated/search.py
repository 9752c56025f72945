"""Iterated greedy in steps of one insertion each, so that it can be halted and go on anywhere.

R. Ruiz and T. Stützle, A simple and effective iterated greedy algorithm for the permutation flowshop scheduling problem, EJOR
177, 2007: a sequence built by NEH is improved by insertions; then again and again some jobs are taken out and put back greedily,
the whole is improved, and the outcome accepted as at a constant temperature. J. Dubois-Lacoste, F. Pagnozzi and T. Stützle, An
iterated greedy algorithm with optimization of partial solutions, Computers & Operations Research 81, 2017: what is left when jobs
are taken out is improved before they are put back.
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
from corl.solvers.flowshop.iterated.insertion import extend, makespans, quietest, totals
from corl.solvers.flowshop.iterated.shop import Side, sides

__all__ = ["BEST", "LENGTH", "WAITING", "Search", "begin", "begin_at", "search", "sequence"]

PHASE, LENGTH, WAITING, CURSOR, FAILED, VALUE, CURRENT, BEST = range(8)
"""Slots of `at`: what is done next; jobs in the sequence; jobs to put into it, the next one last; the next job in `order`; how
many have found no better place since the last that did; what the sequence, the accepted and the best one are worth (-1: none)."""
BUILDING, IMPROVING = 0, 1


class Search(NamedTuple):
    """A search on n jobs and m machines."""

    front: Side
    back: Side
    total: bool
    """Whether the objective is the sum of completion times."""
    at: NDArray[np.int64]
    """[8] see the slots above."""
    waiting: NDArray[np.int32]
    """[n] the jobs to put into the sequence, the next one last."""
    order: NDArray[np.int32]
    """[n] the jobs of the sequence, in the order in which local search tries them."""
    current: NDArray[np.int32]
    """[n] the accepted sequence."""
    best: NDArray[np.int32]
    """[n] the best one so far."""
    values: NDArray[np.int64]
    """[n + 1] the objective value of the sequence with a job inserted at each place."""
    makespans: NDArray[np.int32]
    """[n + 1] the same where it is the makespan."""
    room: NDArray[np.int32]
    """[max(m, 3), n + 1] to work in."""
    ends: NDArray[np.int32]
    """[n + 1] likewise."""
    random: NDArray[np.uint64]
    """[1]"""


def begin(instance: FlowShopInstance, seed: int) -> Search:
    """A search that begins with NEH (M. Nawaz, E. Enscore and I. Ham, Omega 11, 1983): the jobs with the most work first.

    For the total completion time those with the least work come first, as in J. Framinan, R. Leisten and R. Ruiz-Usano (EJOR 141,
    2002).
    """
    n, m = instance.duration.shape
    total = instance.objective == "total_completion_time"
    work = instance.duration.sum(axis=1)
    order = np.argsort(-work if total else work, kind="stable")
    front, back = sides(instance)
    at = np.full(8, -1, np.int64)
    at[[PHASE, LENGTH, WAITING, CURSOR, FAILED, VALUE]] = BUILDING, 0, n, 0, 0, 0
    return Search(
        front=front,
        back=back,
        total=total,
        at=at,
        waiting=order.astype(np.int32),
        order=np.zeros(n, np.int32),
        current=np.zeros(n, np.int32),
        best=np.zeros(n, np.int32),
        values=np.zeros(n + 1, np.int64),
        makespans=np.zeros(n + 1, np.int32),
        room=np.zeros((max(m, 3), n + 1), np.int32),
        ends=np.zeros(n + 1, np.int32),
        random=random_state(seed),
    )


def begin_at(state: Search, jobs: ArrayLike, value: float) -> None:
    """Let the search go on from a sequence of this value, with local search."""
    jobs = np.asarray(jobs, np.int32)
    n = len(jobs)
    state.front.jobs[:n], state.back.jobs[:n], state.best[:] = jobs, jobs[::-1], jobs
    state.front.known[0] = state.back.known[0] = 0
    state.at[[LENGTH, WAITING, VALUE, BEST]] = n, 0, value, value
    improve(state)


def sequence(state: Search) -> NDArray[np.int64]:
    """The best sequence; before there is one, what is built so far and then what is waiting, as it would come."""
    if state.at[BEST] >= 0:
        return state.best.astype(np.int64)
    built, waiting = state.front.jobs[: state.at[LENGTH]], state.waiting[: state.at[WAITING]]
    return np.concatenate([built, waiting[::-1]]).astype(np.int64)


@kernel
def search(state, steps, out, temperature, partial, ties):
    """Go on for so many insertions. out: jobs taken out; temperature: of acceptance, in the objective's units; partial: whether
    what is left then is improved first; ties: whether equal makespans are told apart by idle times."""
    at = state.at
    for _ in range(steps):
        if at[PHASE] == BUILDING:
            at[WAITING] -= 1
            job = state.waiting[at[WAITING]]
            place = _best_place(state, job, ties)
            at[VALUE] = state.values[place]
            insert(state, place, job)
            if at[WAITING] == 0:
                improve(state)
            continue
        _try_next(state, ties)
        if at[FAILED] < at[LENGTH]:
            continue
        if at[WAITING] > 0:  # the partial sequence is as good as it gets
            at[PHASE] = BUILDING
            continue
        _accept(state, temperature)
        _take_out(state, out)
        if partial:
            improve(state)
        else:
            at[PHASE] = BUILDING


@kernel
def _best_place(state, job, ties):
    """The best place of a job that is not in the sequence; `values` is filled for all."""
    length, values = state.at[LENGTH], state.values
    if state.total:
        totals(state.front, length, job, state.room, state.ends, values)
    else:
        makespans(state.front, state.back, length, job, state.room, state.makespans)
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
        return quietest(state.front, length, job, values, values[place])
    chosen, least = below(state.random, count), values[place]
    for k in range(place, length + 1):
        if values[k] == least:
            if chosen == 0:
                return k
            chosen -= 1
    return place


@kernel(borrow=True)
def insert(state, place, job):
    """Put a job into the sequence at a place."""
    length = state.at[LENGTH]
    for side, k in ((state.front, place), (state.back, length - place)):
        side.jobs[length] = job
        rotate(side.jobs, length, k)
        side.known[0] = min(side.known[0], k)
    state.at[LENGTH] = length + 1


@kernel(borrow=True)
def remove(state, place):
    """Take the job at a place out of the sequence; returns it."""
    length, job = state.at[LENGTH] - 1, state.front.jobs[place]
    for side, k in ((state.front, place), (state.back, length - place)):
        rotate(side.jobs, k, length)
        side.known[0] = min(side.known[0], k)
    state.at[LENGTH] = length
    return job


@kernel
def improve(state):
    """Begin a local search on the sequence: all its jobs in random order, round and round."""
    at = state.at
    length = at[LENGTH]
    state.order[:length] = state.front.jobs[:length]
    shuffle(state.random, state.order[:length])
    at[PHASE], at[CURSOR], at[FAILED] = IMPROVING, 0, 0


@kernel
def _try_next(state, ties):
    """Remove the next job and insert it at a place of best objective value; among equal places it may move."""
    at = state.at
    job, old = state.order[at[CURSOR]], 0
    at[CURSOR] = (at[CURSOR] + 1) % at[LENGTH]
    while state.front.jobs[old] != job:
        old += 1
    remove(state, old)
    place = _best_place(state, job, ties)
    insert(state, place, job)
    at[FAILED] += 1
    if state.values[place] < at[VALUE]:
        at[VALUE], at[FAILED] = state.values[place], 0


@kernel
def _accept(state, temperature):
    """Take the sequence as the accepted one, or go back to that: section 3.3 of the paper."""
    at, n = state.at, state.at[LENGTH]
    if at[BEST] < 0 or at[VALUE] < at[BEST]:
        at[BEST] = at[VALUE]
        state.best[:] = state.front.jobs[:n]
    worse = at[VALUE] - at[CURRENT]
    if at[CURRENT] < 0 or metropolis(worse, temperature, state.random):
        at[CURRENT] = at[VALUE]
        state.current[:] = state.front.jobs[:n]
        return
    at[VALUE] = at[CURRENT]
    for k in range(n):
        state.front.jobs[k], state.back.jobs[k] = state.current[k], state.current[n - 1 - k]
    state.front.known[0] = state.back.known[0] = 0


@kernel
def _take_out(state, out):
    """Move random jobs from the sequence to the waiting jobs."""
    at = state.at
    for _ in range(min(out, at[LENGTH] - 1)):
        state.waiting[at[WAITING]] = remove(state, below(state.random, at[LENGTH]))
        at[WAITING] += 1
    extend(state.front, at[LENGTH])
    ends = state.front.done[-1]
    at[VALUE] = ends[1 : at[LENGTH] + 1].sum() if state.total else ends[at[LENGTH]]

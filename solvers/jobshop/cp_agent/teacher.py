"""The teacher: tabu search completes the agent's schedule from where it was cut, and its orders become decisions.

A schedule as the search leaves it has waits that do no good; the agent that imitated them waited ever longer. So the orders
are replayed through the simulator: nothing waits for what comes later unless it comes before it would end, and a wait is
kept only if the schedule gets longer without it, by more than a slack that all that are left out share. (Without slack a
third of what might wait did, for reasons that the agent cannot see: its schedules were 6 points longer than with hardly any.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.jobshop.instance import JobShopInstance
from corl.problems.jobshop.simulator import JobShopSimulator
from corl.search import hooks
from corl.solvers.jobshop.cp_agent.observation import DECIDE, DONE, FEATURES, SLOTS, View, begin_view, survey, tokens
from corl.solvers.jobshop.cp_agent.rollout import act
from corl.solvers.jobshop.search import advance, begin, new_search
from corl.solvers.jobshop.selection import new_selection, rebuild, shop_of, sort_starts

__all__ = ["Lesson", "copy_row", "improved", "replay", "taught"]

_SLACK = 0.01  # of the makespan: what leaving out waits may cost in all


class Lesson(NamedTuple):
    """Decisions as they were seen, one after another: D of them, T jobs listed and K keys in all."""

    jobs: NDArray[np.int32]
    """[D] jobs listed; `can`: how many of them can start; `keys`: how many keys."""
    can: NDArray[np.int32]
    competitors: NDArray[np.int32]
    waiting: NDArray[np.bool_]
    """[D] whether waiting is offered."""
    x: NDArray[np.float32]
    """[T, SLOTS, FEATURES]"""
    there: NDArray[np.bool_]
    """[T, SLOTS]"""
    begin: NDArray[np.int32]
    """[T] where a job's competitors begin in the decision's keys; 0 for those that cannot start."""
    end: NDArray[np.int32]
    wanted: NDArray[np.bool_]
    """[T] whether the teacher starts it now; where it starts none it waits."""
    keys: NDArray[np.int32]
    """[K]"""


def taught(simulator: JobShopSimulator, view: View, moves: int, random: NDArray[np.uint64]) -> tuple[Lesson, float, float]:
    """What the teacher would have done from row 0 on, whose row 1 holds the agent's own schedule from there.

    Returns the lesson, and the makespans of the agent's and of the replayed schedule. Rows 2 and 3 are overwritten.
    """
    state = simulator.state
    own = float(state.estimate[1])
    start = improved(simulator, moves, random)
    capacity = int(state.left[0])
    lesson = _empty(capacity, len(view.jobs), len(view.keys))
    sizes = np.zeros(3, np.int64)
    value = replay(state, view, start, lesson, sizes)
    d, t, k = (int(size) for size in sizes)
    ends = (d, d, d, d, t, t, t, t, t, k)
    return Lesson._make(part[:end].copy() for part, end in zip(lesson, ends)), own, float(value)


def improved(simulator: JobShopSimulator, moves: int, random: NDArray[np.uint64]) -> NDArray[np.int64]:
    """An order of the operations that are left in row 0, as starts (int64, of all operations), by a tabu search from row 1's.

    To the search each job is released when it can go on; that a machine may be busy until after that it learns only for the
    job's next operation. So these starts need not be feasible: they are an order, which `replay` follows.
    """
    state, instance = simulator.state, simulator.instances[int(simulator.state.instance[0])]
    n = instance.operations
    start = state.start[1, :n].copy()
    job = instance.job
    left = np.flatnonzero(np.arange(n) >= state.next[0, job])
    if len(left) < 2:
        return start
    going = np.unique(job[left])
    release = state.start[0, state.next[0, going]]
    shop = shop_of(_rest(instance, left, release))
    search = new_search(shop, random)
    sort_starts(shop, start[left], search.selection.sequence)
    begin(search)
    shortest = 10 + instance.jobs // instance.machines
    advance(search, moves, shortest, int(1.4 * shortest), moves)
    selection = new_selection(shop)
    selection.sequence[:] = search.best
    rebuild(shop, selection)
    start[left] = selection.end[: len(left)] - shop.duration
    return start


def _rest(instance: JobShopInstance, left: NDArray[np.int64], release: NDArray[np.int64]) -> JobShopInstance:
    """The jobs' operations that are left, rising; `release` of the jobs that have any."""
    counts = np.bincount(instance.job[left], minlength=instance.jobs)
    return JobShopInstance(
        name=instance.name,
        machines=instance.machines,
        first=np.concatenate([[0], np.cumsum(counts[counts > 0])]).astype(np.int32),
        choice_first=np.arange(len(left) + 1, dtype=np.int32),
        choice_machine=instance.choice_machine[left],
        choice_duration=instance.choice_duration[left],
        release=release,
    )


def _empty(decisions: int, jobs: int, keys: int) -> Lesson:
    """Room for so many decisions with so many jobs and keys each."""
    d, t = decisions, min(decisions * jobs, 40_000)
    k = min(decisions * keys, 80_000)
    return Lesson(
        np.zeros(d, np.int32), np.zeros(d, np.int32), np.zeros(d, np.int32), np.zeros(d, np.bool_),
        np.zeros((t, SLOTS, FEATURES), np.float32), np.zeros((t, SLOTS), np.bool_),
        np.zeros(t, np.int32), np.zeros(t, np.int32), np.zeros(t, np.bool_), np.zeros(k, np.int32),
    )  # fmt: skip


@kernel
def replay(state, view, start, lesson, sizes):
    """Follow the order of `start` from row 0 on, in row 2, without needless waits; note every decision; the makespan.

    `sizes` int64 [3] becomes the numbers of decisions, jobs and keys noted. What does not fit any more is left out.
    """
    wanted = np.zeros(len(view.jobs), np.bool_)
    copy_row(state, 0, 3)
    most = (1.0 + _SLACK) * _complete(state, 3, view, start, wanted)
    copy_row(state, 0, 2)
    begin_view(state, 2, view)
    while True:
        action = survey(state, 2, view)
        if action == DONE:
            return state.estimate[2]
        if action == DECIDE:
            action = _follow(state, 2, view, start, wanted)
            if action == state.jobs[state.instance[2]]:
                first = _earliest(state, 2, view, start)
                hooks.step(state, 2, 3, first)
                value = _complete(state, 3, view, start, wanted)
                survey(state, 2, view)
                wanted[:] = False
                if value <= most:
                    action = first
                    for c in range(view.counts[0]):
                        wanted[c] = view.jobs[c] == first
            tokens(state, 2, view)
            _note(view, wanted, lesson, sizes)
        act(state, 2, view, action)


@kernel
def copy_row(state, src, dst):
    """Make row `dst` the same as row `src`."""
    instance = state.instance[src]
    jobs, n = state.jobs[instance], state.operations[instance]
    state.instance[dst], state.left[dst], state.estimate[dst] = instance, state.left[src], state.estimate[src]
    state.next[dst, :jobs], state.start[dst, :n] = state.next[src, :jobs], state.start[src, :n]


@kernel
def _complete(state, row, view, start, wanted):
    """Follow the order of `start` to the end; the makespan."""
    while True:
        action = survey(state, row, view)
        if action == DONE:
            return state.estimate[row]
        if action == DECIDE:
            action = _follow(state, row, view, start, wanted)
        hooks.step(state, row, row, action)


@kernel
def _follow(state, row, view, start, wanted):
    """What the order of `start` asks for: the first on each machine of what no earlier one would still be kept waiting by.

    Fills wanted[:L]; returns the one of them that starts first, or the number of jobs for waiting, where it is offered.
    """
    instance = state.instance[row]
    jobs, base, count = state.jobs[instance], state.operation_at[instance], view.counts[0]
    chosen, earliest = jobs, 2**62
    for c in range(count):
        i = state.next[row, view.jobs[c]]
        wanted[c] = _first(state, row, base, state.machine_at[instance], i, view.now[0], start)
        if wanted[c] and start[i] < earliest:
            chosen, earliest = view.jobs[c], start[i]
    if chosen == jobs and not view.counts[3]:
        chosen = _earliest(state, row, view, start)
        for c in range(count):
            wanted[c] = view.jobs[c] == chosen
    return chosen


@kernel
def _first(state, row, base, machine_at, i, now, start):
    """Whether nothing before i in the order wants i's machine before i, started now, would end."""
    m, end = machine_at + state.machine[base + i], now + state.duration[base + i]
    for k in range(state.begin[m], state.end[m]):
        other = state.members[base + k]
        before = start[other] < start[i] or (start[other] == start[i] and other < i)
        if before and other >= state.next[row, state.job[base + other]] and state.start[row, other] < end:
            return False
    return True


@kernel
def _earliest(state, row, view, start):
    """Of the jobs that can start now, the one that the order has first."""
    chosen, earliest = view.jobs[0], 2**62
    for c in range(view.counts[0]):
        at = start[state.next[row, view.jobs[c]]]
        if at < earliest:
            chosen, earliest = view.jobs[c], at
    return chosen


@kernel
def _note(view, wanted, lesson, sizes):
    """Append a decision to the lesson, if it has room."""
    d, t, k = sizes[0], sizes[1], sizes[2]
    can, jobs, keys = view.counts[0], view.counts[1], view.counts[2]
    if d == len(lesson.jobs) or t + jobs > len(lesson.x) or k + keys > len(lesson.keys):
        return
    lesson.jobs[d], lesson.can[d], lesson.competitors[d], lesson.waiting[d] = jobs, can, keys, view.counts[3] == 1
    lesson.x[t : t + jobs], lesson.there[t : t + jobs] = view.x[:jobs], view.there[:jobs]
    lesson.begin[t : t + can], lesson.end[t : t + can] = view.key_begin[:can], view.key_end[:can]
    lesson.wanted[t : t + can] = wanted[:can]
    lesson.keys[k : k + keys] = view.keys[:keys]
    sizes[0], sizes[1], sizes[2] = d + 1, t + jobs, k + keys

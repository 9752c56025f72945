"""Insertions evaluated all together are worth what each is worth by the rules."""

from __future__ import annotations

import numpy as np
import pytest

from corl.solvers.flowshop.iterated.insertion import least_idle_place, makespans, totals
from corl.solvers.flowshop.iterated.search import begin, insert, remove

KINDS = ("makespan", "total", "makespan setups", "total setups", "makespan first", "total zeros")


def placed(instance, sequence):
    """A search that has this sequence."""
    state = begin(instance, 0)
    for k, job in enumerate(sequence):
        insert(state, k, job)
    return state


def evaluated(state, length, job):
    """What the sequence is worth with the job at each place."""
    if state.total:
        totals(state.front, length, job, state.scratch, state.ends, state.values)
        return state.values[: length + 1].tolist()
    makespans(state.front, state.back, length, job, state.scratch, state.makespans)
    return state.makespans[: length + 1].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_every_place(random_instance, worth, kind):
    """Sequences of 0 to 40 jobs (beyond the lanes of one pass), while jobs come and go."""
    for seed, jobs in enumerate((2, 6, 9, 41)):
        random = np.random.default_rng(seed)
        instance = random_instance(kind, jobs, 1 + seed * 2, seed)
        order = random.permutation(jobs)
        sequence, waiting = order[: jobs // 2].tolist(), order[jobs // 2 :].tolist()
        state = placed(instance, sequence)
        for _ in range(15):
            if waiting and (random.random() < 0.6 or not sequence):
                job = waiting.pop(int(random.integers(len(waiting))))
                expected = [worth(instance, [*sequence[:k], job, *sequence[k:]]) for k in range(len(sequence) + 1)]
                assert evaluated(state, len(sequence), job) == expected
                place = int(random.integers(len(sequence) + 1))
                sequence.insert(place, job)
                insert(state, place, job)
            else:
                place = int(random.integers(len(sequence)))
                assert remove(state, place) == sequence[place]
                waiting.append(sequence.pop(place))
            assert state.front.jobs[: len(sequence)].tolist() == sequence == state.back.jobs[: len(sequence)][::-1].tolist()


def test_ties_go_where_machines_wait_least(random_instance):
    """Of the places with the same makespan the chosen one has the least idle time around it, counted operation by operation."""
    ties = 0
    for seed in range(60):
        instance = random_instance("makespan", 7, 3, seed, 3)
        state = placed(instance, range(6))
        values = evaluated(state, 6, 6)
        chosen = least_idle_place(state.front, 6, 6, np.array(values), min(values))
        idle = {place: _idle(instance, place) for place in range(7) if values[place] == min(values)}
        assert idle[chosen] == min(idle.values())
        ties += len(set(idle.values())) > 1
    assert ties > 10


def _idle(instance, place):
    """How much longer the machines but the first wait before job 6 at a place and the job that follows, than before it came."""
    jobs = [*range(place), 6, *range(place, 6)]
    without = jobs[:place] + jobs[place + 1 : place + 2]
    return sum(_waits(instance, jobs[: place + 2])[place:]) - sum(_waits(instance, without)[place:])


def _waits(instance, jobs):
    """The idle time of the machines but the first right before each job."""
    free, waits = [0] * instance.machines, []
    for job in jobs:
        ready, wait = 0, 0
        for i in range(instance.machines):
            start = max(ready, free[i])
            wait += start - free[i] if i else 0
            ready = free[i] = start + int(instance.duration[job, i])
        waits.append(wait)
    return waits

"""The judge: schedules that keep every rule pass, others fail with the rule's name, and values are right."""

from __future__ import annotations

import itertools
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.errors import Infeasible
from corl.problems.jobshop.evaluation import check, objective, schedule_of_orders
from corl.problems.jobshop.instance import Schedule, from_jobs

KINDS = ("classic", "ragged", "reentrant", "zeros", "flexible", "dates", "tardiness", "flexible tardiness")
SMALL = from_jobs([[[(0, 3)], [(1, 2)]], [[(1, 4)], [(0, 1)]]], 2, release=[1, 0], first_machine=1)


def keeps_the_rules(instance, start, machine):
    """The definition, pair by pair, in plain Python."""
    jobs, end, i = list(instance.rows()), [], 0
    for row in jobs:
        for choices in row:
            if int(machine[i]) not in dict(choices):
                return False
            end.append(int(start[i]) + dict(choices)[int(machine[i])])
            i += 1
    for j in range(instance.jobs):
        ready = int(instance.release[j])
        for i in range(int(instance.first[j]), int(instance.first[j + 1])):
            if start[i] < ready:
                return False
            ready = end[i]
    pairs = itertools.combinations(range(instance.operations), 2)
    return all(machine[a] != machine[b] or end[a] <= start[b] or end[b] <= start[a] for a, b in pairs)


@settings(deadline=None, max_examples=200)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 10**6), spread=st.integers(1, 40))
def test_feasibility_is_the_definition(random_instance, kind, seed, spread):
    """Random starts and machines are accepted exactly where the definition accepts them; most of either kind are seen."""
    instance = random_instance(kind, 2, 2, seed)
    random = np.random.default_rng(seed + 1)
    start = np.sort(random.integers(0, spread, instance.operations)) * random.integers(1, 4)
    machine = random.integers(0, 2, instance.operations)
    if random.random() < 0.8:
        machine = np.array([instance.choices(i)[0][0] for i in range(instance.operations)])
    expected = keeps_the_rules(instance, start, machine)
    if expected:
        assert check(instance, (start, machine)).start.tolist() == start.tolist()
    else:
        with pytest.raises(Infeasible, match=r"\A[^\n]+\Z"):
            check(instance, (start, machine))


def test_values_by_hand():
    """The makespan is the latest end; the weighted tardiness counts each job's lateness, early ones not."""
    schedule = Schedule(np.array([1, 4, 0, 4]), np.array([0, 1, 1, 0]))
    assert objective(SMALL, schedule) == 6.0
    late = from_jobs(list(SMALL.rows()), 2, release=[1, 0], due=[4, 9], weight=[3, 5], objective="weighted_tardiness")
    assert objective(late, schedule) == 3 * (6 - 4)


@pytest.mark.parametrize(
    ("start", "machine", "message"),
    [
        ([0, 4, 0, 4], [0, 1, 1, 0], "operation 0 of job 0 starts at 0; the job is released at 1"),
        ([1, 3, 0, 4], [0, 1, 1, 0], "operation 1 of job 0 starts at 3; the operation before it ends at 4"),
        ([2, 5, 0, 4], [0, 1, 1, 0], "machine 1 does operation 0 of job 0 until 5 and operation 1 of job 1 from 4"),
        ([1, 4, 0, 4], [0, 0, 1, 0], "operation 1 of job 0 is on machine 1; accepted: 2"),
        ([1, 4, 0, 4], [0, 2, 1, 0], "operation 1 of job 0 is on machine 3; accepted: 1 to 2"),
        ([1, 4, 0, -4], [0, 1, 1, 0], "operation 1 of job 1 starts at -4"),
        ([1, 4, 0], [0, 1, 1, 0], "the starts are int64 of shape"),
        ([1.5, 4, 0, 4], [0, 1, 1, 0], "the starts are float64"),
    ],
)
def test_faults_are_named(start, machine, message):
    """Each broken rule is named with its operation, machines as the file numbers them."""
    with pytest.raises(Infeasible, match=message.replace("(", r"\(")):
        objective(SMALL, (np.array(start), np.array(machine)))


@pytest.mark.parametrize("schedule", [None, 5, "ab", [[1, 2]], ([1, [2]], [0, 0])])
def test_what_is_no_schedule(schedule):
    """Anything but a pair of arrays is infeasible, never another exception."""
    with pytest.raises(Infeasible):
        objective(SMALL, schedule)


def test_zero_durations_between_but_not_within():
    """An operation of duration zero may stand where another begins or ends, not inside it."""
    instance = from_jobs([[[(0, 4)]], [[(0, 0)]]], 1)
    machine = np.zeros(2, np.int64)
    for at in (0, 4, 9):
        assert objective(instance, (np.array([0, at]), machine)) == max(4, at)
    with pytest.raises(Infeasible, match="machine 0 does operation 0 of job 0 until 4 and operation 0 of job 1 from 2"):
        objective(instance, (np.array([0, 2]), machine))


@settings(deadline=None, max_examples=60)
@given(kind=st.sampled_from(("classic", "ragged", "reentrant", "zeros", "dates")), seed=st.integers(0, 10**6))
def test_orders_give_the_earliest_schedule(random_instance, kind, seed):
    """Orders dealt from a random order of all operations: each starts as the one before it in its job or on its machine ends."""
    instance = random_instance(kind, 3, 3, seed)
    random = np.random.default_rng(seed)
    word = random.permutation(instance.job)
    done = dict.fromkeys(range(instance.jobs), 0)
    orders = [[] for _ in range(instance.machines)]
    for j in word.tolist():
        i = int(instance.first[j]) + done[j]
        done[j] += 1
        orders[instance.choice_machine[i]].append(i)
    schedule = schedule_of_orders(instance, orders)
    end, before = schedule.start + instance.choice_duration, defaultdict(list)
    for order in [*orders, *(range(a, b) for a, b in pairwise(instance.first))]:
        for one, following in pairwise(order):
            before[following].append(end[one])
    for i, start in enumerate(schedule.start):
        assert start == max([instance.release[instance.job[i]], *before[i]])
    assert objective(instance, schedule) == end.max()


@pytest.mark.parametrize(
    ("orders", "message"),
    [
        ([[3, 0], [1, 2]], "waits for itself"),
        ([[0, 3], [1]], "operation 0 of job 1 is not done"),
        ([[0, 3, 0], [2, 1]], "operation 0 of job 0 is done twice"),
        ([[0, 1], [2, 3]], "is on machine"),
        ([[0, 3, 9], [2, 1]], "operation 9 is not in the instance"),
        ([[0, 3]], "there are orders of 1 machines"),
    ],
)
def test_wrong_orders(orders, message):
    """Cycles, omissions, repetitions and wrong machines are infeasible."""
    with pytest.raises(Infeasible, match=message):
        schedule_of_orders(SMALL, orders)

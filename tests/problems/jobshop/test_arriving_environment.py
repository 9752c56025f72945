"""The environment arriving: schedules without delay, nothing known before its time, and the rule that its features hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corl
from corl.errors import UsageError
from corl.problems.jobshop.environments.arriving.decisions import decisions
from corl.problems.jobshop.environments.arriving.environment import ArrivingEnvironment
from corl.problems.jobshop.environments.arriving.features import JOB_FEATURES, queue
from corl.problems.jobshop.generators import arrivals, taillard
from corl.problems.jobshop.instance import Schedule, from_jobs
from corl.problems.jobshop.problem import JobShop

SEEDS = st.integers(0, 10**6)


def played(instance, choose):
    """The environment at the end of an episode, with what was observed on the way."""
    environment, seen = ArrivingEnvironment([instance], 1), []
    while (listed := environment.actions([0])[0])[0] >= 0:
        seen.append(environment.observe([0]))
        environment.step([0], [0], [listed[choose(seen[-1], int((listed >= 0).sum()))]])
    return environment, seen


@settings(deadline=None, max_examples=30)
@given(seed=SEEDS)
def test_nothing_is_known_before_its_time(seed):
    """Jobs that arrive later may be any others: until then everything that is observed is the same."""
    first = arrivals(size=12, machines=3, seed=seed)
    when = int(np.sort(first.release)[6])
    other = arrivals(size=12, machines=3, seed=seed + 1)
    late = first.release >= when
    # the machines of late jobs are turned around, their durations, due dates and weights are another's
    changed = np.repeat(late, np.diff(first.first))
    second = replace(
        first,
        choice_machine=np.where(changed, 2 - first.choice_machine, first.choice_machine).astype(np.int32),
        choice_duration=np.where(changed, 50 - first.choice_duration, first.choice_duration).astype(np.int32),
        due=np.where(late, other.due, first.due),
        weight=np.where(late, other.weight, first.weight),
    )
    draws = [np.random.default_rng(seed) for _ in range(2)]
    shops = zip((first, second), draws)
    one, two = (played(shop, lambda _, count, draw=draw: int(draw.integers(count)))[1] for shop, draw in shops)
    early = [k for k, seen in enumerate(one) if seen["now"][0] < when]
    assert early == [k for k, seen in enumerate(two) if seen["now"][0] < when]
    for k in early:
        assert all(np.array_equal(one[k][name], two[k][name]) for name in one[k])


@pytest.mark.parametrize("machines", [1, 3, 6])
def test_the_first_features_are_a_rule(machines):
    """By their sum the environment builds what the rule of the apparent tardiness cost does by its queues."""
    for seed in range(20):
        instance = arrivals(size=20, machines=machines, tightness=2.0, seed=seed)
        environment, _ = played(instance, lambda seen, count: int(queue(seen).x[0, :count, :2].sum(axis=1).argmax()))
        rule = corl.solve(instance, solver="dispatch", rule="atc", iterations=1)
        assert (environment.solution(0).start == rule.solution.start).all()


def test_what_is_observed():
    """By hand: job 0 is on machine 0, jobs 1 and 2 wait for it, of which one goes on to a machine with work; job 3 comes."""
    instance = four_jobs()
    environment = ArrivingEnvironment([instance], 1)
    environment.step([0], [0], [0])
    seen = environment.observe([0])
    assert seen["now"][0] == 2 and seen["machine"][0] == 1  # the operation of job 3 on machine 1
    environment.step([0], [0], [environment.actions([0])[0, 0]])
    seen = environment.observe([0])
    assert (seen["now"][0], seen["machine"][0], seen["present"][0]) == (5, 0, 4)
    order = np.argsort(seen["job"][0, :2])
    told = {"job": [1, 2], "duration": [4, 3], "rest": [6, 3], "left": [2, 1], "ready": [1, 0], "release": [1, 0]}
    for name, values in told.items():
        assert seen[name][0, order].tolist() == values, name
    assert seen["following"][0, order].tolist() == [2, 0] and seen["queue"][0, order].tolist() == [7, 0]
    assert seen["load"][0] == 6 + 3 + 2 + 5  # jobs 1 and 2 whole, the second of job 0, what is left of job 3's only one


def four_jobs():
    return from_jobs(
        [[[(0, 5)], [(1, 2)]], [[(0, 4)], [(1, 2)]], [[(0, 3)]], [[(1, 8)]]],
        2,
        release=[0, 1, 0, 2],
        due=[9, 9, 9, 9],
        weight=[1, 2, 4, 1],
        objective="weighted_tardiness",
    )


def test_decisions():
    """Of a schedule without delay they build it; another one has none."""
    instance = four_jobs()
    environment, _ = played(instance, lambda seen, count: count - 1)
    schedule = environment.solution(0)
    again = ArrivingEnvironment([instance], 1)
    for action in decisions(instance, schedule):
        again.step([0], [0], [action])
    assert (again.solution(0).start == schedule.start).all()
    with pytest.raises(UsageError, match="no decisions of a schedule with delays"):
        decisions(instance, Schedule(schedule.start + 1, schedule.machine))


def test_other_features_refuse():
    """Each of the problem's features names the environment that it is of."""
    problem, instance = JobShop(), taillard(jobs=2, machines=2)
    with pytest.raises(UsageError, match="the features queue are of the environment arriving"):
        queue(problem.environment([instance], 1).observe([0]))
    assert queue(problem.environment([instance], 1, name="arriving").observe([0])).x[0, 0, :JOB_FEATURES].any()

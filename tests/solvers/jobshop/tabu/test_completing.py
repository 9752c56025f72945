"""Tabu search completes schedules of the interval environment: what is fixed stays, what follows is legal and good."""

from __future__ import annotations

import numpy as np
import pytest

from corl.errors import UsageError
from corl.problems.jobshop.environments.intervals.environment import IntervalEnvironment
from corl.problems.jobshop.generators import taillard
from corl.problems.jobshop.instance import Schedule
from corl.problems.jobshop.problem import JobShop
from corl.rng import random_state
from corl.solvers.jobshop.tabu.completing import improved
from corl.solvers.jobshop.tabu.solver import Tabu


def played(steps, seed=0, jobs=8, machines=6):
    """An environment of two instances; row 1 is the second one after so many random decisions (at its end there are none)."""
    instances = [taillard(jobs=3, machines=9, seed=9), taillard(jobs=jobs, machines=machines, seed=seed)]
    environment, random = IntervalEnvironment(instances, 3), np.random.default_rng(seed)
    environment.reset([0, 1, 2], [0, 1, 1])
    for _ in range(steps):
        if (listed := environment.actions([1])[0])[0] >= 0:
            environment.step([1], [1], [random.choice(listed[listed >= 0])])
    return environment


def listed_end(environment, row, into):
    """The makespan that the first listed actions lead to."""
    environment.step([row], [into], environment.actions([row])[0, :1])
    while (action := environment.actions([into])[0, 0]) >= 0:
        environment.step([into], [into], [action])
    return environment.state.estimate[into]


@pytest.mark.parametrize("steps", [0, 10, 25])
def test_completions_are_legal_and_good(steps):
    """Every first action leads on to the end, all that are right are legal there, the schedule is no longer than the one that the
    search began with but for the slack; and the pool is as it was."""
    environment = played(steps)
    before = [array.copy() for array in environment.state]
    plan = Tabu().complete(environment, 1, 500, 3)
    assert all((a == b).all() for a, b in zip(before, environment.state))
    assert [x.tolist() for x in Tabu().complete(environment, 1, 500, 3)] == [x.tolist() for x in plan]
    end = listed_end(environment, 1, 2)
    several = 0
    for right in plan:
        listed = environment.actions([1])[0]
        assert set(right) <= set(listed[listed >= 0]) and len(set(right)) == len(right)
        several += len(right) > 1
        environment.step([1], [1], right[:1])
    assert environment.state.unscheduled[1] == 0 and several > 0
    assert JobShop().evaluate(environment.instances[1], environment.solution(1)) <= 1.01 * end


def test_a_finished_schedule_is_complete():
    """Nothing follows."""
    assert Tabu().complete(played(500), 1, 100, 0) == []


def test_the_order_keeps_what_is_fixed():
    """What is fixed stays where it is, jobs go on no earlier than they can; a whole schedule is valid and no longer."""
    instance = taillard(jobs=8, machines=6, seed=1)
    for steps in (0, 12, 20):
        environment, random = IntervalEnvironment([instance], 4), np.random.default_rng(0)
        for _ in range(steps):
            listed = environment.actions([0])[0]
            environment.step([0], [0], [random.choice(listed[listed >= 0])])
        listed_end(environment, 0, 1)
        state, fixed = environment.state, np.arange(instance.operations) < environment.state.next[0, instance.job]
        start = improved(environment, 200, random_state(0))
        np.testing.assert_array_equal(start[fixed], state.start_time[0, : instance.operations][fixed])
        upcoming = [i for i in state.next[0, : instance.jobs] if i < instance.operations and not fixed[i]]
        assert (start[upcoming] >= state.start_time[0, upcoming]).all()
        if not fixed.any():
            assert JobShop().evaluate(instance, Schedule(start, instance.choice_machine)) <= state.estimate[1]


def test_other_environments_are_refused():
    """In a line."""
    instance = taillard(jobs=3, machines=3)
    with pytest.raises(UsageError, match="environment intervals; accepted: this one"):
        Tabu().complete(JobShop().environment([instance], 1), 0, 10, 0)

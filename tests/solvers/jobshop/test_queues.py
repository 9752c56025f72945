"""Dispatching by queues: the schedules of the dispatching environment, at any size within its time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.problems.jobshop.environment import JobShopEnvironment
from corl.problems.jobshop.generators import taillard
from corl.problems.jobshop.problem import JobShop
from corl.rng import random_state
from corl.solvers.jobshop.dispatch.dispatcher import Dispatcher, dispatch
from corl.solvers.jobshop.dispatch.queues import Queues
from corl.solvers.jobshop.dispatch.rules import LOOK_AHEAD, RULES

KINDS = ("classic", "ragged", "reentrant", "dates", "tardiness")


@settings(deadline=None, max_examples=60)
@given(kind=st.sampled_from(KINDS), jobs=st.integers(1, 9), machines=st.integers(1, 5), seed=st.integers(0, 10**6))
def test_the_environments_schedules(random_instance, kind, jobs, machines, seed):
    """Every rule but atc, whose mean is another, gives the schedule that the environment gives, and says what it is worth."""
    instance = random_instance(kind, jobs, machines, seed)
    queues, environment = Queues(instance), JobShopEnvironment([instance], 1, "non-delay")
    listed = np.zeros(environment.width, np.int32)
    for rule in range(RULES.index("atc")):
        value = queues.run(rule, 0.0, random_state(0))
        environment.reset([0], [0])
        assert value == dispatch(environment.state, 0, rule, 0.0, LOOK_AHEAD, random_state(0), listed), RULES[rule]
        assert queues.schedule().start.tolist() == environment.solution(0).start.tolist()


@pytest.mark.parametrize("noise", [0.0, 0.5])
@pytest.mark.parametrize("kind", ["zeros", *KINDS])
def test_valid_schedules(random_instance, kind, noise):
    """Whatever the rule, the noise and the durations, the judge agrees with the objective."""
    instance = random_instance(kind, 9, 5, 3)
    dispatcher = Dispatcher(instance)
    for rule in range(len(RULES)):
        value = dispatcher.run(rule, noise, random_state(rule))
        assert JobShop().evaluate(instance, dispatcher.schedule()) == value


def test_a_long_queue():
    """Of 3,000 jobs before one machine those that wait longest are looked at; all are done, without a gap."""
    instance = taillard(jobs=3000, machines=1, seed=1)
    queues = Queues(instance)
    assert queues.run(0, 0.0, random_state(0)) == instance.choice_duration.sum()
    first = np.flatnonzero(queues.schedule().start == 0)[0]
    assert instance.choice_duration[first] == instance.choice_duration[:1000].min()

"""The simulator: rewards add up, bounds are those of a propagated model, waiting reaches optimal schedules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.errors import UsageError
from corl.problems.jobshop.problem import JobShop
from corl.problems.jobshop.simulator import JobShopSimulator

KINDS = ("classic", "ragged", "reentrant", "zeros", "dates")
JOBSHOP = JobShop()
ONE = st.tuples(st.sampled_from(KINDS), st.integers(1, 5), st.integers(1, 4), st.integers(0, 99))  # kind, jobs, machines, seed


def bounds(instance, fixed, waits):
    """The least starts by repeated propagation in plain Python: `fixed` operation -> start, `waits` operation -> bound."""
    low = [fixed.get(i, waits.get(i, 0)) for i in range(instance.operations)]
    changed = True
    while changed:
        changed = False
        for i in set(range(instance.operations)) - set(fixed):
            first = i in instance.first[:-1]
            reach = int(instance.release[instance.job[i]]) if first else low[i - 1] + int(instance.choice_duration[i - 1])
            for k, start in fixed.items():
                if instance.choice_machine[k] == instance.choice_machine[i]:
                    reach = max(reach, start + int(instance.choice_duration[k]))
            if reach > low[i]:
                low[i], changed = reach, True
    return low


@settings(deadline=None, max_examples=60)
@given(
    kinds=st.lists(ONE, min_size=1, max_size=3),
    seed=st.integers(0, 10**6),
)
def test_base_and_rewards_are_the_objective(random_instance, kinds, seed):
    """For mixed sizes: base + rewards of a random legal episode = -makespan exactly, in place or into other rows; it ends."""
    instances = [random_instance(kind, jobs, machines, number) for kind, jobs, machines, number in kinds]
    m = len(instances)
    environment, random, here = JobShopSimulator(instances, 2 * m), np.random.default_rng(seed), np.arange(m)
    total = environment.reset(here, here)
    while (live := np.flatnonzero(environment.actions(here)[:, 0] >= 0)).size:
        chosen = [random.choice(row[row >= 0]) for row in environment.actions(here[live])]
        there = np.where(random.random(len(live)) < 0.5, here[live], live + m * (here[live] < m))
        total[live] += environment.step(here[live], there, chosen)
        here[live] = there
    for k, instance in enumerate(instances):
        assert JOBSHOP.evaluate(instance, environment.solution(here[k])) == -total[k]


@settings(deadline=None, max_examples=40)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 10**6))
def test_bounds_are_propagated(random_instance, kind, seed):
    """After every decision the bounds are the fixpoint, time is the least of the next ones, and what can start then is legal."""
    instance = random_instance(kind, 3, 3, seed)
    environment, random = JobShopSimulator([instance], 1), np.random.default_rng(seed)
    fixed, waits, done = {}, {}, instance.first[:-1].tolist()
    while True:
        low = bounds(instance, fixed, waits)
        assert environment.state.start[0, : instance.operations].tolist() == low
        nexts = {j: low[i] for j, i in enumerate(done) if i < instance.first[j + 1]}
        if not nexts:
            break
        now = min(nexts.values())
        legal = [j for j, at in nexts.items() if at == now]
        later = [at for at in nexts.values() if at > now]
        listed = environment.actions([0])[0]
        assert listed[listed >= 0].tolist() == legal + ([instance.jobs] if later else [])
        action = int(random.choice(listed[listed >= 0]))
        environment.step([0], [0], [action])
        if action == instance.jobs:
            waits |= {done[j]: min(later) for j in legal}
        else:
            fixed[done[action]] = now
            done[action] += 1


def all_values(instance):
    """The makespans of all episodes."""
    environment, found = JobShopSimulator([instance], 40), set()

    def go(row, value):
        actions = environment.actions([row])[0]
        if actions[0] < 0:
            found.add(-value)
        for action in actions[actions >= 0]:
            reward = environment.step([row], [row + 1], [action])[0]
            go(row + 1, value + reward)

    go(0, environment.reset([0], [0])[0])
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_an_optimal_schedule_is_reached(random_instance, least, kind):
    """The best episode is an optimal schedule, by enumeration."""
    for seed in range(4):
        instance = random_instance(kind, 2, 2, seed, longest=4)
        assert min(all_values(instance)) == least(instance)


def test_observation(random_instance):
    """Windows begin at the operation fixed last; starts are relative to the time; the legal ones are those that start now."""
    instances = [random_instance("classic", 3, 6, 1), random_instance("ragged", 2, 2, 2)]
    environment = JobShopSimulator(instances, 2)
    environment.reset([0, 1], [0, 1])
    action = int(environment.actions([0])[0, 0])
    environment.step([0], [0], [action])
    seen = environment.observe([0, 1])
    assert seen["mask"].shape == (2, 3, 5) and not seen["mask"][1, 2].any()
    at = int(instances[0].first[action])
    assert seen["fixed"][0, action].tolist() == [True, False, False, False, False]
    assert seen["duration"][0, action].tolist() == instances[0].choice_duration[at : at + 5].tolist()
    assert seen["machine"][0, action].tolist() == instances[0].choice_machine[at : at + 5].tolist()
    expected = environment.state.start[0, at : at + 5] - seen["time"][0]
    assert seen["start"][0, action].tolist() == expected.tolist()
    legal = np.flatnonzero(seen["legal"][0].any(axis=1)).tolist()
    listed = environment.actions([0])[0]
    assert legal == [j for j in listed.tolist() if 0 <= j < 3]
    assert seen["action"][0].tolist() == listed.tolist()


def test_wrong_calls(random_instance):
    """Flexible instances and other objectives, illegal jobs, and waiting where nothing can start later."""
    for kind in ("flexible", "tardiness"):
        with pytest.raises(UsageError, match="makespan without choices"):
            JobShopSimulator([random_instance(kind, 3, 3, 1)], 1)
    environment = JobShopSimulator([random_instance("classic", 2, 2, 1)], 1)
    for action in (-1, 2, 3):
        with pytest.raises(UsageError, match=f"action {action} is not legal in row 0"):
            environment.step([0], [0], [action])
    with pytest.raises(UsageError, match="operations to schedule"):
        environment.solution(0)

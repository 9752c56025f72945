"""The interval environment: rewards add up, bounds are those of a propagated model, waiting reaches optimal schedules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.errors import UsageError
from corl.problems.jobshop.environments.intervals.environment import IntervalEnvironment
from corl.problems.jobshop.instance import Schedule
from corl.problems.jobshop.problem import JobShop

KINDS = ("classic", "ragged", "reentrant", "zeros", "dates")
JOBSHOP = JobShop()


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


def test_base_and_rewards_are_the_objective(random_instance, random_episodes):
    """For mixed sizes: base + rewards of a random legal episode = -makespan exactly, in place or into other rows; it ends."""
    instances = [random_instance(KINDS[k % len(KINDS)], 1 + k % 5, 1 + k % 4, k) for k in range(60)]
    environment = IntervalEnvironment(instances, 120)
    totals, here = random_episodes(environment, 60, 1)
    assert [-JOBSHOP.evaluate(instance, environment.solution(row)) for instance, row in zip(instances, here)] == totals.tolist()


def rivals(instance, low, fixed, i, now):
    """When other operations can start on i's machine before i, started now, would end."""
    same = [k for k in range(instance.operations) if instance.choice_machine[k] == instance.choice_machine[i]]
    return [low[k] for k in same if k != i and k not in fixed and low[k] < now + instance.choice_duration[i]]


@settings(deadline=None, max_examples=40)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 10**6))
def test_bounds_are_propagated(random_instance, kind, seed):
    """After every decision the bounds are the fixpoint, time is the least of the next ones, and what can start then is legal,
    but for what has no rival, which is fixed already; waiting is legal where each of these has a later rival."""
    instance = random_instance(kind, 3, 3, seed)
    environment, random = IntervalEnvironment([instance], 1), np.random.default_rng(seed)
    fixed, waits, done = {}, {}, instance.first[:-1].tolist()
    while True:
        low = bounds(instance, fixed, waits)
        nexts = {j: low[i] for j, i in enumerate(done) if i < instance.first[j + 1]}
        if not nexts:
            break
        now = min(nexts.values())
        legal = [j for j, at in nexts.items() if at == now]
        forced = [j for j in legal if not rivals(instance, low, fixed, done[j], now)]
        if forced:
            fixed[done[forced[0]]] = now
            done[forced[0]] += 1
            continue
        assert environment.state.start_time[0, : instance.operations].tolist() == low
        later = [at for at in nexts.values() if at > now]
        wait = later and all(max(rivals(instance, low, fixed, done[j], now)) > now for j in legal)
        last = instance.first[1:] - 1
        order = sorted(legal, key=lambda j: -low[last[j]] - int(instance.choice_duration[last[j]]))
        listed = environment.actions([0])[0]
        assert listed[listed >= 0].tolist() == order + ([instance.jobs] if wait else [])
        action = int(random.choice(listed[listed >= 0]))
        environment.step([0], [0], [action])
        if action == instance.jobs:
            waits |= {done[j]: min(later) for j in legal}
        else:
            fixed[done[action]] = now
            done[action] += 1
    assert environment.state.start_time[0, : instance.operations].tolist() == bounds(instance, fixed, waits)
    assert environment.actions([0])[0, 0] == -1


def all_values(instance):
    """The makespans of all episodes."""
    environment, found = IntervalEnvironment([instance], 40), set()

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
    """Windows hold the operation fixed last and those after it; starts count from the time, at which the next one can start."""
    instance = random_instance("ragged", 6, 6, 9)
    environment, random, waited = IntervalEnvironment([instance], 1), np.random.default_rng(2), 0
    state = environment.state
    while (listed := environment.actions([0])[0])[0] >= 0:
        seen = {name: array[0] for name, array in environment.observe([0]).items()}
        assert seen["action"].tolist() == listed.tolist() and (seen["mask"] == (listed >= 0)).all()
        assert (seen["waiting"] == (listed == instance.jobs)).all() and seen["remaining"] == state.unscheduled[0]
        for k, job in enumerate(listed[(listed >= 0) & (listed < instance.jobs)]):
            window = np.arange(state.next[0, job] - 1, state.next[0, job] + 4)
            there = (window >= instance.first[job]) & (window < instance.first[job + 1])
            window = window[there]
            assert (seen["there"][k] == there).all() and seen["fixed"][k].tolist() == [there[0], *[False] * 4]
            assert seen["start"][k, there].tolist() == (state.start_time[0, window] - seen["time"]).tolist()
            assert seen["start"][k, 1] == 0 and seen["left"][k] == instance.first[job + 1] - state.next[0, job]
            assert (seen["duration"][k, there] == instance.choice_duration[window]).all()
            assert (seen["machine"][k, there] == instance.choice_machine[window]).all()
            assert (seen["work"][k, there] == [work(instance, state, m) for m in instance.choice_machine[window]]).all()
            last = instance.first[job + 1] - 1
            assert seen["end"][k] == state.start_time[0, last] + instance.choice_duration[last] - seen["time"]
            assert 0 <= seen["soon"][k] < seen["duration"][k, 1]
        if waits := (listed == instance.jobs).any():
            environment.step([0], [0], [instance.jobs])
            assert environment.observe([0])["time"][0] >= seen["time"] + seen["pause"] > seen["time"]
        else:
            environment.step([0], [0], [random.choice(listed[listed >= 0])])
        waited += bool(waits)
    assert waited > 0


def work(instance, state, machine):
    """The durations of what a machine has still to start in row 0."""
    left = np.arange(instance.operations) >= state.next[0, instance.job]
    return instance.choice_duration[left & (instance.choice_machine == machine)].sum()


@settings(deadline=None, max_examples=60)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 10**6))
def test_decisions_start_nothing_later(random_instance, kind, seed):
    """Followed, a random feasible schedule with idle times becomes one in which every operation starts as early or earlier."""
    instance = random_instance(kind, 4, 3, seed)
    schedule = lazy_schedule(instance, np.random.default_rng(seed))
    environment = IntervalEnvironment([instance], 1)
    for action in JOBSHOP.decisions(instance, schedule, 0, "intervals"):
        environment.step([0], [0], [action])
    assert (environment.solution(0).start <= schedule.start).all()


def lazy_schedule(instance, random):
    """Operations in a random order, each up to 3 after it could start."""
    start, ready, free = np.zeros(instance.operations, np.int64), instance.release.copy(), np.zeros(instance.machines, np.int64)
    done = instance.first[:-1].copy()
    for j in random.permutation(instance.job):
        i, m = done[j], instance.choice_machine[done[j]]
        start[i] = max(ready[j], free[m]) + random.integers(4)
        ready[j] = free[m] = start[i] + instance.choice_duration[i]
        done[j] += 1
    return Schedule(start, instance.choice_machine)


def test_wrong_calls(random_instance):
    """Flexible instances and other objectives, illegal jobs, and waiting where nothing can start later."""
    for kind in ("flexible", "tardiness"):
        with pytest.raises(UsageError, match="makespan without choices"):
            IntervalEnvironment([random_instance(kind, 3, 3, 1)], 1)
    environment = IntervalEnvironment([random_instance("classic", 2, 2, 1)], 1)
    for action in (-1, 2, 3):
        with pytest.raises(UsageError, match=f"action {action} is not legal in row 0"):
            environment.step([0], [0], [action])
    with pytest.raises(UsageError, match="operations to schedule"):
        environment.solution(0)

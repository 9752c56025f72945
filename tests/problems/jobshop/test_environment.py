"""The job shop as a decision process: the kinds of schedules are right, and what is observed is the instance."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from corl.errors import UsageError
from corl.problems.jobshop.environment import JobShopEnvironment
from corl.problems.jobshop.problem import JobShop

KINDS = ("classic", "ragged", "reentrant", "zeros", "flexible", "dates", "tardiness", "flexible tardiness")
JOBSHOP = JobShop()


@pytest.mark.parametrize("schedules", ["semi-active", "active", "non-delay"])
def test_base_and_rewards_are_the_objective(random_instance, random_episodes, schedules):
    """Every kind of schedules, for every kind of instances: base + rewards of a random episode = -objective exactly."""
    instances = [random_instance(KINDS[k % len(KINDS)], 1 + k % 5, 1 + k % 4, k) for k in range(60)]
    environment = JobShopEnvironment(instances, 120, schedules)
    totals, here = random_episodes(environment, 60, 1)
    assert [-JOBSHOP.evaluate(instance, environment.solution(row)) for instance, row in zip(instances, here)] == totals.tolist()


def all_values(instance, schedules):
    """The objectives of all schedules that can be built."""
    environment = JobShopEnvironment([instance], 12, schedules)
    found = set()

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
def test_kinds_of_schedules(random_instance, least, kind):
    """Semi-active and active schedules hold an optimal one (by enumeration); non-delay ones are among the active ones' values."""
    for seed in range(4):
        instance = random_instance(kind, 3 if kind == "classic" else 2, 2, seed)
        semi, active, non_delay = (all_values(instance, name) for name in ("semi-active", "active", "non-delay"))
        assert min(semi) == min(active) == least(instance) <= min(non_delay)
        assert active <= semi and non_delay <= semi


def test_listed_actions(random_instance):
    """Those that can start first come first, of these the job with most work left; a smaller width lists the head of them."""
    instance = random_instance("flexible", 6, 4, 3)
    wide = JobShopEnvironment([instance], 1, "semi-active")
    narrow = JobShopEnvironment([instance], 1, "semi-active", width=3)
    random = np.random.default_rng(0)
    while (actions := wide.actions([0])[0])[0] >= 0:
        seen = wide.observe([0])
        key = list(zip(seen["start"][0].tolist(), (-seen["rest"][0]).tolist()))[: int(seen["mask"].sum())]
        assert key == sorted(key)
        assert narrow.actions([0])[0].tolist() == np.append(actions, [-1, -1, -1])[:3].tolist()
        action = random.choice(actions[:3][actions[:3] >= 0])
        assert wide.step([0], [0], [action]) == narrow.step([0], [0], [action])


def test_observation(random_instance):
    """What is told of a listed action is what the instance says, and starts are when the step then starts it."""
    instance = random_instance("tardiness", 4, 3, 5)
    environment = JobShopEnvironment([instance], 2, "semi-active")
    environment.step([0], [0], environment.actions([0])[0, :1])
    seen, actions = environment.observe([0]), environment.actions([0])[0]
    for k, action in enumerate(actions[actions >= 0]):
        job = int(instance.job[action])
        assert (seen["action"][0, k], seen["job"][0, k]) == (action, job)
        assert seen["machine"][0, k] == instance.choice_machine[action]
        assert seen["duration"][0, k] == instance.choice_duration[action]
        assert seen["left"][0, k] == instance.first[job + 1] - action
        assert seen["rest"][0, k] == instance.shortest[action : instance.first[job + 1]].sum()
        assert seen["due"][0, k] == instance.due[job] and seen["weight"][0, k] == instance.weight[job]
        fastest, left = instance.choices(action), np.arange(instance.operations) >= environment.state.next[0, instance.job]
        assert seen["least"][0, k] == min(duration for _, duration in fastest)
        on_machine = left & (instance.choice_machine == seen["machine"][0, k])
        assert seen["work"][0, k] == instance.choice_duration[on_machine].sum()
        assert seen["start"][0, k] == max(seen["ready"][0, k], seen["free"][0, k])
        environment.step([0], [1], [action])
        assert environment.state.start_time[1, action] == seen["start"][0, k]
    assert seen["remaining"].tolist() == [instance.operations - 1]
    assert not seen["duration"][~seen["mask"]].any()


@pytest.mark.parametrize("kind", KINDS)
def test_decisions_end_nothing_later(random_instance, kind):
    """Followed, a random semi-active schedule becomes an active one in which every operation ends as early or earlier."""
    for seed in range(20):
        instance = random_instance(kind, 4, 3, seed)
        semi_active, random = JobShopEnvironment([instance], 1, "semi-active"), np.random.default_rng(seed)
        while (actions := semi_active.actions([0])[0])[0] >= 0:
            semi_active.step([0], [0], [random.choice(actions[actions >= 0])])
        given, environment = semi_active.solution(0), JobShopEnvironment([instance], 1)
        for action in JOBSHOP.decisions(instance, given):
            environment.step([0], [0], [action])
        assert (ends(instance, environment.solution(0)) <= ends(instance, given)).all()


def ends(instance, schedule):
    """When each operation ends."""
    durations = [dict(instance.choices(i))[m] for i, m in enumerate(schedule.machine.tolist())]
    return schedule.start + durations


def test_features_are_in_units_of_the_durations(random_instance):
    """All times ten times as long: the same tokens, and ten times the unit; features of the other environment are refused."""
    one = random_instance("tardiness", 5, 4, 3)
    parts = {name: 10 * getattr(one, name) for name in ("choice_duration", "release", "due")}
    seen = [JobShopEnvironment([each], 1).observe([0]) for each in (one, dataclasses.replace(one, **parts))]
    first, second = (JOBSHOP.features["operations"](each) for each in seen)
    np.testing.assert_allclose(first.x, second.x, atol=1e-6)
    np.testing.assert_allclose(10 * first.scale, second.scale)
    with pytest.raises(UsageError, match="environment intervals; accepted: its observations"):
        JOBSHOP.features["intervals"](seen[0])


def test_unknown_schedules(random_instance):
    """Refused, with those that there are."""
    with pytest.raises(UsageError, match="schedules: 'lazy' is not accepted; accepted: semi-active, active, non-delay"):
        JobShopEnvironment([random_instance("classic")], 1, "lazy")

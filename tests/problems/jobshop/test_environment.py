"""The job shop as a decision process: rewards add up, episodes end, batches do not matter, the kinds of schedules are right."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.errors import UsageError
from corl.problems.jobshop.environment import JobShopEnvironment
from corl.problems.jobshop.problem import JobShop

KINDS = ("classic", "ragged", "reentrant", "zeros", "flexible", "dates", "tardiness", "flexible tardiness")
JOBSHOP = JobShop()
ONE = st.tuples(st.sampled_from(KINDS), st.integers(1, 5), st.integers(1, 4), st.integers(0, 99))  # kind, jobs, machines, seed


@settings(deadline=None, max_examples=60)
@given(
    kinds=st.lists(ONE, min_size=1, max_size=4),
    schedules=st.sampled_from(("semi-active", "active", "non-delay")),
    width=st.integers(1, 30),
    seed=st.integers(0, 10**6),
)
def test_base_and_rewards_are_the_objective(random_instance, kinds, schedules, width, seed):
    """For every kind and mixed sizes: base + rewards of a random legal episode = -objective exactly; an operation a step.

    Steps go in place or to other rows at random.
    """
    instances = [random_instance(kind, jobs, machines, number) for kind, jobs, machines, number in kinds]
    m = len(instances)
    environment = JobShopEnvironment(instances, 2 * m, schedules, width)
    random, here = np.random.default_rng(seed), np.arange(m)
    total, steps = environment.reset(here, here), np.zeros(m, int)
    while (live := np.flatnonzero(environment.actions(here)[:, 0] >= 0)).size:
        chosen = [random.choice(row[row >= 0]) for row in environment.actions(here[live])]
        there = np.where(random.random(len(live)) < 0.5, here[live], live + m * (here[live] < m))
        total[live] += environment.step(here[live], there, chosen)
        here[live] = there
        steps[live] += 1
    for k, instance in enumerate(instances):
        assert steps[k] == instance.operations
        assert JOBSHOP.evaluate(instance, environment.solution(here[k])) == -total[k]


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
        assert seen["start"][0, k] == max(seen["ready"][0, k], seen["free"][0, k])
        environment.step([0], [1], [action])
        assert environment.state.start[1, action] == seen["start"][0, k]
    assert seen["remaining"].tolist() == [instance.operations - 1]
    assert not seen["duration"][~seen["mask"]].any()


def test_batches_do_not_change_bits(random_instance):
    """Rows stepped together and alone have the same actions, rewards and schedules."""
    instances = [random_instance(kind, 4, 3, 7) for kind in KINDS]
    together = JobShopEnvironment(instances, len(KINDS))
    together.reset(range(len(KINDS)), range(len(KINDS)))
    for k, instance in enumerate(instances):
        alone = JobShopEnvironment([instance], 1)
        while (actions := alone.actions([0])[0])[0] >= 0:
            offered = together.actions([k])[0]
            assert offered[offered >= 0].tolist() == actions[actions >= 0].tolist()
            pick = actions[actions >= 0][-1]
            assert together.step([k], [k], [pick]) == alone.step([0], [0], [pick])
        assert together.solution(k).start.tolist() == alone.solution(0).start.tolist()


@pytest.mark.parametrize("action", [1, -1, 10**6, 3])
def test_illegal_actions_are_refused(random_instance, action):
    """Operations whose turn has not come, done ones and unknown ones."""
    environment = JobShopEnvironment([random_instance("classic", 2, 3, 0)], 1, "semi-active")
    environment.step([0], [0], [3])
    with pytest.raises(UsageError, match=f"action {action} is not legal in row 0"):
        environment.step([0], [0], [action])


def test_wrong_calls(random_instance):
    """No instances, unknown kinds, unknown instances, and solutions of episodes that are not over."""
    instance = random_instance("classic")
    for arguments in (([], 1), ([instance], 0), ([instance], 1, "active", 0), ([instance], 1, "lazy")):
        with pytest.raises(UsageError):
            JobShopEnvironment(*arguments)
    environment = JobShopEnvironment([instance], 1)
    with pytest.raises(UsageError, match="instances are integers"):
        environment.reset([0], [1])
    with pytest.raises(UsageError, match="9 of 9 operations to schedule"):
        environment.solution(0)

"""The environment floor: nothing known before its time, breakdowns undo, set-ups count, and waiting is an action."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from corl.errors import UsageError
from corl.problems.jobshop.environments.floor.decisions import decisions
from corl.problems.jobshop.environments.floor.environment import FloorEnvironment
from corl.problems.jobshop.environments.floor.features import floor
from corl.problems.jobshop.environments.floor.observation import NOWHERE
from corl.problems.jobshop.generators import shop_floor, taillard
from corl.problems.jobshop.instance import from_jobs
from corl.problems.jobshop.problem import JobShop
from corl.problems.jobshop.rules import FOREVER, SideConstraints


def played(instance, seed):
    """A random day: the environment at its end, and what was observed on the way."""
    environment, random, seen = FloorEnvironment([instance], 1), np.random.default_rng(seed), []
    total = environment.reset([0], [0])[0]
    while (listed := environment.actions([0])[0])[0] >= 0:
        seen.append(environment.observe([0]))
        total += environment.step([0], [0], [random.choice(listed[listed >= 0])])[0]
    assert JobShop().evaluate(instance, environment.solution(0)) == -total
    return environment, seen


def small(seed):
    """A day on three machines with set-ups, choices of machines and breakdowns."""
    return shop_floor(size=12, machines=3, load=0.9, tightness=2.0, setup=0.4, down=0.2, seed=seed)


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_known_before_its_time(seed):
    """Jobs that arrive later and breakdowns that begin later may be any others: until then all that is observed is the same."""
    first = small(seed)
    when = int(np.sort(first.release)[6])
    late = np.repeat(first.release >= when, np.diff(first.first))
    breaks = first.rules.unavailable
    second = replace(
        first,
        choice_duration=np.where(np.repeat(late, np.diff(first.choice_first)), 3, first.choice_duration).astype(np.int32),
        weight=np.where(first.release >= when, 9, first.weight),
        rules=replace(first.rules, unavailable=breaks[breaks[:, 1] < when]),
    )
    one, two = (played(shop, seed)[1] for shop in (first, second))
    early = [k for k, seen in enumerate(one) if seen["now"][0] < when]
    assert len(early) > 5 and early == [k for k, seen in enumerate(two) if seen["now"][0] < when]
    for k in early:
        assert all(np.array_equal(one[k][name], two[k][name]) for name in one[k])


def workshop():
    """Two jobs of one operation of 10 and 4 on a machine that is down from 6 to 9, a third that arrives at 20; two families."""
    setups = np.array([[[0, 3], [2, 0]]])
    rules = SideConstraints(
        setups=setups, first_setups=np.array([[1, 1]]), family=np.array([0, 1, 0]), unavailable=np.array([[0, 6, 9]])
    )
    jobs = [[[(0, 10)]], [[(0, 4)]], [[(0, 5)]]]
    return from_jobs(jobs, 1, release=[0, 0, 20], due=[10, 10, 26], objective="weighted_tardiness", rules=rules)


def test_a_breakdown_undoes_the_operation_under_way():
    """By hand: job 0 begins at 0 with a set-up of 1 and is undone at 6; the machine keeps no set-up, and is free at 9."""
    environment = FloorEnvironment([workshop()], 1)
    assert environment.actions([0])[0].tolist()[:2] == [0, 1]
    environment.step([0], [0], [0])
    seen = environment.observe([0])
    assert seen["now"][0] == 9 and seen["job"][0, :2].tolist() == [0, 1] and seen["setup"][0, :2].tolist() == [1, 1]
    assert seen["ready"][0, :2].tolist() == [6, 0] and seen["elsewhere"][0, 0] == NOWHERE
    environment.step([0], [0], [1])  # set up at 9, from 10 to 14
    seen = environment.observe([0])
    assert seen["now"][0] == 14 and seen["setup"][0, 0] == 2  # from family 1 to 0
    environment.step([0], [0], [0])  # 16 to 26; job 2 has arrived then and is of the same family
    seen = environment.observe([0])
    assert seen["now"][0] == 26 and seen["job"][0, 0] == 2 and seen["setup"][0, 0] == 0
    assert environment.step([0], [0], [2])[0] == -5.0  # it ends at 31
    start, _ = environment.solution(0)
    assert start.tolist() == [16, 10, 26] and JobShop().evaluate(workshop(), environment.solution(0)) == 16 + 4 + 5


def test_waiting():
    """It is listed last while a machine is at work, and leads to the next event."""
    jobs = [[[(0, 5)]], [[(1, 7), (0, 2)]]]
    environment = FloorEnvironment([from_jobs(jobs, 2)], 1)
    assert 3 not in environment.actions([0])[0]
    environment.step([0], [0], [0])
    assert environment.actions([0])[0].tolist() == [1, 3, -1, -1]
    seen = environment.observe([0])
    assert seen["elsewhere"][0, 0] == 7 and seen["wait"][0, :2].tolist() == [0, 1] and seen["next_event"][0] == 5
    environment.step([0], [0], [3])
    assert environment.observe([0])["now"][0] == 5 and 3 not in environment.actions([0])[0]
    environment.step([0], [0], [2])
    assert environment.solution(0).start.tolist() == [0, 5]


@pytest.mark.parametrize("seed", range(4))
def test_decisions_build_a_schedule_as_good(seed):
    """Those of a random day lead to one in which no operation starts later."""
    instance = small(seed)
    solution = played(instance, seed)[0].solution(0)
    environment = FloorEnvironment([instance], 1)
    for action in decisions(instance, solution):
        environment.step([0], [0], [action])
    again = environment.solution(0)
    assert (again.start <= solution.start).all() and (again.machine == solution.machine).all()


def test_what_is_refused():
    """Other side constraints, a machine that is down for good, features of another environment."""
    problem, one = JobShop(), [[[(0, 2)]]]
    for rules, words in (
        (SideConstraints(earliest=np.array([3])), "does not support earliest"),
        (SideConstraints(unavailable=np.array([[0, 5, FOREVER]])), "down for good"),
        (SideConstraints(now=3), "a time that is now"),
    ):
        with pytest.raises(UsageError, match=words):
            problem.environment([from_jobs(one, 1, rules=rules)], 1, name="floor")
    with pytest.raises(UsageError, match="the features floor are of the environment floor"):
        floor(problem.environment([taillard(jobs=2, machines=2)], 1).observe([0]))
    with pytest.raises(UsageError, match="no decisions of this schedule"):
        decisions(from_jobs([[[(0, 2)]], [[(0, 2)]]], 1, release=[0, 1]), ([3, 1], [0, 0]))

"""Costs of changes: the judge, JSON, cp-sat and annealing against enumeration, and refusals by name elsewhere."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import corl
from corl.errors import Infeasible, InputError, UsageError
from corl.problems.jobshop.change_costs import ChangeCosts, cost_of_changes
from corl.problems.jobshop.instance import Schedule, from_jobs
from corl.problems.jobshop.problem import JobShop
from corl.problems.jobshop.rescheduling import reschedule
from corl.problems.jobshop.rules import SideConstraints

PROBLEM = JobShop()
ROWS = [[[(0, 2), (1, 3)], [(1, 2)]], [[(0, 3)], [(0, 1), (1, 1)]]]  # two jobs of two operations on two machines


def shop(seed: int, objective: str = "makespan"):
    """An instance with an announced schedule of some operations, and a machine that is down for a while."""
    random = np.random.default_rng([seed, 46])
    known = random.random(4) < 0.8
    start = np.where(known, random.integers(0, 5, 4), -1)
    able = [[machine for machine, _ in operation] for job in ROWS for operation in job]
    machine = np.where(known, [int(random.choice([*each, 1])) for each in able], -1)
    changes = ChangeCosts(start, machine, int(random.integers(0, 5)), int(random.integers(0, 3)))
    rules = SideConstraints(changes=changes, unavailable=np.array([[int(random.integers(2)), 2, 4]]), now=int(random.integers(2)))
    due = None if objective == "makespan" else random.integers(3, 7, 2)
    return from_jobs(ROWS, 2, rules=rules, due=due, weight=[2, 1], objective=objective)


def least(instance, horizon: int = 11) -> float:
    """The least objective value over all starts up to a horizon, and all machines, by the judge without costs of changes."""
    plain = replace(instance, rules=replace(instance.rules, changes=None))
    choices = [[machine for machine, _ in instance.choices(i)] for i in range(4)]
    best = np.inf
    for machines in itertools.product(*choices):
        durations = [dict(instance.choices(i))[m] for i, m in enumerate(machines)]
        chains = [[(a, b) for a in range(horizon) for b in range(a + durations[k], horizon)] for k in (0, 2)]
        for first, second in itertools.product(*chains):
            schedule = Schedule(np.array([*first, *second]), np.array(machines, np.int32))
            changed = cost_of_changes(instance, schedule)
            last = max(first[1] + durations[1], second[1] + durations[3]) if instance.objective == "makespan" else 0
            if changed + last >= best:
                continue
            try:
                best = min(best, PROBLEM.evaluate(plain, schedule) + changed)
            except Infeasible:
                continue
    return float(best)


def test_the_judge_adds_what_changes_cost():
    """One operation on another machine, two of three announced ones shifted, one earlier and one later."""
    changes = ChangeCosts(np.array([0, 2, 4, -1]), np.array([0, 1, 0, -1]), 5, 2)
    instance = from_jobs(ROWS, 2, rules=SideConstraints(changes=changes))
    schedule = Schedule(np.array([0, 3, 2, 5]), np.array([1, 1, 0, 0], np.int32))
    assert PROBLEM.evaluate(instance, schedule) == 6 + 5 + 2 * (1 + 2)
    late = replace(instance, due=np.array([3, 6]), weight=np.array([3, 1]), objective="weighted_tardiness")
    assert PROBLEM.evaluate(late, schedule) == 3 * 2 + 5 + 2 * (1 + 2)


@pytest.mark.parametrize("objective", ["makespan", "weighted_tardiness"])
@pytest.mark.parametrize("seed", range(2))
def test_cp_sat_and_annealing_find_the_least_cost(seed, objective):
    """By enumeration of all starts and machines; annealing is verified, and no worse than without the term."""
    instance = shop(seed, objective)
    best = least(instance)
    exact = corl.solve(instance, solver="cp-sat", time_limit=20)
    assert (exact.status, exact.objective) == ("optimal", best)
    found = corl.solve(instance, solver="annealing", iterations=2000, seed=1)
    assert found.verified and found.discarded == 0 and found.objective >= best
    assert found.bound is not None and found.bound <= best
    free = replace(instance, rules=replace(instance.rules, changes=None))
    start = corl.solve(free, solver="annealing", iterations=2000, seed=1).solution
    assert found.objective <= PROBLEM.evaluate(instance, start)


def test_annealing_keeps_a_schedule_whose_changes_are_dear():
    """A machine breaks down after a schedule: operations stay where they are, or move as little as they must."""
    instance = corl.generate("jobshop", "workshop", jobs=8, machines=4, ask="choices", seed=3)
    before = corl.solve(instance, solver="annealing", iterations=3000).solution
    later = reschedule(instance, before, 20, down=[(0, 40)], change_costs=(50, 10))
    found = corl.solve(later, solver="annealing", iterations=3000)
    careless = corl.solve(replace(later, rules=replace(later.rules, changes=None)), solver="annealing", iterations=3000)
    assert found.verified and cost_of_changes(later, found.solution) < cost_of_changes(later, careless.solution)
    untouched = reschedule(instance, before, 20, change_costs=(50, 1000))
    assert corl.solve(untouched, solver="annealing", iterations=1000).objective <= PROBLEM.evaluate(instance, before)


def test_iterations_decide_the_result():
    """The same seed and iterations give the same schedule, however steps are granted."""
    instance = shop(0)
    one, two = (corl.solve(instance, solver="annealing", iterations=1700, seed=4) for _ in range(2))
    assert one.objective == two.objective and one.solution.start.tolist() == two.solution.start.tolist()


def test_json_has_the_costs(tmp_path):
    """What is written is read again; machines are numbered as in the file."""
    instance = replace(shop(1), first_machine=1)
    path = tmp_path / "shop.json"
    PROBLEM.write(instance, path)
    again = PROBLEM.read(path)
    one, two = instance.rules.changes, again.rules.changes
    assert (two.start.tolist(), two.machine.tolist()) == (one.start.tolist(), one.machine.tolist())
    assert (two.per_machine, two.per_time) == (one.per_machine, one.per_time)
    assert "costs of changes" in again.rules.names
    path.write_text(path.read_text().replace('"change_costs": {"machine"', '"change_costs": {"moves"'))
    with pytest.raises(InputError, match="change_costs: there is no key 'moves'"):
        PROBLEM.read(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (ChangeCosts(np.zeros(3, int), np.zeros(4, int)), "changes.start: accepted: an array of 4 integers"),
        (ChangeCosts(np.zeros(4, int), np.full(4, 2)), "changes.machine: 2 is not accepted; accepted: -1 to 1"),
        (
            ChangeCosts(np.zeros(4, int), np.full(4, -1)),
            "changes.machine: accepted: start and machine of an operation, or neither",
        ),
        (ChangeCosts(np.zeros(4, int), np.zeros(4, int), per_time=-1), "changes.per_time: -1 is not accepted"),
    ],
)
def test_bad_costs_are_refused(changes, message):
    """One line that names the field."""
    with pytest.raises(InputError) as error:
        from_jobs(ROWS, 2, rules=SideConstraints(changes=changes))
    assert message in str(error.value)


def test_others_refuse_the_costs_by_name():
    """Tabu search and the environments, which do not have the term."""
    instance = shop(0)
    instance = replace(instance, rules=replace(instance.rules, unavailable=None, now=0))
    with pytest.raises(UsageError, match="costs of changes"):
        corl.solve(instance, solver="tabu", time_limit=1)
    for name in PROBLEM.environments:
        with pytest.raises(UsageError, match=r"not support (costs of )?changes"):
            PROBLEM.environment([instance], 1, name=name)

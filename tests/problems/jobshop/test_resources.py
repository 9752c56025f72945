"""Resources beside machines: their files, reasons of infeasibility, pictures and generator. The judge: test_rules_judge.py."""

from __future__ import annotations

import json

import numpy as np
import pytest

import corl
from corl.errors import InputError, UsageError
from corl.problems.jobshop.drawing import critical
from corl.problems.jobshop.evaluation import objective
from corl.problems.jobshop.feasibility import impossible
from corl.problems.jobshop.formats import read_instance
from corl.problems.jobshop.generators_rules import workshop
from corl.problems.jobshop.instance import JobShopInstance, Schedule, from_jobs
from corl.problems.jobshop.problem import JobShop
from corl.problems.jobshop.resources import least_work, usable_choices
from corl.problems.jobshop.rules import SideConstraints

GOOD = {
    "problem": "jobshop", "machines": 2, "resources": [2, 1], "resource_names": ["worker", "crane"],
    "jobs": [
        {"operations": [[0, 3], [[0, 2], [1, 4]]], "needs": [[1, 0], [[2, 0], [0, 1]]]},
        {"operations": [[1, 2], [0, 0]], "needs": [None, [2, 1]]},
        [[1, 1]],
    ],
}  # fmt: skip


def made(demand, capacity, fixed=(), **rules) -> JobShopInstance:
    """Three jobs of one operation on machines of their own, the second one on two; `fixed`: operation, machine, start."""
    start, machine = np.full(3, -1), np.full(3, -1)
    for i, m, at in fixed:
        start[i], machine[i] = at, m
    if fixed:
        rules |= {"fixed_start": start, "fixed_machine": machine}
    jobs = [[[(0, 3)]], [[(1, 4), (2, 5)]], [[(3, 2)]]]
    return from_jobs(jobs, 4, rules=SideConstraints(capacity=np.array(capacity), demand=np.array(demand), **rules))


def test_a_file_by_hand(tmp_path):
    """One entry per operation: for all its machines, for each of them, or none."""
    (tmp_path / "a.json").write_text(json.dumps(GOOD))
    rules = read_instance(tmp_path / "a.json").rules
    assert rules.capacity.tolist() == [2, 1] and rules.resource_names == ("worker", "crane")
    assert rules.demand.tolist() == [[1, 0], [2, 0], [0, 1], [0, 0], [2, 1], [0, 0]]
    assert rules.names == ["resources beside machines"]


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"resources": []}, "resources", "accepted: a list of at least 1"),
        ({"resources": [2, -1]}, "resources[1]", "accepted: an integer from 0 to 1,000,000"),
        ({"resources": [2]}, "jobs[0].needs[0]", "accepted: a list of 1"),
        ({"resources": None}, "jobs[0].needs", "there are no resources"),
        ({"resource_names": ["worker"]}, "resource_names", "accepted: 2 different texts"),
        ({"resource_names": ["worker", "worker"]}, "resource_names", "accepted: 2 different texts"),
        ({0: [[1, 0]]}, "jobs[0].needs", "accepted: a list of 2"),
        ({0: [[1, 0], [[1, 0]]]}, "jobs[0].needs[1]", "accepted: a list of 2"),
        ({0: [[1, 0], [[1, 0], [1, -1]]]}, "jobs[0].needs[1][1][1]", "accepted: an integer from 0"),
        ({0: [[1, 0], 1]}, "jobs[0].needs[1]", "accepted: a list of 2"),
    ],
)  # fmt: skip
def test_faults(tmp_path, change, field, message):
    """One line with the file, the field and what is accepted."""
    data = json.loads(json.dumps(GOOD))
    for key, value in change.items():
        if key == 0:
            data["jobs"][0]["needs"] = value
        elif value is None:
            del data[key]
        else:
            data[key] = value
    (tmp_path / "bad.json").write_text(json.dumps(data))
    with pytest.raises(InputError) as caught:
        read_instance(tmp_path / "bad.json")
    assert message in str(caught.value) and caught.value.field == field and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        ({"capacity": np.array([1])}, "demand"), ({"demand": np.zeros((3, 1), np.int64)}, "demand"),
        ({"capacity": np.array([1]), "demand": np.zeros((2, 1), np.int64)}, "demand"),
        ({"capacity": np.array([1]), "demand": np.zeros((3, 2), np.int64)}, "demand"),
        ({"capacity": np.array([1.5]), "demand": np.zeros((3, 1), np.int64)}, "capacity"),
        ({"capacity": np.array(1), "demand": np.zeros((3, 1), np.int64)}, "capacity"),
        ({"capacity": np.zeros(0, np.int64), "demand": np.zeros((3, 0), np.int64)}, "capacity"),
        ({"resource_names": ("worker",)}, "resource_names"),
    ],
)  # fmt: skip
def test_arrays_are_checked(rules, field):
    """Shapes and values, by the field; an instance with a choice of machines has one row for each choice."""
    with pytest.raises(InputError) as caught:
        from_jobs([[[(0, 3), (1, 2)], [(0, 2)]]], 2, rules=SideConstraints(**rules))
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("instance", "reason"),
    [
        (made([[3], [0], [0], [1]], [2]), "operation 0 of job 0 needs 3 units of resource 0 on machine 0; there are 2"),
        (made([[1], [3], [4], [1]], [2]), "operation 0 of job 1 needs 3 units of resource 0 on machine 1; there are 2"),
        (made([[1], [2], [3], [1]], [2], unavailable=np.array([[1, 2, 2**62]])), "operation 0 of job 1 does not fit"),
        (made([[1], [2], [2], [1]], [2], [(0, 0, 1), (1, 1, 3)], resource_names=("worker",)),
         "is fixed at 3; fixed operations then need 3 units of resource 'worker', and there are 2"),
    ],
)  # fmt: skip
def test_the_reason_is_given(instance, reason):
    """An operation that needs more than there is, on all of its machines; fixed operations that need too much together."""
    assert reason in impossible(instance)
    for solver in ("annealing", "dispatch", "cp-sat"):
        result = corl.solve(instance, solver=solver, time_limit=20)
        assert result.status == "infeasible" and reason in result.reason


@pytest.mark.parametrize("solver", ["annealing", "dispatch", "cp-sat"])
def test_a_machine_that_needs_too_much_is_not_used(solver):
    """The faster machine needs three workers, of two; without waiting, too."""
    instance = made([[1], [3], [2], [1]], [2])
    assert impossible(instance) == "" and usable_choices(instance).tolist() == [True, False, True, True]
    assert corl.solve(instance, solver=solver, iterations=None if solver == "cp-sat" else 20).objective == 8
    rules = SideConstraints(
        capacity=np.array([2]), demand=np.array([[1], [3], [2]]), no_wait=np.array([False, True]), earliest=np.array([4, 0])
    )
    chain = from_jobs([[[(0, 1)], [(1, 1), (2, 5)]]], 3, rules=rules)
    assert corl.solve(chain, solver=solver, iterations=None if solver == "cp-sat" else 20).objective == 10


def test_no_time_occupies_nothing():
    """An operation of duration zero needs no units, however many it asks for; one starts when another ends."""
    rules = SideConstraints(capacity=np.array([1]), demand=np.array([[1], [5], [1]]))
    instance = from_jobs([[[(0, 3)]], [[(1, 0)]], [[(2, 2)]]], 3, rules=rules)
    assert impossible(instance) == "" and least_work(instance, 0).tolist() == [3, 0, 2]
    assert objective(instance, (np.array([0, 1, 3]), np.array([0, 1, 2]))) == 5
    for solver in ("annealing", "dispatch", "cp-sat"):
        assert corl.solve(instance, solver=solver, iterations=None if solver == "cp-sat" else 20).objective == 5


def test_pictures_have_a_row_per_resource():
    """The units in use, in the order of time; operations that wait for a resource make those that occupy it critical."""
    from matplotlib.figure import Figure

    instance = made([[1], [2], [2], [2]], [2], resource_names=("worker",))
    schedule = Schedule(np.array([0, 3, 7]), np.array([0, 1, 3]))
    axes = Figure().add_subplot()
    JobShop().draw(instance, schedule, axes)
    assert [label.get_text() for label in axes.get_yticklabels()][-1] == "worker" and "resources in use" in axes.get_xlabel()
    scene = JobShop().view(instance, schedule)
    assert list(scene.rows) == ["0", "1", "2", "3", "worker"]
    assert [(x, width, text) for x, row, width, _, text, *_ in scene.boxes if row == 4] == [
        (0, 3, "1\nworker: 1 of 2 from 0 to 3"), (3, 6, "2\nworker: 2 of 2 from 3 to 9"),
    ]  # fmt: skip
    assert critical(instance, schedule, np.array([3, 4, 2])).all()
    free = made([[1], [0], [0], [0]], [2])
    assert critical(free, schedule, np.array([3, 4, 2])).tolist() == [False, False, True]
    assert JobShop().describe(instance)["resources"] == "2 x worker"


def test_the_generator_and_the_refusals():
    """What the words ask for; who supports no resources says so."""
    instance = workshop(jobs=12, machines=5, ask="resources,choices,running", seed=3)
    rules = instance.rules
    assert rules.capacity.tolist() == [4, 1] and rules.resource_names == ("workers", "tool") and rules.demand.max() == 2
    assert not rules.demand[np.repeat(rules.fixed_start >= 0, np.diff(instance.choice_first))].any()
    plain = workshop(jobs=12, machines=5, ask="resources", seed=3)
    for solver in ("tabu", "slim", "cp-agent"):
        with pytest.raises(UsageError, match="resources beside machines"):
            corl.solve(plain, solver=solver, iterations=1)
    for name in JobShop.environments:
        with pytest.raises(UsageError, match="does not support"):
            JobShop().environment([plain], 1, name=name)

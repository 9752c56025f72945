"""Stages and resources of a SchedulingModel: names become numbers and back, and faults are said in names."""

from __future__ import annotations

import pytest

from corl.errors import UsageError
from corl.modelling import SchedulingModel


def model() -> SchedulingModel:
    """A stage of two saws, an oven, two workers and a crane."""
    made = SchedulingModel()
    made.add_stage("cut", ["saw 1", "saw 2"])
    made.add_machine("oven")
    made.add_resource("worker", 2)
    made.add_resource("crane", 1)
    return made


def test_stages_and_resources():
    """Any machine of the stage, the units that each operation needs; a plan keeps to them, and so does the rest of a plan."""
    made = model()
    for k in range(4):
        made.add_job(k, [("cut", 3), ("oven", 2)], needs=[{"worker": 1}, {"crane": 1, "worker": 2}])
    made.add_job("last", [{"saw 1": 2, "saw 2": 4}], needs=[{"saw 2": {"worker": 2}}])
    instance = made.instance()
    assert instance.choices(0) == [(0, 3), (1, 3)] and instance.machine_names == ("saw 1", "saw 2", "oven")
    assert instance.rules.resource_names == ("worker", "crane") and instance.rules.capacity.tolist() == [2, 1]
    assert instance.rules.demand.tolist() == [[1, 0], [1, 0], [2, 1]] * 4 + [[0, 0], [2, 0]]
    plan = made.solve(time_limit=20)
    assert plan.status == "optimal" and plan.objective == 14
    rest = made.rescheduled(plan, 3, down={"saw 1": 9})
    made.add_job("late", [("oven", 1)])
    assert rest.instance().rules.demand.shape == (14, 2) and made.rescheduled(plan, 3).instance().rules.demand.shape == (15, 2)
    assert rest.solve(time_limit=20).status == "optimal"


def test_without_resources_there_is_no_rule():
    """A model without them has none; a resource that no operation needs is one."""
    made = SchedulingModel()
    made.add_job("a", [("saw", 2)])
    assert made.instance().rules is None
    made = model()
    made.add_job("a", [("cut", 2)], needs=[None])
    assert made.instance().rules.demand.tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda m: m.add_job("x", [("cut", 3)], needs=[{"wrker": 1}]),
            "job 'x', operation 0: needs: there is no resource 'wrker'",
        ),
        (lambda m: m.add_job("x", [("cut", 3)], needs=[3]), "3 is not accepted; accepted: {resource: units}"),
        (
            lambda m: m.add_job("x", [("cut", 3)], needs=[]) or m.add_job("y", [("cut", 3)], needs=[None, None]),
            "one entry for each",
        ),
        (lambda m: m.add_job("x", [("cut", 3)], needs=[{"saw 3": {"worker": 1}}]), "there is no machine 'saw 3'"),
        (lambda m: m.add_job("x", [("cut", 3)], needs=[{"saw 1": {"worker": 1}, "crane": 1}]), "accepted: {resource: units}"),
        (lambda m: m.add_job("x", [("cut", 3)], needs=[{"worker": -1}]), "'worker': -1 is not accepted"),
        (lambda m: m.add_resource("worker", 2), "there is a resource 'worker' already"),
        (lambda m: m.add_resource("tool", -2), "resource 'tool': capacity: -2 is not accepted"),
        (lambda m: m.add_stage("cut", ["a"]), "there is a stage or machine 'cut' already"),
        (lambda m: m.add_stage("oven", ["a"]), "there is a stage or machine 'oven' already"),
        (lambda m: m.add_stage("bake", ["oven"]), "there is a machine 'oven' already"),
        (lambda m: m.add_stage("bake", ["cut"]), "a machine and a stage are named 'cut'"),
        (lambda m: m.add_stage("bake", []), "has no machines"),
        (lambda m: m.add_machine("cut"), "there is a stage 'cut' already"),
    ],
)
def test_faults_are_said_in_names(change, message):
    """One line each, and the model is as before."""
    made = model()
    with pytest.raises(UsageError) as caught:
        change(made)
    assert message in str(caught.value) and "\n" not in str(caught.value)
    late = SchedulingModel()
    late.add_job("a", [("saw", 1)])
    with pytest.raises(UsageError, match="stages before jobs"):
        late.add_stage("cut", ["b"])

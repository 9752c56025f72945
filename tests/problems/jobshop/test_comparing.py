"""Pages that compare two schedules: moved operations are marked, with their former places; calendars and set-ups differ."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from corl.cli.main import main
from corl.errors import UsageError
from corl.modelling import KnapsackModel, SchedulingModel
from corl.problems.jobshop.comparing import comparison
from corl.problems.jobshop.drawing import scene
from corl.problems.jobshop.instance import Schedule, from_jobs
from corl.problems.jobshop.problem import JobShop
from corl.problems.jobshop.rules import SideConstraints
from corl.view.page import page
from corl.view.scene import FORMER, SETUP

ROWS = [[[(0, 2), (1, 3)], [(1, 2)]], [[(0, 3)], [(1, 1)]]]
INSTANCE = from_jobs(ROWS, 2, job_names=("a", "b"), machine_names=("saw", "mill"))
NOW = Schedule(np.array([0, 3, 0, 5]), np.array([1, 1, 0, 1], np.int32))
BEFORE = Schedule(np.array([0, 2, 2, -1]), np.array([0, 1, 0, -1], np.int32))


def test_moved_operations_are_marked():
    """Another machine, a later start, an earlier one, and a new operation; their former places are outlined."""
    found, plain = comparison(INSTANCE, NOW, BEFORE), scene(INSTANCE, NOW)
    operations = [box for box in found.boxes if box[5] >= 0]
    assert [box[6] for box in operations] == [True] * 4
    assert [box[4].split("\n")[2] for box in operations] == ["was on 'saw' from 0", "1 later", "2 earlier", "new"]
    assert [box[:4] for box in operations] == [box[:4] for box in plain.boxes]
    assert [box[:4] for box in found.boxes if box[5] == FORMER] == [(0, 0, 2, 1), (2, 1, 2, 1), (2, 0, 3, 1)]
    assert found.note == "3 of 3 operations have moved, 1 to another machine; 1 are new"
    assert [group.cells[-1] for group in found.groups] == [2, 1] and found.head[-1] == "moved"
    assert found.groups[0].steps[0][-2:] == ("saw", 0) and found.groups[1].steps[1][-2:] == ("", "")
    assert len(found.play.boxes) == len(found.boxes)


def test_a_schedule_beside_itself_has_not_moved():
    """No marks, no outlines."""
    found = comparison(INSTANCE, NOW, NOW)
    assert not any(box[6] for box in found.boxes) and all(box[5] != FORMER for box in found.boxes)
    assert found.note.startswith("0 of 4 operations have moved")


def test_calendars_and_set_ups_differ():
    """In the scene by their groups, which the page draws in different colours, and in the picture."""
    from matplotlib.figure import Figure

    rules = SideConstraints(unavailable=np.array([[1, 7, 9]]), setups=np.array([[[0, 1], [2, 0]], [[0, 2], [1, 0]]]))
    instance = replace(INSTANCE, rules=rules)
    schedule = Schedule(np.array([0, 3, 0, 9]), np.array([1, 1, 0, 1], np.int32))
    found = scene(instance, schedule)
    assert {box[5] for box in found.boxes} == {-1, SETUP, 0, 1}
    assert "grey: not available; amber: a set-up" in found.note
    axes = Figure().subplots()
    JobShop().draw(instance, schedule, axes)
    colours = {tuple(np.round(bar.get_facecolor(), 2)) for bar in axes.patches if bar.get_hatch()}
    others = {tuple(np.round(bar.get_facecolor(), 2)) for bar in axes.patches if not bar.get_hatch()}
    assert len(colours) == 1 and not colours & others and "amber, hatched: a set-up" in axes.get_xlabel()


def test_the_command_compares_two_files(tmp_path, capsys):
    """`corl view FILE A --against B`; without A, or for another problem, one line says what is accepted."""
    file, one, other, html = (tmp_path / name for name in ("shop.json", "a.json", "b.json", "page.html"))
    problem = JobShop()
    problem.write(INSTANCE, file)
    one.write_text(json.dumps(problem.to_json(INSTANCE, NOW)))
    other.write_text(json.dumps(problem.to_json(INSTANCE, Schedule(np.array([0, 4, 1, 6]), NOW.machine))))
    assert main(["view", str(file), str(one), "--against", str(other), "--output", str(html)]) == 0
    text = html.read_text(encoding="utf-8")
    embedded = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert sum(box[6] for box in embedded["scene"]["boxes"]) == 3 and "3 of 4 operations have moved" in text
    assert main(["view", str(file), "--against", str(other), "--output", str(html)]) == 2
    assert "accepted: FILE SOLUTION --against OTHER" in capsys.readouterr().err
    model = KnapsackModel(5)
    model.add_item("a", value=1, weight=1)
    result = model.solve().result
    with pytest.raises(UsageError, match="pages of knapsack do not compare two solutions"):
        page(result._problem(), result.data, result.solution, against=result.solution)


def test_plans_of_a_model_are_compared_by_names():
    """The later plan has a new job; the page is of the later plan."""
    model = SchedulingModel()
    model.add_job("a", [("saw", 4), ("mill", 3)])
    model.add_job("b", [("saw", 2)])
    plan = model.solve(solver="cp-sat", time_limit=5)
    model.add_job("c", [("mill", 5)])
    later = model.rescheduled(plan, 1).solve(solver="cp-sat", time_limit=5)
    assert "1 are new" in later.page(against=plan) and "operations have moved" not in later.page()
    with pytest.raises(UsageError, match="against: 3 is not accepted; accepted: a Plan of the model"):
        later.page(against=3)

"""JobShop as the rest of corl sees it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from corl.errors import InputError
from corl.problems.jobshop.instance import Schedule, from_jobs
from corl.problems.jobshop.problem import JobShop

JOBSHOP = JobShop()
KINDS = ("classic", "ragged", "reentrant", "zeros", "flexible", "dates", "tardiness", "flexible tardiness")
SHIPPED = Path(__file__).resolve().parents[3] / "instances" / "jobshop"
SMALL = from_jobs([[[(0, 3)], [(1, 2)]], [[(1, 4)]]], 2, first_machine=1)


def test_json_is_in_the_files_own_numbering():
    """A list a job of starts and of machines, numbered as in the file, and back."""
    schedule = Schedule(np.array([0, 4, 0]), np.array([0, 1, 1], np.int32))
    value = json.loads(json.dumps(JOBSHOP.to_json(SMALL, schedule)))
    assert value == {"start": [[0, 4], [0]], "machine": [[1, 2], [2]]}
    again = JOBSHOP.from_json(SMALL, value)
    assert again.start.tolist() == [0, 4, 0] and again.machine.tolist() == [0, 1, 1]
    assert JOBSHOP.evaluate(SMALL, again) == 6.0


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"start": [[0, 4], [0]]},
        {"start": [[0, 4], [0]], "machine": [[1, 2]]},
        {"start": [[0, 4], [0]], "machine": [[1, 2], [2, 2]]},
        {"start": [[0, 4.0], [0]], "machine": [[1, 2], [2]]},
        {"start": [[0, True], [0]], "machine": [[1, 2], [2]]},
        {"start": [[0, 2**40], [0]], "machine": [[1, 2], [2]]},
        {"start": [[0, 4], [0]], "machine": [[1, 2], [2]], "end": []},
        {"start": [0, 4, 0], "machine": [1, 2, 2]},
    ],
)
def test_json_that_is_no_schedule(value):
    """Anything but integers of the right shape is refused as input."""
    with pytest.raises(InputError, match="accepted: "):
        JOBSHOP.from_json(SMALL, value)


def test_adapt():
    """Lists of pairs, of lists of pairs where there is a choice, and an array [jobs, operations, 2]."""
    rows = [[[(0, 3)], [(1, 2), (2, 5)]], [[(2, 4)]]]
    assert list(JOBSHOP.adapt([[(0, 3), [(1, 2), (2, 5)]], [(2, 4)]]).rows()) == rows
    array = np.array([[[0, 3], [1, 2]], [[1, 4], [0, 1]]])
    assert list(JOBSHOP.adapt(array).rows()) == [[[(0, 3)], [(1, 2)]], [[(1, 4)], [(0, 1)]]]


@pytest.mark.parametrize(
    "data", [5, "x", [], [[]], [[5]], [[(0, 1.5)]], [[(-1, 2)]], [[(0, -2)]], [[[]]], np.zeros((2, 2)), [[(True, 1)]]]
)
def test_adapt_refuses(data):
    """What is no list of jobs: an InputError."""
    with pytest.raises(InputError):
        JOBSHOP.adapt(data)


@pytest.mark.parametrize("kind", KINDS)
def test_describe_and_draw(random_instance, kind):
    """The facts are JSON values; a Gantt chart has a bar for each operation, and a title with the value."""
    from matplotlib.figure import Figure

    from corl.problems.jobshop.environment import JobShopEnvironment

    instance = random_instance(kind, 4, 3, 2)
    facts = JOBSHOP.describe(instance)
    assert json.loads(json.dumps(facts)) == facts and facts["operations"] == instance.operations
    environment = JobShopEnvironment([instance], 1)
    while (action := environment.actions([0])[0, 0]) >= 0:
        environment.step([0], [0], [action])
    schedule = environment.solution(0)
    for solution in (None, schedule):
        axes = Figure().add_subplot()
        JOBSHOP.draw(instance, solution, axes)
        bars = [(bar.get_x(), bar.get_width()) for bar in axes.patches]
        assert len(bars) == instance.operations
        if solution is not None:
            assert [x for x, _ in bars] == schedule.start.tolist()
            assert f"{JOBSHOP.evaluate(instance, schedule):,.10g}" in axes.get_title()


def test_environment(random_instance):
    """The dispatching environment of active schedules, with as many listed actions as wanted."""
    instance = random_instance("flexible", 5, 4, 1)
    assert JOBSHOP.environment([instance], 2).rows == 2
    assert JOBSHOP.environment([instance], 1, 3).actions([0]).shape == (1, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_miniatures(random_instance, kind):
    """The beginnings of the first jobs, with all that is said of them; of small instances, everything but idle machines."""
    instance = random_instance(kind, 6, 7, 4)
    small = JOBSHOP.warm_up_instance(instance)
    assert small.jobs == 4 and np.diff(small.first).max() <= 4 and small.objective == instance.objective
    whole, part = ([[[d for _, d in operation] for operation in row[:4]] for row in each.rows()] for each in (instance, small))
    assert whole[:4] == part
    assert (small.release == instance.release[:4]).all() and (small.weight == instance.weight[:4]).all()
    tiny = random_instance(kind, 2, 2, 4)
    assert [len(row) for row in JOBSHOP.warm_up_instance(tiny).rows()] == [len(row) for row in tiny.rows()]


def test_importing_the_problem_is_light():
    """Finding the problem, for `corl list` or to recognise a file, loads NumPy and nothing heavier."""
    heavy = ("numba", "scipy", "matplotlib", "networkx", "torch", "ortools")
    code = "import sys, corl.problems.jobshop.problem as p; p.JobShop().recognises('2 2\\n0 1 1 1');"
    code += f"print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_references():
    """Every shipped instance has a best-known value that its status and source go with."""
    with open(SHIPPED / "reference.csv", encoding="utf-8", newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert set(rows) == {path.stem for path in SHIPPED.glob("*.*") if path.suffix in (".json", ".txt", ".fjs")}
    assert all(row["status"] in ("proven", "best known") and float(row["value"]) > 0 and row["source"] for row in rows.values())

"""Tsp as the rest of corl sees it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from corl.errors import Infeasible, InputError
from corl.options import call
from corl.problems.tsp.evaluation import objective
from corl.problems.tsp.problem import Tsp

TSP = Tsp()
SHIPPED = Path(__file__).resolve().parents[3] / "instances" / "tsp"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("NAME : x\nTYPE : TSP\n", True),
        ("name: x\r\ntype: atsp\r\n", True),
        ("TYPE : TSP (M.~Hofmeister)\n", True),
        ("TYPE : SOP\n", True),
        ("DIMENSION : 5\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n", True),
        ("TYPE : CVRP\nDIMENSION : 5\n", False),
        ("DIMENSION : 5\nCAPACITY : 5\nNODE_COORD_SECTION\n", False),
        ("3 3\n1 2 3\n", False),
        ("NAME TYPE\nROWS\n", False),
        ("", False),
    ],
)
def test_recognises(head, expected):
    """TSPLIB's files are known by their head, those for vehicle routing left to others."""
    assert TSP.recognises(head) is expected


def test_json_is_in_the_files_own_ids(random_instance):
    """to_json gives plain integers, the file's ids in visiting order, and from_json takes them back."""
    instance = random_instance("EUC_2D", 6, 1)
    tour = np.array([2, 0, 1, 5, 4, 3])
    value = json.loads(json.dumps(TSP.to_json(instance, tour)))
    assert value == [int(instance.ids[city]) for city in tour]
    assert TSP.from_json(instance, value).tolist() == tour.tolist()


@pytest.mark.parametrize("value", ["12", {"a": 1}, None, 5, [1.0, 2.0], [True, False], [[1], [2]], ["1"]])
def test_json_that_is_no_tour(random_instance, value):
    """Anything but a list of integers is refused as input."""
    with pytest.raises(InputError, match="accepted: a list of city ids"):
        TSP.from_json(random_instance("EUC_2D", 3), value)


@pytest.mark.parametrize("city", [0, -7, 2**70])
def test_json_with_an_unknown_city(random_instance, city):
    """A city that there is not makes the tour infeasible, however large its number."""
    with pytest.raises(Infeasible, match="is not in the instance"):
        TSP.from_json(random_instance("EUC_2D", 3), [5, 6, city])


def test_solution_files(random_instance, tmp_path):
    """write_solution writes the length as a comment, and read_solution reads the tour."""
    instance = random_instance("ATSP", 5)
    tour = np.array([4, 2, 0, 1, 3])
    TSP.write_solution(instance, tour, tmp_path / "f.tour")
    assert TSP.read_solution(instance, tmp_path / "f.tour").tolist() == tour.tolist()
    assert f"Length {TSP.evaluate(instance, tour)!r}" in (tmp_path / "f.tour").read_text()


@pytest.mark.parametrize("kind", ["EUC_2D", "GEO", "EXACT_3D", "EXPLICIT", "ATSP"])
@pytest.mark.parametrize("n", [1, 4])
def test_describe(random_instance, kind, n):
    """The facts are JSON values, with type and dimension."""
    facts = TSP.describe(random_instance(kind, n))
    assert json.loads(json.dumps(facts)) == facts
    assert facts["dimension"] == n and facts["type"] == ("ATSP" if kind == "ATSP" else "TSP")


def test_importing_the_problem_is_light():
    """Finding the problem, for `corl list` or to recognise a file, loads NumPy and nothing heavier."""
    heavy = ("numba", "scipy", "matplotlib", "networkx", "torch")
    code = f"import sys, corl.problems.tsp.problem; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def shipped():
    return sorted(SHIPPED.glob("*.*tsp"))


def test_instances_are_shipped():
    """There are uniform, clustered and asymmetric ones, and each has its line in reference.csv."""
    names = [path.name for path in shipped()]
    assert len(names) >= 9
    with open(SHIPPED / "reference.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(set(row) == {"name", "value", "status", "source"} for row in rows)
    assert all(row["status"] in ("proven", "best known") and float(row["value"]) > 0 and row["source"] for row in rows)
    assert {row["name"] for row in rows} <= {Path(name).stem for name in names}


@pytest.mark.parametrize("path", shipped(), ids=lambda path: path.name)
def test_shipped_instance_is_what_its_command_generates(path):
    """The comment in each file is the command that makes it again, to the bit."""
    instance = TSP.read(path)
    words = instance.comment.split()
    assert words[:3] == ["corl", "generate", "tsp"] and words[4] == "--option" and words[-2] == "--seed"
    options = dict(word.split("=") for word in words[5:-2] if word != "--option")
    again = call(TSP.generators[words[3]], {**options, "seed": int(words[-1])})
    assert instance.name == again.name == path.stem
    if again.points is not None:
        assert np.array_equal(instance.points, again.points)
    else:
        assert np.array_equal(instance.matrix, again.matrix)
    assert objective(instance, np.arange(instance.n)) > 0

"""Instance files: every format both ways, every fault one line with its place, and nothing else on spoiled files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corl.errors import InputError, UsageError
from corl.files.text import Text
from corl.problems.jobshop.formats import read_instance, read_text, recognises, write_instance
from corl.problems.jobshop.generators import taillard
from corl.problems.jobshop.instance import from_jobs
from corl.problems.jobshop.problem import JobShop

FIELDS = ("machines", "objective", "first_machine")
ARRAYS = ("first", "choice_first", "choice_machine", "choice_duration", "release", "due", "weight")
STANDARD = "# two jobs\n2 3\n0 3 1 2 2 4\n2 1 0 5\n"
TAILLARD = """Nb of jobs, Nb of Machines, Time seed, Machine seed, Upper bound, Lower bound
  2 3 840612802 398197754 99 9
Times
 94 66 10
 53 26 15
Machines
  1 3 2
  2 3 1
"""
FLEXIBLE = "2 3 1.5\n2 1 1 5 2 2 4 3 6\n1 3 1 1 2 2 3 3\n"
JSON = (
    '{"problem": "jobshop", "name": "small", "machines": 2, "objective": "weighted_tardiness", "jobs": [\n'
    '  {"operations": [[0, 3], [[0, 4], [1, 2]]], "release": 1, "due": 9, "weight": 2},\n'
    '  {"operations": [[1, 5]], "due": 7}]}\n'
)
PARAMETERS = '{"jobs": 2, "machines": 3, "time_seed": 5, "machine_seed": 6}'
CALL = '{"problem": "jobshop", "generator": "taillard", "parameters": ' + PARAMETERS + "}"


TWICE = json.dumps({"instance": "s", "data": 2 * [{"job": 0, "operation": 0, "machine": 0, "duration": 1}]})
SCHEDULEOPT = """{"instance": "s",
"operations": [
{"operation": 1, "machine": 1, "duration": 5},
{"operation": 0, "machine": 0, "duration": 4}, {"operation": 2, "machine": 0, "duration": 3},
{"operation": 2, "option": 1, "machine": 2, "duration": 6}],
"precedences": [{"before": 0, "after": 2}]}
"""


def same(one, other, name=True):
    """Whether two instances are equal, the name too."""
    for field in (*FIELDS, "comment", *(("name",) if name else ())):
        assert getattr(one, field) == getattr(other, field), field
    for field in ARRAYS:
        a, b = getattr(one, field), getattr(other, field)
        assert (a is None) == (b is None) and (a is None or a.tolist() == b.tolist()), field


def test_standard_text():
    """Pairs of machine and duration from machine 0; rows may differ in length; comments are kept."""
    instance = read_text(Text(STANDARD), "x")
    assert list(instance.rows()) == [[[(0, 3)], [(1, 2)], [(2, 4)]], [[(2, 1)], [(0, 5)]]]
    assert (instance.name, instance.comment, instance.machines, instance.first_machine) == ("x", "two jobs", 3, 0)


@pytest.mark.parametrize("header", [True, False])
def test_taillards_text(header):
    """Times and Machines, machines from 1, with or without the line of titles."""
    text = TAILLARD if header else TAILLARD.split("\n", 1)[1]
    instance = read_text(Text(text))
    assert list(instance.rows()) == [[[(0, 94)], [(2, 66)], [(1, 10)]], [[(1, 53)], [(2, 26)], [(0, 15)]]]
    assert instance.first_machine == 1


def test_flexible_text(tmp_path):
    """Known by three numbers in the header, or by the name; machines from 1."""
    instance = read_text(Text(FLEXIBLE))
    assert list(instance.rows()) == [[[(0, 5)], [(1, 4), (2, 6)]], [[(0, 1), (1, 2), (2, 3)]]]
    path = tmp_path / "x.fjs"
    path.write_text(FLEXIBLE.replace("2 3 1.5", "2 3"))
    same(read_instance(path), instance, name=False)


def test_json():
    """Everything that an instance has; machines are numbered from first_machine."""
    instance = read_text(Text(JSON))
    assert list(instance.rows()) == [[[(0, 3)], [(0, 4), (1, 2)]], [[(1, 5)]]]
    assert instance.release.tolist() == [1, 0] and instance.due.tolist() == [9, 7] and instance.weight.tolist() == [2, 1]
    shifted = read_text(Text('{"machines": 2, "first_machine": 1, "jobs": [[[1, 3], [2, 4]]]}'))
    assert list(shifted.rows()) == [[[(0, 3)], [(1, 4)]]]


def test_json_that_calls_a_generator():
    """The generator's instance under the file's own name."""
    same(read_text(Text(CALL), "x"), taillard(jobs=2, machines=3, time_seed=5, machine_seed=6), name=False)
    assert read_text(Text(CALL), "x").name == "x"


def test_scheduleopt():
    """A list of operations with their jobs, or options with chains of precedences; the order of the lists is of no account."""
    rows = [(1, 0, 1, 5), (0, 1, 1, 2), (0, 0, 0, 3)]
    data = [dict(zip(("job", "operation", "machine", "duration"), row, strict=True)) for row in rows]
    classic = read_text(Text(json.dumps({"instance": "s", "family": "f", "machines": 2, "jobs": 2, "data": data})))
    assert classic.name == "s" and [[list(op) for op in job] for job in classic.rows()] == [[[(0, 3)], [(1, 2)]], [[(1, 5)]]]
    flexible = read_text(Text(SCHEDULEOPT))
    assert [[list(op) for op in job] for job in flexible.rows()] == [[[(0, 4)], [(0, 3), (2, 6)]], [[(1, 5)]]]
    assert recognises(SCHEDULEOPT) and flexible.machines == 3


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (STANDARD, True),
        (TAILLARD, True),
        (TAILLARD.split("\n", 1)[1], True),
        (FLEXIBLE, True),
        (FLEXIBLE.replace(" 1.5", ""), True),
        (JSON, True),
        (CALL, True),
        ("100 100\n" + "0 1 " * 2000, True),
        ('{"machines": 2, "jobs": []}', False),
        ("3 3\n1 2 3\n", False),
        ("4 11\n8 4\n10 5\n15 8\n4 3\n", False),
        ("2 2\n0 1 1 1\n0 1 1 1\n0 1 1 1\n", True),
        ("2 2\n0 3 1 -2\n1 4 0 1\n", True),
        ("2 2\n0 3 1 x\n1 4\n0.5 1\n", False),
        ("NAME : x\nTYPE : TSP\nDIMENSION : 5\n", False),
        ("2 2\n", False),
        ("# nothing\n", False),
        ("", False),
    ],
)
def test_recognises(head, expected):
    """Heads of every format, and of what is not a job shop."""
    assert recognises(head[:4096]) is expected


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        ("2\n0 1\n0 1\n", 1, "header"),
        ("2 2 x y\n0 1\n0 1\n", 1, "header"),
        ("0 2\n", 1, "jobs"),
        ("2 0\n0 1\n", 1, "machines"),
        ("2 2\n0 1\n", 2, "jobs"),
        ("2 2\n0 1\n0 1\n\n0 1\n", 5, "jobs"),
        ("2 2\n0 1 1\n0 1\n", 2, "job"),
        ("2 2\n0 1\n2 1\n", 3, "machine"),
        ("2 2\n0 1\n-1 1\n", 3, "machine"),
        ("2 2\n0 1\n1 -4\n", 3, "duration"),
        ("2 2\n0 1\n1 1.5\n", 3, "duration"),
        ("2 2\n0 1\n1 9999999999\n", 3, "duration"),
        ("2 2\n0 900000000\n1 900000000\n", None, "durations"),
        (FLEXIBLE.replace("2 1 1 5", "3 1 1 5"), 2, "operations"),
        (FLEXIBLE.replace("2 1 1 5", "1 1 1 5"), 2, "operations"),
        (FLEXIBLE.replace("2 2 4 3 6", "2 2 4 2 6"), 2, "machine"),
        (FLEXIBLE.replace("1 3 1 1 2 2 3 3", "1 3 1 1 2 2 3"), 3, "operations"),
        (FLEXIBLE.replace("1 3 1 1 2 2 3 3", "1 0"), 3, "choices"),
        (FLEXIBLE.replace("1 3 1 1 2 2 3 3", "1 3 0 1 2 2 3 3"), 3, "machine"),
        (TAILLARD.replace(" 53 26 15", " 53 26"), 5, "times"),
        (TAILLARD.replace(" 53 26 15\n", ""), 4, "times"),
        (TAILLARD.replace("  2 3 1", "  2 3 4"), 8, "machines"),
        (TAILLARD.replace("  2 3 1", "  2 3 2"), 8, "machines"),
        (TAILLARD.replace("Machines\n", ""), 6, "times"),
        (TAILLARD + "Times\n", 9, "times"),
        (TAILLARD.replace("  2 3 8", "  9 3 8"), 5, "times"),
        ("# only\n", 1, None),
        (JSON.replace('"release": 1', '"release": -1'), 2, "jobs[0].release"),
        (JSON.replace(', "due": 7', ""), 3, "jobs[1].due"),
        (JSON.replace("[[1, 5]]", "[[2, 5]]"), 3, "jobs[1].operations[0][0]"),
        (JSON.replace("[[1, 5]]", "[[1, -5]]"), 3, "jobs[1].operations[0][1]"),
        (JSON.replace("[[1, 5]]", "[]"), 3, "jobs[1].operations"),
        (JSON.replace("[1, 2]]]", "[0, 2]]]"), 2, "jobs[0].operations[1]"),
        (JSON.replace('"weight"', '"wait"'), 2, "jobs[0]"),
        (JSON.replace('"machines": 2', '"machines": 0'), 1, "machines"),
        (JSON.replace("weighted_tardiness", "flowtime"), 1, "objective"),
        (JSON.replace('"jobshop"', '"tsp"'), 1, "problem"),
        (JSON.replace("[[1, 5]]", "[[1, 5]"), 3, None),
        ("[1, 2]", 1, None),
        (SCHEDULEOPT.replace('"machine": 1', '"machine": -1'), 3, "operations[0].machine"),
        (SCHEDULEOPT.replace('"after": 2', '"after": 7'), 6, "precedences[0]"),
        (SCHEDULEOPT.replace('"after": 2}', '"after": 2}, {"before": 1, "after": 2}'), 6, "precedences[1]"),
        (SCHEDULEOPT.replace('"after": 2}', '"after": 2}, {"before": 2, "after": 0}'), 6, "precedences"),
        (TWICE, 1, "data[1]"),
        (CALL.replace("taillard", "tailard"), 1, "generator"),
        (CALL.replace('"jobs"', '"works"'), 1, "parameters"),
        (CALL.replace('"jobs": 2', '"jobs": 0'), 1, "parameters"),
    ],
)
def test_faults_are_placed(text, line, field):
    """Every fault is an InputError of one line with file, line and field."""
    with pytest.raises(InputError) as caught:
        read_text(Text(text, "f.txt"))
    error = caught.value
    assert (error.line, error.field) == (line, field), str(error)
    assert str(error).startswith("f.txt") and "\n" not in str(error)


def test_shared_files():
    """Every job shop of the shared data is recognised, read, and written back to the same numbers."""
    folder = Path(__file__).resolve().parents[4] / "shared" / "data" / "jobshop" / "instances"
    if not folder.is_dir():
        pytest.skip("the shared data is not beside the checkout")
    for path in sorted(folder.glob("*.txt")):
        text = path.read_text()
        assert recognises(text[:4096]), path.name
        instance = read_instance(path)
        numbers = [int(word) for line in text.splitlines() if not line.startswith("#") for word in line.split()]
        told = [n for job in instance.rows() for ((m, d),) in job for n in (m, d)]
        assert numbers == [instance.jobs, instance.machines, *told]


def test_large_numbers_stay_short():
    """A message about a huge number does not repeat it in full."""
    with pytest.raises(InputError) as caught:
        read_text(Text(json.dumps({"machines": 1, "jobs": [[[0, 10**200]]]}), "f"))
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("kind", ["dates", "tardiness"])
def test_fjs_has_no_dates(random_instance, tmp_path, kind):
    """What the format does not know is refused, with the one that does."""
    with pytest.raises(UsageError, match=r"accepted: a name in \.json"):
        write_instance(random_instance(kind, 3, 3, 1), tmp_path / "a.fjs")


def test_names_of_jobs_may_be_numbers_in_a_solution():
    """Jobs called 1 and 2 are found by numbers as by texts, in any order; a third one is refused."""
    instance = from_jobs([[[(0, 3)]], [[(0, 4)]]], 1, name="two", job_names=("1", "2"))
    for jobs in ([2, 1], ["2", "1"], [2, "1"]):
        found = JobShop().from_json(instance, {"job": jobs, "start": [[3], [0]], "machine": [[0], [0]]})
        assert found.start.tolist() == [0, 3]
    with pytest.raises(InputError, match="names of all jobs"):
        JobShop().from_json(instance, {"job": [1, 3], "start": [[0], [3]], "machine": [[0], [0]]})

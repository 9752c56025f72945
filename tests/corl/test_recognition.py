"""Whose file it is: by what is in it, by its name where that says more, and a question where both leave it open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import corl
from corl import registry
from corl.cli.main import main
from corl.errors import InputError
from corl.loading import load

HURINK = "3\t4\t1.33\n2   2   1  3   2  4   1   3  2\n3   1   2  6   2   1  1   4  5   1   2  2\t\n\n1   2   3  7   1  9\n"
SQUARE = "3 3\n0 5 2\n1 3 3\n2 6 0\n"
SQUARE_OF_PAIRS = "4 4\n0 5 2 7\n1 3 3 2\n2 6 0 4\n3 1 1 8\n"


def written(folder: Path, name: str, content: str) -> Path:
    (folder / name).write_text(content, encoding="utf-8")
    return folder / name


def test_a_header_of_three_numbers(tmp_path: Path):
    """Hurink's flexible job shops have the mean number of machines of an operation there, a fraction."""
    problem, instance = load(written(tmp_path, "a.fjs", HURINK))
    assert problem.name == "jobshop" and (instance.jobs, instance.machines, instance.operations) == (3, 4, 6)


@pytest.mark.parametrize(
    ("name", "content", "line", "said"),
    [
        ("a.fjs", "2 2 2\n2 2 0 3 1 4 1 1 2\n1 1 0 5\n", 2, "machine: '0' is not accepted"),
        ("a.fjs", "2 2 1\n2 1 1 3 0\n1 1 2 5\n", 2, "choices: '0' is not accepted"),
        ("a.fjs.gz", "2 2 1\n2 1 1 3 0\n1 1 2 5\n", 2, "choices: '0' is not accepted"),
        ("a.fjs", "3 2 0\n1 2 3 4 5 6 7 8 9\n", None, "says 3 jobs"),
        ("a.vrp", "NAME : a\nDIMENSION : 3\n1 2 3\n", 3, "'1 2 3' is not accepted"),
        ("a.tsp", "1 0 0\n2 5 5\n", 1, "KEYWORD : value"),
        ("a.lp", "x + y\n", 1, "section"),
        ("a.oplib", "COMMENT : none\n", 1, "COST_LIMIT: missing"),
    ],
)
def test_faults_are_those_of_the_names_owner(tmp_path: Path, name: str, content: str, line: int | None, said: str):
    """A file that nobody's content rules recognise, or several, has the fault that the owner of its ending finds, at its line."""
    with pytest.raises(InputError, match=said) as error:
        corl.read(written(tmp_path, name, content))
    assert line in (None, error.value.line) and error.value.line


def test_words_in_a_file_say_more_than_its_name(tmp_path: Path):
    """A vehicle routing problem in a .tsp file is one."""
    content = "TYPE : CVRP\nDIMENSION : 2\nCAPACITY : 5\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 3 4\n"
    path = written(tmp_path, "a.tsp", f"{content}DEMAND_SECTION\n1 0\n2 1\nDEPOT_SECTION\n1\n-1\nEOF\n")
    assert load(path)[0].name == "vrp"


def test_a_text_of_several_problems_is_asked_about(tmp_path: Path, capsys: Any):
    """Where a job shop and a flow shop can both be read, none is assumed: exit 3, a line with both names and the option."""
    path = written(tmp_path, "a.txt", SQUARE_OF_PAIRS)
    assert main(["solve", str(path)]) == 3
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and all(word in said for word in ("flowshop", "jobshop", "--problem"))
    assert load(path, "jobshop")[1].operations == 8 and load(path, "flowshop")[1].jobs == 4


def test_what_was_assumed_is_said(tmp_path: Path, caplog: Any):
    """Where a text looks like two and can be read as one of them, a warning says as which; if it looks like one, nothing does."""
    path = written(tmp_path, "a.txt", "4 3\n0 0 0 0\n5 0 2 0\n0 3 0 1\n")
    assert load(path)[0].name == "flowshop"
    assert "read as flowshop" in caplog.text and "as jobshop it has a fault" in caplog.text and "--problem" in caplog.text
    caplog.clear()
    assert load(written(tmp_path, "b.txt", SQUARE))[0].name == "flowshop"
    assert load(written(tmp_path, "c.txt", "2 2\n0 5 1 7\n1 3 0 2\n"))[0].name == "jobshop"
    assert not caplog.text


def test_the_fault_of_the_one_that_came_furthest(tmp_path: Path):
    """Where a text looks like two and is neither, the fault in the later line is shown, and as what it was read."""
    path = written(tmp_path, "a.txt", "3 4 1.33\n2 2 1 3 2 4 1 3 2\n3 1 2 6 2 1 1 4 5 1 2 2\n1 2 3 7 1 x\n")
    with pytest.raises(InputError, match=r"'x' is not accepted.*read as jobshop; with --problem vrp") as error:
        corl.read(path)
    assert error.value.line == 4


@pytest.mark.parametrize(("jobs", "machines"), [(4, 2), (5, 5), (10, 5), (10, 10), (20, 10), (30, 15), (40, 20)])
def test_classic_shops_are_never_asked_about(jobs: int, machines: int, tmp_path: Path, caplog: Any):
    """Job shops that visit every machine, and flow shops without a title, whatever their size: recognised without a warning."""
    random = np.random.default_rng(jobs)
    durations = random.integers(1, 100, (machines, jobs))
    visits = [[f"{m} {d}" for m, d in zip(random.permutation(machines), random.integers(1, 100, machines))] for _ in range(jobs)]
    for name, rows in (("flowshop", durations.astype(str).tolist()), ("jobshop", visits)):
        path = written(tmp_path, "a.txt", "\n".join([f"{jobs} {machines}", *(" ".join(row) for row in rows), ""]))
        assert registry.recognise(path).name == name
    assert not caplog.text

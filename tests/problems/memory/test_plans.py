"""Plans as buffer tables: JSON and CSV hold the same rows, come back the same, and contradict neither program nor simulator."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import corl
from corl.cli.main import main
from corl.errors import Infeasible, InputError
from corl.problems.memory.evaluation import run_plan
from corl.problems.memory.instance import MappingPlan, Op, from_program
from corl.problems.memory.problem import Mapping

MAPPING = Mapping()


def plan(residencies, copies):
    """A plan of rows."""
    return MappingPlan(*(np.array(rows, np.int64).reshape(-1, 4) for rows in (residencies, copies)))


@pytest.fixture
def odd():
    """Two operations of one name, and a tensor whose name a CSV has to quote; a plan that keeps it and copies the input in."""
    tensors = [("x", 8, "input"), ('a,"b"\u2028 c', 8, "activation"), ("z", 4, "output")]
    ops = [Op("add", False, 5.0, [(0, 8)], [(1, 8)]), Op("add", False, 5.0, [(0, 8), (1, 8)], [(2, 4)])]
    return from_program(ops, tensors), plan([[1, 0, 2, 8], [0, 0, 2, 0]], [[0, 0, 0, 1]])


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_every_row_says_which_bytes_where_and_when(odd, tmp_path):
    """Places, then copies, each in the order of time; operations by number and name, no name at the program's end."""
    instance, found = odd
    MAPPING.write_solution(instance, found, tmp_path / "plan.csv")
    kept, place, copy = rows_of(tmp_path / "plan.csv")
    assert [row["what"] for row in (kept, place, copy)] == ["place", "place", "in"]
    facts = {"what": "place", "tensor": 'a,"b"\u2028 c', "bytes": "8", "offset": "8", "from": "0", "to": "2"}
    assert kept == facts | {"from_op": "add", "to_op": "", "start": "", "end": ""}
    assert (copy["offset"], copy["from"], copy["to"], copy["to_op"]) == ("", "0", "1", "add")
    timeline = run_plan(instance, found)
    assert [float(copy[key]) for key in ("start", "end")] == [timeline.copy_start[0], timeline.copy_end[0]]
    value = MAPPING.to_json(instance, found)
    first = {key: str(cell) for key, cell in value["residencies"][0].items()}
    assert first == {key: kept[key] for key in first} and len(first) == 7
    assert list(value["copies"][0]) == ["tensor", "direction", "bytes", "from", "to", "from_op", "to_op", "start", "end"]


def test_plans_come_back_the_same(tiny, random_plan, odd, tmp_path):
    """From JSON and from CSV, with rows and columns in any order, and without what may be left out."""
    random, cases = np.random.default_rng(1), [odd]
    while len(cases) < 40:
        instance = tiny(len(cases), aliases=False)
        found = random_plan(instance, random)
        try:
            MAPPING.evaluate(instance, found)
        except Infeasible:
            continue
        cases.append((instance, found))
    assert sum(len(found.copies) for _, found in cases) > 3
    for instance, found in cases:
        again = MAPPING.from_json(instance, json.loads(json.dumps(MAPPING.to_json(instance, found))))
        assert all(np.array_equal(one, other) for one, other in zip(again, found))
        MAPPING.write_solution(instance, found, tmp_path / "plan.csv")
        back = MAPPING.read_solution(instance, tmp_path / "plan.csv")
        assert all(sorted(one.tolist()) == sorted(other.tolist()) for one, other in zip(back, found))
        keys = ("to", "what", "offset", "from", "tensor")
        with open(tmp_path / "few.csv", "w", newline="") as file:
            table = csv.DictWriter(file, keys, extrasaction="ignore")
            table.writeheader()
            table.writerows(rows_of(tmp_path / "plan.csv")[::-1])
        few = MAPPING.read_solution(instance, tmp_path / "few.csv")
        assert MAPPING.evaluate(instance, few) == pytest.approx(MAPPING.evaluate(instance, found), rel=1e-12)


def test_an_empty_plan_is_a_header(odd, tmp_path):
    """Nothing in fast memory is a plan as well."""
    instance, _ = odd
    MAPPING.write_solution(instance, plan([], []), tmp_path / "plan.csv")
    assert MAPPING.read_solution(instance, tmp_path / "plan.csv").residencies.shape == (0, 4)


def test_solve_writes_what_check_takes(tmp_path, capsys):
    """`corl solve --output plan.csv` and `corl check`."""
    MAPPING.write(corl.generate("memory", "layered", seed=3), tmp_path / "program.json")
    files = [str(tmp_path / "program.json"), str(tmp_path / "plan.csv")]
    assert main(["solve", files[0], "--solver", "greedy-keep", "--output", files[1], "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert main(["check", *files, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["objective"] == pytest.approx(result["objective"], rel=1e-12)
    assert len(rows_of(files[1])) == sum(map(len, result["solution"].values())) > 0


HEAD = "what,tensor,bytes,offset,from,to,from_op,to_op,start,end\n"
GOOD = HEAD + "place,x,8,0,0,2,add,,,\n\nin,x,8,,0,1,add,add,,\n"
FAULTS = {
    "an unknown tensor": (GOOD.replace("place,x", "place,q"), "4: tensor", "no tensor 'q'"),
    "bytes of another program": (GOOD.replace("in,x,8", "in,x,9"), "6: bytes", "accepted: 8"),
    "another operation": (GOOD.replace("2,add", "2,mul"), "4: from_op", "accepted: 'add'"),
    "an operation after the end": (GOOD.replace("2,add,", "2,add,add"), "4: to_op", "accepted: ''"),
    "seconds of another plan": (GOOD.replace("add,add,,", "add,add,,1e9"), "6: end", "as simulated, or nothing"),
    "an offset of a copy": (GOOD.replace("in,x,8,", "in,x,8,4"), "6: offset", "accepted: an empty cell"),
    "a place without an offset": (GOOD.replace("8,0,0,2", "8,,0,2"), "4: offset", "an integer"),
    "no integer": (GOOD.replace("8,0,0,2", "8,0,0,two"), "4: to", "'two' is not accepted"),
    "a negative operation": (GOOD.replace("8,0,0,2", "8,0,-1,2"), "4: from", "an integer from 0"),
    "an unknown kind of row": (GOOD.replace("in,x", "up,x"), "6: what", "accepted: place, in, out"),
    "a row that is too short": (GOOD.replace("add,,,", "add"), "4", "7 cells"),
    "an unknown column": (GOOD.replace("bytes", "size"), "3: header", "'size'"),
    "a missing column": (GOOD.replace("offset", "bytes", 1), "3: header", "one column 'offset'"),
    "an open quotation mark": (GOOD.replace("place,x", 'place,"x'), "", "accepted: CSV"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_a_table_name_line_and_column(odd, tmp_path, fault):
    """In one line; the blank lines before the header count."""
    content, place, said = FAULTS[fault]
    (tmp_path / "plan.csv").write_text("\n\n" + content)
    with pytest.raises(InputError) as caught:
        MAPPING.read_solution(odd[0], tmp_path / "plan.csv")
    assert f"plan.csv:{place}" in str(caught.value) and said in str(caught.value) and "\n" not in str(caught.value)


def changed(base, part, key, value):
    """A copy of a plan in JSON with one cell of its first row changed."""
    return base | {part: [base[part][0] | {key: value}, *base[part][1:]]}


def test_faults_of_a_plan_in_json(odd):
    """Fields are named; facts that are the program's or the simulator's may be left out, but not be wrong."""
    instance, found = odd
    value = MAPPING.to_json(instance, found)
    wrongs = [("copies", "direction", "up"), ("residencies", "from", -1), ("residencies", "tensor", "q"), ("copies", "end", 1e9)]
    wrongs += [("residencies", "bytes", 7), ("copies", "from_op", "mul"), ("residencies", "to_op", "add")]
    for part, key, wrong in wrongs:
        with pytest.raises(InputError, match=rf"solution\.{part}\[0\]\.{key}: .*accepted"):
            MAPPING.from_json(instance, changed(value, part, key, wrong))
    for whole in ({"copies": []}, [], value | {"copies": 1}):
        with pytest.raises(InputError, match="accepted"):
            MAPPING.from_json(instance, whole)

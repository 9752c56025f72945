"""Rules in JSON: what is written is read back to the bit, and what is wrong is said in one line that names the field."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

from corl.errors import InputError, UsageError
from corl.problems.jobshop.formats import read_instance, write_instance
from corl.problems.jobshop.generators_rules import _RULES, workshop
from corl.problems.jobshop.instance import JobShopInstance, from_jobs
from corl.problems.jobshop.rules import FOREVER, SideConstraints
from support.families import jobshop_rules as cases

TOGETHER = (
    "setups,calendars,nowait,running,windows,choices,breakdown,releases",
    "families,tardiness,calendars,running",
    "resumable,calendars,swap,nowait",
)


def same(one, other):
    """Field by field, rules too."""
    for field in dataclasses.fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, SideConstraints):
            assert isinstance(b, SideConstraints) and same(a, b), field.name
        elif isinstance(a, np.ndarray):
            assert a.dtype == b.dtype and np.array_equal(a, b), field.name
        else:
            assert a == b, field.name
    return True


@pytest.mark.parametrize("name", cases.RULES)
def test_round_trips(tmp_path, name):
    """Random instances of every rule, small and larger, with machines from 0 and from 1."""
    for seed in range(6):
        instance = cases.make_rules(name, seed, jobs=2 + seed, machines=2 + seed % 2)
        instance = dataclasses.replace(instance, first_machine=seed % 2)
        write_instance(instance, tmp_path / "a.json")
        assert same(instance, read_instance(tmp_path / "a.json"))
        assert json.loads((tmp_path / "a.json").read_text())["problem"] == "jobshop"


@pytest.mark.parametrize("ask", [*_RULES, *TOGETHER])
def test_generated_workshops_round_trip(tmp_path, ask):
    """And the text formats refuse them."""
    instance = workshop(jobs=5, machines=4, ask=ask, seed=2)
    write_instance(instance, tmp_path / "a.json")
    assert same(instance, read_instance(tmp_path / "a.json"))
    if instance.rules is not None:
        with pytest.raises(UsageError, match="no dates, weights, rules"):
            write_instance(instance, tmp_path / "a.fjs")


def test_empty_rules_are_none(tmp_path):
    """An instance without rules has none when it is read back, one in which earliness counts has empty ones."""
    plain = from_jobs([[[(0, 3)]]], 1, name="plain", due=[4])
    write_instance(plain, tmp_path / "a.json")
    assert read_instance(tmp_path / "a.json").rules is None
    early = dataclasses.replace(plain, objective="earliness_tardiness")
    write_instance(early, tmp_path / "a.json")
    assert same(early, read_instance(tmp_path / "a.json")) and early.rules.names == []


GOOD = {
    "problem": "jobshop", "machines": 2, "now": 3, "unavailable": [[[4, 9], [12, None]], []],
    "setups": [{"first": [1, 2], "between": [[0, 3], [2, 0]]}, None],
    "jobs": [
        {"operations": [[0, 3], [1, 2]], "due": 9, "early": 4, "earliness": 2, "no_wait": True, "fixed": [[0, 1], None]},
        {"operations": [[0, 2], [1, 2]], "due": 12, "earliest": [0, 6], "family": 1, "early": 8},
    ],
}  # fmt: skip


def test_a_file_by_hand(tmp_path):
    """Every field is where the instance has it; null is for good; a job's flag is of all its operations but the first."""
    (tmp_path / "a.json").write_text(json.dumps(GOOD))
    rules = read_instance(tmp_path / "a.json").rules
    assert rules.unavailable.tolist() == [[0, 4, 9], [0, 12, FOREVER]] and rules.now == 3
    assert rules.setups.tolist() == [[[0, 3], [2, 0]], [[0, 0], [0, 0]]] and rules.first_setups.tolist() == [[1, 2], [0, 0]]
    assert rules.no_wait.tolist() == [False, True, False, False] and rules.earliest.tolist() == [0, 0, 0, 6]
    assert rules.family.tolist() == [0, 0, 1, 1] and rules.early.tolist() == [4, 8] and rules.earliness.tolist() == [2, 1]
    assert rules.fixed_start.tolist() == [1, -1, -1, -1] and rules.fixed_machine.tolist() == [0, -1, -1, -1]
    assert rules.names == [
        "release times of operations", "operations without waiting", "machine calendars", "set-ups", "due windows",
        "weights of earliness", "operations that are frozen or running", "a time that is now",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"now": -1}, "now", "accepted: an integer from 0"),
        ({"unavailable": [[]]}, "unavailable", "accepted: a list of 2"),
        ({"unavailable": [[[4]], []]}, r"unavailable\[0\]\[0\]", "a list of 2"),
        ({"unavailable": [[[4, 2]], []]}, "unavailable", "the latter later"),
        ({"unavailable": [[[4, 9], [5, 12]], []]}, "unavailable", "begins before the one before it ends"),
        ({"setups": [None, None]}, r"setups\[0\]", "null for a machine without set-ups"),
        ({"setups": [{"between": [[0, 1], [0]]}, None]}, r"setups\[0\].between", "accepted: a list of 2"),
        ({"setups": [{"between": [[0, -1], [0, 1]]}, None]}, r"setups\[0\].between", "accepted: an integer from 0"),
        ({"setups": [{"first": [1], "between": [[0, 1], [1, 0]]}, None]}, r"setups\[0\].first", "accepted: a list of 2"),
        ({"setups": None}, "family", "there are no setups"),
        ({"preemption": True}, "preemption", "operations that are interrupted at any time: not supported"),
        ({"swap": True}, "swap", "false without blocking"),
        ({"blocking": True, 0: {"blocking": [True, True]}}, "blocking", "the last operation of job 0 has none after it"),
        ({0: {"resumable": [True]}}, r"jobs\[0\].resumable", "accepted: a list of 2"),
        ({"resumable": 1}, "resumable", "accepted: true or false"),
        ({"brakes": []}, None, "there is no key 'brakes'"),
        ({0: {"no_wait": [True, False]}}, r"jobs\[0\].no_wait", "the first operation has none before it"),
        ({0: {"no_wait": [False]}}, r"jobs\[0\].no_wait", "accepted: a list of 2"),
        ({0: {"no_wait": 1}}, r"jobs\[0\].no_wait", "accepted: true or false"),
        ({0: {"family": 2}}, r"jobs\[0\].family", "accepted: an integer from 0 to 1"),
        ({0: {"family": [0, 1, 0]}}, r"jobs\[0\].family", "accepted: a list of 2"),
        ({0: {"earliest": [0]}}, r"jobs\[0\].earliest", "accepted: a list of 2"),
        ({0: {"early": 10}}, "early", "job 0 may end from 10 and is due at 9"),
        ({0: {"fixed": [[1, 1], None]}}, r"jobs\[0\].fixed\[0\]\[0\]", "1 cannot do it; accepted: 0"),
        ({0: {"fixed": [[0, -1], None]}}, r"jobs\[0\].fixed\[0\]\[1\]", "accepted: an integer from 0"),
        ({0: {"fixed": [None]}}, r"jobs\[0\].fixed", "accepted: a list of 2"),
        ({0: {"deadline": 9}}, r"jobs\[0\].deadline", "deadlines: not supported"),
        ({0: {"operations": [[0, 0], [1, 2]]}}, "durations", "accepted: from 1, on machines with set-ups"),
        ({0: {"earliness": -1}}, r"jobs\[0\].earliness", "accepted: an integer from 0"),
    ],
)  # fmt: skip
def test_faults(tmp_path, change, field, message):
    """One line with the file, the field and what is accepted."""
    data = json.loads(json.dumps(GOOD))
    for key, value in change.items():
        if key == 0:
            data["jobs"][0] |= value
        elif value is None:
            del data[key]
        else:
            data[key] = value
    (tmp_path / "bad.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match=message) as told:
        read_instance(tmp_path / "bad.json")
    assert "\n" not in str(told.value) and "bad.json" in str(told.value)
    if field is not None:
        assert told.value.field is not None
        assert re.match(field, told.value.field), told.value.field


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        ({"earliest": np.zeros(3, np.int64)}, "earliest"), ({"no_wait": np.zeros(2, np.int64)}, "no_wait"),
        ({"no_wait": np.ones(2, bool)}, "no_wait"), ({"unavailable": np.array([[3, 0, 4]])}, "unavailable"),
        ({"setups": np.zeros((1, 2, 2), np.int64)}, "setups"), ({"family": np.zeros(2, np.int64)}, "family"),
        ({"first_setups": np.zeros((1, 1), np.int64)}, "first_setups"), ({"early": np.zeros(1, np.int64)}, "early"),
        ({"fixed_start": np.zeros(2, np.int64)}, "fixed_machine"), ({"now": 1.5}, "now"),
        ({"fixed_start": np.zeros(2, np.int64), "fixed_machine": np.array([0, -1])}, "fixed_machine"),
        ({"unavailable": np.array([[0, 5, 9], [0, 8, 12]])}, "unavailable"), ({"swap": True}, "swap"),
        ({"blocking": np.ones(2, bool)}, "blocking"), ({"resumable": np.ones(2, np.int64)}, "resumable"),
    ],
)  # fmt: skip
def test_arrays_are_checked(rules, field):
    """Shapes, values, and what does not go together, by the field."""
    with pytest.raises(InputError) as told:
        from_jobs([[[(0, 3)], [(0, 2)]]], 1, rules=SideConstraints(**rules))
    assert told.value.field == field


def test_stays(tmp_path):
    """Flags of the instance are for every job that has none; the last operation of a job never blocks by a single flag."""
    data = GOOD | {"resumable": True, "blocking": True, "swap": True, "setups": None}
    data["jobs"] = [{"operations": [[0, 3], [1, 2]], "resumable": [True, False]}, [[0, 2], [1, 2]],
                    {"operations": [[0, 2], [1, 2]], "blocking": False}]  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(data))
    rules = read_instance(tmp_path / "a.json").rules
    assert rules.resumable.tolist() == [True, False, True, True, True, True]
    assert rules.blocking.tolist() == [True, False, True, False, False, False] and rules.swap
    assert "jobs that block their machines" in rules.names and "operations that continue after a break" in rules.names


def test_rules_are_read_only():
    """What an instance holds does not change behind its back."""
    given = np.zeros(2, np.int64)
    instance: JobShopInstance = from_jobs([[[(0, 3)], [(0, 2)]]], 1, rules=SideConstraints(earliest=given))
    given[0] = 5
    assert instance.rules.earliest.tolist() == [0, 0]
    with pytest.raises(ValueError, match="read-only"):
        instance.rules.earliest[0] = 1

"""The flow shop's judge, files, generators and adapter."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from corl.errors import Infeasible, InputError, UsageError
from corl.files.text import Text
from corl.problems.flowshop.drawing import _critical
from corl.problems.flowshop.evaluation import completion
from corl.problems.flowshop.formats import read_text
from corl.problems.flowshop.generators import taillard
from corl.problems.flowshop.instance import FlowShopInstance
from corl.problems.flowshop.problem import FlowShop

FLOWSHOP = FlowShop()
KINDS = ("makespan", "total", "makespan setups", "total setups", "makespan first", "total zeros")
TITLE = "number of jobs, number of machines, initial seed, upper bound and lower bound :\n"
TEXT = TITLE + "2 3 1 9 9\nprocessing times :\n1 2\n3 4\n5 6\n"
BY_JOBS = "2\n3\n1 3 5\n2 4 6\n0 1\n2 0\n0 3\n4 0\n0 5\n6 0\n"
SETUPS = "[[[0, 1], [2, 0]], [[0, 3], [4, 0]], [[0, 5], [6, 0]]]"
JSON = f'{{"problem": "flowshop", "durations": [[1, 3, 5], [2, 4, 6]], "setups": {SETUPS}}}'


@pytest.mark.parametrize("kind", KINDS)
def test_the_judge_agrees_with_the_rules(random_instance, worth, kind):
    """Every sequence of small instances of every kind is worth what following the rules operation by operation gives."""
    for seed in range(4):
        instance = random_instance(kind, 4, 1 + seed, seed)
        for sequence in itertools.permutations(range(4)):
            assert FLOWSHOP.evaluate(instance, np.array(sequence)) == worth(instance, sequence)


def test_a_schedule_by_hand():
    """Two jobs, two machines, a set-up of 3 between them on the second one, which is over before the job comes."""
    setup = np.zeros((2, 2, 2), np.int64)
    setup[1, 0, 1] = 3
    instance = FlowShopInstance("hand", np.array([[2, 4], [5, 1]]), setup)
    assert completion(instance, np.array([0, 1])).tolist() == [[2, 6], [7, 10]]
    assert completion(instance, np.array([1, 0])).tolist() == [[5, 6], [7, 11]]


@pytest.mark.parametrize(
    ("sequence", "words"),
    [([0, 2], "no job 2; accepted: 0 to 1"), ([-1, 0], "no job -1"), ([1, 1], "job 0 is done 0 times"), ([0], "job 1 is done 0"),
     ([0.0, 1.0], "list of jobs"), ([[0, 1]], "shape"), ([[0], [0, 1]], "list of jobs"), ([], "list of jobs")],
)  # fmt: skip
def test_faults_of_solutions_are_named(sequence, words):
    """Each job once."""
    with pytest.raises(Infeasible, match=words):
        FLOWSHOP.evaluate(read_text(Text(TEXT)), sequence)


def test_formats():
    """The texts and JSON say the same; the title's five numbers may be two."""
    plain, by_jobs, given = (read_text(Text(content)) for content in (TEXT, BY_JOBS, JSON))
    assert plain.duration.tolist() == by_jobs.duration.tolist() == given.duration.tolist() == [[1, 3, 5], [2, 4, 6]]
    assert read_text(Text("# note\n2 3\n1 2\n3 4\n5 6\n")).duration.tolist() == plain.duration.tolist()
    assert read_text(Text("2 3\n0 1 1 3 2 5\n0 2 1 4 2 6\n")).duration.tolist() == plain.duration.tolist()
    assert by_jobs.setup is not None and given.setup is not None and by_jobs.setup.tolist() == given.setup.tolist()
    assert by_jobs.setup[:, 2].tolist() == [[0, 0]] * 3 and by_jobs.setup[1].tolist()[:2] == [[0, 3], [4, 0]]
    assert all(map(FLOWSHOP.recognises, (TEXT, BY_JOBS, JSON, "3 2 7 9 9\n1 2 3\n4 5 6\n")))
    assert not any(map(FLOWSHOP.recognises, ("2 2\n0 3 1 4\n1 2 0 1\n", "3\n1 2 3\n", "hello\n")))


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (TEXT.replace("3 4", "3 -4"), r":5: processing times: '-4' is not accepted; accepted: an integer from 0"),
        (TEXT.replace("3 4", "3 4 5"), r":5: processing times: 3 numbers; accepted: 2"),
        (TEXT.replace("5 6\n", ""), r"processing times: 2 lines; accepted: 3, one for every machine"),
        (TEXT.replace("2 3 1 9 9", "2 3 1"), r":2: header: '2 3 1'"),
        (BY_JOBS.replace("4 0\n", ""), r"setups: 5 lines; accepted: 6"),
        (BY_JOBS.replace("\n3\n", "\n3 1\n"), r":2: machines: accepted"),
        (JSON.replace("[[0, 1], [2, 0]], ", ""), r"setups: a list of 2 is not accepted; accepted: a list of 3"),
        (JSON.replace('"durations"', '"objective": "lateness", "durations"'), r"objective: 'lateness' is not accepted"),
        ("2 3\n0 1 1 3 2 5\n0 2 2 4 1 6\n", r":3: machine: accepted: the machines 0 to 2 in this order"),
        ("# nothing\n", "nothing but comments"),
    ],
)  # fmt: skip
def test_faults_of_files_are_named(tmp_path: Path, content, place):
    """File, line, field and what is accepted."""
    file = tmp_path / "bad.txt"
    file.write_text(content)
    with pytest.raises(InputError, match=place):
        FLOWSHOP.read(file)


def test_taillards_instances():
    """ta001 from its seed: the first and the last machine as published; set-ups, but the diagonal, from the seed once more."""
    made = taillard(jobs=20, machines=5, time_seed=873654221)
    assert made.duration[:, 0].tolist() == [54, 83, 15, 71, 77, 36, 53, 38, 27, 87, 76, 91, 14, 29, 12, 77, 32, 87, 68, 94]
    assert made.duration[:, 4].tolist() == [58, 56, 20, 85, 53, 35, 53, 41, 69, 13, 86, 72, 8, 49, 47, 87, 58, 18, 68, 28]
    setup = taillard(jobs=20, machines=5, time_seed=873654221, setups=124).setup
    assert setup is not None and setup[0, 0, :4].tolist() == [0, 68, 104, 19] and setup[0, 1, :3].tolist() == [118, 0, 99]
    assert not setup[:, 20].any() and not setup[:, np.arange(20), np.arange(20)].any()
    for wrong in ({"time_seed": 0}, {"setups": -1}, {"setups": 9, "jobs": 5000, "machines": 20}):
        with pytest.raises(UsageError, match="accepted"):
            taillard(**wrong)


def test_instances_are_checked():
    """Shapes and ranges; set-ups without a row for the first job get one of nothing."""
    good = FlowShopInstance("", [[1, 2], [3, 4]], np.ones((2, 2, 2), int))
    assert good.jobs == good.machines == 2 and good.setup.shape == (2, 3, 2) and not good.setup[:, 2].any()
    for duration, setup in (([1, 2], None), ([[1, -1]], None), ([[1.5]], None), ([[1], [1, 2]], None), ([[10**9, 1]], None),
                            ([[1]], np.ones((1, 1, 2), int))):  # fmt: skip
        with pytest.raises(InputError, match="accepted"):
            FlowShopInstance("", duration, setup)
    with pytest.raises(InputError, match="'lateness' is not known"):
        FlowShopInstance("", [[1]], objective="lateness")
    with pytest.raises(InputError, match="no flow shop"):
        FLOWSHOP.adapt(3)


def test_the_last_machines_chain_is_critical(random_instance):
    """What is marked has no gap but for set-ups, from the start to the end of all, and grows the makespan when it grows."""
    for seed in range(10):
        instance = random_instance("makespan", 6, 4, seed)
        sequence = np.random.default_rng(seed).permutation(6)
        marked, before = _critical(instance, sequence, completion(instance, sequence)), FLOWSHOP.evaluate(instance, sequence)
        assert instance.duration[sequence][marked].sum() == before and marked.sum() == 6 + 4 - 1
        for k, i in np.argwhere(marked):
            longer = instance.duration.copy()
            longer[sequence[k], i] += 1
            assert FLOWSHOP.evaluate(replace(instance, duration=longer), sequence) == before + 1


def test_drawing_and_facts(random_instance, tmp_path):
    """A picture of an instance and of a sequence; facts for `corl info`."""
    from corl.files.drawing import save

    instance = random_instance("total setups", 5, 3, 2)
    for solution in (None, np.arange(5)):
        save(FLOWSHOP, instance, solution, tmp_path / "a.svg")
        assert (tmp_path / "a.svg").stat().st_size > 1000
    assert FLOWSHOP.describe(instance)["objective"] == "total_completion_time"
    assert FLOWSHOP.view(instance, None) is None and len(FLOWSHOP.view(instance, np.arange(5)).boxes) == 15

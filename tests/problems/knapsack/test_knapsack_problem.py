"""The knapsack's judge, files, generators and adapter."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import corl
from corl.cli.main import main
from corl.errors import Infeasible, InputError, UsageError
from corl.files.text import Text
from corl.problems.knapsack.formats import read_text
from corl.problems.knapsack.instance import KnapsackInstance, make_instance
from corl.problems.knapsack.problem import Knapsack

KNAPSACK = Knapsack()
PISINGER = "knapPI_1_3\nn 3\nc 10\nz 14\ntime 0.00\n1,10,5,1\n2,4,5,1\n3,7,9,0\n-----\n"
JSON = '{"problem": "knapsack", "values": [10, 4], "weights": [[5, 1], [1, 1]], "capacities": [5, 2], "first_item": 1}'


def same(a: KnapsackInstance, b: KnapsackInstance) -> bool:
    """The same numbers, to the bit."""
    return all(np.array_equal(getattr(a, key), getattr(b, key)) for key in ("values", "weights", "capacities"))


def test_the_judge_agrees_with_enumeration(random_instance):
    """Of every subset of a small instance: its value if it fits, otherwise Infeasible naming the capacity."""
    for seed in range(4):
        instance = random_instance(6, 2, seed)
        for code in range(64):
            items = [i for i in range(6) if code >> i & 1]
            used = [sum(row[i] for i in items) for row in instance.weights.tolist()]
            if all(weight <= capacity for weight, capacity in zip(used, instance.capacities)):
                assert KNAPSACK.evaluate(instance, items) == sum(instance.values[i] for i in items)
            else:
                with pytest.raises(Infeasible, match=r"capacity [12] is"):
                    KNAPSACK.evaluate(instance, items)


@pytest.mark.parametrize(
    ("items", "words"),
    [([3], "no item 4; accepted: 1 to 3"), ([-1], "no item 0"), ([1, 1], "item 2 is taken 2 times"), ([0.5], "list of integers"),
     ([[0]], "shape"), ([0, 2], "weigh 14; capacity is 10"), ([[0], [1, 2]], "list of items")],
)  # fmt: skip
def test_faults_of_solutions_are_named(items, words):
    """In the file's own item numbers."""
    with pytest.raises(Infeasible, match=words):
        KNAPSACK.evaluate(read_text(Text(PISINGER)), items)


def test_decimal_sums_are_judged_as_decimals():
    """0.1 + 0.1 + 0.1 fits into 0.3."""
    assert KNAPSACK.evaluate(make_instance("", [1, 1, 1], [0.1] * 3, 0.3), [0, 1, 2]) == 3


def test_formats():
    """Pisinger's text (with several capacities, too), plain text and JSON."""
    instance = read_text(Text(PISINGER))
    assert instance.name == "knapPI_1_3" and instance.values.tolist() == [10, 4, 7] and instance.first_item == 1
    assert same(instance, read_text(Text("# small\n3 10\n10 5\n4 5\n\n7 9\n")))
    several = read_text(Text("# two\nsack\nn 2\nc 5 2\n1,10,5,1\n2,4,1,1\n"))
    assert same(several, read_text(Text(JSON))) and several.comment == "two"
    assert KNAPSACK.to_json(instance, np.array([0, 2])) == [1, 3]
    assert KNAPSACK.from_json(instance, [1, 3]).tolist() == [0, 2]
    assert all(map(KNAPSACK.recognises, (PISINGER, JSON))) and not KNAPSACK.recognises("2 2\n0 3 1 4\n")


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (PISINGER.replace("2,4,5,1", "2,4,-5,1"), r":7: weight: '-5' is not accepted; accepted: a number from 0"),
        (PISINGER.replace("2,4,5,1", "2,-4,5,1"), r":7: value: '-4'"),
        (PISINGER.replace("c 10", "c -1"), r":3: c: '-1'"),
        (PISINGER.replace("c 10\n", ""), r"c: missing"),
        (PISINGER.replace("3,7,9,0\n", ""), r"items: 2 items; the header says 3"),
        (PISINGER.replace("3,7", "4,7"), r":8: item number: '4'"),
        (JSON.replace("[10, 4]", "[10, -4]"), r"values\[1\]: -4 is not accepted"),
        (JSON.replace("[[5, 1], [1, 1]]", "[[5, 1]]"), r"weights: a list of 1 is not accepted; accepted: a list of 2"),
        (JSON.replace('"first_item": 1', '"items": 1'), r"no key 'items'"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_exit_3(tmp_path: Path, capsys, content, place):
    """The command line names file, line and field."""
    file = tmp_path / "bad.kp"
    file.write_text(content)
    assert main(["solve", str(file), "--problem", "knapsack"]) == 3
    told = capsys.readouterr().err.strip()
    assert "\n" not in told and "bad.kp" in told
    with pytest.raises(InputError, match=place):
        KNAPSACK.read(file)


def test_generators_are_what_they_say():
    """Size, correlations and capacities are as named; wrong parameters are refused."""
    for name, generate in KNAPSACK.generators.items():
        instance = generate(size=40, seed=7)
        assert instance.n == 40 and name in instance.comment and "--seed 7" in instance.comment
    strong = KNAPSACK.generators["strongly-correlated"](size=30)
    assert (strong.values == strong.weights[0] + 100).all() and strong.capacities[0] == strong.weights.sum() // 2
    weak = KNAPSACK.generators["weakly-correlated"](size=30)
    assert (np.abs(weak.values - weak.weights[0]) <= 100).all()
    assert KNAPSACK.generators["multi"](constraints=4).m == 4
    for parameters in ({"fill": 1.5}, {"span": 0}):
        with pytest.raises(UsageError):
            KNAPSACK.generators["uniform"](**parameters)


def test_adapt():
    """(values, weights, capacity) as lists or arrays, several capacities, a mapping; anything else is refused."""
    instance = KNAPSACK.adapt(([10, 4, 7], np.array([5, 5, 9]), 10))
    assert same(instance, KNAPSACK.adapt({"values": [10, 4, 7], "weights": np.array([5, 5, 9]), "capacities": 10}))
    assert KNAPSACK.adapt(([1, 2], [[1, 2], [2, 1]], [2, 2])).m == 2
    for data in (3, ([1], [1]), ([1, 2], [1], 3), ([1], [-1], 3), (["a"], [1], 2), ([1], [1], float("nan"))):
        with pytest.raises(InputError):
            KNAPSACK.adapt(data)


def test_drawing_and_facts(random_instance, tmp_path):
    """A picture of an instance and of a solution, with one capacity and with two; facts for `corl info`."""
    from corl.files.drawing import save

    for constraints in (1, 2):
        instance = random_instance(9, constraints, 2)
        for solution in (None, np.zeros(0, np.int64)):
            save(KNAPSACK, instance, solution, tmp_path / "a.svg")
            assert (tmp_path / "a.svg").stat().st_size > 1000
        assert KNAPSACK.describe(instance)["capacities"] == constraints


def test_command_line(tmp_path, capsys):
    """generate, info, solve with JSON, check."""
    file, answer = tmp_path / "a.kp", tmp_path / "a.json"
    assert main(["generate", "knapsack", "--size", "30", "--output", str(file)]) == 0
    assert main(["info", str(file)]) == 0
    assert main(["solve", str(file), "--output", str(answer), "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told["status"] == "optimal" and min(told["solution"]) >= 1
    assert main(["check", str(file), str(answer)]) == 0


def test_empty_sacks():
    """Capacities of nothing, items that never fit and items that are worth nothing have an optimal solution."""
    for instance in (make_instance("", [1, 2], [1, 2], 0), make_instance("", [0, 0], [1, 1], 1), make_instance("", [3], [0], 0)):
        result = corl.solve(instance)
        assert result.status == "optimal" and result.objective == (3 if instance.n == 1 else 0)

"""corl.solve: its arguments, its callback, and what it reports."""

from __future__ import annotations

import numpy as np
import pytest

import corl
from corl.run import Improvement

ITSELF: list = []
ITSELF.append(ITSELF)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("time_limit", "5"), ("time_limit", 0), ("time_limit", float("nan")), ("time_limit", float("inf")), ("time_limit", True),
        ("time_limit", 10**400),
        ("target", "x"), ("target", float("nan")), ("iterations", 1e3), ("iterations", float("nan")), ("iterations", "10"),
        ("seed", None), ("seed", -1), ("seed", True), ("workers", None), ("workers", 0), ("workers", 2.0), ("mode", 3),
        ("nonsense", 1), ("warm_start", [1]), ("warm_start", object()), ("warm_start", {"a": 1}),
        ("solver", "nope"), ("solver", 3), ("solver", None), ("problem", 3), ("problem", "nope"), ("problem", corl.Problem),
        ("on_improvement", 3),
    ],
)  # fmt: skip
def test_bad_arguments_are_usage_errors(plugin, name, value):
    """A wrong type or value of any argument is a UsageError of one line that names it."""
    with pytest.raises(corl.UsageError, match=rf"{name}: |\b{name}\b.*called|no option '{name}'") as error:
        corl.solve(plugin / "numbers.txt", **{"iterations": 3} | {name: value})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"patience": 0}, "patience: 0.0 is not accepted; it takes seconds, above 0"),
        ({"patience": "5"}, "patience: '5' is not accepted; it takes a number"),
        ({"patience": 10}, r"patience: 10 s would never end a run of 10 s; accepted: less than the time_limit"),
        (
            {"patience": 1, "iterations": 3},
            "patience: with iterations, a run does not depend on the clock; accepted: a time_limit",
        ),
        ({"patience": 1, "problem": "tsp", "solver": "fast-tsp"}, "fast-tsp reports no solution before its end"),
    ],
)
def test_patience_is_refused_where_it_cannot_work(plugin, arguments, words):
    """A limit that could not end the run is a UsageError before anything is compiled."""
    instance = np.eye(5) if "problem" in arguments else plugin / "numbers.txt"
    with pytest.raises(corl.UsageError, match=words) as error:
        corl.solve(instance, **arguments)
    assert "\n" not in str(error.value)


def test_patience_is_the_limit_of_the_result(plugin, clock):
    """A run that stops improving ends long before its time limit, and the Result says why."""

    def wait(news: Improvement) -> None:
        clock.sleep(6 if news.objective is not None else 0)  # as if the next improvement took six seconds

    result = corl.solve(plugin / "numbers.txt", time_limit=50, patience=5, on_improvement=wait)
    assert result.limit == "patience" and result.status == "feasible"
    assert corl.Result.from_json(result.to_json()).limit == "patience"


@pytest.mark.parametrize(
    ("instance", "problem", "words"),
    [
        (3, None, "cannot be determined from an int"), (None, None, "cannot be determined from nothing"),
        (ITSELF, "jobshop", "a list that is nested"), ({"matrix": ITSELF}, "vrp", "a dict that is nested"),
        ({"values": ITSELF}, "knapsack", "nested"), ([], "vrp", "a list cannot be read as an instance of vrp"),
    ],
)  # fmt: skip
def test_what_is_no_instance_is_one_line(instance, problem, words):
    """Of a wrong type, or nested in itself."""
    with pytest.raises((corl.InputError, corl.UsageError), match=words) as error:
        corl.solve(instance, problem=problem)
    assert "\n" not in str(error.value)


def test_a_problem_may_be_given_as_itself(plugin):
    """`problem=` takes the name or the Problem; one that is not installed needs an instance type of its own."""
    from corl import registry

    class Other(type(registry.problem("partition"))):
        name = "other"

    given = registry.problem("partition")
    assert corl.solve(plugin / "numbers.txt", problem=given, iterations=3).problem == "partition"
    with pytest.raises(corl.UsageError, match="other has the instance_type of partition, Numbers; accepted"):
        corl.solve(plugin / "numbers.txt", problem=Other(), iterations=3)


@pytest.mark.parametrize("workers", [1, 2])
def test_what_the_callback_raises_comes_through(plugin, workers):
    """An exception of on_improvement ends the call as it is, not as the solver's fault."""

    def callback(news):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        corl.solve(plugin / "numbers.txt", time_limit=20, workers=workers, on_improvement=callback)


def test_auto_names_the_solver_that_ran(plugin):
    """Where a problem has one solver and no auto, the result names that solver."""
    assert corl.solve(plugin / "numbers.txt", iterations=3).solver == "flip"


def test_a_warm_start_counts(plugin):
    """A warm start, as an array or a flat list, is the first incumbent; workers take it too."""
    best = corl.solve(plugin / "numbers.txt", iterations=300)
    for start, workers in ((best.solution, 1), (best.solution.tolist(), 2)):
        assert corl.solve(plugin / "numbers.txt", iterations=2, warm_start=start, workers=workers).objective <= best.objective


def test_results_come_back_from_json(plugin):
    """from_json with the instance gives the solution in the problem's own form."""
    result = corl.solve(plugin / "numbers.txt", iterations=3)
    again = corl.Result.from_json(result.to_json(), result.data)
    assert np.array_equal(again.solution, result.solution) and again.to_json() == result.to_json()
    assert len(repr(result)) < 800


def test_garbage_is_an_input_error(plugin, tmp_path):
    """What a problem's reader raises as ValueError names the file."""
    (tmp_path / "a.txt").write_text("PARTITION\n3\nx\n")
    with pytest.raises(corl.InputError, match=r"a\.txt: .*'x'"):
        corl.solve(tmp_path / "a.txt")

"""corl.solve: its arguments, its callback, and what it reports."""

from __future__ import annotations

import numpy as np
import pytest

import corl


@pytest.mark.parametrize(
    "arguments",
    [
        {"time_limit": "5"}, {"time_limit": 0}, {"time_limit": float("nan")}, {"time_limit": float("inf")}, {"target": "x"},
        {"target": float("nan")}, {"iterations": 1e3}, {"iterations": float("nan")}, {"iterations": "10"}, {"seed": None},
        {"seed": -1}, {"workers": None}, {"workers": 0}, {"mode": 3}, {"nonsense": 1}, {"warm_start": [1]}, {"solver": "nope"},
    ],
)  # fmt: skip
def test_bad_arguments_are_usage_errors(plugin, arguments):
    """A wrong type or value of any argument is a UsageError that names it."""
    with pytest.raises(corl.UsageError):
        corl.solve(plugin / "numbers.txt", **{"iterations": 3} | arguments)


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

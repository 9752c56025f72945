"""solvers/cp_sat.py: what CP-SAT finds reaches the Run as solutions, bounds, infeasibility and the right reason to end."""

from __future__ import annotations

import threading

import pytest

from corl.errors import SolverError
from corl.run import Run
from corl.solvers.cp_sat import load_engine, solve_model


class Sum:
    """A problem whose solution is a list of integers and whose objective is their sum."""

    name = "sum"

    def __init__(self, sense="min"):
        self.sense, self.worst = sense, float("inf") if sense == "min" else float("-inf")

    def evaluate(self, instance, solution):
        return float(sum(solution))

    def better(self, one, other):
        return one < other if self.sense == "min" else one > other


def model_of(sense="min", low=2, high=9, most=None, cells=2):
    """`cells` variables low..high that differ pairwise, the sum of which is at most `most`."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    cells = [model.new_int_var(low, high, "") for _ in range(cells)]
    model.add_all_different(cells)
    if most is not None:
        model.add(sum(cells) <= most)
    (model.minimize if sense == "min" else model.maximize)(sum(cells))
    return model, cells


def solve(sense="min", run=None, options=(), **shape):
    model, cells = model_of(sense, **shape)
    run = run or Run(Sum(sense), None, time_limit=60.0)
    solve_model(model, run, lambda value: [value(cell) for cell in cells], **dict(options))
    return run


@pytest.mark.parametrize(("sense", "value"), [("min", 5.0), ("max", 17.0)])
@pytest.mark.parametrize("options", [{}, {"search_workers": 3, "interleave": True}])
def test_optimal(sense, value, options):
    """The optimum with a bound that proves it, in both senses, with one thread and with three that take turns."""
    run = solve(sense, options=options)
    assert run.objective == run.bound == value and run.limit == "optimal"


def test_infeasible():
    """What is proven to have no solution is called so, and the clock is not blamed."""
    run = solve(most=4)
    assert run.infeasible and run.limit == "infeasible" and run.objective is None


def test_bounds_are_mapped():
    """Where the model's objective is another one, the caller maps its bound; the model's optimum may not be the problem's."""
    run = solve(options={"bound": lambda bound: bound - 1.5})
    assert run.objective == 5.0 and run.bound == 3.5 and run.limit is None


def test_settings():
    """The engine is told the run's workers, seed and time, not to catch Ctrl-C, and then what the caller sets."""
    seen = []

    def look(parameters):
        seen.append(
            (parameters.num_workers, parameters.random_seed, parameters.catch_sigint_signal, parameters.interleave_search)
        )
        parameters.cp_model_presolve = False
        assert 0 < parameters.max_time_in_seconds <= 60.0

    run = solve(run=Run(Sum(), None, time_limit=60.0, seed=7, workers=2), options={"settings": look})
    assert seen == [(2, 7, False, False)] and run.objective == 5.0


def test_ends_when_stopped():
    """A stop from outside ends a search that goes on for ever (pigeons: no solution, and no proof within an hour)."""
    run = Run(Sum(), None, time_limit=3600.0)
    threading.Timer(0.5, run.stop).start()
    from ortools.sat.python import cp_model

    model, n = cp_model.CpModel(), 16
    holes = [[model.new_bool_var("") for _ in range(n - 1)] for _ in range(n)]
    for row in holes:
        model.add_bool_or(row)
    for k in range(n - 1):
        for i in range(n):
            for j in range(i):
                model.add_bool_or([holes[i][k].negated(), holes[j][k].negated()])
    solve_model(model, run, lambda value: [], settings=lambda p: setattr(p, "cp_model_presolve", False))
    assert run.should_stop and run.elapsed < 600.0


def test_refused_models():
    """A model that the engine cannot take is a SolverError with the engine's reason."""
    with pytest.raises(SolverError, match="refuses"):
        solve(low=-(2**62), high=2**62, cells=4)


def test_the_engine_loads(capfd):
    """The trivial model is solved without a word."""
    load_engine()
    assert capfd.readouterr() == ("", "")

"""CP-SAT: optimal with a proof on tiny instances of every kind, and it stops when told."""

from __future__ import annotations

import threading

import pytest

import corl
from corl.errors import UsageError
from corl.problems.jobshop.generators import taillard
from corl.problems.jobshop.problem import JobShop
from corl.run import Run
from corl.solvers.jobshop.cp_sat import CpSat

KINDS = ("classic", "ragged", "reentrant", "zeros", "flexible", "dates", "tardiness", "flexible tardiness")


def solve(instance, stop_after=None, warm_start=None, time_limit=60.0, target=None, **options):
    run = Run(JobShop(), instance, time_limit=time_limit, warm_start=warm_start, target=target)
    run.start()
    if stop_after is not None:
        threading.Timer(stop_after, run.stop).start()
    CpSat(**options).solve(instance, run)
    return run


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hint", [True, False])
def test_tiny_instances_are_proven(random_instance, least, kind, hint):
    """The optimum by enumeration, with a bound that proves it."""
    for seed in range(2):
        instance = random_instance(kind, 2, 3, seed)
        run = solve(instance, hint=hint)
        assert run.objective == run.bound == least(instance) and run.limit == "optimal"


def test_warm_starts_are_kept():
    """The user's schedule is the hint, even one that starts late; what is told first is no worse."""
    instance = taillard(jobs=10, machines=10, seed=1)
    good = corl.solve(instance, solver="tabu", iterations=20_000).solution
    for start in (good, good._replace(start=good.start + 5000)):
        known = JobShop().evaluate(instance, start)
        again = solve(instance, warm_start=start, target=known)
        assert again.objective <= known and again.trace[0][1] <= known


@pytest.mark.chance
def test_ends_when_stopped():
    """A stop from outside ends a search that has a minute left."""
    run = solve(taillard(jobs=20, machines=20, seed=1), stop_after=1.0, time_limit=60.0)
    assert run.elapsed < 30.0 and run.objective is not None


@pytest.mark.chance
def test_ends_with_the_time():
    """Where the engine ends by its own clock, the limit is the time, and there is a bound."""
    run = solve(taillard(jobs=20, machines=15, seed=1), time_limit=1.0)
    assert run.limit == "time_limit" and run.bound is not None


def test_options_are_checked():
    """Out of range: a UsageError that says what is accepted."""
    with pytest.raises(UsageError, match="accepted"):
        CpSat(search_workers=-1)

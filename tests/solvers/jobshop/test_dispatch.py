"""Dispatching rules: what each prefers, and that schedules are valid for every kind of instance."""

from __future__ import annotations

import pytest

from corl.errors import UsageError
from corl.problems.jobshop.generators import taillard
from corl.problems.jobshop.instance import from_jobs
from corl.problems.jobshop.problem import JobShop
from corl.rng import random_state
from corl.run import Run
from corl.solvers.jobshop.dispatch.dispatcher import Dispatcher
from corl.solvers.jobshop.dispatch.rules import COVERT, RULES, priority
from corl.solvers.jobshop.dispatch.solver import Dispatch

KINDS = ("classic", "ragged", "reentrant", "zeros", "flexible", "dates", "tardiness", "flexible tardiness")
# Three jobs that all want machine 0 first: (durations, release, due, weight)
JOBS = from_jobs(
    [[[(0, 5)], [(1, 1)]], [[(0, 3)], [(1, 9)]], [[(0, 4)], [(1, 1)], [(2, 1)]]],
    3,
    due=[6, 50, 40],
    weight=[1, 1, 1],
    objective="weighted_tardiness",
)


def solve(instance, iterations=10**6, seed=0, **options):
    run = Run(JobShop(), instance, iterations=iterations, seed=seed)
    Dispatch(**options).solve(instance, run)
    return run


@pytest.mark.parametrize(
    ("rule", "first"),
    [("spt", 1), ("lpt", 0), ("mwkr", 1), ("mor", 2), ("fdd/mwkr", 1), ("edd", 0), ("atc", 0)],
)
def test_what_a_rule_prefers(rule, first):
    """The job that machine 0 does first."""
    start = solve(JOBS, rule=rule).solution.start
    assert [start[i] for i in (0, 3 - 1, 5 - 1)].index(0) == first


def test_first_in_first_out():
    """The job that is ready first goes first, even where both are ready by then."""
    instance = from_jobs([[[(1, 4)], [(0, 1)]], [[(2, 3)], [(0, 9)]], [[(0, 5)]]], 3)
    start = solve(instance, rule="fifo").solution.start
    assert start.tolist() == [0, 14, 0, 5, 0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("schedules", ["non-delay", "active"])
def test_every_kind(random_instance, kind, schedules):
    """Each rule that makes sense gives a valid schedule; "best" is the best of them; what is claimed is what it is worth."""
    instance = random_instance(kind, 5, 4, 1)
    rules = [rule for rule in RULES if not Dispatch(rule=rule).accepts(instance)]
    assert ("edd" in rules) == ("tardiness" in kind)
    values = [solve(instance, rule=rule, schedules=schedules).objective for rule in rules]
    best = solve(instance, schedules=schedules)
    assert best.objective == min(values) >= best.bound


def test_noise():
    """With noise the run goes on to its limit, gets better, and is the same for the same seed."""
    instance = taillard(jobs=10, machines=10, seed=1)
    plain, one, two = solve(instance), solve(instance, 200, noise=0.3), solve(instance, 200, noise=0.3)
    assert one.objective < plain.objective and one.solution.start.tolist() == two.solution.start.tolist()
    assert not plain.should_stop and one.limit == "iterations"


def test_dispatcher_goes_again():
    """Schedules do not depend on what was built before."""
    instance = taillard(jobs=6, machines=5, seed=2)
    dispatcher = Dispatcher(instance)
    values = [dispatcher.run(0, 0.0, random_state(0)) for _ in range(3)]
    assert len(set(values)) == 1 and JobShop().evaluate(instance, dispatcher.schedule()) == values[0]


def test_refusals():
    """Options out of range, and rules that need due dates where there are none."""
    for options in ({"rule": "luck"}, {"schedules": "semi-active"}, {"noise": -1.0}, {"noise": float("inf")}):
        with pytest.raises(UsageError, match="accepted"):
            Dispatch(**options)
    assert "due dates" in Dispatch(rule="edd").accepts(taillard())


def test_cost_over_time():
    """A job that can wait for its look-ahead times the work left in it costs nothing yet; a late one its weight by its time."""
    late, soon, later = (
        float(priority(COVERT, 4, 10, 2, 0, 10, due, 2, 0, 4.0, look)) for due, look in ((10, 2.0), (21, 2.0), (21, 1.0))
    )
    assert late == pytest.approx(2 / 5) and soon == pytest.approx(2 / 5 * (1 - 11 / 22)) and 0 < later < 1e-9

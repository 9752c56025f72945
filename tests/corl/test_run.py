"""Run: clock, budget, incumbent, bound and interruption."""

from __future__ import annotations

import math
import threading

import pytest

from corl.adapter import Problem
from corl.errors import Infeasible, SolverError
from corl.run import Run


class Number(Problem):
    """A toy: a solution is a number, its objective itself; negative ones are infeasible."""

    name, instance_type = "number", object

    def evaluate(self, instance, solution):
        if solution < 0:
            raise Infeasible("negative")
        return float(solution)


class Largest(Number):
    sense = "max"


class Anything(Problem):
    """A solution is a number, its objective itself."""

    name, instance_type = "anything", object

    def evaluate(self, instance, solution):
        return float(solution)


class AnythingLargest(Anything):
    sense = "max"


class Routes(Problem):
    """A solution is a list of lists; their number is its objective."""

    name, instance_type = "routes", object

    def evaluate(self, instance, solution):
        return len(solution)


def work(run: Run, clock=None, seconds_per_unit: float = 0.0) -> list[int]:
    """Grants until the run ends."""
    grants = []
    while n := run.budget():
        grants.append(n)
        if clock:
            clock.sleep(n * seconds_per_unit)
    return grants


def test_iterations_are_granted_exactly():
    """The grants sum to the limit, whatever their sizes, and the run says that iterations ended it."""
    run = Run(Number(), None, iterations=1234)
    assert sum(work(run)) == 1234
    assert run.limit == "iterations" and run.fraction == 1.0


def test_time_limit_ends_the_grants(clock):
    """Grants of units of equal length stop at the time limit, within one of them."""
    run = Run(Number(), None, time_limit=0.2)
    run.start()
    grants = work(run, clock, 1e-4)
    assert run.limit == "time_limit" and len(grants) > 3 and run.remaining == 0.0 and run.fraction == 1.0
    assert 2000 <= sum(grants) <= 2001 and max(grants) <= 300


def test_aside_has_grants_of_its_own_and_ends_with_the_whole(clock):
    """What it is granted counts for itself alone; it ends when the whole does, and `reserve` seconds earlier."""
    whole = Run(Number(), None, iterations=100, seed=7)
    aside = whole.sub_run()
    whole.budget(60)
    assert aside.seed == 7 and sum(iter(aside.budget, 0)) == 100 and aside.limit == "iterations" and whole.limit is None
    other = whole.sub_run()
    whole.stop("target")
    assert other.limit == "target" and other.budget() == 0
    short = Run(Number(), None, time_limit=0.2)
    early = short.sub_run(0.15)
    work(early, clock, 1e-3)
    assert early.limit == "time_limit" and 0.05 <= early.elapsed < 0.052 and short.remaining > 0.148


def test_most_caps_a_grant():
    """`budget(most)` never grants more than `most`."""
    run = Run(Number(), None, iterations=1000)
    while n := run.budget(7):
        assert n <= 7


def test_the_incumbent_only_improves():
    """A worse or equal solution does not replace the incumbent, and the trace is monotone."""
    run = Run(Number(), None, iterations=10)
    assert [run.report(x) for x in (5, 7, 5, 3)] == [True, False, False, True]
    assert run.solution == 3 and [objective for _, objective, _ in run.trace] == [5, 3]


def test_maximising_prefers_more():
    """With sense max a larger objective is better, and so is a smaller bound."""
    run = Run(Largest(), None, iterations=10)
    assert run.report(3) and run.report(5) and not run.report(4)
    run.report_bound(9)
    run.report_bound(12)
    assert run.objective == 5 and run.bound == 9


def test_infeasible_and_falsely_claimed_solutions_are_errors():
    """What the problem's judge does not confirm is a SolverError, never an incumbent."""
    run = Run(Number(), None, iterations=10)
    with pytest.raises(SolverError, match="infeasible"):
        run.report(-1)
    with pytest.raises(SolverError, match="claimed"):
        run.report(5, 4.9)
    assert run.objective is None


def test_a_bound_beyond_the_incumbent_is_an_error():
    """A lower bound above a known solution's objective cannot be one."""
    run = Run(Number(), None, iterations=10)
    run.report(5)
    with pytest.raises(SolverError, match="contradicted"):
        run.report_bound(5.1)


def test_rounding_in_a_bound_is_no_error():
    """A bound that passes the objective by floating-point noise counts as equal; one further off is a wrong bound."""
    run = Run(Number(), None, iterations=10)
    run.report(1e6)
    run.report_bound(1e6 + 1e-4)
    assert run.bound == 1e6 and run.limit == "optimal"
    tiny = Run(Number(), None, iterations=10)
    tiny.report(3e-8)
    tiny.report_bound(1e-8)
    assert not tiny.optimal and tiny.limit is None


def test_negative_objectives():
    """Bound, optimum and target work below zero, in both senses."""
    for problem, worse, bound in ((Anything(), -4, -6), (AnythingLargest(), -6, -4)):
        run = Run(problem, None, iterations=10, target=-5)
        run.report_bound(bound)
        run.report(worse)
        assert run.limit is None and not run.optimal
        run.report(-5)
        assert run.limit == "target"
        with pytest.raises(SolverError, match="contradicted"):
            run.report(2 * bound if bound == -6 else 0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_objectives_and_bounds_are_finite(value):
    """NaN and infinities are a solver's error; minus infinity as a lower bound says nothing and is ignored."""
    run = Run(Anything(), None, iterations=10)
    with pytest.raises(SolverError, match="objective value"):
        run.report(value)
    with pytest.raises(SolverError, match="claimed"):
        run.report(5, math.nan)
    if value == -math.inf:
        run.report_bound(value)
    else:
        with pytest.raises(SolverError, match="as a bound"):
            run.report_bound(value)
    assert run.bound is None and run.objective is None and not run.trace


def test_infeasible_excludes_a_solution():
    """An instance with a solution cannot be called infeasible, nor the other way round."""
    run = Run(Number(), None, iterations=10)
    run.report(5)
    with pytest.raises(SolverError, match="infeasible"):
        run.report_infeasible()
    run = Run(Number(), None, iterations=10)
    run.report_infeasible()
    with pytest.raises(SolverError, match="infeasible"):
        run.report(5)


def test_unbounded_excludes_a_bound():
    """A solution may be known of an instance without a best one, a bound or that there is no solution may not."""
    run = Run(Number(), None, iterations=10)
    run.report(5)
    run.report_unbounded()
    assert (run.status, run.limit, run.objective) == ("unbounded", "unbounded", 5)
    for contradict in (lambda run: run.report_bound(3), lambda run: run.report_infeasible()):
        run = Run(Number(), None, iterations=10)
        contradict(run)
        with pytest.raises(SolverError, match="unbounded"):
            run.report_unbounded()


def test_a_run_stops_for_a_documented_reason():
    """What is no value of `Result.limit` is refused."""
    run = Run(Number(), None, iterations=10)
    with pytest.raises(SolverError, match="'broken'; accepted: time_limit, iterations"):
        run.stop("broken")
    assert run.limit is None


def test_the_incumbent_is_a_copy():
    """A solver may go on changing what it reported, nested lists too."""
    run = Run(Routes(), None, iterations=10)
    routes = [[1, 2], [3]]
    run.report(routes)
    routes[0].append(4)
    assert run.solution == [[1, 2], [3]]


def test_units_that_take_no_time_do_not_overflow(clock):
    """Grants stay within an int32, however fast the units."""
    run = Run(Number(), None, time_limit=0.3)
    run.start()
    assert max(run.budget() for _ in range(100)) == 2**31 - 1
    assert max(work(run, clock, 1e-13)) < 2**31


def test_a_solver_that_ends_by_itself_has_finished(clock):
    """finish() fixes the limit: time that passes afterwards does not make it the time limit."""
    run = Run(Number(), None, time_limit=0.5)
    run.start()
    run.finish()
    ended_at = run.runtime
    clock.sleep(0.6)
    assert run.limit == "finished" and run.runtime == ended_at


def test_meeting_the_bound_is_optimal_and_stops():
    """An incumbent at its bound ends the run as optimal."""
    run = Run(Number(), None, iterations=10)
    run.report_bound(5)
    run.report(5)
    assert run.optimal and run.limit == "optimal" and run.budget() == 0


def test_patience_ends_a_run_without_improvement(clock):
    """It begins with the first solution; a better solution or bound begins it again, a worse one does not."""
    run = Run(Number(), None, time_limit=100, patience=5)
    run.start()
    clock.sleep(20)
    assert run.limit is None  # there is no solution to keep
    run.report(9)
    clock.sleep(4)
    run.report(8)
    clock.sleep(4)
    run.report_bound(1)
    clock.sleep(4)
    assert not run.report(8.5) and run.budget() > 0
    clock.sleep(1)
    assert run.budget() == 0 and run.limit == "patience" and run.status == "feasible"
    run.report(7)  # what a solver had not reported yet still counts
    assert run.objective == 7 and run.limit == "patience"


def test_patience_of_a_run_ends_its_sub_runs(clock):
    """A part of a run, which does not see what is reported elsewhere, ends when the run does, and not before."""
    run = Run(Number(), None, time_limit=100, patience=5)
    run.start()
    run.report(9)
    part = run.sub_run()
    clock.sleep(4)
    run.report(8)
    clock.sleep(4)
    assert part.limit is None
    clock.sleep(1)
    assert part.budget() == 0 and part.limit == "patience" and run.limit == "patience"


def test_an_engine_is_asked_to_stop_after_patience(clock):
    """`call_interruptible`, by which engines of others run, ends for this reason as for any other."""
    run, stopped = Run(Number(), None, time_limit=100, patience=5), threading.Event()
    run.start()
    run.report(9)
    clock.sleep(6)
    run.call_interruptible(stopped.wait, stopped.set)
    assert run.limit == "patience"


def test_target_stops():
    """Reaching the target, or passing it, ends the run; just missing it does not."""
    run = Run(Number(), None, iterations=10, target=5)
    run.report(5.5)
    assert run.limit is None
    run.report(4)
    assert run.limit == "target"


def test_the_first_reason_stays(clock):
    """What ended the run first is what it reports."""
    run = Run(Number(), None, time_limit=0.001)
    run.interrupt()
    clock.sleep(0.01)
    assert run.limit == "interrupted" and run.interrupted


def test_call_interruptible_returns_and_raises():
    """The helper thread's value and its exception come through."""
    run = Run(Number(), None, time_limit=10)
    assert run.call_interruptible(lambda: 42, lambda: None) == 42
    with pytest.raises(ZeroDivisionError):
        run.call_interruptible(lambda: 1 // 0, lambda: None)


def test_call_interruptible_polls_after_a_call_that_was_over_at_once():
    """What an engine finds in its last moment, or its first, is reported."""
    found, polled = [], []
    for count in range(1, 301):
        Run(Number(), None).call_interruptible(lambda: found.append(1), lambda: None, lambda: polled.append(len(found)))
        assert polled and polled[-1] == count


def test_call_interruptible_stops_the_engine():
    """When the run must end, the engine's stop is called, again where it forgot the first call, and its value is returned."""
    run = Run(Number(), None, time_limit=60)
    asked = threading.Event()
    calls = []

    def stop():
        calls.append(run.elapsed)
        if len(calls) == 2:
            asked.set()

    threading.Timer(0.1, run.interrupt).start()
    assert run.call_interruptible(lambda: asked.wait(30), stop) is True
    assert len(calls) == 2 and run.limit == "interrupted"


def test_call_interruptible_stops_the_engine_when_its_poll_raises():
    """The exception goes on, and no engine goes on behind it."""
    run, asked, ended = Run(Number(), None, time_limit=60), threading.Event(), threading.Event()

    def engine():
        asked.wait(30)
        ended.set()

    def poll():
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run.call_interruptible(engine, asked.set, poll)
    assert ended.is_set()


def test_improvements_are_told():
    """on_improvement sees each better objective and bound with the solution."""
    news = []
    run = Run(Number(), None, iterations=10, on_improvement=news.append)
    run.report(5)
    run.report_bound(2)
    run.report(6)
    assert [(n.objective, n.bound, n.solution) for n in news] == [(5.0, None, 5), (5.0, 2.0, 5)]


def test_warm_start_is_the_first_incumbent():
    """A warm start counts from the start."""
    run = Run(Number(), None, iterations=10, warm_start=8)
    run.start()
    assert run.objective == 8.0

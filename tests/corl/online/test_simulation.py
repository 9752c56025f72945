"""`corl.online.simulate`: clocks that stand still, continue or jump during decisions; late decisions; the solver `online`."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

import corl
from corl.cli.main import main
from corl.errors import SolverError, UsageError
from corl.registry import names
from support.counter import Counter, Fifo, streamed


def customers(*rows: tuple[float, float, float]) -> Counter:
    """A day of customers with arrival, duration and time of leaving."""
    return Counter("few", *np.array(rows).T)


def test_days_are_reproduced(day):
    """The same solution every time, whose value is the judge's."""
    first, second = (corl.online.simulate("resolve", day, iterations=20, seed=3) for _ in range(2))
    assert (first.solution == second.solution).all() and first.late == first.reduced == 0
    assert (
        first.objective == corl.registry.problem("counter").evaluate(day, first.solution)
        and len(first.seconds) == (first.solution >= 0).sum()
    )


def test_hindsight_is_a_static_solve():
    """A solver that sees the whole day is at least as good as every policy."""
    day = streamed(3, 4)
    bound = corl.solve(day, solver="orders", iterations=200).objective
    assert all(corl.online.simulate(policy, day).objective >= bound for policy in names("corl.online", "counter"))


def test_a_fixed_delay_passes_before_every_start():
    """Each customer waits for it."""
    played = corl.online.simulate("fifo", customers((0, 2, np.inf), (1, 2, np.inf)), delay=0.5)
    assert played.solution.tolist() == [0.5, 3.0] and played.objective == 2.5


def test_what_the_world_no_longer_permits_is_left_out():
    """A customer leaves during the decision: nothing is performed, and the next event is waited for."""
    played = corl.online.simulate("fifo", customers((0, 1, 0.25), (3, 1, np.inf)), delay=0.5)
    assert played.solution.tolist() == [-1.0, 3.5] and played.reduced == 1 and len(played.seconds) == 2


def test_time_continues_while_a_policy_computes():
    """At a speed of 100 units a second, 20 ms of sleep are at least two units; a policy over its limit counts, and is counted."""
    played = corl.online.simulate(Fifo(sleep=0.02), customers((0, 1, np.inf)), speed=100.0, seconds=0.01)
    assert played.solution[0] >= 2.0 and played.late == 1
    assert played.solution[0] == pytest.approx(100 * played.seconds[0])


@pytest.mark.parametrize("wrong", [{"key": -1}, {"speed": -1.0}, {"delay": "soon"}])
def test_wrong_arguments(day, wrong):
    """One line."""
    with pytest.raises(UsageError, match=rf"^{next(iter(wrong))}: .* is not accepted; accepted: "):
        corl.online.simulate("fifo", day, **wrong)


def test_the_solver_plays_the_day(day):
    """With the same result as `simulate`, verified."""
    result = corl.solve(
        day, solver="online", policy="resolve", policy_options="iterations=20,solver=orders", key=0, iterations=100
    )
    assert (
        result.verified
        and result.objective == corl.online.simulate("resolve", day, iterations=20).objective
        and not result.reason
    )


def test_late_decisions_are_facts_of_the_result():
    """Their number and the longest."""
    result = corl.solve(customers((0, 1, np.inf)), solver="online", policy=Fifo(sleep=0.02), seconds=0.01)
    assert result.reason.startswith("1 of 1 decisions took longer than 0.01 s, up to 0.0")


def test_a_limit_ends_the_day_without_a_solution(day):
    """The reason says when."""
    result = corl.solve(day, solver="online", policy="fifo", iterations=2)
    assert result.solution is None and result.status == "no_solution" and result.limit == "iterations"
    assert result.reason.startswith("iterations ended the day at time ") and "after 2 decisions" in result.reason
    began = time.monotonic()
    assert corl.solve(day, solver="online", policy=Fifo(sleep=0.3), time_limit=0.1).limit == "time_limit"
    assert time.monotonic() - began < 5


def test_what_the_solver_does_not_take(day):
    """No policy, an unknown one, an instance that is not revealed over time, malformed options."""
    for more, message in (
        ({}, "no online policy for counter is called ''; there are: fifo, resolve, shortest"),
        ({"policy": "fifo", "policy_options": "sleep"}, "--option takes KEY=VALUE, not 'sleep'"),
    ):
        with pytest.raises(UsageError, match=f"because {message}"):
            corl.solve(day, solver="online", **more)
    with pytest.raises(UsageError, match="because instances of knapsack are not revealed over time"):
        corl.solve(corl.generate("knapsack", size=3), solver="online")
    assert "online" in names("corl.solvers", "counter") and "online" not in names("corl.solvers", "knapsack")


def test_a_policy_that_fails_is_named(day, monkeypatch):
    """With its decision."""
    monkeypatch.setattr(Fifo, "decide", lambda *_: {"serve": 77})
    with pytest.raises(SolverError, match=r"policy fifo made a decision that is not permitted: decision.serve is 77"):
        corl.online.simulate("fifo", day)


def test_command_line(tmp_path, capsys):
    """Policies are listed with their options, and a day in a file is played."""
    assert main(["list", "online", "counter"]) == 0
    listed = capsys.readouterr().out
    assert "counter  fifo                first come, first served" in listed and "--option sleep=0.0  (float)" in listed
    assert main(["generate", "counter", "random", "--output", str(tmp_path / "day.json")]) == 0
    capsys.readouterr()
    command = [
        "solve",
        str(tmp_path / "day.json"),
        "--problem",
        "counter",
        "--solver",
        "online",
        "--option",
        "policy=fifo",
        "--json",
    ]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["verified"]


def test_interruption_in_a_solver_that_the_policy_calls(day, monkeypatch):
    """It ends the day, in one line."""
    from corl.online.resolve import Resolve

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Resolve, "decide", interrupted)
    result = corl.solve(day, solver="online", policy="resolve")
    assert result.limit == "interrupted" and result.solution is None and result.reason.startswith("interrupted ended the day")

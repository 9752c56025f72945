"""Samples and budgets: which runs of a suite are done, whatever the machine."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from corl.benchmark.running.board import Board
from corl.benchmark.running.budget import Pace, affordable
from corl.benchmark.running.plan import PlannedRun
from corl.benchmark.running.sampling import stratified
from corl.benchmark.running.sources import SuiteInstance
from corl.benchmark.running.suite import Lineup
from corl.errors import UsageError
from corl.record import Record

SIZES = {"a": 40, "b": 20, "c": 4}
SOURCES = [SuiteInstance(f"{group}{k}", group, "", lambda: None) for group, size in SIZES.items() for k in range(size)]
LINEUPS = [Lineup(name, name, {}) for name in ("x", "y")]


def plans(instances: int, limits=(1.0, 7.0), iterations=None) -> list[PlannedRun]:
    """The runs of two seeds in the order of a suite."""
    return [
        PlannedRun(source, lineup, seed, limit, iterations)
        for seed in range(2) for source in SOURCES[:instances] for limit in limits for lineup in LINEUPS
    ]  # fmt: skip


def record(solver: str, limit: float | None, wall: float, iterations: int | None = None) -> Record:
    return Record("s", "toy", "i", solver, 0, limit, iterations, "ok", wall_seconds=wall)


def test_a_larger_sample_contains_the_smaller_one():
    """The order is of the set alone: not of the order in which the files were found."""
    shuffled = random.Random(1).sample(SOURCES, len(SOURCES))
    assert stratified(shuffled) == stratified(SOURCES) and sorted(map(str, stratified(SOURCES))) == sorted(map(str, SOURCES))


def test_a_sample_has_the_shares_of_the_strata():
    """Of every size: from each group its share, to within one instance."""
    ordered = stratified(SOURCES)
    for count in range(1, len(ordered) + 1):
        found = Counter(source.group for source in ordered[:count])
        for group, size in SIZES.items():
            assert abs(found[group] - count * size / 64) <= 1.0


def test_a_sample_is_no_prefix_of_the_names():
    """Which instances of a stratum are taken does not depend on their names' order, and not on other strata."""
    only = [source for source in stratified(SOURCES) if source.group == "a"]
    assert only == list(stratified([source for source in SOURCES if source.group == "a"]))
    assert [source.label for source in only] != sorted(source.label for source in only)


def test_a_budget_buys_whole_instances():
    """All solvers and limits of an instance and a seed, or none; a larger budget adds to a smaller one."""
    todo, before = plans(5), 0
    block = 2 * (1 + 3) + 2 * (7 + 3)  # two solvers, two limits, three seconds around each run
    for seconds in (block, 3.5 * block, 7 * block, 1000 * block):
        chosen = affordable(todo, seconds, Pace())
        assert chosen == todo[: min(len(todo), 4 * int(seconds / block))] and len(chosen) > before
        before = len(chosen)
    assert affordable(todo, block, Pace(), jobs=3) == todo[:12] and affordable([], 1.0, Pace()) == []


def test_the_pace_is_that_of_the_runs_that_have_ended():
    """The mean of the runs of a kind; a solver that ends early costs less than its limit."""
    pace = Pace([record("x", 7.0, 2.0), record("x", 7.0, 4.0)])
    assert pace.total({("x", 7.0, None): 10}) == 30.0 and pace.total({("y", 7.0, None): 10}) == 100.0
    pace.add(record("y", 7.0, 1.0))
    assert pace.total({("x", 7.0, None): 1, ("y", 7.0, None): 2}) == 5.0
    assert len(affordable(plans(5, (7.0,)), 12.0, pace)) == 6


def test_what_no_budget_can_be_given_for():
    """Iterations of unknown seconds, and less than the first instance takes; known ones are counted."""
    counted = plans(1, (None,), 100)
    with pytest.raises(UsageError, match="the time of runs that are limited by iterations is unknown"):
        affordable(counted, 1e9, Pace())
    known = Pace([record(name, None, 5.0, 100) for name in ("x", "y")])
    assert affordable(counted, 10.0, known) == counted[:2]
    with pytest.raises(UsageError, match="the first instance takes about 28 s"):
        affordable(plans(3), 27.0, Pace())


def test_the_expected_time_in_words():
    """In the unit that suits, for as many runs at a time as there are jobs; unknown where a run's is."""
    pace = Pace([record("x", 7.0, 2.0)])
    assert Board(pace).expected(plans(1, (7.0,))) == "about 24 s" and Board(pace, 2).expected(plans(60, (7.0,))) == "about 12 min"
    assert Board(pace).expected(plans(1, (None,), 100)) == "an unknown time"

"""The grid of runs, and what is summed up over it: shorter limits, curves, profiles."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from contests import contest, run

from corl.benchmark.reporting.analysis import summary
from corl.benchmark.reporting.curves import curves, gap_profile, size_curves, time_profile
from corl.benchmark.reporting.grid import Grid
from corl.statistics import Resampling


def test_shorter_limits_are_read_off_traces():
    """A limit-free solver's longest run tells what it had at a shorter limit; any other solver's does not."""
    trace = ((0.5, 120.0, None), (2.0, 110.0, 90.0), (9.0, 100.0, 95.0))
    records = [run(name, "i", objective=100.0, bound=95.0, trace=trace) for name in ("free", "bound")]
    grid = Grid.of(records, [0.1, 2, 5], lambda record: record.solver == "free")
    assert [str(limit) for limit in grid.limits] == ["0.1 s", "2 s", "5 s", "10 s"]
    values = grid.numbers["objective"][:, 0, 0, 0]
    assert np.isnan(values[0]) and values[1:].tolist() == [110, 110, 100]
    assert grid.numbers["bound"][1:, 0, 0, 0].tolist() == [90, 90, 95]
    assert grid.outcome[0, 0, 0, 0] == 2 and grid.derived[:, 0].ravel().tolist() == [True, True, True, False]
    assert grid.attempted.tolist() == [[True, False]] * 3 + [[True, True]]
    assert grid.numbers["runtime"][1, 0, 0, 0] == 2 and np.isnan(grid.numbers["peak_bytes"][1, 0, 0, 0])


def test_a_run_of_its_own_goes_before_a_trace():
    """Where the shorter run was done, it counts; a failed long run tells nothing but its failure."""
    records = [run("x", "i"), run("x", "i", objective=130.0, time_limit=1.0), run("x", "j", objective=None, outcome="crash")]
    grid = Grid.of(records, [1.0], lambda record: True)
    assert grid.numbers["objective"][0, 0, 0, 0] == 130 and not grid.derived[0, 0, 0, 0]
    assert grid.derived[0, 0, 1, 0] and grid.outcome[0, 0, 1, 0] == grid.outcome[1, 0, 1, 0] == 4


def test_the_order_of_runs_changes_nothing():
    """Summary rows depend on what was run, not on the order in which runs ended."""
    records = contest(6, 2, solvers=("a", "b", "c"))
    random = np.random.default_rng(1)
    shuffled = [records[k] for k in random.permutation(len(records))]
    tables = []
    for each in (records, shuffled):
        grid = Grid.of(each)
        rows = summary(grid, Resampling(grid.slots))
        tables.append({row.solver: (round(row.gap.value, 12), round(row.middle.value, 12), row.best, row.solved) for row in rows})
    assert tables[0] == tables[1]


def test_the_curve_s_area_is_the_primal_integral():
    """The anytime curve starts at 100 %, falls with the trace and encloses the primal integral."""
    trace = ((0.5, 200.0, None), (2.0, 125.0, None), (5.0, 100.0, None))
    records = [run("x", "i", objective=100.0, trace=trace), run("x", "j", objective=None)]
    grid = Grid.of(records)
    resampling = Resampling(grid.slots)
    (curve,) = curves(grid, resampling)
    exact = np.array([[1, 0.5, 0.2, 0][np.searchsorted([0.5, 2, 5], t, side="right")] for t in curve.x])
    assert curve.y == pytest.approx((exact + 1) / 2)  # the failed run counts as 1 throughout
    (row,) = summary(grid, resampling)
    assert row.integral.value == pytest.approx(((0.5 + 1.5 * 0.5 + 3 * 0.2) / 10 + 1) / 2)
    assert row.failures == {"nothing": 1} and (row.runs, row.solved) == (2, 1)


def test_profiles_count_failures():
    """Failed runs never arrive: the shares at the right end are those of the runs that did."""
    records = [run("a", f"i{k}", objective=100.0, trace=((1.0 + k, 100.0, None),)) for k in range(4)]
    records += [run("b", f"i{k}", objective=100.0 if k else None, trace=((2.0 + 2 * k, 100.0, None),)) for k in range(4)]
    grid = Grid.of(records)
    target, (first, second) = time_profile(grid)
    assert target == 0 and first.y[0] == 1 and second.y[-1] == 0.75
    assert second.y[np.searchsorted(second.x, 1.99)] == 0 and second.y[np.searchsorted(second.x, 2.01)] == 0.75
    assert gap_profile(grid, 0) == []  # no gap above zero: nothing to draw
    lost = gap_profile(Grid.of([*records, run("c", "i0", objective=150.0)]), 0)
    assert {curve.label: curve.y[-1] for curve in lost} == {"a": 1, "b": 0.75, "c": 0.25}


def test_gap_against_size():
    """Where sizes differ, a curve for every solver over the sizes that it solved; none where they hardly do."""
    records = [run(name, f"i{n}", objective=100.0 + n, facts={"size": n}) for n in (10, 20, 40) for name in ("a", "b")]
    records[-1] = dataclasses.replace(records[-1], outcome="nothing", objective=None)
    first, second = size_curves(Grid.of(records))
    assert first.x.tolist() == pytest.approx([10, 20, 40]) and first.y.tolist() == pytest.approx([0.1, 0.2, 0.4])
    assert second.x.tolist() == pytest.approx([10, 20])
    assert size_curves(Grid.of(contest())) == []


def test_limits_in_proportion_to_a_size_are_one_limit():
    """Runs of 2.4 s per client are together, with their times per client; what is late is late in proportion."""
    records = [
        run("a", f"i{n}", time_limit=2.4 * n, runtime=late * 2.4 * n, trace=((1.2 * n, 110.0, None), (2.4 * n, 105.0, None)),
            objective=105.0, facts={"size": n, "base_limit": 2.4, "limit_per": "clients"})
        for n, late in ((100, 1.0), (200, 1.1))
    ]  # fmt: skip
    grid = Grid.of(records, [1.2], lambda record: True)
    assert [str(limit) for limit in grid.limits] == ["1.2 s x clients", "2.4 s x clients"]
    assert grid.gaps()[:, 0, :, 0] == pytest.approx(np.array([[0.1, 0.1], [0.05, 0.05]]))
    assert (grid.numbers["runtime"][1, 0, :, 0] > grid.limits[1].allowed).tolist() == [False, True]
    again = Grid.of(grid.records)
    assert again.limits == grid.limits[1:] and again.traces.time.tolist() == pytest.approx([1.2, 2.4, 1.2, 2.4])

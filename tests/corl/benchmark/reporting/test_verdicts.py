"""Which of two solvers is called better, and when neither may be."""

from __future__ import annotations

import csv
import dataclasses

import pytest
from contests import contest, run, verdict

from corl.benchmark.reporting.duel import duel
from corl.benchmark.reporting.export import export
from corl.benchmark.reporting.markdown import report_markdown
from corl.benchmark.reporting.page import page
from corl.benchmark.reporting.report import Report, build, of_suite
from corl.benchmark.running.judge import beaten
from corl.errors import UsageError


def test_better_is_said_where_the_interval_excludes_zero():
    """A steady difference is a verdict, in either order of the names; a difference within the luck is not."""
    found = verdict(contest(step=3.0))
    assert found.better == "a" and found.verdict == "a better than b" and found.difference.high < 0
    assert (found.wins, found.ties, found.losses) == (24, 0, 0)
    assert verdict([dataclasses.replace(r, solver={"a": "b", "b": "a"}[r.solver]) for r in contest(step=3.0)]).better == "b"
    assert verdict(contest(step=0.0)).verdict == "no difference shown"


def test_maximisation_turns_the_verdict():
    """Of the same numbers the larger is better when maximising, also where they are negative."""
    assert verdict(contest(step=3.0, sense="max")).better == "b"
    negative = [dataclasses.replace(r, objective=-r.objective, reference=-100.0) for r in contest(step=3.0)]
    assert verdict(negative).better == "b" and verdict([dataclasses.replace(r, sense="max") for r in negative]).better == "a"


def test_failures_bar_a_verdict():
    """A solver that is better where it succeeds but fails more often is not called better; the failures are counted."""
    records = [dataclasses.replace(r, outcome="crash", objective=None) if (r.solver, r.instance) == ("a", "i0") else r
               for r in contest(step=3.0)]  # fmt: skip
    found = verdict(records)
    assert found.better == "" and "failed 3 times" in found.verdict and found.failures == (3, 0) and found.losses == 3
    missing = [r for r in contest(step=3.0) if (r.solver, r.instance, r.seed) != ("a", "i0", 0)]
    assert sorted(verdict(missing).failures) == [0, 1] and verdict(missing).better == ""
    for one in ("a", "b"):
        lost = [dataclasses.replace(r, outcome="timeout", objective=None) if r.solver == one else r for r in contest()]
        assert "nothing to compare" in verdict(lost).verdict


@pytest.mark.parametrize("sense", ["min", "max"])
@pytest.mark.parametrize("off", [-3e-6, -5e-7, -2e-9, 0.0, 2e-9, 5e-7, 3e-6])
def test_one_answer_to_better_and_to_reached(store, tmp_path, off, sense):
    """While it runs, in its report and in its CSV, a benchmark calls the same runs better than the reference, and the same
    ones as good: but for rounding (1e-6), whichever way it goes."""
    one = run("a", "i", objective=100 * (1 + off), sense=sense, trace=((1.0, 100 * (1 + off), None),))
    ahead = off < -1e-6 if sense == "min" else off > 1e-6
    reached = off < 1e-6 if sense == "min" else off > -1e-6
    report = of_suite([one])
    assert beaten(one) == bool(report.beaten) == ahead
    export(store([one]), "s", tmp_path / "s.csv")
    (row,) = csv.DictReader(line for line in (tmp_path / "s.csv").read_text().splitlines() if not line.startswith("#"))
    assert int(row["reached"]) == report.rows[0].at_reference == (report.target == 0 and bool(report.time_profile)) == reached


def test_what_is_refused_is_no_failure():
    """A solver that does not take an instance is judged on the others: 0.3 % against 19.7 % there is shown, and what was
    left out is said; the mean of what it takes is in its row, the refusals beside it."""
    records = [run(name, f"i{i}", seed, objective=value + 0.1 * seed)
               for name, value in (("good", 100.2), ("bad", 119.6)) for i in range(6) for seed in range(2)]  # fmt: skip
    kind = {"outcome": "refused", "objective": None, "trace": (), "reason": "symmetric alone"}
    records += [run("good", "odd", **kind), run("bad", "odd", objective=119.7)]
    found = verdict(records)
    assert found.better == "good" and found.verdict == "good better than bad, without the runs refused (1 by good)"
    assert (found.pairs, found.solved, found.failures, found.refused) == (12, 12, (0, 0), (1, 0))
    report = of_suite(records)
    assert report.headline == [
        "10 s: smallest mean gap among the solvers that solved most runs (13) 19.7 %, by bad; "
        "worse, on the instances that both accept, than good"
    ]
    assert "good refuses 1 of 7 instances: its figures and comparisons exclude them" in report.warnings
    row = next(row for row in report.rows if row.solver == "good")
    assert (row.runs, row.solved, row.refused, row.failures) == (12, 12, 1, {})
    assert row.middle.value == pytest.approx(0.0025) and row.integral.value < 0.11 and row.at_reference == 0
    assert next(c for c in report.curves if c.label == "good").y[-1] < 0.003 and report.gap_profiles["10 s"][0].y[-1] == 1
    assert next(r for r in report.instance_rows if r.instance == "odd").refused == (True, False)
    whole = Report("x.db", [report], {}, {})
    assert "| 12/12 | 1 refused |" in report_markdown(whole) and "1 refused" in page(whole)


def test_a_solver_that_refuses_everything():
    """Nothing is compared with it, and it has no curve."""
    records = [run("a", "i"), run("b", "i", outcome="refused", objective=None, trace=())]
    assert verdict(records).verdict == "no run that both accepted: nothing to compare"
    assert [curve.label for curve in of_suite(records).curves] == ["a"]


def test_few_instances_and_seeds():
    """No verdict on fewer than five instances that differ, however many seeds there are: seeds may change nothing."""
    assert "too few" in verdict(contest(1, 1)).verdict
    assert "too few" in verdict(contest(4, 1)).verdict
    assert verdict(contest(1, 6, step=5.0)).verdict.endswith("the gaps differ on 1 instance, a verdict needs 5")
    even = [run(name, f"i{i}", seed, objective=101.0 + (name == "b" and i == 0))
            for name in "ab" for i in range(4) for seed in range(3)]  # fmt: skip
    found = verdict(even)
    assert found.better == "" and found.verdict.endswith("the gaps differ on 1 instance, a verdict needs 5")
    assert found.difference.low is None and found.difference.high is None
    more = [run(name, f"i{i}", objective=101.0 + (name == "b" and i < 4)) for name in "ab" for i in range(8)]
    assert verdict(more).better == ""
    texts = " ".join(of_suite(contest(1, 6)).warnings)
    assert "One instance: no statement about other instances is possible" in texts and "One seed" not in texts
    assert "One seed" in " ".join(of_suite(contest(8, 1)).warnings)


def test_ties_and_tolerance():
    """Equal objectives tie; a tolerance makes near ones tie."""
    assert verdict([run("a", "i"), run("b", "i")]).ties == 1
    near = [run("a", "i"), run("b", "i", objective=110.5)]
    assert verdict(near).wins == 1 and verdict(near, tolerance=0.01).ties == 1


def test_duel_in_words(store):
    """`corl compare` in about ten lines: limit, instances, difference with interval, wins, verdict last."""
    made = store([*contest(step=3.0), *contest(step=3.0, time_limit=1.0)])
    lines = duel(made, "a", "b").lines()
    assert len(lines) <= 10 and lines[0] == "s, 10 s: a against b, 8 instances x 3 seeds" and lines[-1] == "10 s: a better than b"
    assert any("95 % interval" in line and "over instances and seeds" in line for line in lines)
    assert duel(made, "b", "a", time_limit=1.0).lines()[-1] == "1 s: a better than b"
    assert duel(made, "b", "a").chosen.losses == 24


def test_duel_uses_what_both_ran(store):
    """Instances that only one solver was asked to solve are no failures of the other."""
    made = store([*contest(step=3.0), *(run("a", f"more{k}") for k in range(3))])
    found = duel(made, "a", "b")
    assert found.chosen.pairs == 24 and found.chosen.failures == (0, 0) and found.chosen.better == "a"


def test_duel_refuses(store):
    """Unknown names, suites and limits are usage errors that list what there is."""
    made = store([*contest(), *(dataclasses.replace(r, suite="t") for r in contest()), run("c", "alone", suite="u")])
    for arguments, words in (
        (("a", "x", "s"), "the solvers are: a, b"), (("a", "b"), "--suite"), (("a", "a"), "itself"),
        (("a", "c"), "no suite has runs of both"),
        (("a", "b", "s", 3.0), "accepted: 10 s"), (("a", "b", "nowhere"), "no runs"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=words):
            duel(made, *arguments)
    with pytest.raises(UsageError, match="there are: s, t, u"):
        build(made, "nowhere")

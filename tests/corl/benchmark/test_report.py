"""The report and the comparison of a store: what they say, and what they must not say."""

from __future__ import annotations

import contextlib
import dataclasses
import html.parser
import json
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import xml.etree.ElementTree as xml
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corl.benchmark.analysis import compare, summary
from corl.benchmark.charts import log_ticks, spread
from corl.benchmark.curves import curves, gap_profile, size_curves, time_profile
from corl.benchmark.drawings import best_solutions
from corl.benchmark.duel import duel
from corl.benchmark.figures import save_figures
from corl.benchmark.grid import Grid
from corl.benchmark.page import page
from corl.benchmark.record import Record
from corl.benchmark.report import Report, build, of_suite, percent, report_json, report_markdown
from corl.benchmark.statistics import Resampling
from corl.benchmark.store import Store
from corl.cli.main import main
from corl.errors import UsageError

HOSTILE = '<img src=x onerror="document.title=1">'


def run(solver: str, instance: str, seed: int = 0, objective: float | None = 110.0, **changes) -> Record:
    """A run of ten seconds that found its objective after one."""
    ok = objective is not None
    values = {
        "suite": "s", "problem": "tsp", "instance": instance, "solver": solver, "seed": seed, "time_limit": 10.0,
        "iterations": None, "outcome": "ok" if ok else "nothing", "objective": objective, "sense": "min", "reference": 100.0,
        "reference_status": "best known", "reference_source": "a list", "runtime": 10.0, "setup_seconds": 0.5,
        "peak_bytes": 2**27, "trace": ((1.0, objective, None),) if ok else (), "solver_name": solver, "facts": {"size": 50},
        "commit": "abc",
        "versions": {"corl": "0"}, "machine": {"processor": "p", "cores": 2}, "started": "2026-01-01T00:00:00Z", "cores": (0,),
    }  # fmt: skip
    return Record(**values | changes)


def contest(instances: int = 8, seeds: int = 3, step: float = 1.0, solvers=("a", "b"), **changes) -> list[Record]:
    """Solver after solver worse by `step` on every instance, with some luck in each run."""
    random = np.random.default_rng(0)
    return [
        run(name, f"i{i}", seed, 101 + i + step * place + random.random(), **changes)
        for i in range(instances) for seed in range(seeds) for place, name in enumerate(solvers)
    ]  # fmt: skip


def verdict(records: list[Record], **keywords):
    """The comparison of the first two solvers at the longest limit."""
    grid = Grid.of(records)
    return compare(grid, Resampling(grid.slots), len(grid.limits) - 1, **keywords)[0]


@pytest.fixture
def store(tmp_path):
    """A function (records, ...) -> a Store that holds them."""
    with contextlib.ExitStack() as stack:

        def make(records, definition=None):
            made = stack.enter_context(Store(tmp_path / "runs.db", create=True))
            for record in records:
                made.add(record)
            if definition:
                made.add_suite("s", definition, "corl bench s.toml")
            return made

        yield make


# ---------------------------------------------------------------- the grid
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


# ---------------------------------------------------------------- verdicts
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


def test_few_instances_and_seeds():
    """One run each: no verdict. Some seeds of one instance: a verdict about it alone, said so."""
    assert "too few" in verdict(contest(1, 1)).verdict
    assert "too few" in verdict(contest(4, 1)).verdict
    assert verdict(contest(1, 6, step=5.0)).verdict == "a better than b on these instances"
    texts = " ".join(of_suite(contest(1, 6)).warnings)
    assert "One instance: nothing is said about others" in texts and "One seed" not in texts
    assert "One seed" in " ".join(of_suite(contest(8, 1)).warnings)


def test_ties_and_tolerance():
    """Equal objectives tie; a tolerance makes near ones tie."""
    assert verdict([run("a", "i"), run("b", "i")]).ties == 1
    near = [run("a", "i"), run("b", "i", objective=110.5)]
    assert verdict(near).wins == 1 and verdict(near, tolerance=0.01).ties == 1


# ---------------------------------------------------------------- the report
def test_degenerate_stores_are_reported():
    """Nothing solved, no reference, a reference of 0, iterations, no trace, one run: every form is written."""
    stores = [
        [run("a", "i", objective=None), run("b", "i", objective=None, outcome="refused", reason="no")],
        [run("a", "i", reference=None, objective=None)],
        [run("a", "i", reference=None), run("b", "i", reference=None, objective=120.0)],
        [run("a", "i", reference=0.0, objective=0.0), run("b", "i", reference=0.0)],
        [run("a", "i", time_limit=None, iterations=100), run("b", "i", time_limit=None, iterations=100, objective=90.0)],
        [run("a", "i", trace=(), runtime=None, versions={}, machine={}, commit="", started="", cores=(), facts={})],
        [run("a", "i", objective=0.0, reference=0.0, trace=((0.0, 0.0, 0.0),), runtime=0.0, bound=0.0)],
        [run("a", "i", objective=-50.0, reference=-100.0, sense="max", bound=-40.0)],
        [run("a", "i", outcome="lost"), run("a", "i", time_limit=2.0)],
        [run(f"s{k}", f"i{i}") for k in range(20) for i in range(2)],
    ]
    for records in stores:
        report = Report("x.db", [of_suite(records)], {}, {})
        assert "NaN" not in report_json(report) and json.loads(report_json(report))["suites"][0]["name"] == "s"
        assert report_markdown(report).startswith("## s") and "nan" not in report_markdown(report)
        assert "nan" not in re.sub(r"<(style|script)>.*?</\1>", "", page(report), flags=re.DOTALL)
    assert "no runs" in page(Report("x.db", [], {}, {}))


def test_what_a_reader_must_know():
    """Beaten references, contradictions, overruns, slowed jobs, mixed machines and commits, missing runs: each has its line."""
    records = [
        run("a", "beaten", objective=99.0), run("a", "proven", objective=99.0, reference_status="proven"),
        run("b", "beaten", bound=99.5), run("a", "beaten", seed=1),
        run("b", "proven", runtime=12.0, commit="def+", machine={"parallel_slowdown": 0.17}, reference_status="proven"),
    ]  # fmt: skip
    report = of_suite(records)
    assert len(report.beaten) == 2 and "a found 99, better than the best known value 100 (a list)" in report.beaten[0]
    assert "cannot be beaten" in report.beaten[1] and "cannot be beaten" not in report.beaten[0]
    texts = " | ".join(report.warnings)
    for words in (
        "slow each other by 17 %",
        "2 different machines",
        "2 different commits",
        "sources changed",
        "b claims a bound that a verified solution breaks, in 1 run",
        "b ran over its time limit in 1 run",
        "1 run of",
    ):
        assert words in texts, words
    calm = of_suite(contest(step=3.0, machine={"parallel_slowdown": 0.09}))
    assert calm.warnings == [] and calm.beaten == []


def test_headline_names_the_best_and_whom_it_beats():
    """The first line of a report is the answer: the smallest mean gap, and over whom it is shown."""
    (line,) = of_suite(contest(step=3.0, solvers=("a", "b", "c"))).headline
    assert line.startswith("10 s: smallest mean gap") and line.endswith("by a; better than b and c")
    (line,) = of_suite(contest(step=0.0)).headline
    assert "better than" in line and "not shown better" in line


def test_groups_and_failures_tables():
    """Groups of instances are averaged apart; ways to fail are counted with an example."""
    definition = {"instances": {f"i{i}": {"group": "small" if i < 3 else "large"} for i in range(8)}}
    records = [*contest(), run("a", "i0", seed=9, objective=None, outcome="crash", reason="ValueError: x")]
    report = of_suite(records, definition)
    assert [(row.group, row.instances) for row in report.groups] == [("small", 3), ("large", 5)]
    (failure,) = report.failures
    assert (failure.solver, failure.outcome, failure.reason, failure.runs) == ("a", "crash", "ValueError: x", 1)
    assert failure.example == "i0, seed 9, 10 s"


def test_numbers_read_well():
    """Percentages have the digits that matter."""
    shown = [percent(x) for x in (None, 0.0, 1e-12, 3e-7, 1.2e-4, 0.00345, 0.0345, 0.345, 3.45, -0.02, math.inf)]
    assert shown == ["–", "0 %", "≈0 %", "0.00003 %", "0.012 %", "0.345 %", "3.45 %", "34.5 %", "345 %", "−2.00 %", "∞"]


def test_names_are_data(store):
    """Names, reasons and options of any content are escaped: nothing of them becomes markup or a Markdown column."""
    hostile = {HOSTILE: HOSTILE}
    records = [
        run(HOSTILE, HOSTILE, objective=None, outcome="crash", reason=HOSTILE, options=hostile, reference_source=HOSTILE),
        run("a|b", "</script><script>alert(1)</script>", commit=HOSTILE, versions=hostile, machine=hostile),
    ]
    made = store(records, {"problem": "tsp", "instances": {HOSTILE: {"group": HOSTILE}}})
    made.add_curve(HOSTILE, 1, HOSTILE, 2.0)
    made.add_training(HOSTILE, {HOSTILE: HOSTILE})
    report = build(made)
    text = page(report)

    class Tags(html.parser.HTMLParser):
        seen: set[str] = set()  # noqa: RUF012
        scripts = 0

        def handle_starttag(self, tag, attributes):
            self.seen.add(tag)
            self.scripts += tag == "script"
            assert not any(name.startswith("on") for name, _ in attributes)

    tags = Tags()
    tags.feed(text)
    assert "img" not in tags.seen and tags.scripts == 1
    assert "<img" not in re.sub(r"\\<", "", report_markdown(report)) and "a\\|b" in report_markdown(report)


def test_the_page_loads_nothing():
    """No address of a network stands in the page but in names of XML's own."""
    text = page(Report("x.db", [of_suite(contest())], {}, {}))
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", text) and "@import" not in text and "url(" not in text
    assert "http" not in text.replace("http://www.w3.org", "")


def test_charts_are_well_formed():
    """Every chart is XML with finite coordinates."""
    report = Report("x.db", [of_suite(contest(solvers=("a", "b&c", "d")))], {}, {})
    charts = re.findall(r'<svg class="chart".*?</svg>', page(report), re.DOTALL)
    assert len(charts) == 3
    for chart in charts:
        assert xml.fromstring(chart).tag == "svg" and "nan" not in chart and "inf" not in chart


def test_learning_curves(store):
    """Training runs are drawn, a chart for every curve's name, long ones thinned."""
    made = store(contest(2, 1))
    for k in range(1000):
        made.add_curve("first", k, "loss", 1 / (k + 1))
        made.add_curve("second", k, "loss", math.nan if k == 5 else 2.0)
    report = build(made)
    assert [curve.label for curve in report.learning["loss"]] == ["first", "second"] and len(report.learning["loss"][0].x) == 400
    assert "Learning curves" in page(report)


def test_figures(tmp_path):
    """The figures as PNG and SVG, under names that are safe whatever the suite is called."""
    report = Report("x.db", [of_suite([dataclasses.replace(r, suite="../a $b$") for r in contest()])], {}, {})
    files = save_figures(report, tmp_path / "figures")
    assert len(files) == 6 and all(file.parent == tmp_path / "figures" and file.stat().st_size > 1000 for file in files)
    assert {file.read_bytes()[:4] for file in files} == {b"\x89PNG", b"<?xm"}


def test_best_solutions_are_drawn(store, tmp_path):
    """The best kept solution of a small, a middling and a large instance, as SVG whose ids are unique in the page."""
    suite = tmp_path / "tiny.toml"
    suite.write_text(
        'name = "s"\nproblem = "tsp"\ntime_limits = [1]\n'
        '[[instances]]\ngenerate = "uniform"\nparameters = { size = [5, 6, 7, 8] }\n'
        '[[solvers]]\nsolver = "greedy-edge"\n'
    )
    made = store(
        run(name, f"uniform-{n}-0", objective=objective, solution=list(range(1, n + 1)), facts={"size": n})
        for n in (5, 6, 7, 8) for name, objective in (("worse", 9.0), ("better", 8.0))
    )  # fmt: skip
    made.add_suite("s", {"problem": "tsp"}, f"corl bench {shlex.quote(str(suite))} --jobs 1")
    report = build(made)
    drawn = best_solutions(made, report.suites[0])
    assert [caption.partition(":")[0] for caption, _ in drawn] == ["uniform-5-0", "uniform-7-0", "uniform-8-0"]
    assert all("by better" in caption and xml.fromstring(svg).tag.endswith("svg") for caption, svg in drawn)
    text = page(report, {"s": drawn})
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids)) and "Best solutions found" in text
    suite.unlink()
    assert best_solutions(made, build(made).suites[0]) == []


def test_gap_against_size():
    """Where sizes differ, a curve for every solver over the sizes that it solved; none where they hardly do."""
    records = [run(name, f"i{n}", objective=100.0 + n, facts={"size": n}) for n in (10, 20, 40) for name in ("a", "b")]
    records[-1] = dataclasses.replace(records[-1], outcome="nothing", objective=None)
    first, second = size_curves(Grid.of(records))
    assert first.x.tolist() == pytest.approx([10, 20, 40]) and first.y.tolist() == pytest.approx([0.1, 0.2, 0.4])
    assert second.x.tolist() == pytest.approx([10, 20])
    assert size_curves(Grid.of(contest())) == []


@given(st.lists(st.floats(0, 100), max_size=12))
def test_labels_keep_apart(wanted):
    """Labels keep their distance and their order and stay inside."""
    places = spread(wanted, 5.0, 0.0, 100.0)
    order = np.argsort(wanted, kind="stable")
    assert all(b - a >= 5 - 1e-6 for a, b in zip(np.array(places)[order], np.array(places)[order][1:]))
    assert all(-1e-6 <= place <= 100 + 1e-6 for place in places)


@given(st.floats(-9, 5), st.floats(0.01, 12))
def test_ticks(low, decades):
    """A logarithmic axis has two to eight marks, all on it, wherever it spans a factor of ten or more."""
    ticks = log_ticks(10**low, 10 ** (low + decades))
    assert all(10**low * (1 - 1e-6) <= tick <= 10 ** (low + decades) * (1 + 1e-6) for tick in ticks)
    assert len(ticks) <= 8 and (decades < 1 or len(ticks) >= 2)


# ---------------------------------------------------------------- commands
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
        (("a", "x", "s"), "there are: a, b"), (("a", "b"), "--suite"), (("a", "a"), "itself"), (("a", "c"), "no suite has both"),
        (("a", "b", "s", 3.0), "there are: 10 s"), (("a", "b", "nowhere"), "no runs"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=words):
            duel(made, *arguments)
    with pytest.raises(UsageError, match="there are: s, t, u"):
        build(made, "nowhere")


def test_commands(store, capsys, tmp_path):
    """The commands write what they say, and answer a missing store with one line."""
    path = str(store(contest(step=3.0)).path)

    def call(*arguments: object) -> str:
        assert main([str(argument) for argument in arguments]) == 0
        return capsys.readouterr().out

    target = tmp_path / "page.html"
    assert call("report", path, "--html", target, "--figures", tmp_path / "figures") == f"{target}\n"
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert len(list((tmp_path / "figures").iterdir())) == 6
    assert call("report", path).startswith("## s (tsp)")
    assert json.loads(call("report", path, "--json"))["suites"][0]["comparisons"]["10 s"][0]["better"] == "a"
    assert call("compare", path, "a", "b").endswith("10 s: a better than b\n")
    assert json.loads(call("compare", path, "a", "b", "--json"))["chosen"]["better"] == "a"
    assert main(["report", str(tmp_path / "none.db")]) == 3 and capsys.readouterr().err.count("\n") == 1


# ---------------------------------------------------------------- a browser
PROBE = """<script>
const first = table => [...table.tBodies[0].rows].map(row => row.cells[0].dataset.v);
const table = document.querySelector("table.summary"), heads = table.tHead.rows[0].cells, result = {errors: window.errors};
heads[2].querySelector("button").click(); result.up = first(table);
heads[2].querySelector("button").click(); result.down = first(table);
heads[0].querySelector("button").click(); result.name = first(table);
const shown = () => [...table.tBodies[0].rows].filter(row => !row.hidden).length;
result.shown = [shown()];
for (const button of document.querySelectorAll(".switch button")) { button.click(); result.shown.push(shown()); }
result.wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
result.width = document.documentElement.clientWidth;
result.background = getComputedStyle(document.body).backgroundColor;
document.body.dataset.result = JSON.stringify(result);
</script></body>"""


def browse(chromium: str, text: str, folder: Path, *flags: str) -> dict:
    """What the page comes to in a headless Chromium: the probe's findings, errors on the console among them."""
    catch = "<head><script>window.errors = []; window.addEventListener('error', e => window.errors.push(e.message));</script>"
    file = folder / "probed.html"
    file.write_text(text.replace("<head>", catch, 1).replace("</body>", PROBE, 1), encoding="utf-8")
    quiet = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--window-size=390,844")
    command = [chromium, *quiet, f"--user-data-dir={folder / 'profile'}", *flags, "--dump-dom", file.as_uri()]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
    try:
        dom, _ = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    found = re.search(r'data-result="([^"]*)"', dom)
    assert found, dom[:500]
    return json.loads(html.unescape(found[1]))


@pytest.fixture
def chromium() -> str:
    """The browser's command, where there is one."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no chromium on this machine (Debian: apt-get install chromium)")
    return found


def test_the_page_in_a_browser(chromium, tmp_path):
    """In Chromium: no script error, columns sort both ways, unknown values last, the switch filters, nothing is too wide."""
    records = [*contest(step=3.0, solvers=("c", "a", "b")), *contest(step=3.0, solvers=("c", "a", "b"), time_limit=1.0)]
    lost = {"solver": "none", "objective": None, "outcome": "nothing", "trace": ()}
    records += [dataclasses.replace(r, **lost) for r in contest(solvers=("x",))]
    text = page(Report("x.db", [of_suite(records)], {}, {}))
    found = browse(chromium, text, tmp_path)
    assert found["errors"] == []
    assert found["up"][-1] == found["down"][-1] == "none" and found["name"] == sorted(found["name"])
    assert list(dict.fromkeys(found["up"])) == ["c", "a", "b", "none"]
    assert found["down"][:-1] == found["up"][-2::-1]
    assert found["shown"] == [4, 3, 4, 7] and not found["wide"] and found["width"] <= 500
    assert found["background"] == "rgb(255, 255, 255)"
    dark = browse(chromium, text, tmp_path, "--blink-settings=preferredColorScheme=0")
    assert dark["background"] == "rgb(20, 24, 29)" and dark["errors"] == []

"""Charts and figures: whole labels, marks on the axes, files that open."""

from __future__ import annotations

import dataclasses
import re
import shlex
import xml.etree.ElementTree as xml

import numpy as np
from contests import contest, run
from hypothesis import given
from hypothesis import strategies as st

from corl.benchmark.reporting.charts import Axis, chart, log_ticks, spread
from corl.benchmark.reporting.curves import Curve
from corl.benchmark.reporting.drawings import best_solutions
from corl.benchmark.reporting.figures import save_figures
from corl.benchmark.reporting.page import page
from corl.benchmark.reporting.report import Report, build, of_suite


def test_labels_of_curves_are_whole():
    """Names of runs stand in two lines where one is too short, inside the chart, and marks have room on the left."""
    names = ["knapsack policy-gradient seed 0", "knapsack policy-gradient seed 1", "short"]
    drawn = [Curve(name, np.arange(3.0), np.full(3, 2.5e6 + k)) for k, name in enumerate(names)]
    colours = {name: k for k, name in enumerate(names)}
    root = xml.fromstring(chart(drawn, Axis("step", 0, 2), Axis("greedy", 2.4e6, 4.2e6), colours, "greedy"))
    texts = [(each.get("class").split()[0], float(each.get("x")), each.text) for each in root.iter("text")]
    lines = [text for kind, _, text in texts if kind == "label"]
    assert lines == ["knapsack policy-gradient", "seed 0", "knapsack policy-gradient", "seed 1", "short"]
    assert all(x + 7 * len(text) <= 400 for kind, x, text in texts if kind == "label")
    assert all(x >= 6.5 * len(text) for kind, x, text in texts if kind == "tick" and "e+06" in text)


def test_charts_are_well_formed():
    """Every chart is XML with finite coordinates."""
    report = Report("x.db", [of_suite(contest(solvers=("a", "b&c", "d")))], {}, {})
    charts = re.findall(r'<svg class="chart".*?</svg>', page(report), re.DOTALL)
    assert len(charts) == 3
    for each in charts:
        assert xml.fromstring(each).tag == "svg" and "nan" not in each and "inf" not in each


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

"""Published results: columns beside our own, and in nothing else."""

from __future__ import annotations

import json

import pytest

from corl.benchmark.reporting.duel import duel
from corl.benchmark.reporting.markdown import report_markdown
from corl.benchmark.reporting.page import page
from corl.benchmark.reporting.published import read_published
from corl.benchmark.reporting.report import build, report_json
from corl.errors import InputError
from corl.record import Record
from corl.store import Store

CSV = """# comment
problem,solver,instance,set,instances,objective,gap_percent,seconds,hardware,date,source
toy,Other 1.0,i0,,,110,,600,"laptop, four cores",2026-01-02,their table
,Other 1.0,i1,,,,5,1200,"laptop, four cores",2026-01-02,their table
toy,Other 1.0,elsewhere,,,99,,600,"laptop, four cores",2026-01-02,their table
toy,Whole 2,,X,100,,0.31,,one core,2025,their page
tsp,Third,i0,,,90,,,,,of another problem
"""


@pytest.fixture
def store(tmp_path):
    """A store with two solvers on two instances whose references are 100."""
    with Store(tmp_path / "s.db", create=True) as store:
        for solver, value in (("a", 101.0), ("b", 102.0)):
            for instance in ("i0", "i1"):
                store.add(Record("s", "toy", instance, solver, 0, 1.0, None, "ok", objective=value, reference=100.0, runtime=1.0))
        yield store


def test_published_results_are_columns_and_nothing_else(store, tmp_path):
    """Their means, time, hardware, date and source are shown; rows, comparisons and headlines are the same without them."""
    file = tmp_path / "p.csv"
    file.write_text(CSV)
    published = read_published([file])
    with_them, without = build(store, None, published).suites[0], build(store).suites[0]
    other, whole = with_them.published
    assert (other.solver, other.of, other.gaps) == ("Other 1.0", "2 of 2 instances", {"i0": pytest.approx(0.1), "i1": 0.05})
    assert other.gap == pytest.approx(0.075) and (other.hardware, other.date) == ("laptop, four cores", "2026-01-02")
    assert whole.of == "set X, 100 instances" and whole.gap == pytest.approx(0.0031) and not whole.gaps
    for part in ("rows", "comparisons", "headline", "instance_rows", "solvers", "warnings", "runs"):
        assert getattr(with_them, part) == getattr(without, part), part


def test_all_forms_of_a_report_mark_them(store, tmp_path):
    """Markdown, HTML, JSON and the comparison of two solvers; without them no form mentions any."""
    file = tmp_path / "p.csv"
    file.write_text(CSV)
    published = read_published([file])
    report = build(store, None, published)
    markdown, html = report_markdown(report), page(report)
    assert "### Published" in markdown and "| Whole 2 | set X, 100 instances | 0.310 % |" in markdown
    assert "Other 1.0 (published)" in html and "their table" in html and "Third" not in html + markdown
    assert [column["solver"] for column in json.loads(report_json(report))["suites"][0]["published"]] == ["Other 1.0", "Whole 2"]
    lines = duel(store, "a", "b", published=published).lines()
    assert any(line.startswith("  beside: Other 1.0 (published): mean gap 7.50 %, 2 of 2 instances") for line in lines)
    assert "ublished" not in report_markdown(build(store)) + page(build(store)) + "".join(duel(store, "a", "b").lines())


def test_results_that_cannot_be_shown_are_mentioned(store, tmp_path):
    """If none is of the suite, or has a reference."""
    file = tmp_path / "p.csv"
    file.write_text("solver,instance,objective,source\nx,elsewhere,3,y\n")
    published = read_published([file])
    assert "Warning: No published result is shown: they are of other instances" in report_markdown(build(store, None, published))
    assert any("No published result is shown" in line for line in duel(store, "a", "b", published=published).lines())


def test_a_file_without_results_is_refused(tmp_path):
    """Such as one with a header alone, or an empty list."""
    for name, text in (("p.csv", "solver,instance\n"), ("p.csv", ""), ("p.json", "[]")):
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=f"{name}: no results; accepted: a row for each, with columns of problem, solver"):
            read_published([tmp_path / name])


def test_json_files_have_the_same_rows(tmp_path):
    """A list of objects, in which missing keys are empty."""
    file = tmp_path / "p.json"
    file.write_text(json.dumps([{"solver": "x", "instance": "i0", "objective": 3, "source": "y"}]))
    (result,) = read_published([file])
    assert (result.solver, result.objective, result.seconds, result.hardware) == ("x", 3.0, None, "")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"instance": "i", "objective": 1, "source": "y"}, "row 1, solver: missing"),
        ({"solver": "x", "instance": "i", "objective": 1}, "row 1, source: missing"),
        ({"solver": "x", "instance": "i", "set": "X", "objective": 1, "source": "y"}, "either instance or set"),
        ({"solver": "x", "set": "X", "objective": 1, "source": "y"}, "for a set, gap_percent"),
        ({"solver": "x", "instance": "i", "objective": "much", "source": "y"}, "row 1, objective: 'much' is not accepted"),
        ({"solver": "x", "instance": "i", "objective": 1, "source": "y", "gap": 1}, "'gap' is not a known column"),
    ],
)
def test_errors_name_file_and_row(tmp_path, row, message):
    """Malformed rows are errors of one line."""
    file = tmp_path / "p.json"
    file.write_text(json.dumps([row]))
    with pytest.raises(InputError, match=message) as error:
        read_published([file])
    assert str(error.value).startswith(str(file))

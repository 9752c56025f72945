"""The report of a store in Markdown and JSON: what it says, and what it must not say."""

from __future__ import annotations

import json
import math
import re

from contests import contest, run

from corl.benchmark.reporting.markdown import report_markdown
from corl.benchmark.reporting.notes import disturbed
from corl.benchmark.reporting.page import page
from corl.benchmark.reporting.report import Report, build, of_suite, report_json
from corl.cli.main import main
from corl.store import Store


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
        "b claims a bound that a verified solution violates, in 1 run",
        "b exceeded its time limit in 1 run",
        "1 run of",
    ):
        assert words in texts, words
    calm = of_suite(contest(step=3.0, machine={"parallel_slowdown": 0.09}))
    assert calm.warnings == [] and calm.beaten == []


def test_runs_without_their_processor_are_told():
    """Runs with clearly less processor time than their cores give are counted, with the worst; a second core counts while
    the solver's clock runs; a start of half a second from a slow disk is not worth a word."""
    starved = [run("a", "i", seed, wall_seconds=12.0, cpu_seconds=cpu) for seed, cpu in enumerate((2.4, 6.0, 11.9))]
    (text,) = disturbed([*starved, run("a", "i", 3), run("b", "i", runtime=0.2, wall_seconds=0.6, cpu_seconds=0.15)])
    assert text.startswith("2 of 5 runs had clearly less processor time") and "the worst 20 % (a on i, seed 0, 10 s)" in text
    pair = {"cores": (0, 1), "wall_seconds": 12.0}
    assert disturbed([run("a", "i", cpu_seconds=21.0, **pair)]) == [] != disturbed([run("a", "i", cpu_seconds=11.9, **pair)])
    assert disturbed([run("a", "i", outcome="timeout", objective=None, wall_seconds=12.0, cpu_seconds=0.1)]) == []
    assert text in of_suite([*starved, run("a", "i", 3), run("a", "i", 4)]).warnings


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


def test_learning_curves(store):
    """Training runs are drawn, a chart for every curve's name, long ones thinned."""
    made = store(contest(2, 1))
    for k in range(1000):
        made.add_curve("first", k, "loss", 1 / (k + 1))
        made.add_curve("second", k, "loss", math.nan if k == 5 else 2.0)
    report = build(made)
    assert [curve.label for curve in report.learning["loss"]] == ["first", "second"] and len(report.learning["loss"][0].x) == 400
    assert "Learning curves" in page(report)


def test_a_store_of_trainings_is_told(tmp_path, capsys):
    """Markdown and JSON have a line for every curve of a training run; an empty store says that it is."""
    path = tmp_path / "runs.db"
    with Store(path, create=True):
        pass
    assert main(["report", str(path)]) == 0 and capsys.readouterr().out == "runs.db holds no runs and no trainings.\n"
    with Store(path) as made:
        made.add_training("first", {"seed": 3, "options": {"width": 64}})
        for step, value in enumerate((4.0, 1.0, math.nan, 2.0)):
            made.add_curve("first", step, "loss", value)
    assert main(["report", str(path)]) == 0
    text = capsys.readouterr().out
    assert "- first: seed 3" in text and "| first | loss | 4 | 3 | 4 | 2 | 1 | 4 |" in text
    assert main(["report", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["curves"]
    assert told == [{"training": "first", "curve": "loss", "points": 4, "steps": 3, "first": 4, "last": 2, "least": 1, "most": 4}]


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

"""The report of a benchmark as Markdown."""

from __future__ import annotations

from corl.benchmark.reporting.numbers import interval, lost
from corl.benchmark.reporting.published import NOTE
from corl.benchmark.reporting.report import Report, SuiteReport
from corl.formatting import memory, percent, seconds, value

__all__ = ["report_markdown"]

_SUMMARY_COLUMNS = (
    "Solver", "Limit", "Mean gap", "95 %", "IQM", "At reference", "Best", "Failed", "Primal integral", "Time", "Memory",
)  # fmt: skip
_CURVE_NOTE = (
    '"objective" is the mean objective value of the training episodes, in which the network explores; "greedy" is the mean with '
    "the likeliest actions, on instances that are not used for training."
)
_PUBLISHED_COLUMNS = ("Solver", "Instances", "Mean gap", "Time", "Hardware", "Date", "Source")
_CURVE_COLUMNS = ("Training", "Curve", "Points", "Steps", "First", "Last", "Least", "Most")


def report_markdown(report: Report) -> str:
    """Return the summary, the verdicts, the warnings and the circumstances as Markdown."""
    lines = [line for suite in report.suites for line in _suite(suite)]
    lines += _trainings(report) if report.trainings or report.curve_rows else []
    return "\n".join(lines or [f"{_cell(report.store)} holds no runs and no trainings."]).rstrip() + "\n"


def _suite(suite: SuiteReport) -> list[str]:
    counts = f"{len(suite.solvers)} solvers, {suite.instances} instances, seeds {suite.provenance.seeds}, {suite.runs:,} runs"
    lines = [f"## {_cell(suite.name)} ({_cell(suite.problem)})", "", counts + ".", ""]
    lines += [f"- {_cell(text)}" for text in (*suite.headline, *suite.beaten)]
    lines += [f"- Warning: {_cell(text)}" for text in suite.warnings] + ["", *_head(_SUMMARY_COLUMNS)]
    lines += [
        _line(
            row.solver + " (not held)" * bool(suite.held.get(row.solver)),
            row.limit + " (trace)" * row.derived, percent(row.gap.value), interval(row.gap),
            percent(row.middle.value), f"{100 * row.at_reference:.0f} %", f"{row.best}/{row.runs}", lost(row),
            percent(row.integral.value), seconds(row.seconds), memory(row.peak_bytes),
        )
        for row in suite.rows
    ]  # fmt: skip
    lines += _published(suite) if suite.published else []
    return [*lines, "", _circumstances(suite), ""]


def _published(suite: SuiteReport) -> list[str]:
    """Return the table of results that others published."""
    rows = [_line(c.solver, c.of, percent(c.gap), c.seconds, c.hardware, c.date, c.source) for c in suite.published]
    return ["", "### Published", "", NOTE, "", *_head(_PUBLISHED_COLUMNS), *rows]


def _trainings(report: Report) -> list[str]:
    """Return the lines about training runs: a list of their facts, and a table of their learning curves."""
    lines = ["## Trainings", ""]
    for name, facts in report.trainings.items():
        texts = [f"{key} {fact}" for key, fact in facts.items() if not isinstance(fact, (dict, list))]
        lines.append(f"- {_cell(name)}: {_cell(', '.join(texts))}")
    rows = [
        _line(row.training, row.curve, row.points, f"{row.steps:,.10g}", *map(value, (row.first, row.last, row.least, row.most)))
        for row in report.curve_rows
    ]
    if not rows:
        return [*lines, "", "No curve has a point."]
    return [*lines, "", *_head(_CURVE_COLUMNS), *rows, "", _CURVE_NOTE]


def _head(names: tuple[str, ...]) -> list[str]:
    """Return the two lines that begin a table: columns from the third on are aligned to the right."""
    return [_line(*names), "|---|---" + "|--:" * (len(names) - 2) + "|"]


def _line(*cells: object) -> str:
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _circumstances(suite: SuiteReport) -> str:
    provenance = suite.provenance
    versions = ", ".join(f"{name} {'/'.join(found)}" for name, found in provenance.versions.items())
    machines = "; ".join(
        ", ".join(f"{k} {v}" for k, v in m.items() if not isinstance(v, (dict, list))) for m in provenance.machines
    )
    parts = [f"Commands: {'; '.join(f'`{c}`' for c in provenance.commands)}."] if provenance.commands else []
    parts += [
        f"Runs from {provenance.started[0]} to {provenance.started[1]}.",
        f"Commit {', '.join(provenance.commits) or 'unknown'}.",
        f"Versions: {versions}.",
    ]
    return _cell(" ".join([*parts, f"Machine: {machines}."])) if machines else _cell(" ".join(parts))


def _cell(text: object) -> str:
    """Return a text with the characters escaped that have a meaning in a Markdown table."""
    plain = "".join(c if c.isprintable() else " " for c in str(text))
    for character in "\\|<>":
        plain = plain.replace(character, "\\" + character)
    return plain

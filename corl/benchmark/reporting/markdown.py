"""The Markdown form of a report."""

from __future__ import annotations

from corl.benchmark.reporting.numbers import interval, lost
from corl.benchmark.reporting.report import Report, SuiteReport
from corl.formatting import memory, percent, seconds, value

__all__ = ["report_markdown"]

_SUMMARY = (
    "Solver", "Limit", "Mean gap", "95 %", "IQM", "At reference", "Best", "Failed", "Primal integral", "Time", "Memory",
)  # fmt: skip
_CURVE_NOTE = (
    '"objective" is the mean over the episodes that the network learns from, in which it explores; "greedy" the mean of its '
    "likeliest actions on instances that it never learns from."
)
_CURVES = ("Training", "Curve", "Points", "Steps", "First", "Last", "Least", "Most")


def report_markdown(report: Report) -> str:
    """Return the summary, the verdicts, the warnings and the circumstances as Markdown."""
    lines = [line for suite in report.suites for line in _suite(suite)]
    lines += _trainings(report) if report.trainings or report.curve_rows else []
    return "\n".join(lines or [f"{_cell(report.store)} holds no runs and no trainings."]).rstrip() + "\n"


def _suite(suite: SuiteReport) -> list[str]:
    counts = f"{len(suite.solvers)} solvers, {suite.instances} instances, seeds {suite.provenance.seeds}, {suite.runs:,} runs"
    lines = [f"## {_cell(suite.name)} ({_cell(suite.problem)})", "", counts + ".", ""]
    lines += [f"- {_cell(text)}" for text in (*suite.headline, *suite.beaten)]
    lines += [f"- Warning: {_cell(text)}" for text in suite.warnings] + ["", *_head(_SUMMARY)]
    lines += [
        _line(
            row.solver, row.limit + " (trace)" * row.derived, percent(row.gap.value), interval(row.gap),
            percent(row.middle.value), f"{100 * row.at_reference:.0f} %", f"{row.best}/{row.runs}", lost(row),
            percent(row.integral.value), seconds(row.seconds), memory(row.peak_bytes),
        )
        for row in suite.rows
    ]  # fmt: skip
    return [*lines, "", _circumstances(suite), ""]


def _trainings(report: Report) -> list[str]:
    """Return the facts of each training run, and its curves."""
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
    return [*lines, "", *_head(_CURVES), *rows, "", _CURVE_NOTE]


def _head(names: tuple[str, ...]) -> list[str]:
    return [_line(*names), "|---|---" + "|--:" * (len(names) - 2) + "|"]


def _line(*cells: object) -> str:
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _circumstances(suite: SuiteReport) -> str:
    p = suite.provenance
    versions = ", ".join(f"{name} {'/'.join(found)}" for name, found in p.versions.items())
    machines = "; ".join(", ".join(f"{k} {v}" for k, v in m.items() if not isinstance(v, (dict, list))) for m in p.machines)
    parts = [f"Commands: {'; '.join(f'`{c}`' for c in p.commands)}."] if p.commands else []
    parts += [
        f"Runs from {p.started[0]} to {p.started[1]}.",
        f"Commit {', '.join(p.commits) or 'unknown'}.",
        f"Versions: {versions}.",
    ]
    return _cell(" ".join([*parts, f"Machine: {machines}."])) if machines else _cell(" ".join(parts))


def _cell(text: object) -> str:
    """Return a text escaped for a Markdown table."""
    plain = "".join(c if c.isprintable() else " " for c in str(text))
    for character in "\\|<>":
        plain = plain.replace(character, "\\" + character)
    return plain

"""The site: static HTML files that load nothing from elsewhere, and work from a folder (`corl report STORE --site FOLDER`)."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corl import registry
from corl.benchmark.reporting.charts import chart
from corl.benchmark.reporting.drawings import solutions_of
from corl.benchmark.reporting.export import runs_csv
from corl.benchmark.reporting.numbers import interval, lost
from corl.benchmark.reporting.page import FILTERS, page, time_axes
from corl.benchmark.reporting.published import NOTE, PublishedResult
from corl.benchmark.reporting.report import Report, build
from corl.benchmark.site.standings import TARGETS, Standings, standings
from corl.errors import UsageError
from corl.files.opening import replacing
from corl.files.page import render
from corl.store import Store

__all__ = ["write_site"]


def write_site(store: Store, folder: Path, published: Sequence[PublishedResult] = (), command: str = "") -> list[Path]:
    """Write the site of a store into a folder, and return the paths of its files.

    index.html has a line for each problem, PROBLEM.html its standings and curves, SUITE.html the full report of a suite, and
    SUITE.csv its runs.

    Args:
        store: The store.
        folder: The folder, which is created if it does not exist.
        published: Results of others, which are shown apart and take no part in any comparison.
        command: The command that makes the site, which the pages show.

    Raises:
        UsageError: The store holds no runs.
    """
    report = build(store, published=published)
    if not report.suites:
        raise UsageError(f"{store.path} holds no runs; run corl bench first")
    definitions = store.suites()
    by_problem: dict[str, list[Standings]] = {}
    for suite in report.suites:
        by_problem.setdefault(suite.problem, []).append(standings(suite, definitions.get(suite.name)))
    generated = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    texts = {"index.html": _page(_index(by_problem, store.path.name), command, generated)}
    for problem, found in by_problem.items():
        texts[f"{_stem(problem)}.html"] = _page(_problem(problem, found), command, generated)
    for suite in report.suites:
        of_suite = Report(report.store, [suite], {}, {})
        texts[f"suite-{_stem(suite.name)}.html"] = page(of_suite, solutions_of(store, [suite]))
        texts[f"suite-{_stem(suite.name)}.csv"] = runs_csv(store.records(suite.name), suite.held)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        with replacing(folder / name) as partial:
            partial.write_text(text, encoding="utf-8", errors="replace")
    return [folder / name for name in texts]


def _page(values: dict[str, Any], command: str, generated: str) -> str:
    shared = {"command": command, "generated": generated, "targets": TARGETS, "interval": interval, "lost": lost}
    filters = {**FILTERS, "stem": _stem}
    return render("corl.benchmark.site", values | shared | {"published_note": NOTE}, filters, "corl.benchmark.reporting")


def _index(by_problem: Mapping[str, Sequence[Standings]], store: str) -> dict[str, Any]:
    """Return the values of the overview."""
    rows = [{"problem": problem, "title": _title(problem), "lead": _lead(found)} for problem, found in by_problem.items()]
    return {"heading": "Arena", "store": store, "rows": rows, "suites": [], "lead": [], "filters": {}}


def _problem(problem: str, found: Sequence[Standings]) -> dict[str, Any]:
    """Return the values of the page of a problem."""
    lines = [line for each in found for line in each.lines]
    filters = {
        "suite": [each.report.name for each in found],
        "limit": list(dict.fromkeys(line.row.limit for line in lines)),
        "solver": list(dict.fromkeys(line.row.solver for line in lines)),
        "whose": list(dict.fromkeys(line.whose for line in lines)),
    }
    suites = [{"standings": each, "report": each.report, "chart": _chart(each)} for each in found]
    return {"heading": _title(problem), "rows": [], "suites": suites, "lead": _lead(found), "filters": filters}


def _lead(found: Sequence[Standings]) -> list[str]:
    """Return where peers are ahead of ours, in sentences; one sentence if they are nowhere, or if there is no peer."""
    ahead, compared = [text for each in found for text in each.ahead], sum(each.compared for each in found)
    if ahead or not compared:
        return ahead or ["No peer has been run: nothing is compared"]
    return [f"No peer is ahead of ours in {compared} comparison{'s' * (compared != 1)}, one for each set, limit and peer"]


def _chart(found: Standings) -> Any:
    if not found.curves:
        return ""
    colours = {solver: number for number, solver in enumerate(found.report.solvers)}
    return chart(
        found.curves, *time_axes(found.curves, found.report.grid.limits[0].per), colours, f"Gap against time, {found.report.name}"
    )


def _title(problem: str) -> str:
    """Return the title of a problem, or its name if it is not installed."""
    try:
        return registry.problem(problem).title or problem
    except UsageError:
        return problem


def _stem(name: str) -> str:
    """Return a name as the stem of a file's name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower() or "unnamed"

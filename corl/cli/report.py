"""`corl report STORE`: show the results of a benchmark."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from corl.errors import UsageError
from corl.files.opening import replacing

if TYPE_CHECKING:
    from corl.store import Store

__all__ = ["arguments", "execute", "published_argument"]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", metavar="STORE", help="a file made by corl bench")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--html", metavar="FILE", type=Path, help="write an HTML page: one file that needs no network")
    kind.add_argument("--markdown", action="store_true", help="print Markdown (default)")
    kind.add_argument("--site", metavar="FOLDER", type=Path, help="write HTML pages: an overview, problems, suites; runs as CSV")
    kind.add_argument("--csv", action="store_true", help="print every run as CSV")
    kind.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--figures", metavar="FOLDER", type=Path, help="also write the charts into this folder, as PNG and SVG")
    published_argument(parser)
    parser.add_argument("--suite", metavar="NAME", help="report only this suite")


def published_argument(parser: argparse.ArgumentParser) -> None:
    """Add the files with results of others, for `corl.benchmark.reporting.published.read_published`."""
    of_others = "show results of others beside the own ones, from CSV or JSON files"
    parser.add_argument("--published", metavar="FILE", type=Path, nargs="+", default=[], help=of_others)


def execute(args: argparse.Namespace) -> int:
    from corl.benchmark.reporting.markdown import report_markdown
    from corl.benchmark.reporting.published import read_published
    from corl.benchmark.reporting.report import build, report_json
    from corl.store import Store

    with Store(args.store) as store:
        if args.site is not None or args.csv:
            return _of_runs(args, store)
        report = build(store, args.suite, read_published(args.published))
        if args.html is not None:
            from corl.benchmark.reporting.drawings import solutions_of
            from corl.benchmark.reporting.page import page

            text = page(report, solutions_of(store, report.suites))
            with replacing(args.html) as partial:
                partial.write_text(text, encoding="utf-8", errors="replace")
    if args.figures is not None:
        from corl.benchmark.reporting.figures import save_figures

        for path in save_figures(report, args.figures):
            print(path, file=sys.stderr)
    if args.html is not None:
        print(args.html)
    else:
        print(report_json(report) if args.json else report_markdown(report), end="\n" if args.json else "")
    return 0


def _of_runs(args: argparse.Namespace, store: Store) -> int:
    """Write the site, or print every run."""
    from corl.benchmark.reporting.export import runs_csv
    from corl.benchmark.reporting.published import read_published
    from corl.benchmark.reporting.report import peers_held
    from corl.benchmark.site.pages import write_site

    if args.suite is not None or args.figures is not None:
        raise UsageError("--site and --csv show all suites of the store; accepted: without --suite and --figures")
    if args.site is not None:
        command = shlex.join(["corl", *sys.argv[1:]])
        print(write_site(store, args.site, read_published(args.published), command)[0])
        return 0
    held = {
        label: why
        for definition in store.suites().values()
        for label, why in peers_held(definition, list(definition.get("solvers", {}))).items()
    }
    print(runs_csv(store.records(), held), end="")
    return 0

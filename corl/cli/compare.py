"""`corl compare STORE A B`: compare two solvers of a benchmark on the same instances and seeds."""

from __future__ import annotations

import argparse

from corl.cli.report import published_argument
from corl.tolerance import TIE

__all__ = ["arguments", "execute"]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", metavar="STORE", help="a file made by corl bench")
    parser.add_argument("a", metavar="A", help="a solver's label in the benchmark")
    parser.add_argument("b", metavar="B", help="another solver's label")
    parser.add_argument("--suite", metavar="NAME", help="the suite; default: the only suite with runs of both solvers")
    parser.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=float,
        help="the time limit to compare at; default: the longest with runs of both solvers",
    )
    parser.add_argument(
        "--tolerance",
        metavar="SHARE",
        type=float,
        default=TIE,
        help="relative difference up to which two objective values are a tie; default %(default)g",
    )
    published_argument(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def execute(args: argparse.Namespace) -> int:
    from corl.benchmark.reporting.duel import duel
    from corl.benchmark.reporting.published import read_published
    from corl.cli.main import one_line
    from corl.files.json_values import to_json
    from corl.store import Store

    with Store(args.store) as store:
        found = duel(store, args.a, args.b, args.suite, args.time_limit, args.tolerance, read_published(args.published))
    print(to_json(found.values()) if args.json else "\n".join(map(one_line, found.lines())))
    return 0

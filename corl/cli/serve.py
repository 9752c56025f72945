"""`corl serve`: solve jobs that clients submit over HTTP."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.serve.limits import Limits

__all__ = ["TOKEN", "add_limits", "arguments", "execute", "limits_of"]

TOKEN = "CORL_TOKEN"
"""The environment variable with the token. A command-line argument would be visible to others on the machine."""


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--host", metavar="ADDRESS", default="127.0.0.1", help="address to listen at; default 127.0.0.1, for this machine alone; "
        f"another one needs a token in the environment variable {TOKEN}")  # fmt: skip
    add("--port", metavar="N", type=int, default=8000, help="port to listen at; default 8000; 0: a free one")
    add("--store", metavar="FILE", type=Path, default=Path("corl-jobs.db"), help="file of jobs and results; default corl-jobs.db")
    add("--jobs", metavar="N", type=int, help="jobs that are solved at a time; default: one for each processor")
    add("--address", metavar="HOST:PORT", default="", help="address of a Ray cluster that solves the jobs; default: this machine")
    add_limits(parser)


def add_limits(parser: argparse.ArgumentParser, names: Collection[str] = ()) -> None:
    """Add the arguments of the limits with these names; none: of all."""
    from corl import options
    from corl.serve.limits import Limits

    for row in options.option_table(Limits):
        if not names or row.name in names:
            flag, help = f"--{row.name.replace('_', '-')}", row.help[0].lower() + row.help[1:-1]
            parser.add_argument(flag, metavar="X", default=row.default, help=f"{help}; default {row.default}")


def limits_of(args: argparse.Namespace) -> Limits:
    """Return the limits of parsed arguments. Raises UsageError."""
    from corl import options
    from corl.serve.limits import Limits

    given = vars(args)
    return options.build(Limits, {row.name: given[row.name] for row in options.option_table(Limits) if row.name in given})


def execute(args: argparse.Namespace) -> int:
    from corl.errors import UsageError
    from corl.serve.server import serve

    if args.jobs is not None and args.jobs < 1:
        raise UsageError(f"--jobs: {args.jobs} is not accepted; it takes an integer from 1 up")
    if not 0 <= args.port < 2**16:
        raise UsageError(f"--port: {args.port} is not accepted; it takes an integer from 0 to 65,535")
    serve(args.host, args.port, args.store, limits_of(args), args.jobs, os.environ.get(TOKEN, ""), args.address)
    return 0

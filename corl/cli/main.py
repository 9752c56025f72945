"""`corl`: parse, dispatch, and turn every expected error into one line and an exit code.

0 feasible or better, 1 internal error, 2 usage, 3 bad input, 4 infeasible or nothing found, 130 interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import signal
import sys
from collections.abc import Sequence

from corl import __version__
from corl.errors import CorlError

__all__ = ["main"]

_COMMANDS = {
    "solve": "solve instance files",
    "check": "evaluate a solution file, independently of any solver",
    "generate": "make a random instance",
    "list": "problems, solvers or shipped instances",
    "plot": "draw an instance or a solution",
    "info": "facts about an instance file",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        args = _parser(arguments).parse_args(arguments)
        with _terminable():
            code: int = args.execute(args)
        sys.stdout.flush()
        return code
    except CorlError as error:
        print(f"corl: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("corl: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output went away (`corl ... | head`)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        print(f"corl: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
        return 3


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser; only the sub-command that is asked for is imported."""
    parser = argparse.ArgumentParser(prog="corl", description="Good solutions to hard combinatorial problems.")
    parser.add_argument("--version", action="version", version=f"corl {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, text in _COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        if name in arguments:
            module = importlib.import_module(f"corl.cli.{name}")
            module.arguments(command)
            command.set_defaults(execute=module.execute)
    return parser


@contextlib.contextmanager
def _terminable():  # type: ignore[no-untyped-def]
    """A batch system's SIGTERM counts as Ctrl-C: the incumbent is kept and written."""
    before = signal.signal(signal.SIGTERM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    sys.exit(main())

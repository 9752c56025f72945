"""`corl`: parse, dispatch, and turn every error into one line and an exit code."""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib
import io
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from corl import __version__
from corl.cli.ending import watched
from corl.errors import CorlError, described, missing_package, shortened

__all__ = ["COMMANDS", "fail", "main", "one_line", "parser_of"]

COMMANDS = {
    "solve": "solve instance files",
    "check": "evaluate a solution file, independently of any solver",
    "generate": "generate a random instance",
    "trace": "turn a PyTorch model into an instance of memory mapping",
    "list": "list problems, solvers, recipes, shipped instances or suites",
    "plot": "draw an instance or a solution",
    "view": "write a web page of an instance or a solution: an interactive picture, tables, the run",
    "doctor": "examine this installation: versions, processors, compiled kernels, missing packages",
    "completion": "print a script with which a shell completes corl's commands and options",
    "warm-up": "compile the kernels of the solvers in advance, once for this machine",
    "info": "print facts about an instance file",
    "schema": "print the JSON schema of a problem's instances or solutions, or of results",
    "train": "train a network by a recipe",
    "bench": "compare solvers over instances, seeds and time limits",
    "report": "show the results in a benchmark's store, as a page, tables or JSON",
    "compare": "compare two solvers of a benchmark",
}

_EPILOG = """exit codes: 0 feasible or optimal, 1 internal error, 2 usage, 3 bad input, 4 infeasible, unbounded or nothing
found, 130 interrupted (the incumbent is written). Set CORL_DEBUG=1 to see the traceback of an error."""

_FULL = (errno.ENOSPC, errno.EFBIG, errno.EIO)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    _open_streams()
    try:
        parser = parser_of(arguments)
        if not arguments:
            parser.print_help(sys.stderr)
            return 2
        args = parser.parse_args(arguments)
        with _terminable(), watched(), _log_shown():
            code: int = args.execute(args)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return fail("interrupted", 130)
    except BrokenPipeError:  # the reader of our output went away (`corl ... | head`)
        _drop_output()
        return 1
    except Exception as error:
        if os.environ.get("CORL_DEBUG"):
            raise
        if isinstance(error, CorlError):
            return fail(str(error), error.exit_code)
        if package := missing_package(error):
            return fail(package, 2)
        if isinstance(error, OSError) and error.filename is not None:
            return fail(f"{os.fsdecode(error.filename)}: {error.strerror}", 2)
        _drop_output()
        if isinstance(error, OSError) and error.errno in _FULL:  # the disk that standard output is written to
            return fail(f"standard output cannot be written: {error.strerror}", 1)
        return fail(f"internal error: {described(error)} (CORL_DEBUG=1 shows where)", 1)


def one_line(text: object) -> str:
    """Return `text` on one line: line ends, control characters and undecodable bytes of file names are escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in str(text))


def fail(message: object, code: int) -> int:
    """Print an error as one line of readable length; return `code`."""
    print(f"corl: {shortened(one_line(message))}", file=sys.stderr)
    return code


def _open_streams() -> None:
    """Replace closed standard streams by empty ones, and escape characters that the terminal lacks."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Discard the buffered standard output, which cannot be written: the interpreter would try again at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        name = self.prog.partition(" ")[2]
        self.exit(fail(f"{name}{': ' if name else ''}{message} ({self.prog} --help)", 2))


class _Help(argparse.Action):
    """--help: the usual text, followed by the result of the command's `more_help` for the arguments before it."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, *given: object) -> None:
        more = self.const(namespace) if self.const else ""
        print(parser.format_help() + more, end="")
        parser.exit()


def parser_of(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser; only the module of the requested sub-command is imported."""
    parser = _Parser(
        prog="corl",
        description="Good solutions to hard combinatorial problems.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"corl {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", add_help=False)
        if name in arguments:
            module = importlib.import_module(f"corl.cli.{name.replace('-', '_')}")
            more = getattr(module, "more_help", None)
            command.add_argument("-h", "--help", action=_Help, nargs=0, const=more, help="show this help message and exit")
            module.arguments(command)
            command.set_defaults(execute=module.execute)
    return parser


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Treat SIGTERM, which batch systems send, as Ctrl-C: the incumbent is kept and written."""

    def handle(number: int, frame: Any) -> None:
        interrupt = signal.getsignal(signal.SIGINT)
        if not callable(interrupt):  # a shell's background job ignores Ctrl-C, but not SIGTERM
            raise KeyboardInterrupt
        interrupt(number, frame)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _log_shown() -> Iterator[None]:
    """Print the package's log on stderr, one line per record: warnings (of a worker that died, say), and compilations."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            kind = "warning: " if record.levelno >= logging.WARNING else ""
            print(f"corl: {kind}{shortened(one_line(record.getMessage()))}", file=sys.stderr)

    handler = Handler(logging.INFO)
    logging.getLogger("corl").addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger("corl").removeHandler(handler)


if __name__ == "__main__":
    sys.exit(main())

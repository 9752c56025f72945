"""`corl`: parse the arguments, call the sub-command, and report every error as one line with an exit code."""

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
    "trace": "make an instance of memory mapping from a PyTorch model",
    "list": "list problems, solvers, recipes, shipped instances or suites",
    "plot": "draw an instance or a solution",
    "view": "write a web page about an instance or a solution: an interactive picture, tables, the run",
    "doctor": "examine this installation: versions, processors, compiled kernels, missing packages",
    "completion": "print a script for a shell, which then completes corl's commands and options",
    "warm-up": "compile the kernels of the solvers in advance, once for this machine",
    "info": "print facts about an instance file",
    "schema": "print the JSON schema of a problem's instances or solutions, or of results",
    "train": "train a network by a recipe, which is a training algorithm with its options",
    "bench": "compare solvers over instances, seeds and time limits",
    "report": "show the results of a benchmark as a web page, tables or JSON",
    "compare": "compare two solvers of a benchmark",
    "tune": "search for better options of a solver for the instances of a folder",
}

_EPILOG = """exit codes: 0 feasible or optimal, 1 internal error, 2 wrong arguments, 3 invalid input, 4 infeasible, unbounded or
no solution found, 130 interrupted (the incumbent is written). Set CORL_DEBUG=1 to see the traceback of an error."""

_DISK_ERRORS = (errno.ENOSPC, errno.EFBIG, errno.EIO)  # disk full, file too large, input/output error


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
    except BrokenPipeError:  # the reader of standard output has ended (`corl ... | head`)
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
        if isinstance(error, OSError) and error.errno in _DISK_ERRORS:  # standard output is a file on this disk
            return fail(f"standard output cannot be written: {error.strerror}", 1)
        return fail(f"internal error: {described(error)} (CORL_DEBUG=1 shows where)", 1)


def one_line(text: object) -> str:
    """Return the text on one line: line ends, control characters and undecodable bytes of file names are escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in str(text))


def fail(message: object, code: int) -> int:
    """Print an error as one line of readable length; return `code`."""
    print(f"corl: {shortened(one_line(message))}", file=sys.stderr)
    return code


def _open_streams() -> None:
    """Replace closed standard streams by the null device; characters that standard output cannot encode are escaped."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Discard the buffered standard output, which cannot be written; otherwise the interpreter would write it again on exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    """A parser that reports each error on one line."""

    def error(self, message: str) -> NoReturn:
        name = self.prog.partition(" ")[2]
        self.exit(fail(f"{name}{': ' if name else ''}{message} ({self.prog} --help)", 2))


class _Help(argparse.Action):
    """--help: prints the usual text and then the text of the command's `more_help`, given the arguments before --help."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, *given: object) -> None:
        more = self.const(namespace) if self.const else ""
        print(parser.format_help() + more, end="")
        parser.exit()


def parser_of(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser; only the modules of sub-commands that occur in `arguments` are imported, to start quickly."""
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
    """Treat SIGTERM, which batch systems send, as Ctrl-C: the incumbent is written before the command ends."""

    def handle(number: int, frame: Any) -> None:
        interrupt = signal.getsignal(signal.SIGINT)
        if not callable(interrupt):  # in the background of a shell, Ctrl-C is ignored, but SIGTERM is not
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
    """Print the log of the package on stderr, one line per record: warnings, and announcements of compilations."""

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

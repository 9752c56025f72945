"""`corl solve FILE...`: solve instance files."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from corl.adapter import Problem
from corl.cli.main import fail, one_line
from corl.cli.option_help import options_text
from corl.errors import CorlError, UsageError, unknown
from corl.files.drawing import check_name
from corl.files.opening import plain_name, replacing
from corl.interruption import interrupt_count, interruptible
from corl.loading import load, name_of
from corl.progress import Progress
from corl.result import Result, relative_gap
from corl.run import Improvement
from corl.termination import LIMITS, STATUSES

__all__ = ["arguments", "execute", "more_help"]

_RESULT_WORDS: dict[str, Mapping[Any, str]] = {
    "status, what is known about the solution": STATUSES,
    "limit, the reason that ended the run": LIMITS,
}
_LINE_EVERY = 1.0  # seconds between two lines of progress if stderr is not a terminal
_SAVE_EVERY = 2.0  # seconds between two copies of the incumbent into --output during the search


def arguments(parser: argparse.ArgumentParser) -> None:
    words = [
        f"{key}:\n" + "\n".join(f"  {word:<12} {text}" for word, text in values.items()) for key, values in _RESULT_WORDS.items()
    ]
    parser.epilog, parser.formatter_class = "\n".join(words), argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add(
        "files",
        nargs="+",
        metavar="FILE",
        help="instance files, whose format is recognised by content, or names of shipped instances: tsp/uniform-500",
    )
    add("--problem", metavar="NAME", help="the problem, if the content does not determine it (corl list problems)")
    add(
        "--solver",
        metavar="NAME",
        default="auto",
        help="a solver (corl list solvers); default: auto, which chooses one by the instance and the limit",
    )
    option_help = "option of the solver; repeatable; FILE --solver NAME --help lists the options"
    add("--option", metavar="KEY=VALUE", action="append", default=[], help=option_help)
    add("--options", metavar="FILE", type=Path, help="option file, as corl tune writes it; --option replaces its values")
    add("--time-limit", metavar="S", type=float, help="seconds of wall-clock time; default 10, or none with --iterations")
    add("--iterations", metavar="N", type=int, help="limit in the solver's own unit; the same seed then gives the same result")
    add("--target", metavar="X", type=float, help="stop at an objective value this good or better")
    patience_help = "stop when there was no better solution or bound for S seconds, after the first solution"
    add("--patience", metavar="S", type=float, help=patience_help)
    add("--seed", metavar="N", type=int, default=0, help="seed of the random numbers; default 0")
    add("--warm-start", metavar="FILE", type=Path, help="a solution to start from: JSON or the problem's own format")
    add(
        "--workers",
        metavar="N",
        type=int,
        default=1,
        help="parallel processes, each with its own seed; at most four per processor; default 1",
    )
    add(
        "--output",
        metavar="FILE",
        type=Path,
        help="solution file to write (.json, or the problem's own format); a folder for several FILEs",
    )
    add(
        "--plot",
        metavar="FILE",
        type=Path,
        help="picture of the solution to write (.png, .svg, .pdf); a folder for several FILEs",
    )
    add(
        "--format",
        metavar="NAME",
        help="another program's format of the solution, written to --output or printed; vehicle routing: vroom",
    )
    add("--json", action="store_true", help="print each result as one line of JSON on stdout")
    add("--progress", action="store_true", help="show progress on stderr even if stderr is not a terminal")


def more_help(args: argparse.Namespace) -> str:
    """Return the options of the solver that is named before --help."""
    if args.solver == "auto":
        return ""
    problem = args.problem or (load(Path(args.files[0]), None)[0].name if args.files else None)
    return options_text("solver", problem, args.solver)


def execute(args: argparse.Namespace) -> int:
    _check_targets(args)
    worst = 0
    for file in args.files:
        try:
            code = _solve_one(Path(file), args)
        except CorlError as error:
            if len(args.files) == 1:
                raise
            code = fail(error, error.exit_code)
        if code == 130:
            return code
        worst = max(worst, code)
    return worst


def _check_targets(args: argparse.Namespace) -> None:
    """Raise UsageError, before a long run, if the results could not be written to --output or --plot."""
    if args.warm_start is not None and len(args.files) > 1:
        raise UsageError("--warm-start: a solution is for one instance; with several FILEs, call corl once for each")
    for target in (args.output, args.plot):
        if target is None:
            continue
        if len(args.files) > 1 and not target.is_dir():
            raise UsageError(f"{target}: with several FILEs, --output and --plot name an existing folder")
        folder = target if target.is_dir() else target.parent
        if not folder.is_dir():
            raise UsageError(f"{target}: there is no folder {folder}")
        if not os.access(folder, os.W_OK):
            raise UsageError(f"{target}: the folder {folder} cannot be written to")
        stems = [plain_name(file).stem for file in args.files]
        if repeated := [stem for k, stem in enumerate(stems) if stem in stems[:k]]:
            raise UsageError(f"{target}: several FILEs are called {repeated[0]!r} and would overwrite each other's results")
    if args.plot is not None and not args.plot.is_dir():
        check_name(args.plot)
    if args.format and args.json and args.output is None:
        raise UsageError("--format and --json both print; accepted: one of them, or --format with --output")


def _solve_one(file: Path, args: argparse.Namespace) -> int:
    from corl.solving import solve

    problem, instance = load(file, args.problem)
    solver_options = _solver_options(args.option)
    if args.format and args.format not in problem.solution_formats:
        raise UsageError(unknown(f"--format: {problem.name} has no format", args.format, problem.solution_formats))
    output = _within(args.output, file, f".{args.format}.json" if args.format else (problem.suffixes or (".json",))[0])
    plot = _within(args.plot, file, ".png")
    if not args.format and output is not None and output.suffix not in (".json", *problem.suffixes):
        raise UsageError(f"{output}: a solution of {problem.name} is written to {', '.join([*problem.suffixes, '.json'])}")
    keeper = _Keeper(problem, instance, None if args.format else output)
    shown = args.progress or sys.stderr.isatty()
    output_guard, before = _Output(), interrupt_count()
    incumbent = _Incumbent(one_line(name_of(instance)), args.time_limit)
    with interruptible(output_guard):
        with _stdout_reserved(), Progress(incumbent.line, shown=shown, every=_LINE_EVERY, ending=True) as progress:

            def follow(news: Improvement) -> None:
                output_guard.begun = True
                incumbent.update(news)
                progress.update()
                keeper.update(news)

            result = solve(
                instance,
                problem=problem.name,
                solver=args.solver,
                time_limit=args.time_limit,
                iterations=args.iterations,
                target=args.target,
                patience=args.patience,
                seed=args.seed,
                workers=args.workers,
                warm_start=args.warm_start,
                on_improvement=follow,
                options=args.options,
                **solver_options,
            )
            output_guard.begun = True
        output_guard.write_all(result, args, output, plot)
    if result.limit == "interrupted" or interrupt_count() > before:
        return 130
    return 0 if result.status in ("optimal", "feasible") else 4


def _solver_options(pairs: list[str]) -> dict[str, str]:
    """Return the solver's options given as KEY=VALUE. Raises UsageError for a KEY that is an argument of `corl.solve`."""
    from inspect import signature

    from corl import options
    from corl.solving import solve

    given = options.parse_pairs(pairs)
    if clash := sorted(set(given) & set(signature(solve).parameters)):
        raise UsageError(f"--option {clash[0]}: not an option of a solver; use --{clash[0].replace('_', '-')}")
    return given


@contextlib.contextmanager
def _stdout_reserved() -> Iterator[None]:
    """Redirect what a solver or an engine prints to standard error; standard output is for results only."""
    sys.stdout.flush()
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(stdout, 1)
        os.close(stdout)


class _Output:
    """The printing and writing of a result, which the first Ctrl-C does not interrupt, but the second one does."""

    begun = interrupted = False  # begun: there is a solution, so that Ctrl-C must not end the command before the output

    def interrupt(self) -> None:
        if not self.begun:
            raise KeyboardInterrupt
        self.interrupted = True

    def write_all(self, result: Result, args: argparse.Namespace, output: Path | None, plot: Path | None) -> None:
        """Print the result, then write the solution file and the picture; if one step fails, the next ones are still done."""
        with contextlib.ExitStack() as later:
            for path, write in ((plot, result.plot), (output, partial(result.write, form=args.format or ""))):
                if path is not None and result.solution is not None:
                    later.callback(self._write, path, write, announced=not args.json)
            if args.format and output is None and result.solution is not None:
                print(result.solution_text(args.format), end="", flush=True)
            else:
                print(result.to_json() if args.json else _text(result, args.solver), flush=True)

    @staticmethod
    def _write(path: Path, write: Callable[[Path], object], *, announced: bool) -> None:
        write(path)
        if announced:
            print(f"  written    {one_line(path)}", flush=True)


class _Incumbent:
    """The line of progress: the latest improvement of a run."""

    def __init__(self, name: str, time_limit: float | None) -> None:
        self.name, self.limit = name, f" of {time_limit:g}" if time_limit else ""
        self.news: Improvement | None = None
        self.begun = 0.0

    def update(self, news: Improvement) -> None:
        self.begun, self.news = time.perf_counter() - news.runtime, news

    def line(self) -> str:
        from corl.formatting import percent, value

        if (news := self.news) is None:
            return f"{self.name}  preparing"
        elapsed, gap = time.perf_counter() - self.begun, percent(relative_gap(news.objective, news.bound))
        incumbent = f"incumbent {value(news.objective)}  bound {value(news.bound)}  gap {gap}"
        return f"{self.name}  {elapsed:.1f}{self.limit} s  {incumbent}"


class _Keeper:
    """Copies the incumbent into --output now and then, if its format is the problem's own, in case the process is killed."""

    def __init__(self, problem: Problem, instance: Any, output: Path | None) -> None:
        self.problem, self.instance = problem, instance
        self.output = output if output is not None and output.suffix != ".json" else None
        self.due = time.monotonic() + _SAVE_EVERY

    def update(self, news: Improvement) -> None:
        before = time.monotonic()
        if self.output is None or news.solution is None or before < self.due:
            return
        with contextlib.suppress(OSError), replacing(self.output) as unfinished:  # the disk may be full now and not at the end
            self.problem.write_solution(self.instance, news.solution, unfinished)
        after = time.monotonic()
        self.due = after + max(_SAVE_EVERY, 50 * (after - before))  # writing takes at most 2 % of the time


def _within(target: Path | None, file: Path, suffix: str) -> Path | None:
    """Return `target`; if it is a folder, a file in it that has the name of the instance file and the suffix."""
    return target / (plain_name(file).stem + suffix) if target is not None and target.is_dir() else target


def _text(result: Result, requested: str) -> str:
    """Return the printed form of a result; `requested`: the value of --solver."""
    from corl.formatting import percent, value

    name = f"{result.solver} (chosen by {requested})" if result.solver != requested else result.solver
    lines = [f"{one_line(result.instance)}  {result.problem}"]
    if result.status == "unbounded":
        lines.append("  unbounded  there is no best solution: solutions improve without limit")
    if result.objective is not None:
        lines.append(f"  objective  {value(result.objective)}  {result.status.replace('unbounded', 'feasible')}, verified")
    elif result.status != "unbounded":
        lines.append(one_line(f"  {result.status.replace('_', ' ')}{': ' if result.reason else ''}{result.reason}"))
    if result.tolerated:
        lines.append(one_line(f"  tolerated  {result.tolerated}"))
    if result.discarded:
        lines.append(one_line(f"  discarded  {result.discarded}, first: {result.reason}"))
    if result.bound is not None:
        lines.append(f"  bound      {value(result.bound)}  gap {percent(result.gap)}")
    lines.append(f"  solver     {name}, seed {result.seed}")
    lines.append(f"  time       {result.runtime:.2f} s ({result.limit}), setup {result.setup_seconds:.2f} s")
    return "\n".join(lines)

"""`corl tune PROBLEM SOLVER --instances FOLDER`: search for better options of a solver for the instances of a folder."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from corl.cli.main import one_line
from corl.cli.option_help import options_text
from corl.errors import UsageError
from corl.formatting import percent
from corl.progress import Progress

if TYPE_CHECKING:
    from corl.record import Record
    from corl.tuning.tuner import Tuning

__all__ = ["arguments", "execute", "more_help"]

_LINE_EVERY = 10.0  # seconds between two lines of progress if stderr is not a terminal


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("problem", metavar="PROBLEM", help="a problem (corl list problems)")
    add("solver", metavar="SOLVER", help="a solver (corl list solvers)")
    add("--instances", metavar="FOLDER", required=True, help="folder with at least ten instance files")
    add("--time-limit", metavar="S", type=float, help="seconds of a run")
    add("--iterations", metavar="N", type=int, help="iterations of a run, in the solver's own unit, instead of --time-limit")
    add("--budget", metavar="TIME", required=True, help="processor time of all runs: 90s, 30m, 2h")
    add(
        "--objective",
        choices=["final", "anytime"],
        default="final",
        help="what is minimised: the gap at the end of a run, or the area under the gap over log time; default final",
    )
    add("--sampler", choices=["tpe", "random"], default="tpe", help="what draws candidates (Optuna); default tpe")
    add("--tune", metavar="A,B", default="", help="options to search; default: all that declare a range")
    range_help = "range of an option to search, LOW:HIGH or A,B,C, instead of the declared one; repeatable"
    add("--range", metavar="KEY=RANGE", action="append", default=[], help=range_help)
    add("--option", metavar="KEY=VALUE", action="append", default=[], help="option of the solver that is fixed; repeatable")
    add(
        "--reference", metavar="FILE", help="best known values, as in a suite; default: reference.csv in the folder, if it exists"
    )
    add("--seed", metavar="N", type=int, default=0, help="seed of the candidates; default 0")
    add("--jobs", metavar="N", type=int, default=1, help="runs at a time, each on its own processor; default 1")
    add("--store", metavar="FILE", type=Path, help="file of the runs; default, in the current folder: PROBLEM-SOLVER-tuning.db")
    add("--output", metavar="FILE", type=Path, help="option file to write if there is a gain; default PROBLEM-SOLVER.toml")
    add("--page", metavar="FILE", type=Path, help="web page that shows the tuning while it runs; default: STORE.html")
    add("--progress", action="store_true", help="show progress on stderr even if stderr is not a terminal")


def more_help(args: argparse.Namespace) -> str:
    """Return the options of the solver that is named before --help."""
    return options_text("solver", args.problem, args.solver) if args.solver else ""


def execute(args: argparse.Namespace) -> int:
    from corl import options
    from corl.arguments import duration
    from corl.tuning.page import write_page
    from corl.tuning.space import parse_ranges
    from corl.tuning.tuner import tune

    store = args.store or Path(f"{args.problem}-{args.solver}-tuning.db")
    output, page = args.output or Path(f"{args.problem}-{args.solver}.toml"), args.page or store.with_suffix(".html")
    for path in (store, output, page):
        if not path.parent.is_dir():
            raise UsageError(f"{path}: there is no folder {path.parent}")
    budget = duration("--budget", args.budget)
    state: Tuning | None = None
    done = 0

    def line() -> str:
        return f"{args.problem} {args.solver}  {'preparing' if state is None else f'{_state(state)}  {done} new runs'}"

    def fraction() -> float:
        return 0.0 if state is None else min(1.0, state.spent / budget)

    def follow(tuning: Tuning) -> None:
        nonlocal state
        if state is None:
            for note in _beginning(tuning):
                progress.say(note)
        state = tuning
        write_page(tuning, page)
        progress.update()

    def count(record: Record) -> None:
        nonlocal done
        done += 1
        progress.update()

    shown = args.progress or sys.stderr.isatty()
    with Progress(line, shown=shown, every=_LINE_EVERY, fraction=fraction) as progress:
        tuning = tune(
            args.problem,
            args.solver,
            instances=args.instances,
            budget=budget,
            time_limit=args.time_limit,
            iterations=args.iterations,
            objective=args.objective,
            sampler=args.sampler,
            seed=args.seed,
            jobs=args.jobs,
            tuned=[name.strip().replace("-", "_") for name in args.tune.split(",") if name.strip()],
            ranges=parse_ranges(args.range),
            reference=args.reference,
            store=store,
            output=output,
            command=shlex.join(["corl", *sys.argv[1:]]),
            on_progress=follow,
            on_run=count,
            **options.parse_pairs(args.option),
        )
    print(_text(tuning, output, page))
    return 130 if tuning.phase == "interrupted" else 0


def _beginning(tuning: Tuning) -> list[str]:
    """Return what is tuned on what, in lines for stderr."""
    found = tuning.instances
    lines = [f"{each.name}: {each}" for each in tuning.dimensions]
    if tuning.skipped:
        lines.append(f"not searched, as they declare no range (--range KEY=LOW:HIGH): {', '.join(tuning.skipped)}")
    lines.append(f"{len(found.train)} instances to race on, {len(found.choose)} to choose on, {len(found.judge)} kept apart")
    if found.ignored:
        lines.append(f"no instances of {tuning.problem}: {', '.join(found.ignored)}")
    return lines


def _state(tuning: Tuning) -> str:
    best = min((value for _, _, value in tuning.candidates), default=0.0)
    parts = [tuning.phase, f"{tuning.spent:,.0f} of {tuning.settings.budget:,.0f} s", f"{len(tuning.candidates) - 1} candidates"]
    return "  ".join([*parts, f"best {percent(best)} from the defaults"])


def _text(tuning: Tuning, output: Path, page: Path) -> str:
    """Return the text printed at the end."""
    lines = [f"{tuning.problem}  {tuning.solver}  {tuning.sentence}"]
    if tuning.phase == "interrupted" and tuning.best:
        lines.append(f"  best so far  {_pairs(tuning.best[0].options)}")
    if tuning.verdict is not None:
        low, high = tuning.verdict.difference.low, tuning.verdict.difference.high
        interval = "" if low is None else f" [{percent(low)}, {percent(high)}]"
        lines.append(f"  difference   {percent(tuning.verdict.difference.value)}{interval} of the objective value")
        lines.append(f"  reference    {tuning.verdict.reference}")
    if tuning.tuned is not None:
        lines.append(f"  options      {_pairs(tuning.tuned)}")
    lines += [f"  effect       {effect}" for effect in tuning.effects]
    lines += [f"  note         {note}" for note in tuning.notes]
    lines.append(f"  spent        {tuning.spent:,.0f} of {tuning.settings.budget:,.0f} processor seconds, {tuning.store}")
    lines.append(f"  page         {page}")
    if tuning.tuned is not None:
        lines += [f"  written      {output}", f"  next         corl solve FILE --options {shlex.quote(str(output))}"]
    return "\n".join(map(one_line, lines))


def _pairs(given: object) -> str:
    return " ".join(f"{name}={value}" for name, value in dict(given).items())  # type: ignore[call-overload]

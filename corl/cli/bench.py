"""`corl bench SUITE`: run a benchmark, and store each run in a file when it ends."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from corl.cli.main import one_line
from corl.errors import Infeasible, UsageError, unknown

if TYPE_CHECKING:
    from corl.benchmark.running.suite import Suite
    from corl.benchmark.running.supervisor import Supervisor

__all__ = ["arguments", "execute"]


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("suite", metavar="SUITE", nargs="?", help="a TOML file, or a shipped suite such as tsp/smoke")
    add("--solvers", metavar="A,B", help="labels of solvers in the suite, or names of other solvers; default: the suite's")
    add("--options", metavar="FILE", type=Path, help="option file of a further solver, as corl tune writes it; its label: FILE")
    add("--time-limits", metavar="S,S", help="time limits in seconds; default: the suite's")
    add("--seeds", metavar="N", type=int, help="number of seeds; default: the suite's")
    add("--sample", metavar="K", type=int, help="only K instances, in proportion to the groups; a larger K adds to a smaller one")
    add("--budget", metavar="TIME", help="only as many instances, in the order of --sample, as this time allows: 90m, 8h, ...")
    add(
        "--jobs",
        metavar="N",
        type=int,
        help="runs at a time, each on its own processors; default 1, or one per processor of the Ray cluster",
    )
    add(
        "--store",
        metavar="FILE",
        type=Path,
        help="file for finished runs; default, in the current folder: tsp-smoke.db for tsp/smoke, mine.db for mine.toml",
    )
    add("--resume", action="store_true", help="continue: do only the runs that the store does not have yet")
    add(
        "--export",
        metavar="FILE",
        nargs="?",
        const="",
        help="write the main results as CSV; without FILE, into the folder results beside the suite",
    )
    add(
        "--executor",
        choices=["local", "ray"],
        default="local",
        help="where runs are executed: on this machine or on a Ray cluster (needs the package ray)",
    )
    add("--peers", metavar="FOLDER", type=Path, help="also run the programs that the TOML files in this folder describe")
    add("--verify", action="store_true", help="with --peers, instead of SUITE: run each peer on its published instances")
    add("--address", metavar="HOST:PORT", help="address of the Ray cluster; default: the cluster that Ray finds")


def execute(args: argparse.Namespace) -> int:
    solvers = None if args.solvers is None else [name.strip() for name in args.solvers.split(",") if name.strip()]
    if solvers == []:
        raise UsageError(f"--solvers: {args.solvers!r} is not accepted; it takes names, separated by commas")
    if args.verify:
        return _verify(args, solvers)
    if args.suite is None:
        raise UsageError("SUITE is missing; accepted: a TOML file, a shipped suite (corl list suites); --peers FOLDER --verify")
    return _bench(args, solvers)


def _verify(args: argparse.Namespace, names: list[str] | None) -> int:
    """Run peers on their published instances; return the exit code: that of Infeasible if one of them does not count as held."""
    from corl.benchmark.peers.definition import read_peers
    from corl.benchmark.peers.verification import FILE, verify

    if args.peers is None or args.suite is not None:
        raise UsageError("--verify: accepted: --peers FOLDER --verify, without SUITE")
    peers = read_peers(args.peers)
    for name in names or []:
        if name not in peers:
            raise UsageError(unknown("--solvers: no peer is called", name, peers))
    found = verify({name: peers[name] for name in names or peers}, args.peers, lambda text: print(one_line(text), flush=True))
    print(f"stored in {args.peers / FILE}")
    return Infeasible.exit_code if any(found.values()) else 0


def _with_peers(suite: Suite, folder: Path, solvers: list[str] | None) -> Suite:
    """Return the suite with the peers in a folder. Raises UsageError if one of the wanted ones cannot be run."""
    from corl.benchmark.peers.definition import read_peers
    from corl.benchmark.peers.verification import held

    peers = read_peers(folder)
    for name in solvers or []:
        if name in peers and peers[name].solver.problem == suite.problem.name and (reason := peers[name].unavailable):
            raise UsageError(f"--solvers: {name} cannot be run: {reason}")
    return suite.with_peers(peers, held(peers, folder))


def _suite(args: argparse.Namespace, solvers: list[str] | None) -> Suite:
    """Return the suite with the changes that the command line asks for."""
    from corl.benchmark.running.suite import read_suite

    for name, count in (("--seeds", args.seeds), ("--sample", args.sample)):
        if count is not None and count < 1:
            raise UsageError(f"{name}: {count} is not accepted; it takes an integer from 1 up")
    suite = read_suite(args.suite)
    if args.peers is not None:
        suite = _with_peers(suite, args.peers, solvers)
    suite = suite if args.options is None else suite.with_option_file(args.options)
    suite = suite.with_changes(solvers, _seconds(args.time_limits), args.seeds)
    return suite if args.sample is None and args.budget is None else suite.sampled(args.sample)


def _bench(args: argparse.Namespace, solvers: list[str] | None) -> int:
    from corl.arguments import duration
    from corl.benchmark.reporting.export import export
    from corl.benchmark.reporting.notes import disturbed
    from corl.benchmark.running.board import Board
    from corl.benchmark.running.budget import Pace, affordable
    from corl.benchmark.running.runner import missing, run_suite
    from corl.store import Store

    suite = _suite(args, solvers)
    budget = None if args.budget is None else duration("--budget", args.budget)
    path = args.store or Path(suite.store)
    target = None
    if args.export is not None:
        target = Path(args.export) if args.export else suite.file.parent / "results" / f"{suite.file.stem}.csv"
        if target.is_dir():
            raise UsageError(f"--export: {target} is a folder; it takes a file")
    with Store(path, create=True) as store:
        todo = missing(suite, store, resume=args.resume)
        supervisor = _supervisor(args)
        board = Board(Pace(store.records(suite.name)), supervisor.jobs)
        with board.progress as progress:
            for notice in (*suite.notices, *(f"{each.label}: {each.held}" for each in suite.lineups if each.held)):
                progress.say(f"note: {notice}")
            try:
                if budget is not None:
                    every, todo = todo, affordable(todo, budget, board.pace, supervisor.jobs)
                    progress.say(f"within {args.budget}: {len(todo):,} of {len(every):,} runs; {board.expected(every)} for all")
                run_suite(suite, todo, store, supervisor, board.listener, _command())
            except KeyboardInterrupt:
                progress.say(f"interrupted; {_runs(board.outcomes)} stored in {path}; continue with --resume")
                return 130
            finally:
                supervisor.close()
        if target is not None:
            export(store, suite.name, target)
        warnings = disturbed(store.records(suite.name))
    print(_summary(board.outcomes, path, target, warnings))
    return 0


def _supervisor(args: argparse.Namespace) -> Supervisor:
    from corl.benchmark.running.supervisor import Supervisor

    if args.jobs is not None and args.jobs < 1:
        raise UsageError(f"--jobs: {args.jobs} is not accepted; it takes an integer from 1 up")
    if args.executor == "ray":
        return Supervisor.on_ray(args.address, args.jobs)
    if args.address is not None:
        raise UsageError("--address is for --executor ray")
    return Supervisor.here(args.jobs or 1)


def _seconds(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(0 < value < float("inf") for value in values):
        raise UsageError(f"--time-limits: {text!r} is not accepted; it takes seconds above 0, separated by commas")
    return values


def _command() -> str:
    return shlex.join(["corl", *sys.argv[1:]])


def _runs(outcomes: Counter[str]) -> str:
    count = sum(outcomes.values())
    return f"{count} run{'s' * (count != 1)}"


def _summary(outcomes: Counter[str], path: Path, target: Path | None, warnings: Sequence[str]) -> str:
    """Return the text printed at the end: the outcomes of the runs, the files written, warnings, and the next command."""
    counts = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.most_common())
    lines = [f"{_runs(outcomes)}{': ' + counts if counts else ''}", f"  stored     {path}"]
    lines += [f"  exported   {target}"] if target is not None else []
    lines += [f"  warning    {warning}" for warning in warnings]
    return "\n".join([*lines, f"  next       corl report {shlex.quote(str(path))}"])

"""Learned branching against SCIP's defaults, as users run them: `python tests/studies/milp_defaults.py run FAMILY`, `... table`.

Families, sizes, parts and seeds are in milp_defaults.toml. Every solve is a process of its own that does what `corl solve FILE`
does; its seconds are all processor seconds of that process: Python, imports, reading the file, loading weights, the whole solve,
and the judge. Kernels are compiled before: each solver first solves a training program for 5 s. Run it on an idle core.

run: solve the programs of a part with each solver and SCIP seed, and append a line for each to a CSV file. Solvers take turns.
    What the file has is not done again, so that a killed run is continued by the same command.
table: for each family and solver, ratios of shifted geometric means (shifts 1 s, 10 nodes, 1,000 iterations) to `scip` with the
    same seeds, with 95 % intervals over programs, and whether `auto` should take the solver. Runs that reached the limit count
    with the seconds that they took. All optima of a program must be equal.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from milp_comparison import check_optima, compare
from milp_unseen import table

from corl.problems.milp.generators import GENERATORS
from corl.problems.milp.instance import MilpInstance
from corl.problems.milp.problem import Milp

__all__ = ["LIMIT", "SPLIT", "main", "measured", "program", "tables"]

SPLIT = tomllib.loads(Path(__file__).with_name("milp_defaults.toml").read_text())
_SOLVE = Path(__file__).with_name("milp_one_solve.py")
LIMIT = 600.0  # seconds of wall-clock time for one solve
_WORTH = 0.85  # `auto` takes a solver whose ratio is below this number and whose interval is below 1


def program(family: str, part: str, number: int) -> MilpInstance:
    """Return the program with this number, from 0, of a part of a family."""
    made: MilpInstance = GENERATORS[family](**SPLIT["families"][family], seed=SPLIT["first"][part] + number)
    return made


def measured(solver: str, instance: MilpInstance, seed: int, time_limit: float | None) -> dict[str, Any]:
    """Solve a program in a process of its own; return the columns of milp_comparison.FIELDS from "status" on.

    Args:
        solver: NAME[:KEY=VALUE...].
        instance: The program.
        seed: SCIP's seed.
        time_limit: Seconds of wall-clock time; None: the default of the command.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{instance.name}.mps"
        Milp().write(instance, path)
        limit = str(LIMIT if time_limit is None else time_limit)
        words = [sys.executable, "-P", str(_SOLVE), str(path), solver, str(seed), limit]
        found: dict[str, Any] = json.loads(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout)
        return found


def _run(given: argparse.Namespace) -> None:
    if given.core is not None:
        os.sched_setaffinity(0, {given.core})
    programs, seeds = (SPLIT[key][given.part] for key in ("programs", "seeds"))
    solvers = {text: text for text in given.solvers.split(",")}
    for text in solvers:
        measured(text, program(given.family, "train", 0), 0, 5.0)
    numbers = range(given.programs or programs)
    compare(
        given.output, given.family, solvers, numbers, range(given.seeds or seeds), given.time_limit,
        lambda number: program(given.family, given.part, number), measured,
    )  # fmt: skip


def tables(rows: list[dict[str, str]], limit: float) -> list[dict[str, Any]]:
    """Return a line for each family and solver, as `milp_unseen.table` with `scip` as its base, and "auto", "yes" or "no".

    Raises SolverError if two proven optima of a program differ.
    """
    lines = []
    for family in dict.fromkeys(row["family"] for row in rows):
        mine = [row for row in rows if row["family"] == family]
        for instance in dict.fromkeys(row["instance"] for row in mine):
            proven = [row for row in mine if row["instance"] == instance and row["status"] == "optimal"]
            check_optima([{str(k): row for k, row in enumerate(proven)}])
        for line in table(mine, limit):
            high = line["seconds_high"]
            worth = high is not None and line["seconds"] < _WORTH and high < 1.0
            lines.append({"family": family, **line, "auto": "yes" if worth else "no"})
    return lines


def _table(given: argparse.Namespace) -> None:
    rows: list[dict[str, str]] = []
    for path in given.files:
        with path.open(newline="") as file:
            rows += csv.DictReader(file)
    lines = tables(rows, given.time_limit)
    writer = csv.DictWriter(sys.stdout, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)


def main(words: Sequence[str] | None = None) -> None:
    """The command above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="whole solves")
    run.set_defaults(call=_run)
    run.add_argument("family", choices=list(SPLIT["families"]))
    run.add_argument("--part", choices=("choose", "judge"), default="judge")
    run.add_argument("--solvers", default="scip,learned-branching", help="NAME[:KEY=VALUE...],...; policy=FILE is an option")
    run.add_argument("--programs", type=int, default=None, help="only the first ones of the part")
    run.add_argument("--seeds", type=int, default=None, help="SCIP's seeds, if not those of the part")
    run.add_argument("--time-limit", type=float, default=LIMIT, help=f"wall-clock seconds of a solve; default {LIMIT:g}")
    run.add_argument("--core", type=int, default=None, help="the only core to use")
    run.add_argument("--output", type=Path, required=True, help="CSV file; what is in it is not done again")
    tabled = commands.add_parser("table", help="ratios to scip, of files of run")
    tabled.set_defaults(call=_table)
    tabled.add_argument("files", nargs="+", type=Path)
    tabled.add_argument("--time-limit", type=float, default=LIMIT, help="of these runs")
    given = parser.parse_args(words)
    given.call(given)


if __name__ == "__main__":
    main()

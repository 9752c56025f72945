"""Branching rules on programs that nothing was trained on: `python tests/studies/milp_unseen.py parts`, `... run`, `... table`.

The programs are public files of MIPLIB and of solvers' own checks (instances/milp/results/README.md says where each set came
from); they are not in this repository. A folder of theirs holds NAME.mps or NAME.mps.gz. `part` says by a hash of the name which
of three parts a program is in: weights come from `train`, options are chosen on `choose`, `judge` is run once.

parts: which part each program of a folder, or each name of a CSV file of `run`, is in.
run: whole solves by several solvers on the programs of a part, appended to a CSV file that a later call goes on with. Seed k
    permutes a program's rows and columns and is SCIP's random seed as well, so that SCIP under other seeds is the control.
table: means over programs beside `scip` with the same seeds, with 95 % intervals over programs; what reaches its limit counts as
    ten times the limit (PAR10) or as the limit (shifted geometric mean).
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from milp_comparison import FIELDS, solve_timed
from milp_rules import solver_of
from run_table import RunTable, rows_of

from corl.problems.milp.instance import MilpInstance
from corl.problems.milp.problem import Milp
from corl.statistics import resampled_mean

__all__ = ["group", "main", "part", "program_name", "read", "table"]

PARTS = ("train", "choose", "judge")
ENDED = ("optimal", "infeasible", "unbounded", "inforunbd", "gaplimit")
SHIFTS = {"seconds": 1.0, "par10": 1.0, "nodes": 10.0, "iterations": 1000.0}
EARLIER = frozenset([
    "bell3a", "bell5", "dcmulti", "egout", "enigma", "fixnet6", "flugpl", "gen", "gesa2", "gesa2_o", "gesa3", "lseu", "misc03",
    "misc06", "modglob", "p0033", "p0201", "p0282", "p0548", "pp08a", "qnet1", "rgn", "set1ch", "stein27", "vpm1", "10teams",
    "danoint", "markshare1", "mas74", "noswot",
])  # fmt: skip
"""Programs that an earlier rule was chosen on or beside; never in `judge`."""
_COLLECTIONS = frozenset(("neos", "ns", "supportcase", "p", "bnd", "obj", "rhs", "mat", "issue", ""))
"""What many programs of different kinds are called; any other beginning of letters is a family's."""


def program_name(path: Path) -> str:
    """NAME of NAME.mps or NAME.mps.gz."""
    return path.name.removesuffix(".gz").removesuffix(".mps")


def group(name: str) -> str:
    """The family of a program: the letters that its name begins with, so that siblings (vpm1, vpm2) are in one part."""
    letters = name[: next((k for k, c in enumerate(name) if not c.isalpha()), len(name))].lower()
    return name if letters in _COLLECTIONS else letters


def part(name: str) -> str:
    """`train`, `choose` or `judge`: a third each, families of EARLIER, a quarter of all, being shared out among the first two."""
    digest = hashlib.sha256(group(name).encode()).digest()
    if any(group(name) == group(one) for one in EARLIER):
        return PARTS[digest[1] % 2]
    return "judge" if digest[0] < 115 else PARTS[digest[1] % 2]


def read(path: Path) -> MilpInstance:
    """The program, under its file's name."""
    return replace(Milp().read(path), name=program_name(path))


def _programs(folder: Path, wanted: Sequence[str]) -> list[Path]:
    """Of the parts `wanted`, smallest files first."""
    found = [path for path in folder.glob("*.mps*") if part(program_name(path)) in wanted]
    return sorted(found, key=lambda path: (path.stat().st_size, path.name))


def _solver(text: str) -> tuple[Any, dict[str, Any]]:
    """NAME[:KEY=VALUE...][+PARAMETER=VALUE...]: a solver, and parameters of SCIP's reliability branching beside its own."""
    name, *given = text.split("+")
    parameters: dict[str, Any] = {}
    for key, value in (one.split("=", 1) for one in given):
        parameters[f"branching/relpscost/{key}"] = value == "true" if value in ("true", "false") else float(value)
    return solver_of(name), parameters


def _permuted(seed: int) -> dict[str, Any]:
    return {"randomization/permutationseed": seed, "randomization/permutevars": True}


def _run(given: argparse.Namespace) -> None:
    solvers = {text: _solver(text) for text in given.solvers.split(",")}
    only = {row["instance"] for row in rows_of(given.only)} if given.only else None
    table, ends = RunTable(given.output, FIELDS, ("instance", "seed", "solver")), time.monotonic() + given.stop
    for path in _programs(given.folder, given.part.split(",")):
        name = program_name(path)
        tasks = [(seed, text) for seed in range(given.first, given.first + given.seeds) for text in solvers]
        tasks = [(seed, text) for seed, text in tasks if not table.has(name, seed, text)]
        if not tasks or (only is not None and name not in only):
            continue
        instance = read(path)
        for seed, text in tasks:
            if time.monotonic() > ends:
                return
            solver, parameters = solvers[text]
            row = solve_timed(solver, instance, seed, given.time_limit, parameters | _permuted(seed))
            table.append({"family": part(name), "instance": name, "seed": seed, "solver": text} | row)


def _parts(given: argparse.Namespace) -> None:
    names = sorted({row["instance"] for row in rows_of(given.names)})
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["instance", "part"])
    writer.writerows([name, part(name)] for name in names)


class _Runs:
    """Of one solver on one program, over seeds: each row of a CSV file that `_run` wrote."""

    def __init__(self, rows: list[dict[str, str]], limit: float) -> None:
        self.ended = np.array([row["status"] in ENDED for row in rows])
        self.seconds = np.array([float(row["seconds"]) for row in rows])
        self.par10 = np.where(self.ended, self.seconds, 10.0 * limit)
        self.nodes = np.array([float(row["nodes"]) for row in rows])
        self.iterations = np.array([float(row["lp_iterations"]) + float(row["strong_iterations"]) for row in rows])

    def log(self, measure: str) -> float:
        """Mean log of a measure + its shift."""
        return float(np.log(getattr(self, measure) + SHIFTS[measure]).mean())


def table(rows: list[dict[str, str]], limit: float, base: str = "scip") -> list[dict[str, Any]]:
    """A line for each solver beside `base`: means over the programs that both have, of the same seeds.

    `seconds`, `par10`, `nodes`, `iterations` are ratios of shifted geometric means, with `_low` and `_high`, 95 % over programs;
    `seconds` counts a run that reached the limit as it is, `par10` as ten times the limit, and `par10_mean` / `par10_base` are
    plain means of these. `outside` counts programs whose mean over seeds is beyond all of the base's own runs.
    """
    cells: dict[str, dict[str, list[dict[str, str]]]] = {}
    for row in rows:
        cells.setdefault(row["solver"], {}).setdefault(row["instance"], []).append(row)
    lines = []
    for solver in sorted(cells, key=lambda name: (name != base, name)):
        programs = sorted(set(cells[solver]) & set(cells[base]))
        mine, theirs = ({name: _Runs(cells[one][name], limit) for name in programs} for one in (solver, base))
        seeds = {name: {row["seed"] for row in cells[solver][name]} for name in programs}
        paired = {name: _Runs([r for r in cells[base][name] if r["seed"] in seeds[name]], limit) for name in programs}
        line: dict[str, Any] = {"solver": solver, "programs": len(programs), "runs": sum(len(mine[n].ended) for n in programs)}
        line["unsolved"], line["unsolved_base"] = (int(sum((~one[n].ended).sum() for n in programs)) for one in (mine, paired))
        for measure in SHIFTS:
            found = resampled_mean([mine[n].log(measure) - paired[n].log(measure) for n in programs])
            for key, value in (("", found.value), ("_low", found.low), ("_high", found.high)):
                line[measure + key] = None if value is None else round(math.exp(value), 3)
        for key, one in (("par10_mean", mine), ("par10_base", paired)):
            line[key] = round(float(np.mean([one[n].par10.mean() for n in programs])), 2)
        beyond = [n for n in programs if mine[n].log("par10") > math.log(theirs[n].par10.max() + SHIFTS["par10"])]
        ratios = {n: math.exp(mine[n].log("par10") - theirs[n].log("par10")) for n in programs}
        worst = max(programs, key=lambda n: ratios[n])
        lines.append(line | {"outside": len(beyond), "worst": worst, "worst_ratio": round(ratios[worst], 2)})
    return lines


def _table(given: argparse.Namespace) -> None:
    lines = table([row for path in given.files for row in rows_of(path)], given.time_limit, given.base)
    writer = csv.DictWriter(sys.stdout, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)


def main() -> None:
    """The command above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    parts = commands.add_parser("parts", help="of the programs of a CSV file")
    parts.set_defaults(run=_parts)
    parts.add_argument("names", type=Path)
    run = commands.add_parser("run", help="whole solves")
    run.set_defaults(run=_run)
    run.add_argument("folder", type=Path, help="with NAME.mps or NAME.mps.gz")
    run.add_argument("--part", default="judge", help=f"of {', '.join(PARTS)}, with commas")
    run.add_argument("--solvers", default="scip", help="NAME[:KEY=VALUE...][+PARAMETER=VALUE...],...")
    run.add_argument("--first", type=int, default=1, help="first seed; 0 is that of the screening")
    run.add_argument("--seeds", type=int, default=5)
    run.add_argument("--time-limit", type=float, default=30.0, help="processor seconds of one solve")
    run.add_argument("--only", type=Path, default=None, help="a CSV file that names the programs, under `instance`")
    run.add_argument("--stop", type=float, default=1e9, help="seconds after which no further solve begins")
    run.add_argument("--output", type=Path, required=True, help="CSV file; what is in it is not done again")
    tables = commands.add_parser("table", help="of files of run")
    tables.set_defaults(run=_table)
    tables.add_argument("files", nargs="+", type=Path)
    tables.add_argument("--base", default="scip")
    tables.add_argument("--time-limit", type=float, default=30.0, help="of these runs")
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()

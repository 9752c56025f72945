"""`ruin-recreate` on files of OPLib, beside EA4OP: one run of each per file, with EA4OP's processor time as the limit of ours.

python tests/studies/orienteering_oplib.py FOLDER --program PATH --output oplib.csv [--files NAME ...]

FOLDER is a copy of github.com/bcamath-ds/OPLib, which has the scores that EA4OP's authors publish. PATH is their program
(github.com/gkobeaga/op-solver, of which the heuristic part needs no other solver); it is no dependency of corl. A row is appended
after each run, and a run that has a row already is not repeated. Times are processor seconds: of EA4OP those of its process, of
ours those of the search (kernels are compiled before).
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from processor_run import ProcessorRun
from run_table import RunTable

from corl import registry
from corl.solvers.orienteering.ruin.solver import RuinRecreate

__all__ = ["COLUMNS", "FILES", "main", "published_score", "reported_score"]

COLUMNS = ("file", "nodes", "program", "seed", "published", "score", "processor_seconds", "limit")
_FIRST_THREE = ("rat99", "bier127", "kroB200", "gr229", "a280", "lin318", "pr439", "att532")
FILES = (
    *(f"{base}-gen{generation}-50" for base in _FIRST_THREE for generation in (1, 2, 3)),
    *("rat99-gen4-60", "bier127-gen4-45", "kroB200-gen4-90", "gr229-gen4-90", "a280-gen4-75", "lin318-gen4-85"),
    *("pr439-gen4-70", "att532-gen4-95", "u574-gen1-50", "u574-gen3-50", "gr666-gen2-50", "gr666-gen4-35"),
    *("rat783-gen1-50", "rat783-gen4-15", "u1060-gen3-50", "dsj1000-gen2-50"),
)
"""The names of the 40 files: four generations of eight sets of nodes, and eight files of 574 to 1,060 nodes."""


@dataclass(frozen=True)
class _Outcome:
    """What one run of one program found."""

    score: float
    """The score of its best path."""
    seconds: float
    """The processor seconds it took."""


def published_score(solution: str) -> float:
    """Return the score in the text of a solution file of OPLib."""
    return float(re.findall(r"ROUTE_SCORE\s*:\s*([\d.]+)", solution)[0])


def reported_score(output: str) -> float:
    """Return the score that EA4OP's program prints at its end."""
    return float(re.findall(r"Objetive value:\s*([\d.]+)", output)[-1])  # spelled so in its output


def _ea4op(program: Path, file: Path, seed: int) -> _Outcome:
    """Run EA4OP's program with its own options in an empty folder."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        command = [str(program.resolve()), "opt", "--op-exact", "0", "--seed", str(seed), str(file.resolve())]
        output = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return _Outcome(reported_score(output), seconds)


def _ours(file: Path, seed: int, limit: float) -> _Outcome:
    """Run our solver for `limit` processor seconds."""
    problem, solver = registry.problem("orienteering"), RuinRecreate()
    instance = problem.read(file)
    solver.prepare(instance)
    run = ProcessorRun(problem, instance, time_limit=limit, seed=seed)
    run.start()
    solver.solve(instance, run)
    run.finish()
    return _Outcome(problem.evaluate(instance, run.solution), run.runtime)


def _measure(folder: Path, name: str, seed: int, program: Path | None, table: Path) -> None:
    """Make the runs of a file that have no row yet."""
    generation = name.split("-")[1]
    file = folder / "instances" / generation / f"{name}.oplib"
    published = published_score((folder / "solutions" / "ea4op" / generation / f"{name}.sol").read_text())
    nodes = int(re.findall(r"DIMENSION\s*:\s*(\d+)", file.read_text())[0])
    runs = RunTable(table, COLUMNS, ("file", "program", "seed"))
    done = {row["program"]: row for row in runs.rows if row["file"] == name and int(row["seed"]) == seed}
    row: dict[str, object] = {"file": name, "nodes": nodes, "seed": seed, "published": f"{published:.0f}"}
    limit = float(done["EA4OP"]["processor_seconds"]) if "EA4OP" in done else 0.0
    if "EA4OP" not in done:
        if program is None:
            raise SystemExit(f"{name}: the table has no row of EA4OP; accepted: --program PATH, which makes it")
        found = _ea4op(program, file, seed)
        limit = round(found.seconds, 2)
        runs.append({**row, "program": "EA4OP", "score": f"{found.score:.0f}", "processor_seconds": limit, "limit": ""})
    if "ruin-recreate" not in done:
        found = _ours(file, seed, limit)
        ours = {
            "program": "ruin-recreate",
            "score": f"{found.score:.0f}",
            "processor_seconds": f"{found.seconds:.2f}",
            "limit": limit,
        }
        runs.append({**row, **ours})


def main() -> None:
    """Make all runs that are asked for and have no row yet."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("folder", type=Path)
    asked.add_argument("--program", type=Path)
    asked.add_argument("--output", type=Path, required=True)
    asked.add_argument("--files", nargs="+", default=list(FILES))
    asked.add_argument("--seed", type=int, default=1)
    given = asked.parse_args()
    for name in given.files:
        _measure(given.folder, name, given.seed, given.program, given.output)


if __name__ == "__main__":
    sys.exit(main())

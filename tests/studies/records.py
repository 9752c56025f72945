"""Search for records: `python tests/studies/records.py ARCHIVE FOLDER [--core 0]` works through what is open in an archive.

ARCHIVE is a checkout of ScheduleOpt/benchmarks: best known bounds in */solutions/bks.json, instances as text, some of them
zipped. An instance is open if its bounds differ. `--bounds FILE` adds permutation flow shops of the archive: a CSV file with the
columns name and value, the best published makespan; Taillard's are called ta001 and so on.

Each run takes one core for some processor seconds, at the lowest priority. The next run is the one with the largest expected
yield: the probability of a makespan below the published one for each second. FOLDER/runs.csv has a line for each run and
FOLDER/NAME.json the certificate of each improvement, which is written as soon as it is found; one that is there already counts as
a run. The study can be broken off at any time, and a further call continues it.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import subprocess
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from processor_run import ProcessorRun
from run_table import RunTable

from corl import __version__, registry
from corl.errors import CorlError
from corl.files.certificates import Certificate, read_certificate, text_hash, write_certificate
from corl.loading import load
from corl.run import Improvement

__all__ = ["Open", "Outcome", "expected_yield", "main", "made_runs", "next_run", "open_instances"]

_FIELDS = ("instance", "run", "seed", "seconds", "makespan", "published", "excess", "found_at", "version")
_BENCHMARKS = ("jobshop", "flexible-jobshop")
_FOLDERS = {"jobshop": ("text",), "flexible-jobshop": ("fjsp",)}
_OPERATIONS_PER_UNIT = (
    500  # up to so many operations, a first run takes the seconds that were asked for; above, proportionally more
)
_RATE = 0.3, 3.0  # the share of runs of a family that succeed before any was made, and the number of runs that this counts as
_WIDE = 0.03  # the relative gap between the bounds from which an improvement is as likely as it gets
_NEAR = 0.002  # the relative excess by which the probability of an improvement in twice the time falls to 1/e
_AGAIN = 0.02  # the value of a further improvement, relative to the first one of an instance


@dataclass(frozen=True)
class Open:
    """An open instance of the archive."""

    name: str
    family: str
    problem: str
    path: Path
    """The file of the instance, .txt or .zip."""
    lower: float
    """The best published lower bound; 0 if none is known."""
    upper: float
    """The best published makespan."""
    operations: int


@dataclass(frozen=True)
class Outcome:
    """A run that was made."""

    instance: str
    run: int
    """The number of the run among those of its instance, from 0."""
    seconds: float
    makespan: float


# -------------------------------------------------------------------- the archive
def open_instances(archive: Path, bounds: Path | None = None) -> list[Open]:
    """Return the open instances of the archive that have a text."""
    found = []
    for benchmark in _BENCHMARKS:
        entries = json.loads((archive / benchmark / "solutions" / "bks.json").read_text(encoding="utf-8"))
        files = _files(archive / benchmark / "instances", _FOLDERS[benchmark])
        for each in entries:
            lower, upper = float(each["lower_bound"]), float(each["upper_bound"])
            if lower < upper and (path := files.get(each["instance"])) is not None:
                count = _operations(path) or math.prod(int(part) for part in each["size"].split("x"))
                found.append(Open(each["instance"], each["family"], "jobshop", path, lower, upper, count))
    return found + ([] if bounds is None else list(_flow_shops(archive, bounds)))


def _files(root: Path, folders: Iterable[str]) -> dict[str, Path]:
    """Return the instance files by the names that the bounds use: 05a of Dauzere-Peres is dpp05a, rdata/la21 is la21_rdata."""
    found = {}
    for path in sorted(path for folder in folders for path in (root / folder).rglob("*") if path.suffix in (".txt", ".zip")):
        stem = path.stem
        if path.parent.parent.name.startswith("Hurink"):
            stem = f"{stem}_{path.parent.name}"
        elif path.parent.name.startswith("Dauzere"):
            stem = f"dpp{stem}"
        found[stem] = path
    return found


def _operations(path: Path) -> int:
    """Return the number of operations that the lines of a flexible job shop begin with; 0 for other and for zipped texts."""
    if path.suffix == ".zip" or "fjsp" not in path.parts:
        return 0
    return sum(int(line.split()[0]) for line in path.read_text().splitlines()[1:] if line.strip())


def _flow_shops(archive: Path, bounds: Path) -> Iterator[Open]:
    """Yield the permutation flow shops that a CSV file with the columns name and value lists."""
    files = _files(archive / "permutation flowshop", ("instances",))
    with bounds.open(newline="") as table:
        for row in csv.DictReader(table):
            name = row["name"]
            stem = f"tfs{name[2:]}" if name.startswith("ta") else name
            if (path := files.get(stem)) is not None:
                with path.open() as text:
                    jobs, machines = map(int, text.readline().split()[:2])
                yield Open(name, "flowshop", "flowshop", path, 0.0, float(row["value"]), jobs * machines)


def _unpacked(each: Open, folder: Path) -> Path:
    """Return the text of an instance; a zipped one is unpacked into `folder`."""
    if each.path.suffix != ".zip":
        return each.path
    target = folder / "instances" / f"{each.path.stem}.txt"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(each.path) as packed:
            (member,) = packed.namelist()
            target.write_bytes(packed.read(member))
    return target


# -------------------------------------------------------------------- the choice of the next run
def made_runs(folder: Path) -> list[Outcome]:
    """Return the runs in FOLDER/runs.csv, and one for each certificate in FOLDER of another instance."""
    found = list[Outcome]()
    for row in _runs(folder).rows:
        found.append(Outcome(row["instance"], int(row["run"]), float(row["seconds"]), float(row["makespan"])))
    known = {run.instance for run in found}
    certificates = map(read_certificate, sorted(folder.glob("*.json")))
    return found + [Outcome(each.instance, 0, 0.0, each.objective) for each in certificates if each.instance not in known]


def expected_yield(each: Open, runs: Sequence[Outcome], of_family: tuple[int, int], seconds: float) -> float:
    """Return the expected number of instances improved for each second of the next run of an instance.

    Before the first run, the probability is the family's rate of success, less if the bounds are close to each other. After runs
    that were not better than the published makespan, it falls with the best excess. Further improvements count little.

    Args:
        each: The instance.
        runs: The runs of this instance.
        of_family: The numbers of the family's instances that were improved and that were tried.
        seconds: The processor seconds of the next run.
    """
    share, weight = _RATE
    rate = (of_family[0] + share * weight) / (of_family[1] + weight)
    probability = rate * min(1.0, (each.upper - each.lower) / each.upper / _WIDE)
    if runs:
        best = min(run.makespan for run in runs)
        probability *= _AGAIN if best < each.upper else math.exp(-max(0.0, best / each.upper - 1.0) / _NEAR)
    return probability / seconds


def next_run(candidates: Sequence[Open], runs: Sequence[Outcome], seconds: float, longest: float) -> tuple[Open, int, float]:
    """Return the instance of the next run, the run's number and its processor seconds.

    A first run takes `seconds`, in proportion to the operations of large instances; each further one twice as long as the one
    before, up to `longest`.
    """
    made: dict[str, list[Outcome]] = {each.name: [] for each in candidates}
    for run in runs:
        made.setdefault(run.instance, []).append(run)
    families: dict[str, tuple[int, int]] = {}
    for each in candidates:
        improved, tried = families.get(each.family, (0, 0))
        is_better = any(run.makespan < each.upper for run in made[each.name])
        families[each.family] = improved + is_better, tried + bool(made[each.name])

    def length(each: Open) -> float:
        first = seconds * max(1.0, each.operations / _OPERATIONS_PER_UNIT)
        return min(longest, first * 2.0 ** len(made[each.name]))

    best = max(candidates, key=lambda each: expected_yield(each, made[each.name], families[each.family], length(each)))
    return best, len(made[best.name]), length(best)


# -------------------------------------------------------------------- a run
def _search(each: Open, path: Path, number: int, seconds: float, given: argparse.Namespace, heading: dict[str, str]) -> Outcome:
    """Make one run; write the certificate of each improvement, and the run's line at the end."""
    problem, instance = load(path, each.problem)
    name = registry.choose(each.problem, given.solver, instance, seconds, None)
    solver = registry.solver(each.problem, name)()
    solver.prepare(instance)
    target, seed = given.folder / f"{each.name}.json", given.seed + number
    kept = min(each.upper, read_certificate(target).objective if target.exists() else math.inf)
    command = f"records.py ARCHIVE FOLDER --only {each.name} --solver {name} --seed {seed} --seconds {seconds:g} --once"
    inside = each.path.relative_to(given.archive).with_suffix(".txt")
    facts = {**heading, "command": command, "file": inside.as_posix()}
    digest, last = text_hash(path), [0.0]

    def keep(news: Improvement) -> None:
        nonlocal kept
        last[0] = news.runtime
        if news.objective is None or not news.objective < kept:
            return
        kept, solution = news.objective, problem.to_json(instance, news.solution)
        facts_of_run: dict[str, Any] = {**facts, "published": each.upper, "processor_seconds": round(news.runtime, 1)}
        write_certificate(
            Certificate(each.problem, each.name, digest, kept, solution, version=__version__, **facts_of_run), target
        )

    run = ProcessorRun(problem, instance, time_limit=seconds, seed=seed, on_improvement=keep, proves=False)
    run.start()
    solver.solve(instance, run)
    makespan = math.inf if run.objective is None else run.objective
    excess = f"{100.0 * (makespan / each.upper - 1.0):.3f}"
    row = (
        each.name,
        number,
        seed,
        f"{seconds:g}",
        f"{makespan:g}",
        f"{each.upper:g}",
        excess,
        f"{last[0]:.1f}",
        heading["commit"],
    )
    _runs(given.folder).append(row)
    print(*row, flush=True)
    return Outcome(each.name, number, seconds, makespan)


def _runs(folder: Path) -> RunTable:
    return RunTable(folder / "runs.csv", _FIELDS, _FIELDS[:2])


def _version_of(folder: Path, form: str) -> str:
    """Return the commit of a checkout in git's `form`; "" if it is none."""
    command = ["git", "-C", str(folder), "log", "-1", f"--format={form}"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.stdout.strip() if ended.returncode == 0 else ""


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path, metavar="ARCHIVE")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--seconds", type=float, default=60.0, help="processor seconds of a first run; default 60")
    parser.add_argument("--longest", type=float, default=3600.0, help="the most processor seconds of a run; default 3600")
    parser.add_argument("--operations", type=int, default=20_000, help="omit larger instances; default 20000")
    parser.add_argument("--runs", type=int, default=10**9, help="stop after so many runs; default: never")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these instances")
    parser.add_argument("--once", action="store_true", help="one run of --seconds with --seed, whatever runs.csv has")
    parser.add_argument("--bounds", type=Path, metavar="FILE", help="published makespans of permutation flow shops: name,value")
    parser.add_argument("--source", default="", help="the archive's version; default: its commit and date, from git")
    parser.add_argument("--hardware", default="", help="the processor, for the certificates")
    parser.add_argument("--solver", default="auto", help="the solver; default: auto")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first run of an instance; default 0")
    parser.add_argument("--core", type=int, help="the only core to use")
    parser.add_argument("--nice", type=int, default=19, help="by how much the priority is lowered; default 19, the lowest")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """The command above; `words` are its arguments, by default those of the process."""
    given = _arguments(words)
    given.archive = given.archive.resolve()
    given.folder.mkdir(parents=True, exist_ok=True)
    os.nice(given.nice)
    if given.core is not None:
        os.sched_setaffinity(0, {given.core})
    commit = _version_of(Path(__file__).parent, "%h")
    source = given.source or f"ScheduleOpt/benchmarks @{_version_of(given.archive, '%h (%cs)')}"
    heading = {"source": source, "commit": commit, "hardware": given.hardware}
    candidates = [
        each
        for each in open_instances(given.archive, given.bounds)
        if (each.name in given.only if given.only else each.operations <= given.operations)
    ]
    runs = [] if given.once else made_runs(given.folder)
    for _ in range(1 if given.once else given.runs):
        if not candidates:
            raise SystemExit(
                "records: no instance is open; accepted: a checkout with open instances, and their names after --only"
            )
        each, number, seconds = next_run(candidates, runs, given.seconds, given.seconds if given.once else given.longest)
        try:
            path = _unpacked(each, given.folder)
            runs.append(_search(each, path, number, seconds, given, heading | {"date": date.today().isoformat()}))
        except (CorlError, OSError) as error:
            print(f"{each.name}: {error}", flush=True)
            candidates.remove(each)


if __name__ == "__main__":
    main()

"""Peer: a solver of others with its published figures, read from a TOML file in the folder of `corl bench --peers FOLDER`.

name = "hgs"                            # default: the file's name without its ending
problem = "vrp"
command = ["$HYGESE_PYTHON", "{folder}/hygese_cvrp.py", "{instance}", "{solution}", "{limit}", "{seed}"]
instance = ".vrp"                       # ending, and so the format, of the instance file that the program gets
solution = ".sol"                       # ending of the file that it writes, or .json; without {solution}: standard output
limit = "processor"                     # the limit is of the "wall" clock (default) or of the "processor"
grace = 10                              # seconds after the limit until the program is killed with all it started
cores = 1                               # processors per run
where = { edge_weight_type = "EUC_2D" } # facts (`corl info`) of the instances that it solves; it refuses others
environment = { OMP_NUM_THREADS = "1" }
source = "https://github.com/vidalt/HGS-CVRP"
version = "0.1.0"

[[published]]                           # at least three, each run once by `corl bench --peers FOLDER --verify`
file = "vrp/cvrp/X-n101-k25.vrp"        # relative to this file, unless `folder` is given
folder = "CORL_DATA"                    # an environment variable with a folder
objective = 27591                       # or: reference = 27591 with gap_percent = 0.11
tolerance_percent = 0.3                 # by which a run may be worse
seconds = 240                           # the published time, and the limit of the run
limit = 60                              # another limit of the run
hardware = "Xeon Gold 6148, one core"
source = "page, table, date"
"""

from __future__ import annotations

import hashlib
import os
import shutil
import string
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from corl import registry
from corl.adapter import Problem
from corl.benchmark.peers.solver import PLACEHOLDERS, ExternalSolver, expanded, filled
from corl.errors import InputError, UsageError
from corl.fields import Array, Choice, Number, String, Worded
from corl.files.json_values import to_json
from corl.files.toml_tables import Table, read_toml

__all__ = ["Peer", "Published", "read_peers"]

_LONGEST_GRACE = 60.0  # seconds; a benchmark kills the process around the program later than this
_COMMAND = Worded(Array(String("."), 1), "a list of texts, the program first")
_NUMBER = Number()
_EXAMPLE = dict.fromkeys(PLACEHOLDERS, "") | {"limit": 1.5, "seed": 0, "cores": 1}


@dataclass(frozen=True)
class Published:
    """A published figure: the objective value of a peer on an instance."""

    file: str
    folder: str
    """The environment variable with the folder that `file` is in; "": the folder of the peer's file."""
    objective: float
    tolerance_percent: float
    """Per cent of the objective value by which a run may be worse to reproduce the figure."""
    seconds: float | None
    """The published seconds; None if unknown."""
    limit: float
    """The limit in seconds of the run that is to reproduce it."""
    hardware: str
    source: str

    def path(self, beside: Path) -> Path:
        """Return the instance's path; `beside`: the folder of the peer's file. Raises UsageError if the variable is not set."""
        return (Path(expanded(f"${self.folder}")) if self.folder else beside) / self.file

    def reproduced_by(self, objective: float, sense: str) -> bool:
        """Return whether a run's objective value is no worse than the figure by more than the tolerance."""
        worse = objective - self.objective if sense == "min" else self.objective - objective
        return worse <= self.tolerance_percent / 100.0 * abs(self.objective) + 1e-9 * abs(self.objective)


@dataclass(frozen=True)
class Peer:
    """A solver of others."""

    solver: ExternalSolver
    published: tuple[Published, ...]
    file: Path
    cores: int = 1

    @property
    def name(self) -> str:
        """The label in benchmarks."""
        return self.solver.name

    @property
    def digest(self) -> str:
        """A digest of the definition without its folder: a figure that was reproduced with another one does not count."""
        content = to_json([vars(replace(self.solver, folder="")), [vars(figure) for figure in self.published]])
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    @property
    def unavailable(self) -> str:
        """Why the program cannot be run here: a variable that is not set, a program that is not found; "" if it can be."""
        try:
            for text in (*self.solver.command, *self.solver.environment.values()):
                expanded(text)
            program = expanded(self.solver.command[0].replace("{folder}", self.solver.folder))
        except UsageError as error:
            return str(error)
        return "" if shutil.which(program) else f"there is no program {program}"


def read_peers(folder: str | os.PathLike[str]) -> dict[str, Peer]:
    """Return name -> Peer of all TOML files in a folder. Raises InputError."""
    path = Path(folder)
    if not path.is_dir():
        raise InputError("not a folder; accepted: a folder with a TOML file for each peer", file=str(path))
    peers: dict[str, Peer] = {}
    for file in sorted(path.glob("*.toml")):
        peer = _read(file)
        if peer.name in peers:
            raise InputError(f"{peers[peer.name].file.name} has the same name {peer.name!r}", file=str(file), field="name")
        peers[peer.name] = peer
    if not peers:
        raise InputError("no TOML file; accepted: a folder with a TOML file for each peer", file=str(path))
    return peers


def _read(file: Path) -> Peer:
    table = read_toml(file)
    problem = _problem(table)
    name = table.text("name", file.stem)
    if name == "auto" or name in registry.solvers(problem.name):
        raise table.error("name", f"{name!r} is a solver of {problem.name} in corl; accepted: another name")
    if "," in name:
        raise table.error("name", f"{name!r} is not accepted; accepted: a text without commas (--solvers a,b)")
    solver = ExternalSolver(
        name,
        problem.name,
        _command(table),
        _suffix(table, "instance", ()),
        _suffix(table, "solution", (".json", *problem.suffixes)),
        table.take("limit", Choice(("wall", "processor")), "wall"),
        float(table.take("grace", Number(0, _LONGEST_GRACE), 10.0)),
        table.table("where").rest(),
        _environment(table),
        str(file.parent.resolve()),
        table.text("source"),
        table.text("version"),
    )
    cores = table.integer("cores", 1) or 1
    sign = 1 if problem.sense == "min" else -1
    published = tuple(_published(part, sign) for part in table.tables("published", 0))
    table.close()
    return Peer(solver, published, file, cores)


def _problem(table: Table) -> Problem:
    name = table.text("problem")
    try:
        return registry.problem(name)
    except UsageError as error:
        raise table.error("problem", str(error) if name else f"missing; accepted: {', '.join(registry.problems())}") from error


def _command(table: Table) -> tuple[str, ...]:
    command = tuple(table.take("command", _COMMAND, []))
    if not command:
        raise table.error("command", f"missing; accepted: {_COMMAND.words}")
    words = f"accepted: {', '.join(f'{{{name}}}' for name in PLACEHOLDERS)}, and $NAME for an environment variable"
    for part in command:
        try:
            fields = [name for _, name, _, _ in string.Formatter().parse(part) if name is not None]
            if unknown := [name for name in fields if name not in PLACEHOLDERS]:
                raise table.error("command", f"{{{unknown[0]}}} is not known; {words}")
            filled(part, _EXAMPLE)
        except (ValueError, LookupError) as error:
            raise table.error("command", f"{part!r}: {error}; {words}") from error
    if not any("{instance" in part for part in command):
        raise table.error("command", "without {instance} the program gets no instance")
    return command


def _suffix(table: Table, key: str, accepted: tuple[str, ...]) -> str:
    suffix = table.text(key)
    if not suffix.startswith(".") or (accepted and suffix not in accepted):
        words = " or ".join(accepted) if accepted else "the ending of a file name, such as .vrp, .tsp or .json"
        raise table.error(key, f"{suffix!r} is not accepted; accepted: {words}" if suffix else f"missing; accepted: {words}")
    return suffix


def _environment(table: Table) -> Mapping[str, str]:
    inner = table.table("environment")
    values = inner.rest()
    for name, value in values.items():
        if not isinstance(value, str):
            raise inner.error(name, f"{value!r} is not accepted; accepted: a text")
    return values


def _published(part: Table, sign: int) -> Published:
    """Return a figure; `sign`: 1 if objective values are minimised, else -1."""
    file, folder = part.text("file"), part.text("folder")
    objective, reference, gap = (part.take(key, _NUMBER) for key in ("objective", "reference", "gap_percent"))
    if not file or (objective is None) == (reference is None or gap is None):
        raise part.error("", "accepted: file, with objective, or with reference and gap_percent")
    seconds, tolerance = part.take("seconds", Number(above=0)), part.take("tolerance_percent", Number(0))
    if tolerance is None:
        raise part.error("tolerance_percent", "missing; accepted: per cent of the objective value, from 0")
    limit = part.take("limit", Number(above=0), seconds)
    if limit is None:
        raise part.error("limit", "missing; accepted: seconds, or the published seconds")
    value: Any = objective if objective is not None else reference + sign * gap / 100.0 * abs(reference)
    figure = Published(
        file, folder, float(value), float(tolerance), seconds, float(limit), part.text("hardware"), part.text("source")
    )
    part.close()
    return figure

"""The instances of a tuning: the files of a folder, in three parts, with their best known values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corl import registry
from corl.adapter import Problem
from corl.benchmark.running.references import read_references
from corl.benchmark.running.sources import SuiteInstance
from corl.errors import InputError, UsageError
from corl.files.certificates import text_hash
from corl.files.opening import plain_name, reading
from corl.solver import Solver
from corl.splitting import FEWEST_FILES, split

__all__ = ["Instances", "read_folder"]

REFERENCE = "reference.csv"
"""The file with best known values that is used if it is in the folder."""


@dataclass(frozen=True)
class Instances:
    """The instances of a tuning."""

    train: tuple[SuiteInstance, ...]
    """The instances on which candidates race."""
    choose: tuple[SuiteInstance, ...]
    """The instances on which one of the best candidates is chosen."""
    judge: tuple[SuiteInstance, ...]
    """The instances kept apart, on which the chosen candidate is compared with the defaults."""
    hashes: dict[str, str]
    """File name -> hash of its text (corl.files.certificates.text_hash)."""
    ignored: tuple[str, ...]
    """Names of files that are no instances of the problem."""


def read_folder(problem: Problem, solver: Solver, folder: Path, reference: Path | None = None) -> Instances:
    """Return the instances in a folder, after reading each of them.

    Args:
        problem: The problem.
        solver: The solver, which must accept all instances.
        folder: The folder.
        reference: A file with best known values (CSV with the columns name and value, or lines NAME : VALUE); None:
            "reference.csv" in the folder, if there is one.

    Raises:
        UsageError: There is no such folder, or it has fewer than FEWEST_FILES instances.
        InputError: A file is invalid, or the solver does not accept its instance.
    """
    if not folder.is_dir():
        raise UsageError(f"instances: {folder} is no folder; accepted: a folder of instance files of {problem.name}")
    own = folder / REFERENCE
    reference = reference or (own if own.is_file() else None)
    values = {} if reference is None else read_references(reference)
    given = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".") and path != reference)
    files = [path for path in given if registry.looks_like(problem, path)]
    if len(files) < FEWEST_FILES:
        accepted = f"accepted: {FEWEST_FILES} or more, of which some are kept apart to judge the options"
        raise UsageError(f"instances: {folder} has {len(files)} instances of {problem.name}; {accepted}")
    hashes, labels = {path.name: text_hash(path) for path in files}, dict[str, Path]()
    for path in files:
        label = plain_name(path).stem
        if label in labels:
            raise UsageError(f"instances: {labels[label].name} and {path.name} have the same name; accepted: different names")
        labels[label] = path
        _check(problem, solver, path)
    parts = split(files)
    of_part = [
        tuple(
            SuiteInstance(
                plain_name(path).stem, part, f"{path.name} {hashes[path.name][:12]}", _reader(problem, path),
                values.get(plain_name(path).stem),
            )
            for path in paths
        )
        for part, paths in zip(parts._fields, parts)
    ]  # fmt: skip
    train, choose, judge = of_part
    return Instances(train, choose, judge, hashes, tuple(path.name for path in given if path not in files))


def _check(problem: Problem, solver: Solver, path: Path) -> None:
    if reason := solver.accepts(_reader(problem, path)()):
        raise InputError(f"the solver cannot solve this instance because {reason}", file=str(path))


def _reader(problem: Problem, path: Path) -> Callable[[], Any]:
    def load() -> Any:
        with reading(path):
            return problem.read(path)

    return load

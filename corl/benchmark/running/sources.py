"""The instances of a suite, from files, generators and arrays, each with its reference value if there is one."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from corl import options
from corl.adapter import Problem
from corl.benchmark.running.references import (
    STATUSES,
    Reference,
    given_references,
    read_array,
    read_references,
    stated_reference,
)  # fmt: skip
from corl.errors import UsageError, shortened
from corl.files.json_values import is_number
from corl.files.opening import plain_name, reading
from corl.files.toml_tables import Table

__all__ = ["SuiteInstance", "read_sources"]

_KINDS = ("files", "generate", "arrays")
_SCALARS = (bool, int, float, str)
_COST = r"(?i)\bcost\s*:?\s+([-+.\de]+)"  # of a VRPLIB solution


@dataclass(frozen=True)
class SuiteInstance:
    """One instance of a suite, loaded when it is needed."""

    label: str
    """Unique in the suite."""
    group: str
    """The group of instances over which reports average results."""
    origin: str
    """The name of the file (without its folder), or the generator's call: equal on every machine."""
    load: Callable[[], Any] = field(repr=False)
    """Reads or generates the instance; raises InputError."""
    reference: Reference | None = None
    path: Path | None = field(default=None, repr=False)
    """The instance's file; None for an instance that is not read from a file of its own."""


def read_sources(table: Table, problem: Problem, folder: Path) -> tuple[list[SuiteInstance], str]:
    """Return the instances that a table `[[instances]]` names, and a notice if its data are not available ("" otherwise).

    Paths are relative to `folder`, where the suite's file is; if the table's key `folder` names an environment variable, they
    are relative to the folder in this variable, and the table is skipped if the variable is not set. Raises InputError.
    """
    given = [kind for kind in _KINDS if kind in table]
    if len(given) != 1:
        raise table.error("", f"accepted: exactly one of {', '.join(_KINDS)}; given: {', '.join(given) or 'none'}")
    variable = table.text("folder")
    skip_reason = ""
    if variable and not os.environ.get(variable):
        skip_reason = f"the folder ${variable} is not set"
    elif variable:
        folder = Path(os.environ[variable])
        if not folder.is_dir():
            raise table.error("folder", f"${variable} is {str(folder)!r}, which is not a folder")
    find = {"files": _files, "generate": _generated, "arrays": _arrays}[given[0]]
    found = list(find(table, problem, folder, skip_reason != ""))
    group, most = table.text("group"), table.integer("limit", None)
    prefix = table.text("prefix")
    notice = skip_reason and f"{group or 'a group of instances'} skipped: {skip_reason}"
    excluded = table.texts("exclude")
    find_reference = _references(table, folder, notice != "")
    keep = _filter(table, problem)
    table.close()
    found = [source for source in found if source.label not in excluded and keep(source)]
    if not found and not notice:
        raise table.error(given[0], "no instance is left")
    return [
        replace(source, label=prefix + source.label, group=group or source.group, reference=find_reference(source))
        for source in found[:most]
    ], notice


def _files(table: Table, problem: Problem, folder: Path, skipped: bool) -> Iterator[SuiteInstance]:
    """Yield the files that names or patterns match, in natural order (a9 before a10); a label is the name without its ending.

    `skipped`: only take the keys from the table, because the folder is not available.
    """
    patterns = table.texts("files")
    for pattern in [] if skipped else patterns:
        if Path(pattern).is_absolute() or not pattern:
            raise table.error("files", f"{pattern!r} is not accepted; accepted: a pattern relative to {folder}")
        try:
            paths = sorted((path for path in folder.glob(pattern) if path.is_file()), key=lambda path: _natural(path.name))
        except (OSError, ValueError) as error:  # for example a name that is too long, or "**" within a name
            reason = getattr(error, "strerror", None) or error
            raise table.error("files", f"{shortened(pattern, 80)!r} is not a pattern: {reason}") from error
        if not paths:
            raise table.error("files", f"no file matches {pattern!r} in {folder}")
        for path in paths:
            yield SuiteInstance(plain_name(path).stem, "files", path.name, _reader(problem, path), path=path)


def _generated(table: Table, problem: Problem, folder: Path, skipped: bool) -> Iterator[SuiteInstance]:
    """Yield the calls of a generator: all combinations of the parameters' values and seeds; a list gives several values."""
    kind, seeds = table.text("generate"), table.seeds("seeds", [0])
    if kind not in problem.generators:
        names = ", ".join(problem.generators) or "none"
        raise table.error("generate", f"{problem.name} has no generator {kind!r}; accepted: {names}")
    parameters = table.table("parameters").rest()
    choices = [value if isinstance(value, list) else [value] for value in parameters.values()]
    for values in [] if skipped else itertools.product(*choices):
        for seed in seeds:
            call = dict(zip(parameters, values))
            label = "-".join(str(part) for part in (kind, *values, seed))
            origin = f"{kind}({', '.join(f'{key}={value}' for key, value in (call | {'seed': seed}).items())})"
            yield SuiteInstance(label, label.rpartition("-")[0], origin, _generator(table, problem, kind, call | {"seed": seed}))


def _arrays(table: Table, problem: Problem, folder: Path, skipped: bool) -> Iterator[SuiteInstance]:
    """Yield one instance per row of an array in an .npz or .npy file, made by `Problem.adapt`; labels are FILE-0, FILE-1, ..."""
    name, key = table.text("arrays"), table.text("key")
    if skipped:
        return
    path = folder / name
    rows = read_array(path, key or None)
    if rows.ndim < 2:
        raise table.error("key", f"an array of shape {rows.shape} is not accepted; accepted: one instance per row")
    for k, row in enumerate(rows):
        yield SuiteInstance(f"{path.stem}-{k}", path.stem, f"{path.name}[{k}]", _adapter(table, problem, row))


def _reader(problem: Problem, path: Path) -> Callable[[], Any]:
    def load() -> Any:
        with reading(path):
            return problem.read(path)

    return load


def _generator(table: Table, problem: Problem, kind: str, call: dict[str, Any]) -> Callable[[], Any]:
    def load() -> Any:
        try:
            with options.named(kind):
                return options.call(problem.generators[kind], call)
        except UsageError as error:
            raise table.error("parameters", str(error)) from error

    return load


def _adapter(table: Table, problem: Problem, row: Any) -> Callable[[], Any]:
    def load() -> Any:
        try:
            return problem.adapt(row)
        except (UsageError, ValueError) as error:
            raise table.error("arrays", str(error)) from error

    return load


def _references(table: Table, folder: Path, skipped: bool) -> Callable[[SuiteInstance], Reference | None]:
    """Return the function instance -> Reference or None that the table `reference` describes.

    Its keys are file (and key, for an array in an .npz file) or beside (and pattern), scale, values, status and source. A skipped
    file is not read.
    """
    reference = table.table("reference")
    name, key = reference.text("file"), reference.text("key")
    status = reference.text("status", "best known")
    if status not in STATUSES:
        raise reference.error("status", f"{status!r} is not accepted; accepted: {', '.join(STATUSES)}")
    source = reference.text("source", name)
    find_beside = _beside(reference, status, source)
    values = reference.table("values")
    references = given_references(values.rest(), status, source, values.error)
    reference.close()
    if name.endswith((".npy", ".npz")) and not skipped:
        numbers = read_array(folder / name, key or None)
        if numbers.ndim != 1:
            raise reference.error("key", f"an array of shape {numbers.shape} is not accepted; accepted: one number per row")
        stem = Path(name).stem
        references = {f"{stem}-{k}": Reference(float(number), status, source) for k, number in enumerate(numbers)} | references
    elif name and not skipped:
        references = read_references(folder / name, status, source) | references
    return lambda instance: references.get(instance.label) or find_beside(instance.path)


def _beside(reference: Table, status: str, source: str) -> Callable[[Path | None], Reference | None]:
    """Return the function path of an instance -> Reference in the file beside it, or None if the table has no key `beside`.

    The file has the instance's name with the ending `beside`, or is the path `beside`, which is relative to the instance's folder
    and has "*" for this name. The first group of the regular expression `pattern` (default: the number after "Cost", as in .sol
    files of VRPLIB) is the value, which is multiplied by `scale`. With lists of patterns and scales, for values in several units,
    the first pattern that fits counts, with its scale.
    """
    ending = reference.text("beside")
    if ending and not ending.startswith(".") and ending.count("*") != 1:
        accepted = "the ending of a file's name, such as .sol, or a path with * for the instance's name"
        raise reference.error("beside", f"{ending!r} is not accepted; accepted: {accepted}")
    patterns = [_pattern(reference, text) for text in reference.texts("pattern") or [_COST]]
    scales = reference.numbers("scale") or [1.0] * len(patterns)
    if len(scales) != len(patterns):
        raise reference.error("scale", f"{len(scales)} are given; accepted: one for each pattern, {len(patterns)}")
    forms = list(zip(patterns, scales))

    def find(path: Path | None) -> Reference | None:
        if not ending or path is None:
            return None
        file = path.parent / ending.replace("*", path.stem) if "*" in ending else path.with_suffix(ending)
        return stated_reference(file, forms, status, source)

    return find


def _pattern(reference: Table, text: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise reference.error("pattern", f"{text!r} is not a regular expression: {error}") from error
    if pattern.groups != 1:
        raise reference.error("pattern", f"{text!r} is not accepted; accepted: a regular expression with one group, the value")
    return pattern


def _filter(table: Table, problem: Problem) -> Callable[[SuiteInstance], bool]:
    """Return a function that returns whether an instance satisfies the conditions in the table `where`.

    A condition restricts a fact that `corl info` prints: fact = [low, high], one value, or a list of texts.
    """
    where = table.table("where")
    wanted = where.rest()
    for fact, value in wanted.items():
        numbers = isinstance(value, list) and len(value) == 2 and all(map(is_number, value))
        texts = isinstance(value, list) and value and all(isinstance(item, str) for item in value)
        if not (numbers or texts or isinstance(value, _SCALARS)):
            raise where.error(fact, f"{value!r} is not accepted; accepted: [low, high], a value, or a list of texts")

    def keep(source: SuiteInstance) -> bool:
        if not wanted:
            return True
        facts = problem.describe(source.load())
        for fact, value in wanted.items():
            if fact not in facts:
                raise where.error(fact, f"not a fact of {source.label}; accepted: {', '.join(facts)}")
            if isinstance(value, list) and is_number(value[0]):
                if not value[0] <= facts[fact] <= value[1]:
                    return False
            elif facts[fact] not in (value if isinstance(value, list) else [value]):
                return False
        return True

    return keep


def _natural(name: str) -> list[tuple[int, str]]:
    """Return the key for natural order: digits compare as a number, so that a9 precedes a10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]

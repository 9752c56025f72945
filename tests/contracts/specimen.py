"""Small files of every format of every registered problem: what the mutants are made from."""

from __future__ import annotations

import inspect
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from corl import options, registry
from corl.errors import UsageError
from corl.files.opening import opened, plain_name

ROOT = Path(__file__).resolve().parent.parent.parent
if "support" not in sys.modules:  # a script of this folder; behind corl, which tests/corl would shadow
    sys.path.append(str(ROOT / "tests"))
from support.families import GUEST, family  # noqa: E402

__all__ = ["FORMATS", "fullest_format", "generated", "named_cheap", "parameters", "specimens"]

FOLDERS = [Path(__file__).parent / "specimens", *([Path(GUEST) / "specimens"] if GUEST else [])]
"""A folder a problem: files as others write them, every feature of a format in one of them at least."""

FORMATS = [
    (name, suffix)
    for name in registry.problems()
    for suffix in sorted({file.suffix for folder in FOLDERS for file in (folder / name).glob("*")})
]  # fmt: skip
"""(problem, suffix); the formats of one suffix are told apart by what is in a file."""

_SMALL: dict[str, Any] = {
    "size": 6, "arms": 4, "pulls": 2, "episodes": 2, "horizon": 3, "count": 3, "worn": 2, "jobs": 3, "machines": 2,
    "operations": 2, "choices": 2, "rows": 4, "columns": 6, "items": 4, "bids": 6, "customers": 3, "facilities": 2, "nodes": 6,
    "affinity": 2, "knapsacks": 2, "constraints": 2, "layers": 2, "width": 4, "batch": 4, "ops": 5, "branches": 2, "density": 0.5,
    "arcs": 9, "commodities": 2, "periods": 3, "agents": 2,
}  # fmt: skip
_FEASIBLE = {"generalised-assignment": {"jobs": 6}}  # generator -> options without which a small instance has no solution
_LARGEST = 20_000  # bytes of a specimen
_SHIPPED = 3  # files of a format


def named_cheap(problem: str) -> str:
    """A solver of the problem that is quick on small instances."""
    return getattr(family(problem), "CHEAP", "auto")


@cache
def specimens(problem: str, suffix: str) -> tuple[tuple[str, bytes], ...]:
    """(name, content) of the format's files: written by hand, generated and written, and the shipped ones that are small."""
    return tuple(_found(problem, suffix))


def _found(name: str, suffix: str) -> Iterator[tuple[str, bytes]]:
    for file in sorted(file for folder in FOLDERS for file in (folder / name).glob(f"*{suffix}")):
        yield file.name, file.read_bytes()
    shipped = (file for file in sorted((ROOT / "instances" / name).glob("*")) if plain_name(file).suffix == suffix)
    for file in islice(shipped, _SHIPPED):
        with opened(file) as stream:
            content = stream.read(_LARGEST + 1)
        if len(content) <= _LARGEST:
            yield file.name, content
    problem = registry.problem(name)
    with tempfile.TemporaryDirectory() as folder:
        for kind, generate in problem.generators.items():
            known = inspect.signature(generate).parameters
            if any(parameter.default is inspect.Parameter.empty for parameter in known.values()):
                continue
            path = Path(folder) / f"{kind}{suffix}"
            try:
                problem.write(generated(name, kind), path)
            except UsageError:  # .fjs has no dates
                continue
            if path.stat().st_size <= _LARGEST:
                yield path.name, path.read_bytes()


@cache
def parameters(name: str, kind: str) -> dict[str, Any]:
    """What makes a generator's instances small: of its size, the first that it takes."""
    generate = registry.problem(name).generators[kind]
    known = inspect.signature(generate).parameters
    small = {key: value for key, value in (_SMALL | _FEASIBLE.get(kind, {})).items() if key in known}
    for size in (6, 12, 24, 48):
        try:
            options.call(generate, small)
            break
        except UsageError:
            small["size"] = size
    return small


def generated(name: str, kind: str, **given: Any) -> Any:
    """A small instance of a generator."""
    return options.call(registry.problem(name).generators[kind], parameters(name, kind) | given)


def fullest_format(problem: str) -> str:
    """The ending of the format that holds everything that an instance may have."""
    endings = [ending for name, ending in FORMATS if name == problem]
    return ".json" if ".json" in endings else endings[-1]

"""The sources on which the machine code of a module's kernels depends."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

__all__ = ["digest", "modules", "reached", "text"]

_HOOKS = "corl.hooks"
_IGNORED = {
    f"corl.compilation.{name}" for name in ("announcing", "companion", "companion_wheel", "front_end", "locks", "signals")
}  # edits of these change no machine code
# Only imports at the top level of a module: kernels call its globals. Imports for type checkers are indented.
_IMPORT = re.compile(r"^(?:from +([\w.]+) +import +(\([^)]*\)|[^\n]*)|import +([^\n]*))", re.MULTILINE)
_ATTACHES = re.compile(r"^@attach\(", re.MULTILINE)


def reached(module: str) -> list[Path]:
    """Return the files whose functions the kernels of a module could call: its imports in corl, their imports, and so on.

    Hooks (corl.hooks) call the functions attached to them. So if hooks are imported, all files of corl that attach functions
    count. For a module of another package, all files of its package count.
    """
    package = module.partition(".")[0]
    if _home(package) is None:  # a notebook: its cells may have changed since a kernel was compiled
        raise OSError("no source")
    found: dict[str, Path] = {}
    waiting = [module] if package == "corl" else list(modules(package))
    while waiting:
        name = waiting.pop()
        file = None if name in found or name in _IGNORED else _file_of(name, package)
        if file is None:
            continue
        found[name] = file
        waiting += [name.rpartition(".")[0], *_imported(file)]
        if name == _HOOKS:
            waiting += _attaching()
    return [found[name] for name in sorted(found)]


def digest(files: Iterable[Path]) -> str:
    """Return a digest of the names and contents of some files. Raises OSError if one cannot be read."""
    found = hashlib.sha256()
    for file in files:
        found.update(file.name.encode())
        found.update(text(file).encode())
    return found.hexdigest()


@cache
def _imported(file: Path) -> tuple[str, ...]:
    """Return the names that a file imports at its top level, and their members, which may be modules."""
    found: list[str] = []
    for origin, members, imported in _IMPORT.findall(text(file)):
        if origin:
            found += [origin, *(f"{origin}.{member}" for member in re.findall(r"(\w+)(?: +as +\w+)?", members))]
        else:
            found += re.findall(r"([\w.]+)(?: +as +\w+)?", imported)
    return tuple(found)


@cache
def _attaching() -> tuple[str, ...]:
    """Return the modules of corl that attach functions to hooks."""
    return tuple(name for name, file in modules("corl").items() if _ATTACHES.search(text(file)))


def _file_of(name: str, package: str) -> Path | None:
    """Return the source file of a module of corl or of the package; None if there is no such module."""
    root = name.partition(".")[0]
    return modules(root).get(name) if root in ("corl", package) else None


@cache
def modules(package: str) -> dict[str, Path]:
    """Return module -> file of a package; corl includes problems and solvers, which are beside it in a source checkout."""
    home = _home(package)
    if home is None:
        return {}
    if home.name != "__init__.py":
        return {package: home}
    roots = {package: home.parent}
    if package == "corl" and not (home.parent / "problems").is_dir():  # a source checkout
        roots |= {f"corl.{part}": home.parent.parent / part for part in ("problems", "solvers")}
    found: dict[str, Path] = {}
    for root, folder in roots.items():
        for file in sorted(folder.rglob("*.py")):
            parts = file.relative_to(folder).with_suffix("").parts
            found[".".join((root, *(parts[:-1] if parts[-1] == "__init__" else parts)))] = file
    if not found:
        raise OSError("no sources")
    return found


@cache
def _home(package: str) -> Path | None:
    """Return the source file of an imported package or module; None if there is none."""
    origin = getattr(sys.modules.get(package), "__file__", None)
    return None if origin is None else Path(origin).resolve()


@cache
def text(file: Path) -> str:
    return file.read_text(encoding="utf-8")

"""Packages whose internals we use are capped at what was tested. A failure here says what to examine before a cap moves."""

from __future__ import annotations

import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from corl.compilation import bitcode_only

ROOT = Path(__file__).parents[2]
EXAMINE = {
    "numba": "private classes in corl/compilation (cache.py, bitcode_only.py with its _TESTED, signatures.py) and corl/jit.py",
    "pyscipopt": "the C functions in solvers/milp/scip/functions.py, and that its library is found",
    "torch": "the checkpoints' outputs (tests/goldens, family checkpoints)",
}


def cap(package: str) -> tuple[int, int]:
    """The first untested (major, minor) of a package, by pyproject.toml."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    line = next(entry for entry in declared if entry.startswith(f"{package}>="))
    assert "<" in line, f"pyproject.toml: {package} has no upper limit, for we use {EXAMINE[package]}"
    return minor(line.partition("<")[2])


def minor(text: str) -> tuple[int, int]:
    """(Major, minor) of a version."""
    first, second = text.split(".")[:2]
    return int(first), int(second)


@pytest.mark.parametrize("package", sorted(EXAMINE))
def test_installed_version_is_below_the_cap(package: str) -> None:
    """The installed version is a tested one."""
    found = version(package).split("+")[0]
    assert minor(found) < cap(package), f"{package} {found} is untested: examine {EXAMINE[package]}; then raise pyproject's cap"


def test_bitcode_is_for_the_last_numba_below_the_cap() -> None:
    """The version that bitcode_only.py was tested with is the newest that pyproject.toml allows."""
    major, first_untested = cap("numba")
    assert (major, first_untested - 1) == bitcode_only._TESTED, f"examine {EXAMINE['numba']}"

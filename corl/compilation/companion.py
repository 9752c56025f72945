"""Kernels that were compiled elsewhere: the package corl_kernels, from a wheel that `corl warm-up --wheel FOLDER` writes.

Its machine code is for processors of the level x86-64-v3 (with AVX2 and FMA: most since 2015), on Linux. It is used only if the
processor has this level, the versions of Python, numba and llvmlite are those that compiled it, and the sources of a kernel's
module (corl.compilation.sources) have not changed. All other kernels are compiled as without the package.
"""

# mypy: allow-untyped-calls
# numba's own functions have no types.

from __future__ import annotations

import importlib.util
import json
import platform
import sys
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from llvmlite import binding

__all__ = ["ENVIRONMENT", "LEVEL", "MANIFEST", "PACKAGE", "Target", "examine", "folder_of", "unfit", "versions"]

PACKAGE = "corl_kernels"
MANIFEST = "manifest.json"
"""The file of the package with the versions that it is for, and module -> digest of its sources."""
LEVEL = "x86-64-v3"
ENVIRONMENT = {"NUMBA_CPU_NAME": LEVEL, "NUMBA_CPU_FEATURES": "", "NUMBA_DISABLE_INTEL_SVML": "1"}
"""The environment of a process that compiles kernels for the package."""
# The features of the level: https://gitlab.com/x86-psABIs/x86-64-ABI, chapter 3.1.1.
_FEATURES = (
    *("cx16", "popcnt", "sahf", "sse3", "ssse3", "sse4.1", "sse4.2"),  # x86-64-v2
    *("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
)


class Target:
    """Stands for numba's code generator in the key of a stored kernel: the machine that its code is for."""

    @staticmethod
    def magic_tuple() -> tuple[str, str, str]:
        """Return the triple, the processor and its features, as numba's code generator does in a process with ENVIRONMENT."""
        return binding.get_process_triple(), LEVEL, ""


def versions() -> dict[str, str]:
    """Return the versions on which the format of stored kernels depends."""
    return {"python": ".".join(map(str, sys.version_info[:2])), "numba": numba.__version__, "llvmlite": llvmlite.__version__}


def folder_of(module: str, sources: str) -> Path | None:
    """Return the folder of a module's kernels in the package; None if it cannot be used or is for other sources.

    Args:
        module: The module's name.
        sources: The digest of its sources (corl.compilation.sources.digest).
    """
    folder, _ = examine()
    known = {} if folder is None else _manifest(folder)["sources"]
    return folder / module if folder is not None and known.get(module) == sources else None


@cache
def examine() -> tuple[Path | None, str]:
    """Return the folder of the package if this process can use it, else None; and a line that says so, "" without a package."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        return None, ""
    folder = Path(found.submodule_search_locations[0])
    try:
        given = _manifest(folder)["versions"]
    except (OSError, ValueError, KeyError, TypeError):
        return None, f"{folder} is not used: {MANIFEST} cannot be read"
    reason = unfit(given)
    return (None, f"{folder} is not used: {reason}") if reason else (folder, f"{folder} is used")


@cache
def _manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return found


def unfit(given: dict[str, str]) -> str:
    """Return why code for these versions cannot run in this process; "" if it can."""
    for name, version in versions().items():
        if given.get(name) != version:
            return f"it is for {name} {given.get(name)}, this is {version}"
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        return "it is for Linux on x86-64"
    config: Any = numba.config
    if config.CPU_NAME is not None or config.CPU_FEATURES is not None or config.BOUNDSCHECK:
        return "the environment gives numba another target"
    features = binding.get_host_cpu_features()
    missing = [name for name in _FEATURES if not features.get(name)]
    return f"the processor lacks {', '.join(missing)} of {LEVEL}" if missing else ""

"""The circumstances of a benchmark: the machine, the commit of the sources, and the slowdown of two parallel pinned runs."""

from __future__ import annotations

import math
import os
import platform
import statistics
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from corl import version
from corl.processes.child import Child, end

__all__ = ["git_commit", "load_average", "machine_facts", "measure_slowdown"]

_REPEATS = 5  # measurements of the slowdown


@cache
def _facts() -> dict[str, Any]:
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": _memory(),
        "system": f"{platform.system()} {platform.release()}",
    }


def machine_facts() -> dict[str, Any]:
    """Return the facts of this machine: processor, cores, memory_bytes, system."""
    return dict(_facts())


def load_average() -> float | None:
    """Return the mean number of processes that ran or waited for a processor in the last minute; None if it is unknown."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None


@cache
def git_commit() -> str:
    """Return the commit of corl's own sources, with "+" appended if tracked files were changed; "" outside a checkout."""
    source = Path(version.__file__).resolve()
    if not _git(source.parent, "ls-files", source.name):  # corl is installed inside a checkout of another project
        return ""
    commit = _git(source.parent, "rev-parse", "HEAD")
    return commit + ("+" if commit and _git(source.parent, "status", "--porcelain", "--untracked-files=no") else "")


def measure_slowdown(first: int, second: int) -> float:
    """Return how much two processes on two processors slow each other: 0.1 if each does a tenth fewer steps; NaN if unknown.

    Two processes, pinned to the processors `first` and `second`, run a loop over memory: in turn and then together, a few
    times. The median speeds alone and together are compared.
    """
    children = [Child("corl.benchmark.running.contention", str(core)) for core in (first, second)]
    try:
        for child in children:
            child.receive()  # its kernel is compiled
        alone, together = [], []
        for _ in range(_REPEATS):
            for child in children:
                child.send("go")
                alone.append(child.receive())
            for child in children:
                child.send("go")
            together += [child.receive() for child in children]
        return float(1.0 - statistics.median(together) / statistics.median(alone))
    except (EOFError, OSError):
        return math.nan
    finally:
        end(children)
        for child in children:
            child.close()


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""

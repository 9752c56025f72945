"""`corl doctor`: report the versions, packages, plug-ins and compiled kernels of this installation, and what is missing."""

from __future__ import annotations

import argparse
import os
import platform
import re
from importlib import metadata
from pathlib import Path
from typing import Any

from corl.version import DISTRIBUTION, __version__

__all__ = ["arguments", "examine", "execute"]

_REQUIREMENT = re.compile(r"^([\w.-]+).*?(?:extra == [\"'](\w+)[\"'])?$")  # a line of the metadata: (package, its extra)
_DEVELOPER_EXTRAS = ("test", "docs")  # only for work on corl itself, not reported


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def execute(args: argparse.Namespace) -> int:
    """Print the report; return 0, or 1 if a required package is missing."""
    from corl.cli.main import one_line
    from corl.files.json_values import to_json

    facts = examine()
    if args.json:
        print(to_json(facts))
    else:
        width = max(map(len, facts)) + 2
        for key, fact in facts.items():
            for k, line in enumerate(_lines(fact)):
                print(f"{'' if k else key:<{width}}{one_line(line)}")
    return 1 if facts["missing"] else 0


def examine() -> dict[str, Any]:
    """Return the report: heading -> a text, a list of texts, or a dict of texts."""
    missing, required, extras = _packages()
    found: dict[str, Any] = {
        "corl": f"{__version__} in {Path(__file__).resolve().parents[1]}",
        "python": f"{platform.python_version()} on {platform.platform()}",
        "processors": _processors(),
        "packages": required,
        "extras": extras,
        "missing": missing,
        "plug-ins": _plugins(),
    }
    if missing:
        return found
    return found | {"cache": _cache(), "compiled": _compiled()}


def _packages() -> tuple[list[str], dict[str, str], dict[str, str]]:
    """Return the missing required packages, package -> version of the required packages, and extra -> its packages as text."""
    required: dict[str, str] = {}
    extras: dict[str, dict[str, str]] = {}
    for line in metadata.requires(DISTRIBUTION) or []:
        name, extra = _REQUIREMENT.match(line).groups()  # type: ignore[union-attr]
        if name != DISTRIBUTION and extra not in _DEVELOPER_EXTRAS:
            (extras.setdefault(extra, {}) if extra else required)[name] = _version(name)
    missing = [name for name, version in required.items() if not version]
    described = {}
    for extra, names in extras.items():
        complete = all(names.values())
        versions = ", ".join(f"{name} {version or 'missing'}" for name, version in names.items())
        described[extra] = versions if complete else f"{versions}; pip install '{DISTRIBUTION}[{extra}]'"
    return missing, {name: version or "missing" for name, version in required.items()}, described


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _processors() -> str:
    from corl.processes.processors import available

    return f"{len(available())} of {os.cpu_count()} for this process, {platform.machine()}"


def _plugins() -> list[str]:
    """Return one line, with the error, for each plug-in (an entry point of another package) that cannot be loaded."""
    failed = []
    for group in ("corl.problems", "corl.solvers", "corl.recipes", "corl.defaults", "corl.networks"):
        for entry in metadata.entry_points(group=group):
            if entry.dist is not None and entry.dist.name != DISTRIBUTION:
                try:
                    entry.load()
                except Exception as error:
                    failed.append(f"{entry.dist.name}: {entry.name} = {entry.value}: {type(error).__name__}: {error}")
    return failed


def _cache() -> str:
    """Return the folder of cached kernels and its size, and whether the package of compiled kernels is used, as text."""
    from corl.compilation.cache import cache_folder, package_folder
    from corl.compilation.companion import examine

    folder = cache_folder()
    if package_folder("corl") is None:
        return f"{folder} cannot be used: kernels are compiled in every process; CORL_CACHE names another folder"
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    companion = examine()[1]
    return f"{folder}, {size / 1e6:.0f} MB{companion and '; '}{companion}"


def _compiled() -> dict[str, str]:
    """Return problem -> "all" if the kernels of its solvers are cached, otherwise the time that their compilation takes."""
    from corl import registry
    from corl.compilation import precompile

    described = {}
    for problem in registry.working_problems():
        records = precompile.records_of([problem.name])
        jobs = precompile.missing(records)
        seconds = sum(job.seconds for job in jobs)
        if records:
            described[problem.name] = f"{len(jobs)} kernels missing, {seconds:.0f} s of a core; corl warm-up" if jobs else "all"
    return described


def _lines(fact: Any) -> list[str]:
    """Return the lines that show a value of the report."""
    if isinstance(fact, dict):
        width = max(map(len, fact), default=0) + 2
        return [f"{key:<{width}}{value}" for key, value in fact.items()] or ["none"]
    return list(map(str, fact)) or ["none"] if isinstance(fact, list) else [str(fact)]

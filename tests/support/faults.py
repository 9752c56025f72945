"""Does the gate still guard? Faults seeded one at a time, in a copy of the sources, must each be found by it.

    python -P tests/support/faults.py                    # all of support/faults/*.patch, by the tests that each names
    python -P tests/support/faults.py store-trace run    # those whose names begin so
    python -P tests/support/faults.py --whole            # by the whole gate

A patch begins with what is wrong and the tests of the gate that are to find it. What is printed: the first test that does.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).with_suffix("")
WHOLE = "tests -n auto"


def patches(beginnings: list[str]) -> list[Path]:
    """Those whose names begin with any of these; all where there are none."""
    return [file for file in sorted(FOLDER.glob("*.patch")) if file.name.startswith(tuple(beginnings) or "")]


def tests_of(patch: Path) -> list[str]:
    """Arguments of pytest: the tests that are to find the fault."""
    found = re.search(r"^Tests: (.+)$", patch.read_text(encoding="utf-8"), re.MULTILINE)
    assert found, f"{patch.name} names no tests"
    return shlex.split(found[1])


def apply(patch: Path, folder: Path, *options: str) -> None:
    """Into the files of a folder that is no repository. Raises CalledProcessError where they have become others."""
    command = ["git", "apply", "-C1", *options, str(patch)]
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)


def copied(folder: Path) -> None:
    """The files that git knows, and in site/ the package `corl` made of links to them, as an installation would have it."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
    package = folder / "site" / "corl"
    package.mkdir(parents=True)
    for file in (folder / "corl").iterdir():
        (package / file.name).symlink_to(file)
    for part in ("problems", "solvers", "instances"):
        (package / part).symlink_to(folder / part)


def found_by(tests: list[str], folder: Path) -> str | None:
    """The first test that fails in the copy; None where all pass."""
    command = [sys.executable, "-P", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": str(folder / "site")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S.*?)(?: - |$)", done.stdout, re.MULTILINE)
    assert done.returncode == 1 and failed, done.stdout[-2000:] + done.stderr[-2000:]
    return failed[1]


def main(arguments: list[str]) -> int:
    whole, missed = "--whole" in arguments, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copied(folder)
        for patch in patches([argument for argument in arguments if argument != "--whole"]):
            apply(patch, folder)
            found = found_by(WHOLE.split() if whole else tests_of(patch), folder)
            apply(patch, folder, "--reverse")
            missed += found is None
            print(f"{patch.stem}: {found or 'NOT FOUND'}", flush=True)
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

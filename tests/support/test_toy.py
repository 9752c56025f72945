"""A family is added by its own folders and entry points: all contracts run on one that the house does not know."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
TOY = TESTS / "support" / "toy"
ENTRY_POINTS = """[corl.problems]
halves = halves:Halves

[corl.solvers]
halves.flip = halves:Flip
"""
FILES = {
    "test_environments",
    "test_formats",
    "test_generators",
    "test_gymnasium",
    "test_schemas",
    "test_tiny",
    "test_warm_starts",
}
"""Which have tests of the toy, among others."""


def test_contracts_of_a_toy_family(tmp_path):
    """Environment, formats, generators, mutants, generic solvers and recipes, claims on tiny instances: green on the toy."""
    shutil.copytree(TOY, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    info = tmp_path / "halves-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: halves\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "CORL_TEST_FAMILY": str(tmp_path)}
    command = [
        sys.executable,
        "-P",
        "-m",
        "pytest",
        "-n",
        "0",
        "-v",
        "-p",
        "no:cacheprovider",
        "-k",
        "halves",
        str(TESTS / "contracts"),
    ]
    done = subprocess.run(command, cwd=TESTS.parent, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:]
    passed = re.findall(r"contracts/(\w+)\.py::\S+ PASSED", done.stdout)
    assert set(passed) >= FILES and len(passed) >= 30, passed

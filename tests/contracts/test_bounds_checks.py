"""Kernels stay within their arrays: compiled anew with checks of indices, they do what the goldens and the tiny instances ask."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from corl import registry

TESTS = Path(__file__).resolve().parents[1]
TESTS_ASKED = ("test_environments", "test_searches", "test_claims")
ASKED = "{0} and {1} and not ortools and not pyvrp"
PAIRS = [
    (problem, test) for problem in registry.problems() for test in TESTS_ASKED if (problem, test) != ("bandits", "test_claims")
]
"""Nobody enumerates bandits."""


@pytest.mark.long
@pytest.mark.parametrize(("problem", "test"), PAIRS)
def test_kernels_stay_within_their_arrays(problem: str, test: str, pytestconfig: pytest.Config):
    """Of a family: its environments, its searches, and the tiny instances of the long suite for each of its own solvers.

    Kernels with checks are kept beside those without (corl.compilation.cache), so that families share what they have in common.
    """
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "OMP_NUM_THREADS": "1"}
    files = [str(TESTS / "goldens" / "test_goldens.py"), str(TESTS / "contracts" / "test_tiny.py")]
    chosen = ["-k", ASKED.format(test, problem), "-m", "long or not long"]
    chosen += ["--share", "1/1"] if pytestconfig.getoption("share") else []  # a quarter of the tiny instances
    command = [sys.executable, "-P", "-m", "pytest", "-n", "0", "-q", "-x", "-p", "no:cacheprovider", *chosen, *files]
    done = subprocess.run(command, cwd=TESTS.parent, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]

"""Kernels stay within their arrays: compiled anew with checks of indices, they do what the goldens and the tiny instances ask."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from corl import registry

TESTS = Path(__file__).resolve().parents[1]
ASKED = "(test_searches or test_environments or test_claims) and {0} and not ortools and not pyvrp"


@pytest.mark.long
@pytest.mark.parametrize("problem", registry.problems())
def test_kernels_stay_within_their_arrays(problem: str, pytestconfig: pytest.Config):
    """Of a family: its searches, its environments, and the tiny instances of the long suite for each of its own solvers.

    Kernels with checks are kept beside those without (corl.compilation.cache), so that families share what they have in common.
    """
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "OMP_NUM_THREADS": "1"}
    files = [str(TESTS / "goldens" / "test_goldens.py"), str(TESTS / "contracts" / "test_tiny.py")]
    chosen = ["-k", ASKED.format(problem), "-m", "long or not long"]
    chosen += ["--share", "1/1"] if pytestconfig.getoption("share") else []  # a quarter of the tiny instances
    command = [sys.executable, "-P", "-m", "pytest", "-n", "0", "-q", "-x", "-p", "no:cacheprovider", *chosen, *files]
    done = subprocess.run(command, cwd=TESTS.parent, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]

"""The guard of speed: its intervals, and that a checkout is measured without being installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from throughput import Comparison, interval, linked

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def test_intervals_are_order_statistics():
    """Of 15 numbers the 4th and the 12th (96.5 %), of 10 the 2nd and 9th, of 5 the ends."""
    assert interval([*range(1, 16)]) == (4, 12)
    assert interval([*range(10, 0, -1)]) == (2, 9)
    assert interval([3, 1, 2, 5, 4]) == (1, 5)


def test_slower_means_the_whole_interval():
    """One round that is as fast as before does not excuse ten; five of them do."""
    slow = Comparison("kernel", "things")
    slow.times = [(1.1, 1.0)] * 10 + [(1.0, 1.0)]
    assert slow.slower and "SLOWER" in slow.line()
    slow.times += [(1.0, 1.0)] * 4
    assert not slow.slower


def test_links_make_a_package(tmp_path):
    """A copy of the sources is imported as corl, with its own entry points, from anywhere."""
    for name in ("corl", "problems", "solvers", "instances", "pyproject.toml"):
        (tmp_path / name).symlink_to(ROOT / name)
    code = "import corl, corl.registry as r; print(corl.__file__, r.problem('knapsack').name, 'eax' in r.solvers('tsp'))"
    folder = linked(tmp_path)
    try:
        command = [sys.executable, "-P", "-c", code]
        done = subprocess.run(command, env={"PYTHONPATH": str(folder)}, cwd=tmp_path, capture_output=True, text=True)
        assert done.stdout.split() == [str(folder / "corl" / "__init__.py"), "knapsack", "True"], done.stderr
    finally:
        shutil.rmtree(folder)


@pytest.mark.chance
def test_a_checkout_is_as_fast_as_itself():
    """The whole way, for one reader: exit code 0 and a row of the table."""
    command = [sys.executable, str(HERE / "throughput.py"), "--against", str(ROOT), "--pairs", "1", "vrp reader"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "vrp reader" in done.stdout, done.stdout + done.stderr

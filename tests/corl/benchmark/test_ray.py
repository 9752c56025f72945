"""The Ray executor: the same runs, on a local Ray with two workers."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from corl.store import Store

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Ray's clusters run on POSIX systems")


@pytest.fixture
def cluster(toy_environment):
    """Environment variables for a process that starts a Ray of two workers on this machine."""
    pytest.importorskip("ray", reason='ray is not installed (pip install ".[distributed]")')
    return toy_environment | {"RAY_USAGE_STATS_ENABLED": "0"}


SCRIPT = """
import os, sys
import ray
ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error",
         runtime_env={"env_vars": {"PYTHONPATH": os.environ["PYTHONPATH"]}})
from corl.cli.main import main
code = main(["bench", *sys.argv[1:], "--executor", "ray"])
ray.shutdown()
sys.exit(code)
"""


def bench(cluster, tmp_path, *arguments):
    command = [sys.executable, "-P", "-c", SCRIPT, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=cluster, timeout=300)


@pytest.mark.long
def test_two_workers(cluster, suite, tmp_path):
    """All runs come back, judged and stored as the local executor's are, failures among them."""
    path = suite("good", "killed", "lies", "slow", head="time_limits = [0.2]\nseeds = 3")
    done = bench(cluster, tmp_path, path)
    assert done.returncode == 0, done.stderr
    with Store(tmp_path / "s.db") as store:
        found = {(record.solver, record.seed): record for record in store.records()}
    assert len(found) == 12
    assert {solver: record.outcome for (solver, _), record in found.items()} == {
        "good": "ok", "killed": "crash", "lies": "wrong", "slow": "ok",
    }  # fmt: skip
    assert all(len(record.cores) == 1 and record.wall_seconds > 0 for record in found.values())


@pytest.mark.long
def test_a_lost_worker(cluster, suite, tmp_path):
    """A run whose Ray worker dies is tried once more, then recorded as lost; the others are there."""
    deaths = tmp_path / "deaths"
    path = suite("good", f'solver = "murderer"\noptions = {{ file = "{deaths}" }}', "slow")
    done = bench(cluster, tmp_path, path)
    assert done.returncode == 0, done.stderr
    with Store(tmp_path / "s.db") as store:
        outcomes = {record.solver: (record.outcome, record.reason) for record in store.records()}
    assert outcomes["good"][0] == outcomes["slow"][0] == "ok"
    assert outcomes["murderer"][0] == "lost" and "worker" in outcomes["murderer"][1]
    assert deaths.read_text().splitlines() == ["killing", "killing"]

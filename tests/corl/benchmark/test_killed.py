"""kill -9 at any moment loses only the runs in flight."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys

import pytest

from corl.store import Store

KILLS = 20
SEEDS = 60


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX's")
def test_killed_twenty_times(suite, toy_environment, tmp_path):
    """After each of 20 kills at random moments the store has all that it had; a last run completes it, with nothing twice."""
    path = suite('solver = "slow"\noptions = { seconds = 0.02 }', "good", head=f"iterations = [3]\nseeds = {SEEDS}")
    command = [sys.executable, "-P", "-m", "corl", "bench", str(path), "--store", "s.db", "--resume"]
    store, kept, stopped, progressed = tmp_path / "s.db", [], 0, 0
    longest = 2.5  # seconds; a busy machine needs more to begin at all
    for attempt in range(KILLS):
        seconds = random.Random(attempt).uniform(0.1, longest)
        child = subprocess.Popen(command, cwd=tmp_path, env=toy_environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            child.wait()
            stopped += 1
        now = _records(store)
        assert now[: len(kept)] == kept, "a finished run was lost or changed"
        progressed += len(now) > len(kept)
        kept = now
        if attempt >= KILLS / 3 and progressed < 3:
            longest *= 1.3
        assert _whole(store)
    assert stopped >= KILLS / 2 and progressed >= 3, "the test has not tested much"
    done = subprocess.run(command, cwd=tmp_path, env=toy_environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    complete = _records(store)
    assert complete[: len(kept)] == kept and all(record.outcome == "ok" for record in complete)
    keys = [(record.solver, record.seed) for record in complete]
    assert sorted(keys) == sorted({(solver, seed) for solver in ("slow", "good") for seed in range(SEEDS)})


def _records(path):
    """What a reader sees; nothing before the first run is stored."""
    if not path.exists():
        return []
    with Store(path) as store:
        records = store.records()
        assert all(store.solution(record) is not None for record in records)
        return records


def _whole(path) -> bool:
    with sqlite3.connect(path) as connection:
        return connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)

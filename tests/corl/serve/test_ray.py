"""Jobs on a Ray cluster: the same answers as on this machine."""

from __future__ import annotations

import pytest

from support.serving import SQUARE, cities


@pytest.mark.long
def test_jobs_on_a_local_cluster(server):
    """A job is solved and its events are streamed; a cancelled job keeps its best solution; SIGTERM ends all."""
    pytest.importorskip("ray", reason='ray is not installed (pip install ".[distributed]")')
    running = server("--address", "local", "--jobs", "2", environment={"RAY_USAGE_STATS_ENABLED": "0"})
    job = running.call("POST", "/jobs", {"instance": SQUARE, "solver": "exact"})[1]["id"]
    assert running.wait(job, "done", "failed")["objective"] == 40
    assert '"running"' in running.call("GET", f"/jobs/{job}/events")[1]
    job = running.call("POST", "/jobs", {"instance": cities(60), "solver": "ils", "time_limit": 60})[1]["id"]
    while running.call("GET", f"/jobs/{job}")[1]["objective"] is None:
        pass
    running.call("POST", f"/jobs/{job}/cancel")
    assert running.wait(job, "cancelled", "failed")["state"] == "cancelled"
    assert len(running.call("GET", f"/jobs/{job}/result")[1]["solution"]) == 60
    assert running.end() == 0

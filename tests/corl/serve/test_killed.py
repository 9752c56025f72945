"""Servers that are killed, compile, and receive random requests."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from support.serving import SQUARE, cities


@pytest.mark.long
def test_a_killed_server_loses_no_job(server):
    """kill -9 while jobs run: the next server has all results of ended jobs, and solves the others."""
    first = server("--jobs", "1")
    done = first.call("POST", "/jobs", {"instance": SQUARE, "solver": "exact"})[1]["id"]
    first.wait(done, "done")
    open_jobs = [
        first.call("POST", "/jobs", {"instance": cities(40), "solver": "ils", "time_limit": 1})[1]["id"] for _ in range(3)
    ]
    first.wait(open_jobs[0], "running")
    first.end(signal.SIGKILL)
    second = server("--jobs", "1")
    assert second.call("GET", f"/jobs/{done}/result")[1]["objective"] == 40
    for job in open_jobs:
        second.wait(job, "done")
        assert len(second.call("GET", f"/jobs/{job}/result")[1]["solution"]) == 40
    assert second.call("GET", f"/jobs/{open_jobs[0]}")[1]["attempts"] == 2
    assert second.end() == 0


@pytest.mark.long
def test_a_job_that_exceeds_its_memory_fails(server):
    """In one line that names the limit; the worker then solves the next job."""
    running = server("--jobs", "1", "--max-memory", "120")
    job = running.call("POST", "/jobs", {"instance": cities(5000), "solver": "ortools"})[1]["id"]  # a matrix of 200 MB and more
    assert "120 MiB" in running.wait(job, "failed", "done")["reason"]
    job = running.call("POST", "/jobs", {"instance": SQUARE, "solver": "greedy-edge"})[1]["id"]
    running.wait(job, "done")


@pytest.mark.chance
def test_compilation_is_announced_and_not_in_the_clock(server, tmp_path):
    """With an empty cache of kernels: a note while the job is prepared, and the whole time limit for the search."""
    running = server("--jobs", "1", environment={"CORL_CACHE": str(tmp_path / "cache")})
    job = running.call("POST", "/jobs", {"instance": cities(60), "solver": "ils", "time_limit": 1})[1]["id"]
    ended = running.wait(job, "done", "failed")
    assert ended["state"] == "done"
    stream = running.call("GET", f"/jobs/{job}/events")[1]
    assert stream.index('"preparing"') < stream.index("compil") < stream.index('"running"')
    result = running.call("GET", f"/jobs/{job}/result")[1]
    assert result["setup_seconds"] > 1 and 0.9 < result["runtime"] < 2


@pytest.mark.chance
def test_schemathesis_finds_no_fault(server):
    """Requests that schemathesis makes of the description: every answer is one that the description has."""
    running = server("--jobs", "1", "--max-seconds", "0.1", "--max-per-client", "1000")
    address = f"http://127.0.0.1:{running.port}/openapi.json"
    command = [sys.executable, "-m", "schemathesis.cli", "run", address, "--max-examples", "50", "--request-timeout", "60"]
    command += ["--exclude-checks", "positive_data_acceptance"]  # no schema says whether a text is an instance
    ended = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert ended.returncode == 0, ended.stdout[-6000:]
    print(ended.stdout[-2000:])

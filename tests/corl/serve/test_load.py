"""Load: 50 clients submit 1,000 jobs on the loopback interface."""

from __future__ import annotations

import http.client
import json
import os
import statistics
import threading
import time
from pathlib import Path

import pytest

from support.serving import cities

CLIENTS, JOBS = 50, 1000


def memory(process: int) -> float:
    """Return the resident memory of a process in MiB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def client(port: int, count: int, seconds: list[float], jobs: list[str]) -> None:
    """Submit jobs of 0.2 s one after the other, and wait for each one."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    for _ in range(count):
        body = json.dumps({"instance": cities(100), "solver": "ils", "time_limit": 0.2})
        begun = time.perf_counter()
        connection.request("POST", "/jobs", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        found = json.loads(answer.read())
        seconds.append(time.perf_counter() - begun)
        assert answer.status == 202, found
        jobs.append(found["id"])
        while True:
            connection.request("GET", f"/jobs/{found['id']}")
            if json.loads(connection.getresponse().read())["state"] in ("done", "failed", "cancelled"):
                break
            time.sleep(0.5)


@pytest.mark.chance
def test_fifty_clients_lose_no_job(server):
    """Every job ends with a result; 95 % of submissions take under 100 ms, and the server grows by less than 50 MiB."""
    running = server("--max-per-client", "1000")
    process = running.process.pid
    first: list[str] = []
    client(running.port, 20, [], first)
    before, seconds, jobs = memory(process), list[float](), list[str]()
    begun = time.perf_counter()
    shares = [(running.port, JOBS // CLIENTS, seconds, jobs)] * CLIENTS
    threads = [threading.Thread(target=client, args=share) for share in shares]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    lasted, grown = time.perf_counter() - begun, memory(process) - before
    percentile = sorted(seconds)[int(0.95 * len(seconds))]
    lost = [job for job in jobs if running.call("GET", f"/jobs/{job}/result")[0] != 200]
    load = os.getloadavg()[0]
    sizes = f"server {before:.0f} MiB + {grown:.1f}; workers {[round(memory(each)) for each in running.workers()]} MiB"
    times = f"submit: median {1000 * statistics.median(seconds):.0f} ms, p95 {1000 * percentile:.0f} ms"
    print(f"\n{len(jobs)} jobs in {lasted:.0f} s, {len(lost)} lost; {times}; {sizes}; load {load:.1f}")
    assert len(set(jobs)) == JOBS and not lost
    assert percentile < 0.1
    assert grown < 50

"""Servers for tests: in a process of their own, or in this one; and the requests that they receive."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corl.serve.helper import _page
from corl.serve.limits import Limits
from corl.serve.pool import Pool
from corl.serve.queue import Queue
from corl.serve.request import read_request

SQUARE = "NAME: square\nTYPE: TSP\nDIMENSION: 5\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n" + "".join(
    f"{k} {x} {y}\n" for k, (x, y) in enumerate([(0, 0), (0, 10), (10, 10), (10, 0), (5, 12)], 1)
)
"""A text in TSPLIB's format; its shortest tour has the length 40."""


class Server:
    """`corl serve` in a child process, and one connection to it."""

    def __init__(self, store: Path, *arguments: str, environment: dict[str, str] | None = None) -> None:
        command = [sys.executable, "-P", "-m", "corl", "serve", "--port", "0", "--store", str(store), *arguments]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | (environment or {}))
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if found := re.search(r"running on http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                return
        raise AssertionError("the server did not start")

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Return the status and the JSON values (or the text) of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(
                method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json", **headers}
            )
            answer = connection.getresponse()
            text = answer.read().decode()
            return answer.status, json.loads(text) if "json" in answer.headers["Content-Type"] else text
        finally:
            connection.close()

    def wait(self, job: str, *states: str) -> dict[str, Any]:
        """Wait until a job is in one of some states; return it."""
        while (found := self.call("GET", f"/jobs/{job}")[1])["state"] not in states:
            time.sleep(0.05)
        return found

    def workers(self) -> list[int]:
        """Return the process numbers of the workers."""
        found = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(self.process.pid)], capture_output=True, text=True).stdout
        return [int(line.split()[0]) for line in found.splitlines() if "corl.serve.worker" in line]

    def end(self, number: int = signal.SIGTERM) -> int:
        """End the process by a signal; return its exit code."""
        self.process.send_signal(number)
        code = self.process.wait(60)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code


def cities(count: int) -> str:
    """Return a text in TSPLIB's format with scattered cities."""
    rows = "".join(f"{k} {37 * k % 101} {61 * k * k % 97}\n" for k in range(1, count + 1))
    return SQUARE[: SQUARE.index("1 0 0")].replace("5", str(count), 1).replace("square", f"scattered-{count}") + rows


def packed(values: Any) -> bytes:
    """Return JSON in gzip's format."""
    return gzip.compress(json.dumps(values).encode())


class Direct:
    """A Helper without a process."""

    def __init__(self, limits: Limits, folder: Path) -> None:
        self._limits, self._folder = limits, folder

    def facts(self, request: bytes) -> dict[str, Any]:
        return read_request(request, self._limits, self._folder).facts

    def page(self, request: bytes, **job: Any) -> str:
        return _page(read_request(request, self._limits, self._folder), **job)


@contextlib.contextmanager
def client(
    folder: Path, limits: Limits | None = None, workers: int = 0, token: str = "", host: str = "127.0.0.1"
) -> Iterator[Any]:
    """A client of a server in this process; its attributes `queue` and `pool` are the server's."""
    from starlette.testclient import TestClient

    from corl.serve.app import application

    limits = limits or Limits()
    (inside := folder / "files").mkdir()
    with Queue(folder / "jobs.db", limits) as queue, Pool(queue, limits, workers, str(inside)) as pool:
        helper: Any = Direct(limits, inside)
        found: Any = TestClient(application(queue, pool, helper, helper, limits, token), base_url=f"http://{host}:8000")
        found.queue, found.pool = queue, pool
        yield found

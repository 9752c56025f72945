"""Executors: where the processes of runs are started. The local one is here, Ray's in ray_executor.py."""

from __future__ import annotations

import queue
import threading
from typing import Protocol

from corl.benchmark.running.process import Ended, Processes, run_process
from corl.errors import UsageError, described
from corl.processes.processors import available

__all__ = ["Executor", "LocalExecutor"]


class Executor(Protocol):
    """What the runner needs of one."""

    local: bool
    """Whether runs share this machine, and its cache of kernels."""
    jobs: int
    """Runs side by side."""

    def room(self, cores: int) -> bool:
        """Whether a run on so many cores would start at once."""

    def submit(self, number: int, task: bytes, cores: int, hard_limit: float) -> None:
        """Start a run (see `run_process`)."""

    def next(self) -> tuple[int, Ended]:
        """Wait for one that ends."""

    def close(self) -> None:
        """Kill what still runs."""


class LocalExecutor:
    """Runs on disjoint processors of this machine, a thread waiting for each."""

    local = True

    def __init__(self, jobs: int) -> None:
        self.jobs, self._total = jobs, len(available())
        if jobs > self._total:
            raise UsageError(f"--jobs: {jobs} is not accepted; this process may use {self._total} processors")
        self._running: dict[int, int] = {}
        self._ended: queue.SimpleQueue[tuple[int, Ended]] = queue.SimpleQueue()
        self._processes = Processes()

    def room(self, cores: int) -> bool:
        if cores > self._total:
            raise UsageError(f"a solver asks for {cores} processors; this process may use {self._total}")
        return len(self._running) < self.jobs and sum(self._running.values()) + cores <= self._total

    def submit(self, number: int, task: bytes, cores: int, hard_limit: float) -> None:
        self._running[number] = cores
        threading.Thread(target=self._run, args=(number, task, cores, hard_limit), daemon=True).start()

    def next(self) -> tuple[int, Ended]:
        while True:
            try:
                number, ended = self._ended.get(timeout=1.0)  # a wait without end cannot be interrupted everywhere
            except queue.Empty:
                continue
            del self._running[number]
            return number, ended

    def close(self) -> None:
        self._processes.kill()

    def _run(self, number: int, task: bytes, cores: int, hard_limit: float) -> None:
        try:
            ended = run_process(task, cores, hard_limit, self._processes)
        except Exception as error:
            ended = Ended(fault="crash", reason=f"the run could not be supervised: {described(error)}")
        self._ended.put((number, ended))

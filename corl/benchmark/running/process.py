"""One run in its own process, which the parent pins to processors, times, and kills if it takes too long."""

from __future__ import annotations

import datetime
import os
import tempfile
import threading
import time
from dataclasses import dataclass, field
from typing import IO, Any

from corl.benchmark.running.cores import claimed
from corl.benchmark.running.machine import load_average, machine_facts
from corl.processes.child import Child

__all__ = ["Ended", "Processes", "run_process"]


@dataclass(frozen=True)
class Ended:
    """The end of a run's process."""

    answer: bytes = b""
    """The child's pickled answer; empty if there is a fault."""
    fault: str = ""
    """crash, timeout or lost; "" if the child has answered."""
    reason: str = ""
    """The cause of the fault."""
    wall_seconds: float | None = None
    """From the process's start to its end."""
    cpu_seconds: float | None = None
    """Processor seconds of the process and of the child processes that it has waited for."""
    cores: tuple[int, ...] = ()
    """The processors to which the process was pinned."""
    started: str = ""
    """UTC, ISO 8601."""
    machine: dict[str, Any] = field(default_factory=dict)
    """The facts of the machine that ran it, as in `machine_facts`."""
    loads: tuple[float | None, float | None] = (None, None)
    """The machine's load average over a minute at the start and at the end; None if the system does not report it."""


class Processes:
    """The processes that are running, so that all can be killed at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[Child] = set()
        self._closed = False

    def add(self, child: Child) -> None:
        with self._lock:
            self._running.add(child)
            if self._closed:
                child.kill()

    def remove(self, child: Child) -> None:
        with self._lock:
            self._running.discard(child)

    def kill(self) -> None:
        """Kill all processes, and every one that is added later."""
        with self._lock:
            self._closed = True
            for child in self._running:
                child.kill()


def run_process(task: bytes, count: int, hard_limit: float, processes: Processes | None = None) -> Ended:
    """Run a task in a process of `corl.benchmark.running.child`.

    Args:
        task: The pickled arguments of `corl.solve`.
        count: The number of processors that are reserved for the process.
        hard_limit: Seconds after which the process is killed.
        processes: The running processes, to which this one is added; None: a new list.
    """
    processes = processes or Processes()
    with claimed(count) as cores, tempfile.TemporaryFile() as errors:
        started, before, load = _now(), time.perf_counter(), load_average()
        try:
            core_list = ",".join(map(str, cores))
            child = Child("corl.benchmark.running.child", core_list, threads=len(cores), errors=errors, group=True)
        except OSError as error:
            return Ended(fault="crash", reason=f"no process can be started: {error}", started=started, machine=machine_facts())
        processes.add(child)
        late = threading.Event()
        timer = threading.Timer(hard_limit, _kill_late, (child, late))
        timer.daemon = True
        timer.start()
        try:
            answer = _exchange(child, task)
        finally:
            cpu = child.reap()
            timer.cancel()
            processes.remove(child)
            child.close()
        wall = time.perf_counter() - before
        fault = reason = ""
        if not answer:
            fault = "timeout" if late.is_set() else "crash"
            reason = f"killed after {hard_limit:g} s" if late.is_set() else _cause(child, errors)
    return Ended(answer, fault, reason, wall, cpu, cores, started, machine_facts(), (load, load_average()))


def _exchange(child: Child, task: bytes) -> bytes:
    """Send the task and return the child's whole answer, b"" if there is none.

    The child's input stays open, because the child ends when it is closed.
    """
    try:
        child.send_bytes(task)
        return child.receive_bytes()
    except (EOFError, OSError, ValueError, OverflowError, MemoryError):
        return b""


def _kill_late(child: Child, late: threading.Event) -> None:
    late.set()
    child.kill()


def _cause(child: Child, errors: IO[bytes]) -> str:
    """Return why a process ended without an answer, with the last line that it wrote to standard error."""
    if child.exit_code < 0:
        return child.ending()
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - 4096))
    lines = errors.read().decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return child.ending() + (f": {last[:300]}" if last else "")


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

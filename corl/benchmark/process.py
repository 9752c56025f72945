"""One run in its own process, seen from the parent: pinned, timed, killed where it must be, and never believed."""

from __future__ import annotations

import contextlib
import datetime
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from corl.benchmark.cores import claimed
from corl.benchmark.machine import machine_facts

__all__ = ["Ended", "Processes", "run_process"]

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_POSIX = hasattr(os, "wait4")


@dataclass(frozen=True)
class Ended:
    """How a run's process ended."""

    answer: bytes = b""
    """The child's pickled answer; empty where there is a fault."""
    fault: str = ""
    """crash, timeout or lost; "" where the child has answered."""
    reason: str = ""
    wall_seconds: float | None = None
    """From the process's start to its end."""
    cpu_seconds: float | None = None
    """Of the process and those that it has waited for."""
    cores: tuple[int, ...] = ()
    started: str = ""
    machine: dict[str, Any] = field(default_factory=dict)


class Processes:
    """The processes that run now, to be killed together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def add(self, child: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._running.add(child)
            if self._closed:
                _kill(child)

    def remove(self, child: subprocess.Popen[bytes]) -> None:
        """Before it is reaped: from then on its number may be somebody else's."""
        with self._lock:
            self._running.discard(child)

    def kill(self) -> None:
        """All of them, and whatever is added later."""
        with self._lock:
            self._closed = True
            for child in self._running:
                _kill(child)


def run_process(task: bytes, count: int, hard_limit: float, processes: Processes | None = None) -> Ended:
    """Run a task of `corl.benchmark.child` on `count` processors of its own; it is killed after `hard_limit` seconds."""
    processes = processes or Processes()
    with claimed(count) as cores, tempfile.TemporaryFile() as errors:
        started, before = _now(), time.perf_counter()
        try:
            child = _start(cores, errors)
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
            cpu, code = _finish(child, timer, processes)
        wall = time.perf_counter() - before
        fault = reason = ""
        if not answer:
            fault = "timeout" if late.is_set() else "crash"
            reason = f"killed after {hard_limit:g} s" if late.is_set() else _cause(code, errors)
    return Ended(answer, fault, reason, wall, cpu, cores, started, machine_facts())


def _start(cores: tuple[int, ...], errors: Any) -> subprocess.Popen[bytes]:
    path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
    threads = dict.fromkeys(_THREADS, str(len(cores)))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "corl.benchmark.child", ",".join(map(str, cores))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=os.environ | threads | {"PYTHONPATH": path},
        start_new_session=True,  # a terminal's Ctrl-C is for the parent, and the run's own processes die with it
    )


def _exchange(child: subprocess.Popen[bytes], task: bytes) -> bytes:
    """Send the task; the child's whole answer, or nothing. The child's input stays open: its end would end the child."""
    assert child.stdin and child.stdout
    try:
        child.stdin.write(len(task).to_bytes(8, "little"))
        child.stdin.write(task)
        child.stdin.flush()
        size = int.from_bytes(child.stdout.read(8), "little")
        answer = child.stdout.read(size)
        return answer if len(answer) == size else b""
    except (OSError, ValueError, OverflowError, MemoryError):
        return b""


def _finish(child: subprocess.Popen[bytes], timer: threading.Timer, processes: Processes) -> tuple[float | None, int]:
    """Wait for the end, kill what the run left behind, and reap: (CPU seconds, exit code, negative for a signal)."""
    assert child.stdin and child.stdout
    cpu = None
    if _POSIX:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        timer.cancel()
        _kill(child)  # its group: the child itself is gone, but not reaped, so that the number is still its own
        processes.remove(child)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        cpu = usage.ru_utime + usage.ru_stime
    else:
        child.wait()
        timer.cancel()
        processes.remove(child)
    for pipe in (child.stdin, child.stdout):
        with contextlib.suppress(OSError):
            pipe.close()
    return cpu, child.returncode


def _kill(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        if _POSIX:
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()


def _kill_late(child: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    _kill(child)


def _cause(code: int, errors: Any) -> str:
    """What ended a process without an answer, with the last line that it wrote to standard error."""
    if code < 0:
        try:
            cause = f"ended by {signal.Signals(-code).name}"
        except ValueError:
            cause = f"ended by signal {-code}"
        if -code == getattr(signal, "SIGKILL", 9):
            cause += " (out of memory?)"
        return cause
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - 4096))
    lines = errors.read().decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f"ended with exit code {code}" + (f": {last[:300]}" if last else "")


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

"""The process that runs a peer's program, `python -P -m corl.benchmark.peers.guard`: it measures it, and ends all it started.

It answers "ready", receives one Task and answers with an Ended; a further message ends the program early. If the process that
started it ends, it ends the program, and removes the working folder.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import pickle
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from corl.benchmark.peers.program import Ended, Task
from corl.processes.child import at_parents_end, connect
from corl.processes.pipes import send

__all__ = ["main"]

_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER of Linux's prctl
_UNSTARTED = 127  # the exit code of shells for a command that cannot be started


def main() -> None:
    """Run one program."""
    messages, outbox = connect()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)
    send(outbox, "ready")
    ended = _run(pickle.loads(messages.get()), messages)
    with contextlib.suppress(BrokenPipeError):
        send(outbox, ended)
    threading.Event().wait()  # until the parent kills this process, or is gone itself


def _run(task: Task, messages: queue.SimpleQueue[bytes]) -> Ended:
    folder, late = Path(task.folder), threading.Event()
    at_parents_end(_end_descendants)
    at_parents_end(lambda: shutil.rmtree(folder))
    if task.kill_after_cpu is not None and sys.platform != "win32":  # it is also a limit of this process
        import resource

        most = math.ceil(task.kill_after_cpu) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    with (folder / "output").open("wb") as output, (folder / "errors").open("wb") as errors:
        started = time.perf_counter()
        try:
            process = subprocess.Popen(
                task.command, cwd=folder, env=task.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=errors
            )
        except OSError as error:
            errors.write(f"{task.command[0]} cannot be started: {error.strerror}".encode())
            return Ended(_UNSTARTED, False, 0.0, 0.0)

    def kill() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(task.kill_after, kill)
    timer.daemon = True
    timer.start()

    def end_early() -> None:
        messages.get()
        process.kill()

    threading.Thread(target=end_early, daemon=True).start()
    exit_code = process.wait()
    wall = time.perf_counter() - started
    timer.cancel()
    _end_descendants()
    used = os.times()
    cpu = used.children_user + used.children_system
    used_up = task.kill_after_cpu is not None and cpu >= task.kill_after_cpu and exit_code == -signal.SIGKILL
    return Ended(exit_code, late.is_set() or used_up, wall, cpu)


def _end_descendants() -> None:
    """Kill what the program left running: this process adopts the children of processes that have ended (only on Linux)."""
    while children := _children():
        for child in children:
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
        for child in children:
            with contextlib.suppress(OSError):
                os.waitpid(child, 0)


def _children() -> list[int]:
    """Return the numbers of this process's children; [] if the system has no /proc."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            parent = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                found.append(int(folder.name))
    return found


if __name__ == "__main__":
    main()

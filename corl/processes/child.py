"""Child processes: `python -P -m MODULE`, the parent's side (Child) and the child's (`connect`).

Plain processes, not multiprocessing's, so that they work from unguarded scripts, standard input and notebooks. A child ends
with its parent, however the parent ends.
"""

from __future__ import annotations

import contextlib
import io
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import IO, Any

from corl.processes.pipes import receive, receive_bytes, send, send_bytes

__all__ = ["Child", "connect", "end", "pin", "search_path"]

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_POSIX = hasattr(os, "wait4")
_LINGER = 1.0  # seconds in which a child that closed its pipe must end


# -------------------------------------------------------------------- the parent's side
class Child:
    """A child process and the pipes to it."""

    def __init__(
        self, module: str, *arguments: str, threads: int | None = None, errors: IO[bytes] | None = None, group: bool = False
    ) -> None:
        """Start the process with this process's search path. Raises OSError.

        Args:
            module: The module to run.
            *arguments: Its command-line arguments.
            threads: The number of threads of its libraries; None: as in this process.
            errors: A file for its standard error.
            group: Whether it leads a new process group, so that `kill` also ends the processes that it started; a terminal's
                Ctrl-C then does not reach it.
        """
        environment = {"PYTHONPATH": search_path()} | ({} if threads is None else dict.fromkeys(_THREADS, str(threads)))
        with contextlib.nullcontext() if group else _signals_blocked():
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=os.environ | environment,
                start_new_session=group,
            )
        self._group = group and _POSIX
        self._lock = threading.Lock()  # a reaped process must not be killed: its number may belong to another one
        assert self._process.stdin and self._process.stdout
        self._outbox, self._inbox = self._process.stdin, self._process.stdout

    def send(self, message: Any) -> None:
        """Send a message. Raises OSError, or ValueError after `close`, if the process is gone."""
        send(self._outbox, message)

    def send_bytes(self, body: bytes) -> None:
        """Send a message that is pickled already, as `send` does."""
        send_bytes(self._outbox, body)

    def receive(self) -> Any:
        """Return its next message. Raises EOFError if the process is gone."""
        return receive(self._inbox)

    def receive_bytes(self) -> bytes:
        """Return its next message, still pickled. Raises EOFError if the process is gone."""
        return receive_bytes(self._inbox)

    def close(self) -> None:
        """Close the pipes. Only the receiving thread may call it: another thread would wait for that one."""
        for pipe in (self._outbox, self._inbox):
            with contextlib.suppress(OSError):
                pipe.close()

    def kill(self) -> None:
        """Kill the process, and its group if it leads one."""
        with self._lock, contextlib.suppress(OSError):
            if self._process.returncode is not None:
                return
            if self._group:
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def reap(self) -> float | None:
        """Wait for its end. For the leader of a group, kill the remaining processes of the group and return its CPU seconds.

        They include those of the processes that it waited for. None for a process that leads no group.
        """
        if not self._group or self._process.returncode is not None:
            self._process.wait()
            return None
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)  # its number stays reserved until the group is killed
        self.kill()
        with self._lock:
            _, status, usage = os.wait4(self._process.pid, 0)
            self._process.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_utime + usage.ru_stime

    @property
    def exit_code(self) -> int:
        """The exit code of a child that closed its pipe, negative for a signal; a child that does not end is killed."""
        try:
            return self._process.wait(_LINGER)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.wait()

    def ending(self) -> str:
        """Return how it ended, in words: "ended with exit code 3", "ended by SIGKILL (out of memory?)"."""
        code = self.exit_code
        if code >= 0:
            return f"ended with exit code {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"ended by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")


def end(children: Iterable[Child]) -> None:
    """Kill all children, and wait until they are gone."""
    children = list(children)
    for child in children:
        child.kill()
    for child in children:
        child.reap()


def search_path() -> str:
    """Return this process's search path as PYTHONPATH, so that a child finds the same sources and plug-ins."""
    return os.pathsep.join(folder or os.getcwd() for folder in sys.path)


@contextlib.contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block Ctrl-C and SIGTERM for children started in this context: the parent decides when they end."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# -------------------------------------------------------------------- the child's side
def connect() -> tuple[queue.SimpleQueue[bytes], IO[bytes]]:
    """Connect a child to its parent; return the queue of the parent's messages, still pickled, and the pipe to the parent.

    Standard output is reserved for messages; prints go to standard error. Ctrl-C is ignored; the end of the parent ends this
    process at once, and the group that it leads.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # if it could not be blocked
    inbox, outbox = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if isinstance(
        sys.stdout, io.TextIOWrapper
    ):  # whole lines, which would mix with those of other children if Python runs unbuffered
        sys.stdout.reconfigure(line_buffering=True, write_through=False)
    messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(inbox, messages), daemon=True).start()
    return messages, outbox


def _listen(inbox: IO[bytes], messages: queue.SimpleQueue[bytes]) -> None:
    try:
        while True:
            messages.put(receive_bytes(inbox))
    finally:
        if hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)


def pin(processors: Iterable[int]) -> None:
    """Pin this process to some processors, if the system supports it; call it before any thread starts."""
    if hasattr(os, "sched_setaffinity") and (chosen := set(processors)):
        os.sched_setaffinity(0, chosen)

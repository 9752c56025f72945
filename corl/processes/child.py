"""Child processes, `python -P -m MODULE`: the class `Child` for the parent, and `connect` for the child.

They do not use multiprocessing, so that they work from notebooks, standard input, and scripts without a __main__ guard. A child
ends with its parent, even if the parent is killed.
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
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

from corl.processes.pipes import receive, receive_bytes, send, send_bytes

__all__ = ["Child", "at_parents_end", "connect", "end", "pin", "search_path"]

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_POSIX = hasattr(os, "wait4")
_END_LIMIT = 1.0  # seconds in which a child that has closed its pipe must end


# -------------------------------------------------------------------- in the parent
class Child:
    """A child process and the pipes to it."""

    def __init__(
        self, module: str, *arguments: str, threads: int | None = None, errors: IO[bytes] | None = None, group: bool = False
    ) -> None:
        """Start the process, with the module search path of this process. Raises OSError.

        Args:
            module: The module to run.
            *arguments: The command-line arguments of the module.
            threads: The number of threads of the process's libraries; None: as in this process.
            errors: A file for the process's standard error; None: that of this process.
            group: Whether the process leads a new process group. `kill` then also ends the processes that it started, and a
                terminal's Ctrl-C does not reach the group.
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
        self._lock = threading.Lock()  # of `kill` and `reap`: after reaping, another process may get the process number
        assert self._process.stdin and self._process.stdout
        self._outbox, self._inbox = self._process.stdin, self._process.stdout

    def send(self, message: Any) -> None:
        """Send a message. Raises OSError, or ValueError after `close`, if the process is gone."""
        send(self._outbox, message)

    def send_bytes(self, body: bytes) -> None:
        """Send a message that is pickled already. Raises as `send` does."""
        send_bytes(self._outbox, body)

    def receive(self) -> Any:
        """Return the next message of the process. Raises EOFError if the process is gone."""
        return receive(self._inbox)

    def receive_bytes(self) -> bytes:
        """Return the next message of the process, still pickled. Raises EOFError if the process is gone."""
        return receive_bytes(self._inbox)

    def close(self) -> None:
        """Close the pipes. Only the thread that receives may call this: in another thread the call would wait for that thread."""
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
        """Wait for the end of the process. If it leads a group, kill the group's other processes.

        Returns:
            The processor seconds of the process and of the child processes that it has waited for; None if it leads no group.
        """
        if not self._group or self._process.returncode is not None:
            self._process.wait()
            return None
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)  # keeps its number until the group is killed
        self.kill()
        with self._lock:
            _, status, usage = os.wait4(self._process.pid, 0)
            self._process.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_utime + usage.ru_stime

    @property
    def ended(self) -> bool:
        """Whether the process has ended, perhaps without having been reaped."""
        with self._lock:
            if self._process.returncode is not None or not _POSIX:
                return self._process.poll() is not None
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None

    @property
    def exit_code(self) -> int:
        """The exit code of a child that has closed its pipe, negative for a signal; a child that does not end is killed."""
        try:
            return self._process.wait(_END_LIMIT)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.wait()

    def ending(self) -> str:
        """Return how the process ended, as text: "ended with exit code 3", "ended by SIGKILL (out of memory?)"."""
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
    """Return the module search path of this process as a value of PYTHONPATH, so that a child finds the same modules."""
    return os.pathsep.join(folder or os.getcwd() for folder in sys.path)


@contextlib.contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block Ctrl-C and SIGTERM for the child processes started in this context, because the parent decides when they end."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# -------------------------------------------------------------------- in the child
_last_acts: list[Callable[[], object]] = []


def at_parents_end(act: Callable[[], object]) -> None:
    """Call a function before this process ends because its parent is gone, such as one that removes temporary files."""
    _last_acts.append(act)


def connect() -> tuple[queue.SimpleQueue[bytes], IO[bytes]]:
    """Connect a child to its parent; return the queue of the parent's messages, still pickled, and the pipe to the parent.

    Standard output is reserved for messages; prints go to standard error. Ctrl-C is ignored. The end of the parent ends this
    process at once, with its process group if it leads one.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where the parent could not block it
    inbox, outbox = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if isinstance(sys.stdout, io.TextIOWrapper):  # print whole lines: parts of lines would mix with other children's
        sys.stdout.reconfigure(line_buffering=True, write_through=False)
    messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(inbox, messages), daemon=True).start()
    return messages, outbox


def _listen(inbox: IO[bytes], messages: queue.SimpleQueue[bytes]) -> None:
    """Queue the parent's messages; when the parent has closed the pipe, end this process and the group that it leads."""
    try:
        while True:
            messages.put(receive_bytes(inbox))
    finally:
        for act in _last_acts:
            with contextlib.suppress(Exception):
                act()
        if hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)


def pin(processors: Iterable[int]) -> None:
    """Pin this process to some processors, if the system supports it; call it before any thread starts."""
    if hasattr(os, "sched_setaffinity") and (chosen := set(processors)):
        os.sched_setaffinity(0, chosen)

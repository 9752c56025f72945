"""Pipes: messages between our own processes, `python -P -m MODULE` and the one that started it.

Plain child processes, not multiprocessing's, so that they work from unguarded scripts, standard input and notebooks.
Messages are pickles, each with an 8-byte length before it.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import IO, Any

__all__ = ["exit_code", "own_pipes", "receive", "receive_bytes", "send", "send_bytes", "start"]


def send(pipe: IO[bytes], message: Any) -> None:
    """Pickle a message into the pipe."""
    send_bytes(pipe, pickle.dumps(message, protocol=5))


def send_bytes(pipe: IO[bytes], body: bytes) -> None:
    """Send a message that is pickled already."""
    pipe.write(len(body).to_bytes(8, "little"))
    pipe.write(body)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:
    """The next message; EOFError when the other side is gone."""
    return pickle.loads(receive_bytes(pipe))


def receive_bytes(pipe: IO[bytes]) -> bytes:
    """The next message, still pickled; EOFError when the other side is gone."""
    size = int.from_bytes(pipe.read(8), "little")
    body = pipe.read(size)
    if not body or len(body) < size:
        raise EOFError
    return body


def start(module: str, **variables: str) -> subprocess.Popen[bytes]:
    """`python -P -m MODULE` with pipes, this process's search path and additional environment variables. Raises OSError."""
    path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
    with _signals_blocked():
        return subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": path} | variables,
        )


def exit_code(child: subprocess.Popen[bytes]) -> int:
    """Of a child that no longer speaks; one that lingers is killed."""
    try:
        return child.wait(1.0)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait()


def own_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """In the child: (inbox, outbox). Standard output is kept for messages, prints go to standard error; Ctrl-C is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where it could not be blocked
    inbox = os.fdopen(os.dup(0), "rb")
    outbox = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if isinstance(sys.stdout, io.TextIOWrapper):  # whole lines, or those of two workers mix where Python runs unbuffered
        sys.stdout.reconfigure(line_buffering=True, write_through=False)
    return inbox, outbox


@contextlib.contextmanager
def _signals_blocked() -> Iterator[None]:
    """A child started here sees neither a terminal's Ctrl-C nor a batch system's SIGTERM to the group: the parent decides."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

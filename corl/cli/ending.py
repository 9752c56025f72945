"""Ending: Ctrl-C and SIGTERM end a command while LLVM is at a large kernel, too, where Python's handlers wait for minutes."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator

from corl.interruption import keeping

__all__ = ["watched"]

_PATIENCE = 1.0  # seconds that a compilation has to come to a point where handlers are called
_ENDING = {signal.SIGINT, signal.SIGTERM}


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """While the block runs, a thread hears of signals as they come; where nothing is to be kept, it ends the process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(ours,), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        theirs.close()


def _watch(ours: socket.socket) -> None:
    with ours:
        while numbers := ours.recv(64):
            if _ENDING.intersection(numbers) and _is_stuck() and not keeping():
                shown = "\x1b[?25h" if sys.stderr is not None and sys.stderr.isatty() else ""  # a bar has hidden the cursor
                with contextlib.suppress(OSError):
                    os.write(2, f"{shown}corl: interrupted\n".encode())
                os._exit(130)


def _is_stuck() -> bool:
    """Return whether a kernel is being compiled and continues to be; nothing is imported for that."""
    signals = sys.modules.get("corl.compilation.signals")
    return signals is not None and bool(signals.stuck(_PATIENCE))

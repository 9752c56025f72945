"""Ctrl-C and SIGTERM while LLVM compiles a large kernel: they end the command, though Python's handlers wait for minutes."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator

from corl.interruption import has_results

__all__ = ["watched"]

_PATIENCE = 1.0  # seconds in which a compilation must reach a point at which handlers are called
_ENDING = {signal.SIGINT, signal.SIGTERM}


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Run the block with a thread that receives signals at once, and ends the process if no results have to be kept."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    before = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(receiver,), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        sender.close()


def _watch(receiver: socket.socket) -> None:
    with receiver:
        while numbers := receiver.recv(64):
            if _ENDING.intersection(numbers) and _is_stuck() and not has_results():
                shown = "\x1b[?25h" if sys.stderr is not None and sys.stderr.isatty() else ""  # a bar has hidden the cursor
                with contextlib.suppress(OSError):
                    os.write(2, f"{shown}corl: interrupted\n".encode())
                os._exit(130)


def _is_stuck() -> bool:
    """Return whether the compilation of a kernel delays signals for longer than _PATIENCE; imports nothing."""
    signals = sys.modules.get("corl.compilation.signals")
    return signals is not None and bool(signals.stuck(_PATIENCE))

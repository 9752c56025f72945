"""Ctrl-C and SIGTERM while LLVM compiles a large kernel: they end the command at once.

Python calls its signal handlers only after the compilation, which may take minutes. A thread receives the signals before that.
"""

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

_STUCK_SECONDS = 1.0  # a compilation that delays signals for longer is not waited for
_ENDING_SIGNALS = {signal.SIGINT, signal.SIGTERM}


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Run the block; if a signal arrives while a compilation delays signals, end the process, unless results must be kept."""
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
            if _ENDING_SIGNALS.intersection(numbers) and _is_stuck() and not has_results():
                show_cursor = "\x1b[?25h" if sys.stderr is not None and sys.stderr.isatty() else ""  # a progress bar hides it
                with contextlib.suppress(OSError):
                    os.write(2, f"{show_cursor}corl: interrupted\n".encode())
                os._exit(130)


def _is_stuck() -> bool:
    """Wait up to _STUCK_SECONDS; return whether the compilation of a kernel still delays signals. Imports nothing."""
    signals = sys.modules.get("corl.compilation.signals")
    return signals is not None and bool(signals.stuck(_STUCK_SECONDS))

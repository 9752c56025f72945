"""Blocking calls of engines in C++ that end when a run ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from corl.run import Run

__all__ = ["call_interruptible"]

_T = TypeVar("_T")
_ASK_EVERY = 0.1  # seconds between two requests to an engine to stop
_PATIENCE = 5.0  # seconds in which an engine that is asked to stop may do so before it is abandoned


def call_interruptible(
    run: Run, function: Callable[[], _T], stop: Callable[[], object], poll: Callable[[], object] = lambda: None
) -> _T:
    """Run a blocking call in a helper thread while this thread watches the deadline and Ctrl-C.

    Args:
        run: The run to which the call belongs.
        function: The blocking call.
        stop: Asks the engine to end, by a thread-safe function of the engine. When the run must end, it is called every 0.1 s
            until `function` returns, because engines forget a request that comes before they have begun.
        poll: Called in this thread about every 10 ms and once at the end, to report from. If it raises, the call is stopped
            in the same way and the exception is raised.

    Returns:
        The value that `function` returns; what it raises is raised.
    """
    outcome: dict[str, Any] = {}

    def work() -> None:
        try:
            outcome["value"] = function()
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    ask_at, busy = 0.0, True
    try:
        while busy:
            thread.join(0.01)
            busy = thread.is_alive()  # read before `poll`, so that the last `poll` sees all of the call's results
            poll()
            if busy and run.should_stop and run.elapsed >= ask_at:
                stop()
                ask_at = run.elapsed + _ASK_EVERY
    except Exception:  # of `poll`, raised without waiting for the engine beyond _PATIENCE
        given_up = run.elapsed + _PATIENCE
        while thread.is_alive() and run.elapsed < given_up:
            stop()
            thread.join(_ASK_EVERY)
        raise
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]  # type: ignore[no-any-return]

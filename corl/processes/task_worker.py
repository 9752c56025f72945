"""A worker of `corl.processes.workers`: a child process (`python -P -m corl.processes.task_worker`) or a Ray actor."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable
from typing import Any

from corl.errors import CorlError, described
from corl.processes.child import connect
from corl.processes.executor import Outcome
from corl.processes.pipes import send

__all__ = ["Answering", "main"]


class Answering:
    """A worker: it calls `make(*arguments)` once, and answers each payload by the function that this call returns."""

    def __init__(self, task: bytes) -> None:
        """Create a worker; `task` is the pickled pair (make, arguments)."""
        self._task = task
        self._function: Callable[[Any], Any] | None = None

    def answer(self, payload: bytes) -> Outcome:
        """Return ("answer", the function's result for a pickled payload), or ("failed", CorlError)."""
        try:
            if self._function is None:
                make, arguments = pickle.loads(self._task)
                self._function = make(*arguments)
            return "answer", self._function(pickle.loads(payload))
        except CorlError as error:
            return "failed", error
        except Exception as error:
            return "failed", CorlError(f"a worker failed: {described(error)}")


def main() -> None:
    """Receive the task, then answer payloads until the parent is gone."""
    messages, outbox = connect()
    answering = Answering(messages.get())
    with contextlib.suppress(BrokenPipeError):  # the parent is gone
        while True:
            send(outbox, answering.answer(messages.get()))


if __name__ == "__main__":
    main()

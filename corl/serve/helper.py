"""Helper: the process of a server that reads requests and renders pages, so that no client's data can harm the server itself."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from corl import registry
from corl.errors import CorlError, UsageError
from corl.processes.child import Child, end
from corl.processes.pipes import pickled
from corl.processes.workers import Maker
from corl.serve.limits import Limits, limit_memory
from corl.serve.request import Request, read_request
from corl.serve.worker import confine

__all__ = ["WARM_UP", "Helper"]

WARM_UP = ("imports",)
"""The first payload, upon which the process imports what every task needs."""


class Helper:
    """A context manager around the process, which does one task at a time. It may be called from any thread."""

    def __init__(self, limits: Limits, folder: str, seconds: float, make: Maker | None = None) -> None:
        """Create a helper without a process.

        Args:
            limits: The limits of the server; `max_memory` holds for this process, too.
            folder: A folder of this helper alone, to which the process writes instances while it reads them.
            seconds: The most seconds of a task, after which the process is killed.
            make: Returns the function from payloads to answers, for (folder, limits); None: that of `facts` and `page`.
        """
        self._task = pickled((make or _make, (folder, limits)), "limits")
        self._seconds, self._child = seconds, None  # type: float, Child | None
        self._lock = threading.Lock()

    def __enter__(self) -> Helper:
        threading.Thread(target=self._warm, daemon=True).start()
        return self

    def _warm(self) -> None:
        """Let the process import what every request needs."""
        with contextlib.suppress(CorlError):
            self.ask(WARM_UP)

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def facts(self, request: bytes) -> dict[str, Any]:
        """Return `Request.facts` of the body of a request. Raises InputError or UsageError for an invalid one."""
        found: dict[str, Any] = self.ask(("facts", request))
        return found

    def page(self, request: bytes, **job: Any) -> str:
        """Return the HTML page of a job; see `_page` for the arguments."""
        html: str = self.ask(("page", request, job))
        return html

    def _start(self) -> Child:
        child = Child("corl.processes.task_worker", threads=1)
        child.send_bytes(self._task)
        self._child = child
        return child

    def _discard(self, child: Child) -> None:
        self._child = None
        end([child])
        child.close()

    def stop(self) -> None:
        """End the current task, if there is one: its `ask` raises an error."""
        if (child := self._child) is not None:
            child.kill()

    def ask(self, payload: tuple[Any, ...]) -> Any:
        """Return the answer of the process to a payload. Raises the CorlError of the process, or UsageError if it is lost."""
        with self._lock:
            if self._child is not None and self._child.ended:  # killed from outside, or by `stop`
                self._discard(self._child)
            child = self._child or self._start()
            timer = threading.Timer(self._seconds, child.kill)
            timer.start()
            try:
                child.send(payload)
                kind, value = child.receive()
            except (EOFError, OSError, ValueError):
                self._discard(child)
                raise UsageError(f"reading it takes too much memory, or more than {self._seconds:g} s") from None
            finally:
                timer.cancel()
        if kind == "answer":
            return value
        raise value if isinstance(value, CorlError) else CorlError(str(value))


def _make(folder: str, limits: Limits) -> Callable[[Any], Any]:
    """Return the function from payloads to answers of the process."""
    here = confine(folder)
    limit_memory(limits.max_memory)

    @lru_cache(maxsize=1)  # the page of a running job is rendered again and again
    def read(body: bytes) -> Request:
        return read_request(body, limits, here)

    def answer(payload: Any) -> Any:
        if payload == WARM_UP:
            return len(list(registry.working_problems()))
        if payload[0] == "facts":
            return read_request(payload[1], limits, here).facts
        return _page(read(payload[1]), **payload[2])

    return answer


def _page(request: Request, result: str | None, solution: str | None, facts: Mapping[str, str], trace: Any, live: bool) -> str:
    """Return the HTML page of a job.

    Args:
        request: The request.
        result: The JSON text of its Result; None before its end.
        solution: The JSON text of the best solution so far; None if there is none.
        facts: Facts to show if there is no result.
        trace: The trace to show if there is no result.
        live: Whether the page updates itself if there is no result.
    """
    from corl.files.json_values import from_json
    from corl.result import Result
    from corl.view.page import page

    if result is not None:
        return Result.from_json(result, request.instance).page()
    found = None if solution is None else request.problem.from_json(request.instance, from_json(solution))
    return page(request.problem, request.instance, found, list(facts.items()), trace, live=live)

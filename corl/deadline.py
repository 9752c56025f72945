"""Time limits for long computations within an action: integer programs, the evaluation of a thousand states.

Policies and oracles are asked for actions and have no clock; their caller may set a limit for everything in a block:
`time_limited`, or `in_time` with that of a run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from corl.processes.workers import Workers

if TYPE_CHECKING:
    from corl.run import Run

__all__ = ["OutOfTime", "in_time", "program_solved", "seconds_left", "time_limited"]

_HERE = 0.3  # seconds that a program may take in this process
_LARGE = 20_000  # entries from which a program may run for over a second without checking its limit


class OutOfTime(Exception):
    """The time is over."""


class _Deadline(ExitStack):
    """The remaining seconds, and a process for programs that take long, created at its first use."""

    def __init__(self, remaining: Callable[[], float]) -> None:
        super().__init__()
        self.remaining = remaining
        self._process: Workers | None = None

    @property
    def process(self) -> Workers:
        """Ends with the block."""
        if self._process is None:
            self._process = self.enter_context(Workers(1, _solving))
        return self._process


_present: ContextVar[_Deadline | None] = ContextVar("present", default=None)


@contextmanager
def time_limited(remaining: Callable[[], float]) -> Iterator[None]:
    """Run the block; code in it raises OutOfTime soon after `remaining()`, in seconds, has fallen to 0."""
    with _Deadline(remaining) as deadline:
        token = _present.set(deadline)
        try:
            yield
        finally:
            _present.reset(token)


@contextmanager
def in_time(run: Run, share: float = 1.0) -> Iterator[None]:
    """Run the block until a share of the time limit is over, or Ctrl-C; not until all iterations are done.

    With the whole limit, work that is too long for the remaining time ends the run for that reason, some moments before its end.
    """

    def remaining() -> float:
        if run.interrupted:
            return 0.0
        return math.inf if run.time_limit is None else share * run.time_limit - run.elapsed

    try:
        with time_limited(remaining):
            yield
    except OutOfTime:
        if share == 1.0:
            run.stop("time_limit")


def seconds_left() -> float:
    """Return the remaining seconds, inf without a limit. Raises OutOfTime if there are none."""
    deadline = _present.get()
    left = math.inf if deadline is None else deadline.remaining()
    if left <= 0.0:
        raise OutOfTime
    return left


def program_solved(entries: int, program: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Return the result of SciPy's `linprog` or `milp` with HiGHS, run to its end, for a program with this many entries.

    Nothing interrupts such a call, which checks its own limit irregularly: a long one is made in a process, which can be killed.
    Raises OutOfTime.
    """
    deadline = _present.get()
    if deadline is None:
        return program(*arguments, **keywords)
    found = None if entries > _LARGE else _within(min(seconds_left(), _HERE), program, arguments, keywords)
    if found is None:
        deadline.process.submit((seconds_left(), program, arguments, keywords))
        found = deadline.process.next(seconds_left)
    if found is None:
        raise OutOfTime
    return found


def _solving() -> Callable[[tuple[Any, ...]], Any]:
    """Return the function that the process of a deadline runs."""
    return lambda task: _within(*task)


def _within(seconds: float, program: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Return the result of a program within this many seconds, None if it did not finish."""
    begun = time.monotonic()
    options = {**keywords.get("options", {}), "time_limit": seconds}
    found = program(*arguments, **keywords | {"options": options})
    if found.status == 1 or (found.x is None and time.monotonic() - begun > 0.5 * seconds):
        return None  # a time limit reached during presolve has no separate status
    return found

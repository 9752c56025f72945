"""Time limits for computations within a single action of a policy, such as integer programs or the evaluation of many states.

Policies have no clock of their own. Their caller sets a limit for all code in a block: `time_limited`, or `in_time` with the
limit of a run.
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

_IN_PROCESS = 0.3  # seconds that a linear or integer program may take in this process
_LARGE = 20_000  # matrix entries from which HiGHS may run for over a second without checking its time limit


class OutOfTime(Exception):
    """The time limit of the current block is over."""


class _Deadline(ExitStack):
    """The limit of a block: a function that returns the remaining seconds, and a process for programs that take long."""

    def __init__(self, remaining: Callable[[], float]) -> None:
        super().__init__()
        self.remaining = remaining
        self._process: Workers | None = None

    @property
    def process(self) -> Workers:
        """The process, which is started at the first use and ends with the block."""
        if self._process is None:
            self._process = self.enter_context(Workers(1, _task_function))
        return self._process


_deadline: ContextVar[_Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def time_limited(remaining: Callable[[], float]) -> Iterator[None]:
    """Run the block; code in it raises OutOfTime soon after `remaining()`, in seconds, has fallen to 0."""
    with _Deadline(remaining) as deadline:
        token = _deadline.set(deadline)
        try:
            yield
        finally:
            _deadline.reset(token)


@contextmanager
def in_time(run: Run, share: float = 1.0) -> Iterator[None]:
    """Run the block until a share of the run's time limit is over, or Ctrl-C is pressed. A limit of iterations has no effect.

    With `share` = 1, the run is stopped for the reason "time_limit" when time runs out in the block. This may happen shortly
    before the limit, if a computation needs more than the remaining time.
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
    """Return the remaining seconds, inf without a limit. Raises OutOfTime if the time is over."""
    deadline = _deadline.get()
    seconds = math.inf if deadline is None else deadline.remaining()
    if seconds <= 0.0:
        raise OutOfTime
    return seconds


def program_solved(entries: int, program: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Return the result of `program(*arguments, **keywords)`, which is SciPy's `linprog` or `milp` with HiGHS.

    A running call cannot be interrupted, and HiGHS checks its time limit irregularly. So a long call is made in another process,
    which can be killed. Raises OutOfTime if the time limit of the block ends first.

    Args:
        entries: The number of nonzero entries of the program's matrix.
        program: `linprog` or `milp`.
        *arguments: Its arguments.
        **keywords: Its keyword arguments.
    """
    deadline = _deadline.get()
    if deadline is None:
        return program(*arguments, **keywords)
    result = None if entries > _LARGE else _within(min(seconds_left(), _IN_PROCESS), program, arguments, keywords)
    if result is None:
        deadline.process.submit((seconds_left(), program, arguments, keywords))
        result = deadline.process.next(seconds_left)
    if result is None:
        raise OutOfTime
    return result


def _task_function() -> Callable[[tuple[Any, ...]], Any]:
    """Return the function that the other process runs on each task."""
    return lambda task: _within(*task)


def _within(seconds: float, program: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Return the result of a program that is limited to this many seconds; None if it did not finish."""
    started = time.monotonic()
    options = {**keywords.get("options", {}), "time_limit": seconds}
    result = program(*arguments, **keywords | {"options": options})
    if result.status == 1 or (result.x is None and time.monotonic() - started > 0.5 * seconds):
        return None  # status 1: the time limit was reached; in presolve the status does not say so, hence the test of the time
    return result

"""The run's clock for work that is hidden in actions: episodes are played, and lists made, as long as there is time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from corl.problems.bandits.deadline import OutOfTime, time_limited

if TYPE_CHECKING:
    from corl.run import Run

__all__ = ["in_time"]


@contextmanager
def in_time(run: Run, share: float = 1.0) -> Iterator[None]:
    """The block is left where a share of the time limit is over, and after Ctrl-C; not because all iterations are done.

    With all of the limit, what was too long for the time that was left ends the run for that reason, some moments before its end.
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

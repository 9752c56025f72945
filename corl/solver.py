"""Solver: an anytime method for one problem family, or for any."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from corl.run import Run

__all__ = ["Solver"]


class Solver(abc.ABC):
    """A frozen dataclass whose fields are the solver's options, checked in `__post_init__` (UsageError).

    The main loop of `solve` is `while n := run.budget(): kernel(state, n); run.report(solution)`.
    """

    title: ClassVar[str] = ""
    """One line for `corl list solvers`."""
    iteration: ClassVar[str] = ""
    """What one iteration is; "" if there is no such thing, and then `iterations=` is refused."""
    limit_free: ClassVar[bool] = False
    """True if its trajectory does not depend on the time limit: no schedule on `run.fraction`, no size or share taken from
    `run.remaining`. Benchmarks then run it once, to the longest limit, and read the shorter ones off the trace."""
    own_workers: ClassVar[bool] = False
    """True if `solve` uses `run.workers` cores by itself; otherwise corl runs copies with different seeds."""

    def accepts(self, instance: Any) -> str:
        """"" if it can solve `instance`; otherwise the reason, to follow "because " in the message to the user."""
        return ""

    def prepare(self, instance: Any) -> None:  # noqa: B027
        """Import, load weights, compile: work that does not grow with the instance. Its time is `Result.setup_seconds`."""

    @abc.abstractmethod
    def solve(self, instance: Any, run: Run) -> None:
        """Tell `run` of every better solution (`run.report`) and bound (`run.report_bound`); return when it says stop."""

"""Solver: an anytime method for one problem family, or for any."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.options import Options

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.environment import Environment
    from corl.run import Run

__all__ = ["Solver"]


class Solver(Options, abc.ABC):
    """A frozen dataclass whose fields are the solver's options, declared by `corl.options.option`.

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
    """True if `solve` always uses `run.workers` cores by itself (`uses_workers` where the run decides)."""

    alike: ClassVar[int] = 0
    """Where not 0, `prepare` looks at nothing of an instance but its `kind`, the types of its fields, truth values and words in
    them, and sizes up to this one: a process prepares once for all instances that agree in these (corl.preparation)."""
    requires: ClassVar[tuple[str, ...]] = ()
    """Import names of optional packages that it cannot run without: suites leave it out where one is not installed."""

    def accepts(self, instance: Any) -> str:
        """ "" if it can solve `instance`; otherwise the reason, to follow "because " in the message to the user."""
        return ""

    def prepare(self, instance: Any) -> None:
        """Import, load weights, compile: work that does not grow with the instance. Its time is `Result.setup_seconds`."""

    def own_process(self, instance: Any) -> bool:
        """Whether it runs in a process of its own, which is killed when the run must end: what it has reported by then counts.

        For an engine that on an instance like this hears neither its limit nor a request for longer than we allow.
        """
        return False

    def uses_workers(self, run: Run) -> bool:
        """Whether `solve` uses the `run.workers` cores by itself in this run; otherwise corl runs copies with different seeds."""
        return self.own_workers

    def kind(self, instance: Any) -> str:
        """A word for the kernels that `prepare` compiles, where the instance decides which: each kind has a record of its own.

        Records lie beside the solver's module and let several processes compile what is missing (corl.compilation.ahead).
        """
        return ""

    def complete(self, environment: Environment, row: int, iterations: int, seed: int) -> list[NDArray[np.int64]]:
        """What it would do from the state of a row of a pool on, to the end of the episode; the pool stays as it is.

        For each step the actions that are right there, the one to take first. A teacher of imitation may have this; raises
        UsageError where it does not, or not in this environment.
        """
        raise UsageError("this solver solves instances and completes no states of an environment")

    @abc.abstractmethod
    def solve(self, instance: Any, run: Run) -> None:
        """Tell `run` of every better solution (`run.report`) and bound (`run.report_bound`); return when it says stop."""

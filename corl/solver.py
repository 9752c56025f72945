"""Solver: an anytime method for one problem family, or for any."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar

from corl.deprecation import renamed_members
from corl.errors import UsageError
from corl.options import Options

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.environment import Environment
    from corl.run import Run

__all__ = ["Solver"]


@renamed_members({"alike": "preparation_size"})
class Solver(Options, abc.ABC):
    """A frozen dataclass whose fields are the solver's options, declared by `corl.options.option`.

    The main loop of `solve` is `while n := run.budget(): kernel(state, n); run.report(solution)`.
    """

    title: ClassVar[str] = ""
    """One line for `corl list solvers`."""
    iteration: ClassVar[str] = ""
    """The meaning of one iteration; "" if there is none, and then `iterations=` is refused."""
    limit_free: ClassVar[bool] = False
    """Whether its trajectory is independent of the time limit: no schedule on `run.fraction`, no size or share taken from
    `run.remaining`. Benchmarks then run it once, to the longest limit, and read the results at shorter limits from the trace.
    """
    own_workers: ClassVar[bool] = False
    """Whether `solve` always uses `run.workers` cores by itself (override `uses_workers` if it depends on the run)."""
    preparation_size: ClassVar[int] = 0
    """If not 0, `prepare` depends on nothing in an instance but its `kind`, the types of its fields, their booleans and strings,
    and their sizes; sizes from this one on count as equal. A process prepares once for all instances that agree in these
    (corl.preparation).
    """
    requires: ClassVar[tuple[str, ...]] = ()
    """Import names of optional packages that it requires: suites skip it if one is not installed."""

    def accepts(self, instance: Any) -> str:
        """Return "" if it can solve `instance`; otherwise the reason, which follows "because " in the message to the user."""
        return ""

    def prepare(self, instance: Any) -> None:
        """Import, load weights, compile: work that does not grow with the instance. Its time is `Result.setup_seconds`."""

    def own_process(self, instance: Any) -> bool:
        """Return whether it runs in its own process, which is killed when the run must end; what it has reported by then is kept.

        For an engine that, on an instance like this one, does not react in time to its limit or to a request to stop.
        """
        return False

    def uses_workers(self, run: Run) -> bool:
        """Return whether `solve` uses `run.workers` cores itself in this run; otherwise corl runs copies with different seeds."""
        return self.own_workers

    def kind(self, instance: Any) -> str:
        """Return a word for the set of kernels that `prepare` compiles, if it depends on the instance.

        Each kind has its own record, in a file next to the solver's module, from which several processes compile missing kernels
        (corl.compilation.precompile).
        """
        return ""

    def complete(self, environment: Environment, row: int, iterations: int, seed: int) -> list[NDArray[np.int64]]:
        """Return the actions that it would take from the state of a row to the end of the episode; the pool is not changed.

        A teacher for imitation learning may implement this.

        Args:
            environment: The pool.
            row: The row with the state.
            iterations: The budget, in the solver's own unit.
            seed: The seed of the random numbers.

        Returns:
            For each step the optimal actions in its state, int64, the one to take first.

        Raises:
            UsageError: The solver does not implement this, or not for this environment.
        """
        raise UsageError("this solver solves instances and completes no states of an environment")

    @abc.abstractmethod
    def solve(self, instance: Any, run: Run) -> None:
        """Report every better solution (`run.report`) and bound (`run.report_bound`) to `run`; return when the run says stop."""

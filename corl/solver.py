"""Solver: the base class of anytime methods for one problem family, or for every one."""

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
    """The meaning of one iteration; "" if iterations cannot be counted, so that `iterations=` is refused."""
    limit_free: ClassVar[bool] = False
    """Whether the search is the same for every time limit: no schedule depends on `run.fraction`, and no size on
    `run.remaining`. Benchmarks then run the solver once, to the longest limit, and read the results at shorter limits from the
    trace.
    """
    reports_at_end: ClassVar[bool] = False
    """Whether no solution is reported before the end of the search, so that `patience=` is refused."""
    own_workers: ClassVar[bool] = False
    """Whether `solve` always uses `run.workers` cores by itself (override `uses_workers` if it depends on the run)."""
    preparation_size: ClassVar[int] = 0
    """If not 0, the effect of `prepare` depends only on `kind(instance)` and on the types, sizes, booleans, integers and strings
    of the instance's fields; sizes and integers of at least this value need the same preparation. A process then prepares
    once for all instances that agree in these (corl.preparation).
    """
    completes_starts: ClassVar[bool] = False
    """Whether `solve` completes an incomplete warm start, `run.partial_start`, by inserting what is missing."""
    requires: ClassVar[tuple[str, ...]] = ()
    """Import names of optional packages that the solver requires; suites skip it if one of them is not installed."""
    engine: ClassVar[str] = ""
    """The program of others whose search this is, such as "PyVRP", for reports that compare it with ours; "" for our own."""

    @property
    def result_name(self) -> str:
        """The name in the Result of a solver that was given as an object: by default that of its class."""
        return type(self).__name__

    def accepts(self, instance: Any) -> str:
        """Return "" if the solver can solve `instance`; otherwise the reason, for a message "... because REASON"."""
        return ""

    def prepare(self, instance: Any) -> None:
        """Import packages, load weights, compile kernels: work that does not grow with the instance, before the clock starts."""

    def own_process(self, instance: Any) -> bool:
        """Return whether the solver must run in a process of its own, which is killed at the end of the run.

        This is for an engine that, on such an instance, does not react in time to its limit or to a request to stop. The
        solutions that it has reported by then are kept.
        """
        return False

    def uses_workers(self, run: Run) -> bool:
        """Return whether `solve` uses `run.workers` cores by itself; if not, corl runs this many copies with different seeds."""
        return self.own_workers

    def kind(self, instance: Any) -> str:
        """Return a name for the set of kernels that `prepare` compiles, if this set depends on the instance; otherwise "".

        A file next to the solver's module records the kernels of each kind, so that several processes can compile the missing
        ones (corl.compilation.precompile).
        """
        return ""

    def complete(self, environment: Environment, row: int, iterations: int, seed: int) -> list[NDArray[np.int64]]:
        """Return the actions that the solver would take from the state of a row to the end of its episode.

        The pool is not changed. Imitation learning uses this, if a solver implements it.

        Args:
            environment: The pool.
            row: The row with the state.
            iterations: The budget, in the solver's own unit.
            seed: The seed of the random numbers.

        Returns:
            For each step the equally good actions, int64; the first of them is the one that is taken.

        Raises:
            UsageError: The solver does not implement this, or not for this environment.
        """
        raise UsageError("this solver solves instances and completes no states of an environment")

    @abc.abstractmethod
    def solve(self, instance: Any, run: Run) -> None:
        """Search: report every better solution (`run.report`) and bound (`run.report_bound`), and return when the run says so."""

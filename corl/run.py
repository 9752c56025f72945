"""Run: the clock, budget, seed, incumbent, bound and interruption of one solve."""

from __future__ import annotations

import copy
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from corl.adapter import Problem
from corl.blocking import call_interruptible
from corl.deprecation import renamed_members
from corl.errors import Infeasible, SolverError
from corl.judging import judged
from corl.termination import LIMITS, Limit, Status
from corl.tolerance import agrees, tied

__all__ = ["STRICT", "Improvement", "Run"]

STRICT = "CORL_STRICT"
"""The environment variable that, if set, makes a solver's false report or exception end the run with a SolverError."""
_T = TypeVar("_T")
_CHUNK = 0.03  # seconds of work that one grant of iterations (`budget`) is sized to
_GROWTH = 4  # a grant is at most this many times the previous one, so that one wrong timing cannot overshoot the limit
_LARGEST = 2**31 - 1  # the most units of a grant, so that kernels may use an int32
_REPORT_SHARE = 0.02  # share of the time that intermediate reports may take


@dataclass(frozen=True)
class Improvement:
    """The argument of `on_improvement`: the state of the run after a better solution or bound."""

    runtime: float
    """Seconds since the clock started."""
    objective: float | None
    """The objective value of the incumbent; None before the first."""
    bound: float | None
    """The best proven bound; None if there is none."""
    solution: Any = None
    """The incumbent in the problem's own form (None before the first); the run's own copy, which must not be changed."""


@renamed_members({"aside": "sub_run"})
class Run:
    """The argument of `Solver.solve`. The clock starts when `start` is called, after `Solver.prepare`.

    No report of a solver is trusted: a solution that the judge refuses, or a false claim or bound, is discarded, and the search
    continues with what is verified. With CORL_STRICT=1 (tests, `corl bench`) each false report raises SolverError at once.
    """

    def __init__(
        self,
        problem: Problem,
        instance: Any,
        *,
        time_limit: float | None = None,
        iterations: int | None = None,
        target: float | None = None,
        patience: float | None = None,
        seed: int = 0,
        workers: int = 1,
        warm_start: Any = None,
        partial_start: Any = None,
        on_improvement: Callable[[Improvement], object] | None = None,
        on_refusal: Callable[[str], object] | None = None,
        proves: bool = True,
    ) -> None:
        self.problem, self.instance = problem, instance
        self.proves = proves
        """Whether bounds are wanted; if not, a solver may skip work that only proves one."""
        self.time_limit, self.iterations, self.target = time_limit, iterations, target
        self.patience = patience
        """Seconds without a better solution or bound, after the first solution, that end the run; None: no such limit."""
        self.seed, self.workers, self.warm_start = seed, workers, warm_start
        self.partial_start = partial_start
        """An incomplete warm start (`Problem.partial`) for a solver that completes it (`Solver.completes_starts`); or None. The
        solver calls `Problem.infeasible` only if it cannot, because the proof may take longer.
        """
        self.objective: float | None = None
        self.solution: Any = None
        self.bound: float | None = None
        self.infeasible = self.unbounded = self.interrupted = False
        self.reason = ""
        """Why the instance has no solution, or why nothing is proved, in words, if a solver can say."""
        self.runtime = 0.0
        self.trace: list[tuple[float, float | None, float | None]] = []
        self.discarded = 0
        """The number of false reports (solutions, bounds, proofs) and failures of the solver."""
        self.refusal = ""
        """The message of the first false report or failure."""
        self.callback_error: Exception | None = None
        """The exception that `on_improvement` raised: the caller's error, not the solver's."""
        self._on_improvement, self._on_refusal = on_improvement, on_refusal
        self._limit: Limit | None = None
        self._started = time.perf_counter()
        self._improved_at = 0.0
        self._done = self._granted = self._last_grant = 0
        self._granted_at = 0.0
        self._seconds_per_unit = 0.0
        self._next_report = 0.0
        self._parent: Run | None = None
        self._given: Any = None  # the incumbent before the solver begins
        self._strict = bool(os.environ.get(STRICT))

    def sub_run(self, reserve: float = 0.0) -> Run:
        """Return a run for another thread of the solver, or for a part of its work that must end `reserve` seconds early.

        It has its own grants (`budget`), shares this run's clock and seed, and ends when this run does. Its solutions must be
        reported to this run, in this run's thread.
        """
        other = copy.copy(self)
        other._done = other._granted = other._last_grant = 0
        other._seconds_per_unit = 0.0
        other.patience = None  # only this run knows the improvements; the other asks it
        if self.time_limit is not None:
            other.time_limit = self.time_limit - reserve
        other._parent = self
        return other

    # ---------------------------------------------------------------- clock and limits
    def start(self) -> None:
        """Start the clock. A warm start is reported at once; an instance with an obvious proof of infeasibility ends the run.

        With `partial_start`, the proof is left to the solver.
        """
        self._started = time.perf_counter()
        if self.warm_start is not None:
            self.report(self.warm_start)
            self._given = self.solution
        elif self.partial_start is None and (reason := self.problem.infeasible(self.instance)):
            self.report_infeasible(reason)

    def restart_clock(self) -> None:
        """Start the clock again at 0: for a solver that is another program, when the program starts."""
        self._started = time.perf_counter()

    @property
    def elapsed(self) -> float:
        """Seconds since the clock started."""
        return time.perf_counter() - self._started

    @property
    def remaining(self) -> float:
        """Seconds until the time limit, never negative; inf if there is no limit."""
        return float("inf") if self.time_limit is None else max(0.0, self.time_limit - self.elapsed)

    @property
    def fraction(self) -> float:
        """The share of the budget that is spent, 0..1: of `iterations` if given, otherwise of the time limit.

        The current grant counts as spent, so the value within a grant depends on the grant's size.
        """
        if self.iterations is not None:
            return min(1.0, (self._done + self._granted) / max(1, self.iterations))
        return 0.0 if self.time_limit is None else min(1.0, self.elapsed / max(self.time_limit, 1e-9))

    @property
    def limit(self) -> Limit | None:
        """The reason that ended the run, one of `corl.termination.LIMITS`; None while it may continue."""
        if self._limit is None and self.time_limit is not None and self.elapsed >= self.time_limit:
            self._limit = "time_limit"
        waiting = self._limit is None and self.patience is not None and self.objective is not None
        if waiting and self.elapsed - self._improved_at >= (self.patience or 0.0):
            self._limit = "patience"
        if self._limit is None and self._parent is not None:
            self._limit = self._parent.limit
        return self._limit

    @property
    def should_stop(self) -> bool:
        """Whether a solver must return now."""
        return self.limit is not None

    def stop(self, reason: Limit = "finished") -> None:
        """Ask the solver to end; callable from a signal handler, a callback or another thread. The first reason is kept.

        Raises SolverError for a reason that is not among `corl.termination.LIMITS`.
        """
        if reason not in LIMITS:
            raise SolverError(f"a run was stopped for the reason {reason!r}; accepted: {', '.join(LIMITS)}")
        if self._limit is None:
            self._limit = reason

    def interrupt(self) -> None:
        """Stop and keep the incumbent, as Ctrl-C does."""
        self.interrupted = True
        self.stop("interrupted")

    def finish(self) -> None:
        """Stop the clock: `runtime` and `limit` are fixed from here on."""
        self.runtime = self.elapsed
        if self.limit is None:
            self.stop()

    def budget(self, most: int | None = None) -> int:
        """Return how many iterations (units of work) to do before calling again; 0 means return.

        The last grant counts as done. Grants are sized to about 30 ms and never depend on the random state, so a solver
        whose state persists across calls takes the same path whatever the size of the grants. `most` limits the grant.
        """
        now = self.elapsed
        self._measure(now)
        self._done, self._granted = self._done + self._granted, 0
        if self.iterations is not None and self._done >= self.iterations:
            self.stop("iterations")
        if self.should_stop:
            return 0
        n = max(1, int(min(_CHUNK, self.remaining) / self._seconds_per_unit)) if self._seconds_per_unit else 1
        n = min(n, _GROWTH * max(1, self._last_grant), _LARGEST)
        if self.iterations is not None:
            n = min(n, self.iterations - self._done)
        if most is not None:
            n = min(n, most)
        self._granted = self._last_grant = n
        self._granted_at = self.elapsed
        return n

    def _measure(self, now: float) -> None:
        """Update the estimated seconds per unit of work: the larger of the last grant's value and a running mean."""
        if self._granted:
            latest = max(now - self._granted_at, 1e-9) / self._granted
            mean = self._seconds_per_unit
            self._seconds_per_unit = max(latest, 0.7 * mean + 0.3 * latest) if mean else latest

    # ---------------------------------------------------------------- reports of the solver
    @property
    def report_due(self) -> bool:
        """Whether another intermediate report is due: reports (evaluation, copy, callback) may take 2 % of the time."""
        return self.elapsed >= self._next_report

    def report(self, solution: Any, objective: float | None = None) -> bool:
        """Report a solution; return whether it is better than the incumbent, which it then replaces (as a copy).

        It is evaluated by the Problem, and discarded (see the class) if it is infeasible, if its objective value is not finite,
        or if the claimed `objective` is wrong by more than 1e-6 relative.
        """
        before = self.elapsed
        better = self._offer(solution, objective)
        now = self.elapsed
        self._next_report = now + (now - before) / _REPORT_SHARE
        return better

    def _offer(self, solution: Any, objective: float | None) -> bool:
        """Implement `report`."""
        try:
            value = judged(self.problem, self.instance, solution) if self.objective is None else self._value(solution)
        except Infeasible as error:
            return self.discard(f"the solver reported an infeasible solution: {error}", error)
        if not math.isfinite(value):
            return self.discard(f"the solver reported a solution with objective value {value!r}")
        if objective is not None and not agrees(value, objective):
            return self.discard(f"the solver claimed {objective!r} for a solution with objective value {value!r}")
        if self.infeasible:
            self.discard("the solver reported a solution of an instance that it had reported as infeasible")
            self.infeasible, self.reason = False, ""
            self._resume("infeasible")
        better = self.objective is None or self.problem.better(value, self.objective)
        if better:
            self.objective, self.solution = value, copy.deepcopy(solution)
            self._improved()
        return better

    def _value(self, solution: Any) -> float:
        return float(self.problem.evaluate(self.instance, solution))

    def discard(self, refusal: str, cause: Exception | None = None) -> bool:
        """Count a false report of the solver; return False. Raises SolverError instead if CORL_STRICT is set."""
        if self._strict:
            raise SolverError(refusal) from cause
        if self._parent is not None:
            return self._parent.discard(refusal, cause)
        self.discarded += 1
        self.refusal = self.refusal or refusal
        if self._on_refusal is not None:
            self._on_refusal(refusal)
        return False

    def fail(self, error: SolverError) -> None:
        """End the run because the solver failed, and keep what it has found.

        Raises a SolverError if it has found nothing better than the warm start, or if CORL_STRICT is set.
        """
        if self._strict or self.solution is self._given:
            if self.refusal:
                raise SolverError(self.refusal) from error
            raise error
        self.discard(str(error), error)
        self.stop("failed")

    def report_bound(self, bound: float) -> None:
        """Report a proven bound on the objective (a lower one when minimising); the best one is kept.

        It is discarded (see the class) if it is NaN or infinite, or if the incumbent is better than the bound by more than
        rounding. If the incumbent is better within rounding, the two count as equal, so that the incumbent is optimal.
        """
        bound = float(bound)
        if bound == -self.problem.worst:  # minus infinity when minimising: no bound at all
            return
        if not math.isfinite(bound):
            self.discard(f"the solver reported {bound!r} as a bound")
        elif self.bound is None or self.problem.better(self.bound, bound):
            before, self.bound = self.bound, bound
            if self._contradicted():
                self.bound = before
            else:
                self._improved()

    def _contradicted(self) -> bool:
        """Return whether the incumbent is better than the bound by more than rounding; if so, discard the report.

        If it is better by no more than rounding, the bound is set to its objective value.
        """
        if self.objective is None or self.bound is None or not self.problem.better(self.objective, self.bound):
            return False
        if agrees(self.objective, self.bound):
            self.bound = self.objective
            return False
        self.discard(f"the solver's bound {self.bound!r} is contradicted by a solution with objective value {self.objective!r}")
        return True

    def report_infeasible(self, reason: str = "") -> None:
        """Report a proof that the instance has no solution, with an optional reason; discarded if a solution is known."""
        if self.objective is not None:
            self.discard("the solver reported an instance as infeasible that has a known solution")
            return
        self.infeasible, self.reason = True, reason
        self.stop("infeasible")

    def report_unbounded(self) -> None:
        """Report a proof that solutions improve without limit; discarded if a bound or infeasibility is known."""
        if self.bound is not None or self.infeasible:
            known = "an infeasible instance" if self.infeasible else "an instance with a known bound"
            self.discard(f"the solver reported {known} as unbounded")
            return
        self.unbounded = True
        self.stop("unbounded")

    @property
    def status(self) -> Status:
        """The current knowledge of the solution, one of `corl.termination.STATUSES`."""
        if self.infeasible:
            return "infeasible"
        if self.unbounded:
            return "unbounded"
        return "no_solution" if self.objective is None else "optimal" if self.optimal else "feasible"

    @property
    def optimal(self) -> bool:
        """Whether the bound proves the incumbent optimal (to 1e-9 relative)."""
        return self.objective is not None and self.bound is not None and bool(tied(self.objective, self.bound))

    def _resume(self, reason: Limit) -> None:
        """Continue a run that a false proof ended; a run ended for another reason stays ended."""
        if self._limit == reason:
            self._limit = None

    def _improved(self) -> None:
        """Process a better solution or bound: compare both, extend the trace, end the run if it suffices, call the callback."""
        self._improved_at = now = self.elapsed
        if self._contradicted():  # by a new solution: no earlier bound can be trusted
            self.bound, self.trace = None, [(at, objective, None) for at, objective, _ in self.trace if objective is not None]
            self._resume("optimal")
        self.trace.append((round(now, 6), self.objective, self.bound))
        if self.optimal:
            self.stop("optimal")
        elif self.target is not None and self.objective is not None and not self.problem.better(self.target, self.objective):
            self.stop("target")
        if self._on_improvement is not None:
            try:
                self._on_improvement(Improvement(now, self.objective, self.bound, self.solution))
            except Exception as error:
                self.callback_error = error
                raise

    def call_interruptible(
        self, function: Callable[[], _T], stop: Callable[[], object], poll: Callable[[], object] = lambda: None
    ) -> _T:
        """Run a blocking call of an engine, and have it stopped when this run ends; see `corl.blocking.call_interruptible`."""
        return call_interruptible(self, function, stop, poll)

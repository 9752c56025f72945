"""HiGHS through SciPy, in a child process, which can be killed at the time limit; SciPy's call cannot be interrupted."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import SolverError
from corl.processes.child import Child, end
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance
    from corl.run import Run
    from corl.solvers.milp.reporting import Question

__all__ = ["Highs", "main"]

_idle_children: list[Child] = []  # processes that `prepare` starts before the clock, for `solve`
_GRACE = 1.0  # seconds after the time limit until a process that has not answered is killed
_OPTIMAL, _LIMIT, _INFEASIBLE, _UNBOUNDED, _EITHER = range(5)  # SciPy's statuses; the last: infeasible or unbounded, or failed


@dataclass(frozen=True)
class Highs(Solver):
    """HiGHS's branch and cut. It reports its best solution and bound at the end or at the time limit, and nothing after Ctrl-C.

    Its proofs are not used if a row's largest coefficient is more than 1e9 times its smallest (1e6 with continuous variables), or
    if its side is more than 1e8 times its smallest coefficient: HiGHS's tolerances make them unreliable.
    """

    engine: ClassVar[str] = "HiGHS"
    title: ClassVar[str] = "HiGHS (through SciPy)"
    reports_at_end: ClassVar[bool] = True

    def prepare(self, instance: MilpInstance) -> None:
        import scipy.optimize  # noqa: F401

        if not _idle_children:
            _idle_children.append(_started())

    def solve(self, instance: MilpInstance, run: Run) -> None:
        from corl.solvers.milp.reporting import Question

        question, child = Question(run, instance), _idle_children.pop() if _idle_children else _started()
        try:
            status = _solve(child, question)
            while status == _OPTIMAL and not question.done():
                status = _solve(child, question)
        finally:
            end([child])
            child.close()
        if status == _INFEASIBLE:
            question.infeasible()
        elif status == _UNBOUNDED:
            question.unbounded()
        elif status == _LIMIT:
            run.stop("time_limit")
        question.close()


def _solve(child: Child, question: Question) -> int:
    """Solve `question.program` in the child process, report the results, and return SciPy's status.

    If the process was killed because the run had to end, the status is _LIMIT. Raises SolverError if the process fails.
    """
    run = question.run

    def ask() -> dict[str, Any]:
        child.send((question.program, None if run.time_limit is None else run.remaining))
        answer: dict[str, Any] = child.receive()
        return answer

    def stop() -> None:
        if run.interrupted or run.time_limit is None or run.elapsed > run.time_limit + _GRACE:
            child.kill()

    try:
        answer = run.call_interruptible(ask, stop)
    except (EOFError, OSError) as error:
        if run.should_stop:
            return _LIMIT
        raise SolverError(f"HiGHS's process {child.ending()}") from error
    if answer["status"] == _EITHER:
        question.gave_up(f"HiGHS gave up: {answer['message']}")
    if answer["x"] is not None:
        question.values(answer["x"])
    if answer["bound"] is not None:
        question.bound(answer["bound"])
    return int(answer["status"])


def _started() -> Child:
    """Return a child process that has imported its modules and waits for programs. Raises SolverError.

    The child ends when this process ends.
    """
    child = Child("corl.solvers.milp.highs")
    try:
        child.receive()
    except EOFError:
        raise SolverError(f"HiGHS's process {child.ending()}") from None
    return child


def main() -> None:
    """Run the child process: send "ready", then answer each message (instance, seconds) with the result of `_answer`."""
    import scipy.optimize  # noqa: F401

    import corl.problems.milp.instance  # noqa: F401  # needed to unpickle the messages
    from corl.processes.child import connect
    from corl.processes.pipes import send

    messages, outbox = connect()
    try:
        send(outbox, "ready")
        while True:
            send(outbox, _answer(*pickle.loads(messages.get())))
    except BrokenPipeError:  # the parent process has ended, for example by Ctrl-C
        return


def _answer(instance: MilpInstance, seconds: float | None) -> dict[str, Any]:
    """Solve a program within a time limit in seconds (None: no limit).

    Returns:
        "x", the best solution, float64 [n], or None; "bound" on the instance's objective value, or None; SciPy's "status" and
        "message".
    """
    import time

    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp

    started = time.perf_counter()
    sign = -1.0 if instance.sense == "max" else 1.0
    rows = LinearConstraint(instance.matrix, instance.row_lower, instance.row_upper) if instance.m else None

    def limits() -> dict[str, Any]:
        time_limit = {} if seconds is None else {"time_limit": max(0.01, seconds - (time.perf_counter() - started) - 0.05)}
        return {"mip_rel_gap": 0.0, **time_limit}

    keywords = {
        "integrality": instance.integer.astype(int), "bounds": Bounds(instance.lower, instance.upper), "constraints": rows,
    }  # fmt: skip
    result = milp(sign * instance.c, options=limits(), **keywords)
    status, bound = int(result.status), getattr(result, "mip_dual_bound", None)
    if bound is None and status == _OPTIMAL:
        bound = result.fun
    if status in (
        _EITHER,
        _UNBOUNDED,
    ):  # the relaxation's status; the program is unbounded only if it has a solution: solve it without its objective
        result, bound = milp(0.0 * instance.c, options=limits(), **keywords), None
        status = int(result.status) if result.x is None else _UNBOUNDED
    return {
        "x": None if result.x is None else np.asarray(result.x, np.float64),
        "bound": None if bound is None or not np.isfinite(bound) else sign * float(bound) + instance.offset,
        "status": status,
        "message": str(result.message),
    }


if __name__ == "__main__":
    main()

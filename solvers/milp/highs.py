"""HiGHS through SciPy, in a process of its own: SciPy's call cannot be interrupted, a process can."""

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

_spare: list[Child] = []  # started by `prepare`, outside the clock; taken by `solve`
_PATIENCE = 1.0  # seconds after the time limit in which HiGHS may still answer
_OPTIMAL, _LIMIT, _INFEASIBLE, _UNBOUNDED, _EITHER = range(5)  # SciPy's statuses


@dataclass(frozen=True)
class Highs(Solver):
    """HiGHS's branch and cut. It tells of its best solution and bound at its end or at the time limit, of none at Ctrl-C.

    Where a row's largest coefficient is more than 1e9 times its smallest (1e6 with continuous variables), or its side more than
    1e8 times, it proves nothing.
    """

    title: ClassVar[str] = "HiGHS (through SciPy)"

    def prepare(self, instance: MilpInstance) -> None:
        import scipy.optimize  # noqa: F401

        if not _spare:
            _spare.append(_started())

    def solve(self, instance: MilpInstance, run: Run) -> None:
        from corl.solvers.milp.reporting import Question

        question, child = Question(run, instance), _spare.pop() if _spare else _started()
        try:
            status = _asked(child, question)
            while status == _OPTIMAL and not question.done():
                status = _asked(child, question)
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


def _asked(child: Child, question: Question) -> int:
    """HiGHS's status of the program, after its answers are reported; that of a time limit where the run had to end."""
    run = question.run

    def ask() -> dict[str, Any]:
        child.send((question.program, None if run.time_limit is None else run.remaining))
        answer: dict[str, Any] = child.receive()
        return answer

    def stop() -> None:
        if run.interrupted or run.time_limit is None or run.elapsed > run.time_limit + _PATIENCE:
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
    """A process that has imported what it needs and waits for a program; it ends with this one."""
    child = Child("corl.solvers.milp.highs")
    try:
        child.receive()
    except EOFError:
        raise SolverError(f"HiGHS's process {child.ending()}") from None
    return child


def main() -> None:
    """The child: say that it is ready; to each (instance, seconds) answer with what SciPy finds, in the user's sense."""
    import scipy.optimize  # noqa: F401

    import corl.problems.milp.instance  # noqa: F401  # what the messages are made of
    from corl.processes.child import connect
    from corl.processes.pipes import send

    messages, outbox = connect()
    try:
        send(outbox, "ready")
        while True:
            send(outbox, _answer(*pickle.loads(messages.get())))
    except BrokenPipeError:  # the user was gone (Ctrl-C)
        return


def _answer(instance: MilpInstance, seconds: float | None) -> dict[str, Any]:
    import time

    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp

    begun = time.perf_counter()
    sign = -1.0 if instance.sense == "max" else 1.0
    rows = LinearConstraint(instance.matrix, instance.row_lower, instance.row_upper) if instance.m else None

    def limits() -> dict[str, Any]:
        left = {} if seconds is None else {"time_limit": max(0.01, seconds - (time.perf_counter() - begun) - 0.05)}
        return {"mip_rel_gap": 0.0, **left}

    keywords = {
        "integrality": instance.integer.astype(int), "bounds": Bounds(instance.lower, instance.upper), "constraints": rows,
    }  # fmt: skip
    found = milp(sign * instance.c, options=limits(), **keywords)
    status, bound = int(found.status), getattr(found, "mip_dual_bound", None)
    if bound is None and status == _OPTIMAL:
        bound = found.fun
    if status in (_EITHER, _UNBOUNDED):  # of the relaxation: any solution says which it is
        found, bound = milp(0.0 * instance.c, options=limits(), **keywords), None
        status = int(found.status) if found.x is None else _UNBOUNDED
    return {
        "x": None if found.x is None else np.asarray(found.x, np.float64),
        "bound": None if bound is None or not np.isfinite(bound) else sign * float(bound) + instance.offset,
        "status": status,
        "message": str(found.message),
    }


if __name__ == "__main__":
    main()

"""HiGHS through SciPy, in a process of its own: SciPy's call cannot be interrupted, a process can."""

from __future__ import annotations

import contextlib
import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import SolverError
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance
    from corl.run import Run

__all__ = ["Highs", "main"]

_spare: list[subprocess.Popen[bytes]] = []  # started by `prepare`, outside the clock; taken by `solve`
_PATIENCE = 1.0  # seconds after the time limit in which HiGHS may still answer
_INFEASIBLE, _UNBOUNDED, _LIMIT, _EITHER = 2, 3, 1, 4  # SciPy's statuses


@dataclass(frozen=True)
class Highs(Solver):
    """HiGHS's branch and cut. It tells of its best solution and bound at its end or at the time limit, of none at Ctrl-C."""

    title: ClassVar[str] = "HiGHS (through SciPy)"

    def prepare(self, instance: MilpInstance) -> None:
        import scipy.optimize  # noqa: F401

        if not _spare:
            _spare.append(_started())

    def solve(self, instance: MilpInstance, run: Run) -> None:
        from corl.pipes import receive, send
        from corl.solvers.milp.reporting import contradictory, report_bound, report_values

        if contradictory(instance):
            run.report_infeasible()
            return
        child = _spare.pop() if _spare else _started()
        assert child.stdin and child.stdout
        pipes = child.stdin, child.stdout

        def ask() -> dict[str, Any]:
            send(pipes[0], (instance, None if run.time_limit is None else run.remaining))
            answer: dict[str, Any] = receive(pipes[1])
            return answer

        def stop() -> None:
            if run.interrupted or run.time_limit is None or run.elapsed > run.time_limit + _PATIENCE:
                child.kill()

        try:
            answer = run.call_interruptible(ask, stop)
        except (EOFError, OSError) as error:
            if run.should_stop:
                return
            raise SolverError(f"HiGHS's process ended by itself, with code {child.wait()}") from error
        finally:
            child.kill()
            child.wait()
            for pipe in pipes:
                pipe.close()
        if answer["x"] is not None:
            report_values(run, instance, answer["x"])
        if answer["bound"] is not None:
            report_bound(run, answer["bound"])
        if answer["status"] == _INFEASIBLE:
            run.report_infeasible()
        elif answer["status"] == _UNBOUNDED:
            run.stop("unbounded")
        elif answer["status"] == _LIMIT:
            run.stop("time_limit")
        elif answer["status"]:
            raise SolverError(f"HiGHS says: {answer['message']}")


def _started() -> subprocess.Popen[bytes]:
    """A process that has imported what it needs and waits for a program; it ends with this one."""
    from corl.pipes import receive, start

    child = start("corl.solvers.milp.highs")
    assert child.stdout
    try:
        receive(child.stdout)
    except EOFError:
        raise SolverError(f"HiGHS's process ended by itself, with code {child.wait()}") from None
    return child


def _end_with(pipe: int) -> None:
    """End this process as soon as the other side of a pipe is gone: a parent that was killed leaves no solve behind."""
    with contextlib.suppress(OSError):
        while os.read(pipe, 1):
            pass
    os._exit(1)


def main() -> None:
    """The child: say that it is ready, receive (instance, seconds), answer with what SciPy finds, in the user's sense."""
    import threading
    import time

    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp

    import corl.problems.milp.instance  # noqa: F401  # what the message is made of
    from corl.pipes import own_pipes, receive, send

    inbox, outbox = own_pipes()
    try:
        send(outbox, "ready")
        instance, seconds = receive(inbox)
    except (EOFError, BrokenPipeError):  # nobody needed it, or the user was gone (Ctrl-C) before it was ready
        return
    threading.Thread(target=_end_with, args=(inbox.fileno(),), daemon=True).start()
    begun = time.perf_counter()

    sign = -1.0 if instance.sense == "max" else 1.0
    rows = LinearConstraint(instance.matrix, instance.row_lower, instance.row_upper) if instance.m else None
    options: dict[str, Any] = {"mip_rel_gap": 0.0}
    if seconds is not None:
        options["time_limit"] = max(0.01, seconds - (time.perf_counter() - begun) - 0.05)
    keywords = {
        "integrality": instance.integer.astype(int), "bounds": Bounds(instance.lower, instance.upper), "constraints": rows,
    }  # fmt: skip
    found = milp(sign * instance.c, options=options, **keywords)
    status = int(found.status)
    if status == _EITHER:  # infeasible or unbounded: any solution says which
        status = {0: _UNBOUNDED, 2: _INFEASIBLE}.get(int(milp(0.0 * instance.c, options=options, **keywords).status), status)
    bound = getattr(found, "mip_dual_bound", None)
    if bound is None and found.status == 0:
        bound = found.fun
    answer = {
        "x": None if found.x is None else np.asarray(found.x, np.float64),
        "bound": None if bound is None or not np.isfinite(bound) else sign * float(bound) + instance.offset,
        "status": status,
        "message": str(found.message),
    }
    send(outbox, answer)


if __name__ == "__main__":
    main()

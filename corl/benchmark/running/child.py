"""The process of one run, `python -P -m corl.benchmark.running.child CORES`: it receives a task and sends an answer.

CORES lists the numbers of the processors to which the process is pinned, such as "0,1"; "" for none.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import sys
from typing import Any

from corl.errors import CorlError, SolverError, UsageError, described
from corl.processes.child import connect, pin
from corl.processes.pipes import send_bytes

__all__ = ["main"]


def main() -> None:
    """Receive one task, solve it, send the answer and end the process."""
    pin(int(core) for core in sys.argv[1].split(",") if core)
    faulthandler.enable()
    messages, outbox = connect()
    answer = _answer(messages.get())
    with contextlib.suppress(BrokenPipeError):
        send_bytes(outbox, answer)
    sys.stderr.flush()
    os._exit(0)  # do not wait for an engine's threads and cleanup: the next run is waiting


def _answer(body: bytes) -> bytes:
    """Return the pickled answer to a pickled task: a dict with `outcome`, `reason` and, if there is a Result, its fields."""
    try:
        answer = _solved(**pickle.loads(body))
        return pickle.dumps(answer | {"peak_bytes": _peak_bytes()}, protocol=5)
    except UsageError as error:
        failed = {"outcome": "refused", "reason": str(error)}
    except SolverError as error:  # caused by an exception of the solver: a crash; otherwise a wrong solution or claim
        crashed = error.__cause__ is not None and not isinstance(error.__cause__, CorlError)
        outcome = "timeout" if isinstance(error.__cause__, TimeoutError) else "crash" if crashed else "wrong"
        failed = {"outcome": outcome, "reason": str(error)}
    except Exception as error:
        failed = {"outcome": "crash", "reason": described(error)}
    return pickle.dumps(failed | {"peak_bytes": _peak_bytes()}, protocol=5)


def _solved(*, instance: bytes, **arguments: Any) -> dict[str, Any]:
    from corl.run import STRICT
    from corl.solving import solve

    os.environ[STRICT] = "1"  # a solver's false report ends a run of a benchmark instead of being discarded
    options = arguments.pop("options")
    result = solve(pickle.loads(instance), **arguments, **options)
    ended = getattr(arguments["solver"], "ended", [])  # of a program
    solved = result.status in ("optimal", "feasible")
    return {
        "outcome": "ok" if solved else "nothing",
        "reason": "" if solved else f"{result.status.replace('_', ' ')} ({result.limit})",
        "objective": result.objective,
        "bound": result.bound,
        "limit": result.limit,
        "runtime": result.runtime,
        "setup_seconds": result.setup_seconds,
        "trace": result.trace,
        "solution": result.solution,
        "solver_name": result.solver,
        "options": dict(result.options),
        "versions": dict(result.versions),
        **({"program_cpu_seconds": round(ended[-1].cpu_seconds, 3)} if ended else {}),
    }


def _peak_bytes() -> int | None:
    """Return the peak memory in bytes of this process, or of the largest child that it has waited for; None if unknown.

    VmHWM replaces Linux's ru_maxrss, which also counts the memory that the parent held when it started this process.
    """
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    with (
        contextlib.suppress(OSError, IndexError, ValueError),
        open("/proc/self/status", encoding="ascii", errors="replace") as file,
    ):
        own = next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit)


if __name__ == "__main__":
    main()

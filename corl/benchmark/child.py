"""The process of one run: `python -P -m corl.benchmark.child CORES`, a task from standard input, an answer to standard output.

CORES is a list of processor numbers such as "0,1" to be pinned to, or "". Task and answer are pickles between our own
processes, each with an 8-byte length before it. The process ends with its parent.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import signal
import sys
import threading
from typing import IO, Any

from corl.errors import CorlError, SolverError, UsageError, described

__all__ = ["main"]


def main() -> None:
    """Serve one task. Standard output is kept for the answer; prints go to standard error."""
    cores = [int(core) for core in sys.argv[1].split(",") if core]
    if cores and hasattr(os, "sched_setaffinity"):  # before anything starts threads
        os.sched_setaffinity(0, cores)
    faulthandler.enable()
    inbox = os.fdopen(os.dup(0), "rb")
    outbox = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    size = int.from_bytes(inbox.read(8), "little")
    body = inbox.read(size)
    if len(body) < size:
        return  # the parent is gone
    threading.Thread(target=_end_with_parent, args=(inbox,), daemon=True).start()
    answer = _answer(body)
    with contextlib.suppress(BrokenPipeError):
        outbox.write(len(answer).to_bytes(8, "little") + answer)
        outbox.flush()
    sys.stderr.flush()
    os._exit(0)  # an engine's threads and teardown must not hold up the next run


def _end_with_parent(inbox: IO[bytes]) -> None:
    """The parent writes no more: the pipe's end means that it is gone, however it went."""
    inbox.read(1)
    if hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)  # and the run's own processes
    os._exit(1)


def _answer(body: bytes) -> bytes:
    """The pickled answer: a dict with `outcome`, `reason` and, where there is a Result, its fields."""
    try:
        answer = _solved(**pickle.loads(body))
        return pickle.dumps(answer | {"peak_bytes": _peak_bytes()}, protocol=5)
    except UsageError as error:
        failed = {"outcome": "refused", "reason": str(error)}
    except SolverError as error:  # its own exceptions come wrapped: crashes; the rest are solutions and claims that are wrong
        crashed = error.__cause__ is not None and not isinstance(error.__cause__, CorlError)
        failed = {"outcome": "crash" if crashed else "wrong", "reason": str(error)}
    except Exception as error:
        failed = {"outcome": "crash", "reason": described(error)}
    return pickle.dumps(failed | {"peak_bytes": _peak_bytes()}, protocol=5)


def _solved(*, instance: bytes, **arguments: Any) -> dict[str, Any]:
    from corl.solving import solve

    options = arguments.pop("options")
    result = solve(pickle.loads(instance), **arguments, **options)
    reason = "" if result.solution is not None else f"{result.status.replace('_', ' ')} ({result.limit})"
    return {
        "outcome": "ok" if result.solution is not None else "nothing",
        "reason": reason,
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
    }


def _peak_bytes() -> int | None:
    """The most memory that this process, or one that it has waited for, held at a time.

    The kernel's ru_maxrss of a fresh process includes what its parent held before the exec; VmHWM does not.
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

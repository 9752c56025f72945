"""`FastTsp`: the fast-tsp package (Shmuel Amar, MIT licence), a local search in Rust, for comparison."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from corl.errors import SolverError, UsageError
from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.problems.tsp.instance import TspInstance
    from corl.run import Run

__all__ = ["FastTsp"]

_MOST_CITIES = 10_000  # n x n doubles in this process (800 MB), n x n integers of 16 bits in the child process
_LARGEST_DISTANCE = 65535  # fast-tsp's distances have 16 bits
_TRANSFER_SECONDS = 0.02  # reserved at the end of the time limit for the transfer of the tour
_GRACE_SECONDS = 0.2  # the child process is killed this long after the time limit, even if it has returned no tour

# The program of the child process, which reads the matrix and writes the tour. It is a process because a running call of
# fast-tsp cannot be stopped, but a process can be killed.
_CHILD = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
import numpy, fast_tsp
read = sys.stdin.buffer
n, end = int(read.readline()), float(read.readline())
distances = numpy.frombuffer(read.read(2 * n * n), numpy.uint16).reshape(n, n)
tour = fast_tsp.find_tour(distances, max(0.01, end - time.time()), 1, sys.argv[1])
sys.stdout.write(" ".join(map(str, tour)))
"""


@dataclass(frozen=True)
class FastTsp(Solver):
    """The package fast-tsp in a child process, with one thread, for symmetric instances.

    Starting the process takes about 0.1 s of the time limit. fast-tsp takes integer distances up to 65535; other distances are
    scaled and rounded for the search, and the reported length is that of the original distances. fast-tsp takes no seed, and
    returns its tour only at the end.
    """

    candidates: Literal["auto", "nearest", "alpha"] = option("auto", "How fast-tsp chooses the neighbours of a city.")

    engine: ClassVar[str] = "fast-tsp"
    title: ClassVar[str] = "the fast-tsp package, a peer (optional)"
    reports_at_end: ClassVar[bool] = True
    requires: ClassVar[tuple[str, ...]] = ("fast_tsp",)

    def accepts(self, instance: TspInstance) -> str:
        if not instance.symmetric:
            return "it takes symmetric distances only"
        if instance.n > _MOST_CITIES:
            return f"it needs an n x n matrix, which we allow up to {_MOST_CITIES} cities, not {instance.n}"
        return ""

    def prepare(self, instance: TspInstance) -> None:
        from importlib.util import find_spec

        if find_spec("fast_tsp") is None:
            raise UsageError('solver fast-tsp needs the fast-tsp package: in a checkout pip install ".[peers]"')
        from corl.solvers.tsp.distance_matrix import compile_dense

        compile_dense(instance)

    def solve(self, instance: TspInstance, run: Run) -> None:
        import numpy as np

        from corl.solvers.tsp.distance_matrix import scaled_matrix

        if run.solution is None:
            run.report(np.arange(instance.n))
        if instance.n < 4 or run.should_stop:
            return
        command = [sys.executable, "-P", "-c", _CHILD, self.candidates]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            try:
                distances = scaled_matrix(instance, _LARGEST_DISTANCE, lambda: run.should_stop)
                if distances is not None:
                    self._exchange_with_child(child, distances.astype(np.uint16), run)
            finally:
                child.kill()

    def _exchange_with_child(self, child: subprocess.Popen[bytes], distances: NDArray[np.uint16], run: Run) -> None:
        """Send the matrix to the child process and report its tour; kill the process if the run ends before its time limit.

        fast-tsp ends by itself at the time limit; the process is also killed if it takes _GRACE_SECONDS longer.
        """
        import time

        import numpy as np

        deadline = time.time() + run.remaining - _TRANSFER_SECONDS
        message = f"{len(distances)}\n{deadline!r}\n".encode() + distances.tobytes()
        killed = False

        def stop() -> None:
            nonlocal killed
            if run.limit != "time_limit" or run.time_limit is None or run.elapsed > run.time_limit + _GRACE_SECONDS:
                killed = True
                child.kill()

        answer, errors = run.call_interruptible(lambda: child.communicate(message), stop)
        if answer:
            run.report(np.array(answer.split(), np.int32))
        elif not killed:
            raise SolverError(f"fast-tsp ended without a tour: {errors.decode(errors='replace').strip()[-300:]}")

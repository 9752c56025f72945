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

_MOST_CITIES = 10_000  # n x n doubles here, n x n integers in its process
_LARGEST = 65535  # its distances have 16 bits
_MARGIN = 0.02  # seconds for the transfer of its tour
_GRACE = 0.2  # seconds past the time limit after which its process is ended without a tour

# The program of the child process, since a call cannot be stopped from outside: it reads the matrix and writes the tour.
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

    The start of the process takes about 0.1 s of the limit. Distances are integers up to 65535: others are scaled and rounded;
    the length reported is the true one. It takes no seed, and returns its tour only at the end.
    """

    candidates: Literal["auto", "nearest", "alpha"] = option("auto", "Its neighbour lists.")

    title: ClassVar[str] = "the fast-tsp package, a peer (optional)"
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
                distances = scaled_matrix(instance, _LARGEST, lambda: run.should_stop)
                if distances is not None:
                    self._converse(child, distances.astype(np.uint16), run)
            finally:
                child.kill()

    def _converse(self, child: subprocess.Popen[bytes], distances: NDArray[np.uint16], run: Run) -> None:
        """Send the matrix and await the tour; kill the process if the run ends for another reason than its time limit."""
        import time

        import numpy as np

        deadline = time.time() + run.remaining - _MARGIN
        message = f"{len(distances)}\n{deadline!r}\n".encode() + distances.tobytes()
        killed = False

        def stop() -> None:
            nonlocal killed
            if run.limit != "time_limit" or run.time_limit is None or run.elapsed > run.time_limit + _GRACE:
                killed = True
                child.kill()

        answer, errors = run.call_interruptible(lambda: child.communicate(message), stop)
        if answer:
            run.report(np.array(answer.split(), np.int32))
        elif not killed:
            raise SolverError(f"fast-tsp ended without a tour: {errors.decode(errors='replace').strip()[-300:]}")

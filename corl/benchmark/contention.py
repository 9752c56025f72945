"""The loop of `corl.benchmark.machine.measure_slowdown`: `python -P -m corl.benchmark.contention CORE`.

Prints 0 once compiled, then for every line of input the steps per second of a walk that looks like a local search's: random
reads and writes of a few megabytes.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np

from corl.jit import kernel

_WORDS = 2**19  # 4 MB of int64
_SECONDS = 0.2


@kernel
def _walk(memory: Any, at: int, steps: int) -> int:
    for _ in range(steps):
        memory[at] += 1
        at = (at * 5 + memory[at ^ 1] * 2 + 1) & (memory.size - 1)
    return at


def main() -> None:
    """Serve until the input ends."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [int(sys.argv[1])])
    memory, at = np.zeros(_WORDS, np.int64), _walk(np.zeros(8, np.int64), 1, 10)
    print(0.0, flush=True)
    for _ in sys.stdin:
        steps, begun = 0, time.perf_counter()
        while (seconds := time.perf_counter() - begun) < _SECONDS:
            at = _walk(memory, at, 10_000)
            steps += 10_000
        print(steps / seconds, flush=True)


if __name__ == "__main__":
    main()

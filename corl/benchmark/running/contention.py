"""A process of `corl.benchmark.running.machine.measure_slowdown`: `python -P -m corl.benchmark.running.contention CORE`.

It sends 0 when its kernel is compiled. Then it answers every message with the steps per second of a random walk through a few
megabytes, whose reads and writes resemble those of a local search.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from corl.jit import kernel
from corl.processes.child import connect, pin
from corl.processes.pipes import send

_WORDS = 2**19  # 4 MB of int64
_SECONDS = 0.2  # of each measurement


@kernel
def _walk(memory: Any, at: int, steps: int) -> int:
    for _ in range(steps):
        memory[at] += 1
        at = (at * 5 + memory[at ^ 1] * 2 + 1) & (memory.size - 1)
    return at


def main() -> None:
    """Answer messages until the parent's end."""
    pin([int(sys.argv[1])])
    messages, outbox = connect()
    memory, at = np.zeros(_WORDS, np.int64), _walk(np.zeros(8, np.int64), 1, 10)
    send(outbox, 0.0)
    while messages.get():
        steps, begun = 0, time.perf_counter()
        while (seconds := time.perf_counter() - begun) < _SECONDS:
            at = _walk(memory, at, 10_000)
            steps += 10_000
        send(outbox, steps / seconds)


if __name__ == "__main__":
    main()

"""What the tests' workers do; in a module of its own, because workers import it by name."""

from __future__ import annotations

import os
import signal
import time

import numpy as np

from corl.errors import UsageError


def draws(seed, pause=0.0):
    """Batch i: (i, three numbers); even batches take longer, so that their workers finish out of order."""

    def batch(i):
        time.sleep(pause * (i % 2 == 0))
        return i, np.random.default_rng([seed, i]).random(3)

    return batch


def troubled(kind):
    """A worker that gets through batch 0 and then is in trouble."""

    def batch(i):
        if i and kind == "usage":
            raise UsageError("bad option")
        if i and kind == "crash":
            raise ValueError("boom")
        if i and kind == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if i and kind == "busy":
            time.sleep(600)
        return os.getpid()

    return batch

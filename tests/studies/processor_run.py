"""A run by processor time, for studies on a busy machine."""

from __future__ import annotations

import time

from corl.run import Run

__all__ = ["ProcessorRun"]


class ProcessorRun(Run):
    """A run whose clock shows processor seconds of this process."""

    _began = 0.0

    def start(self) -> None:
        """Start the clock."""
        self._began = time.process_time()
        super().start()

    @property
    def elapsed(self) -> float:
        """Processor seconds since the clock started."""
        return time.process_time() - self._began

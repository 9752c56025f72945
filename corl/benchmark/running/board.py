"""Progress of a benchmark on stderr: a live line on a terminal, otherwise one line per run."""

from __future__ import annotations

import time
from collections import Counter

from corl.benchmark.reporting.grid import FAILURES, Limit
from corl.benchmark.running.judge import beaten
from corl.benchmark.running.plan import PlannedRun
from corl.benchmark.running.runner import Listener
from corl.formatting import percent, value
from corl.progress import Progress
from corl.record import Record
from corl.result import relative_gap

__all__ = ["Board"]


class Board:
    """The display of a benchmark's progress: it shows the events that `run_suite` reports to `listener`."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        """The number of runs with each outcome."""
        self._count = self._done = 0
        self.progress = Progress(self._line)
        """A context manager, within which events are displayed."""
        self._running: list[str] = []
        self._begun = time.monotonic()

    @property
    def listener(self) -> Listener:
        return Listener(self.progress.say, self._begin, self._started, self._ended)

    def _begin(self, count: int) -> None:
        self._count = count
        self.progress.say(f"{count} run{'s' * (count != 1)} to do")

    def _started(self, plan: PlannedRun) -> None:
        self._running = [*self._running, f"{plan.lineup.label} on {plan.source.label}"][-3:]

    def _ended(self, record: Record) -> None:
        self._done += 1
        if self._done == 1:
            self._begun = time.monotonic() - (record.wall_seconds or 0.0)
        self.outcomes[record.outcome] += 1
        has_gap = record.objective is not None and record.reference is not None
        gap = f", {percent(relative_gap(record.reference, record.objective))} off {value(record.reference)}" if has_gap else ""
        limit = Limit(record.time_limit, record.iterations)
        text = f"{self._done}/{self._count}  {record.solver} on {record.instance}, {limit}, seed {record.seed}: "
        failed = record.outcome in FAILURES
        text += f"{value(record.objective)}{gap}" if record.outcome == "ok" else f"{record.outcome}: {record.reason}"
        late = (record.runtime or 0.0) > limit.allowed
        text += f" (after {record.runtime:.1f} s, not {record.time_limit:g})" if late else ""
        if failed or late or not self.progress.live:
            self.progress.say(text)
        if beaten(record):
            self.progress.say(
                f"  {value(record.objective)} beats the {record.reference_status} {value(record.reference)} of {record.instance}"
            )

    def _line(self) -> str:
        """Return the text of the live line."""
        remaining = ""
        if self._done:
            seconds = (time.monotonic() - self._begun) / self._done * (self._count - self._done)
            remaining = f"  {seconds // 60:.0f} min left" if seconds >= 90 else f"  {seconds:.0f} s left"
        failed = sum(number for outcome, number in self.outcomes.items() if outcome in FAILURES)
        failures = f"  {failed} failed" if failed else ""
        return f"{self._done}/{self._count} runs{failures}{remaining}  {self._running[-1] if self._running else ''}"

"""Progress of a benchmark on stderr: a live line on a terminal, otherwise one line per run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from corl.benchmark.reporting.grid import FAILURES, Limit
from corl.benchmark.running.budget import Kind, Pace, kind_of
from corl.benchmark.running.judge import beaten
from corl.benchmark.running.plan import PlannedRun
from corl.benchmark.running.runner import Listener
from corl.formatting import duration, percent, value
from corl.progress import Progress
from corl.record import Record
from corl.result import relative_gap

__all__ = ["Board"]


class Board:
    """The display of a benchmark's progress: it shows the events that `run_suite` reports to `listener`."""

    def __init__(self, pace: Pace, jobs: int = 1) -> None:
        """Create a display; `pace`: the expected seconds of runs, `jobs`: the number of runs at a time."""
        self.pace, self._jobs = pace, jobs
        self.outcomes: Counter[str] = Counter()
        """The number of runs with each outcome."""
        self._count = self._done = 0
        self._left: Counter[Kind] = Counter()  # of the runs to do, by solver and limit
        self.progress = Progress(self._line)
        """A context manager, within which events are displayed."""
        self._running: list[str] = []

    @property
    def listener(self) -> Listener:
        return Listener(self.progress.say, self._begin, self._started, self._ended)

    def expected(self, plans: Iterable[PlannedRun]) -> str:
        """Return the expected time of some runs as text, such as "about 3.5 h"; "an unknown time" if it is unknown."""
        return self._text(Counter(map(kind_of, plans)))

    def _text(self, kinds: Mapping[Kind, int]) -> str:
        seconds = self.pace.total(kinds)
        return "an unknown time" if seconds is None else f"about {duration(seconds / self._jobs)}"

    def _begin(self, todo: Sequence[PlannedRun]) -> None:
        self._count, self._left = len(todo), Counter(map(kind_of, todo))
        self.progress.say(f"{self._count} run{'s' * (self._count != 1)} to do, {self._text(self._left)}")

    def _started(self, plan: PlannedRun) -> None:
        self._running = [*self._running, f"{plan.lineup.label} on {plan.source.label}"][-3:]

    def _ended(self, record: Record) -> None:
        self._done += 1
        self.pace.add(record)
        self._left[kind_of(record)] -= 1
        self.outcomes[record.outcome] += 1
        has_gap = record.objective is not None and record.reference is not None
        gap = f", {percent(relative_gap(record.reference, record.objective))} off {value(record.reference)}" if has_gap else ""
        limit = Limit(record.time_limit, record.iterations)
        remaining = "" if self.progress.live else f", {self._text(+self._left)} left"
        text = f"{self._done}/{self._count}{remaining}  {record.solver} on {record.instance}, {limit}, seed {record.seed}: "
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
        remaining = f"  {self._text(+self._left)} left"
        failed = sum(number for outcome, number in self.outcomes.items() if outcome in FAILURES)
        failures = f"  {failed} failed" if failed else ""
        return f"{self._done}/{self._count} runs{failures}{remaining}  {self._running[-1] if self._running else ''}"

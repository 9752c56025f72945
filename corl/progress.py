"""Live progress on stderr: incumbent, bound, gap and time."""

from __future__ import annotations

import sys
import time
from typing import Any

from corl.formatting import percent, value
from corl.result import relative_gap
from corl.run import Improvement

__all__ = ["Progress"]

_LINE_EVERY = 1.0  # seconds between two lines where stderr is no terminal


class Progress:
    """A context manager; `update` takes the run's improvements. On a terminal one live line, elsewhere a line a second."""

    def __init__(self, name: str, sense: str, time_limit: float | None, *, shown: bool) -> None:
        self.name, self.sense, self.time_limit, self.shown = name, sense, time_limit, shown
        self._news = Improvement(0.0, None, None)
        self._begun: float | None = None
        self._improvements = 0
        self._live: Any = None
        self._next_line = 0.0

    def __enter__(self) -> Progress:
        if self.shown and sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live
            from rich.text import Text

            def line() -> Text:  # not a str: a name may look like rich's markup
                return Text(self._line(), no_wrap=True, overflow="ellipsis")

            self._live = Live(console=Console(stderr=True), refresh_per_second=8, transient=True, get_renderable=line)
            self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live is not None:
            self._live.stop()
        elif self.shown and self._improvements:
            print(self._line(), file=sys.stderr, flush=True)

    def update(self, news: Improvement) -> None:
        """Take an improvement; cheap."""
        now = time.perf_counter()
        self._begun = now - news.runtime
        self._news = news
        self._improvements += 1
        if self.shown and self._live is None and now >= self._next_line:
            print(self._line(), file=sys.stderr, flush=True)
            self._next_line = now + _LINE_EVERY

    def _line(self) -> str:
        if self._begun is None:
            return f"{self.name}  preparing"
        elapsed = time.perf_counter() - self._begun
        limit = f" of {self.time_limit:g}" if self.time_limit else ""
        news = self._news
        gap = percent(relative_gap(news.objective, news.bound))
        return f"{self.name}  {elapsed:.1f}{limit} s  incumbent {value(news.objective)}  bound {value(news.bound)}  gap {gap}"

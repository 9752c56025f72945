"""Progress: the display of a command's progress on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

__all__ = ["Progress"]


class Progress:
    """A context manager: on a terminal one line that is updated, otherwise lines that are printed one after the other."""

    def __init__(
        self,
        line: Callable[[], str],
        *,
        shown: bool = True,
        every: float = 0.0,
        ending: bool = False,
        fraction: Callable[[], float] | None = None,
    ) -> None:
        """Create a progress display.

        Args:
            line: Returns the text of the line; on a terminal a thread calls it four times a second.
            shown: Whether the line is shown; if not, only the texts of `say` appear.
            every: Seconds between two lines if stderr is not a terminal.
            ending: Whether to print a last line at the end, if stderr is not a terminal and lines were printed before.
            fraction: Returns the share of the work that is done, 0..1, shown as a bar on a terminal.
        """
        self._line, self._shown, self._every, self._ending, self._fraction = line, shown, every, ending, fraction
        self._live: Any = None
        self._next_line = 0.0

    @property
    def live(self) -> bool:
        """Whether the line is shown on a terminal, where it is updated."""
        return self._live is not None

    def __enter__(self) -> Progress:
        if self._shown and sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), refresh_per_second=4, transient=True, get_renderable=self._drawn)
            self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live is not None:
            self._live.stop()
        elif self._ending and self._next_line:
            self._print()

    def update(self) -> None:
        """Print the next line if stderr is not a terminal and the line is due. May be called often."""
        if self._shown and self._live is None and time.monotonic() >= self._next_line:
            self._print()
            self._next_line = time.monotonic() + self._every

    def say(self, text: str) -> None:
        """Print a line that remains, above the updated one."""
        text = "".join(c if c.isprintable() else " " for c in text)
        if self._live is not None:
            self._live.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def _print(self) -> None:
        print(self._line(), file=sys.stderr, flush=True)

    def _drawn(self) -> Text | Table:
        """Return the updated line, with a bar if there is a `fraction`, for rich."""
        from rich.text import Text

        line = Text(self._line(), no_wrap=True, overflow="ellipsis")  # in a str, rich would take a name such as "[b]" as markup
        if self._fraction is None:
            return line
        from rich.progress_bar import ProgressBar
        from rich.table import Column, Table

        done, grid = self._fraction(), Table.grid(Column(no_wrap=True), Column(), Column(no_wrap=True), padding=(0, 1))
        grid.add_row(line, ProgressBar(total=1.0, completed=done, width=40), Text(f"{100 * done:.0f} %"))
        return grid

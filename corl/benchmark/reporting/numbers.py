"""Numbers of a report's tables as text."""

from __future__ import annotations

from corl.benchmark.reporting.analysis import Row
from corl.formatting import percent
from corl.statistics import Estimate

__all__ = ["interval", "lost"]


def lost(row: Row) -> str:
    """Return the numbers of failed and of refused runs as text, such as "", "2" or "2, 1 refused"."""
    failed = row.runs - row.solved
    return ", ".join([str(failed)] * (failed > 0) + [f"{row.refused} refused"] * (row.refused > 0))


def interval(estimate: Estimate) -> str:
    """Return the 95 % interval of a gap as text, such as "0.1 to 0.3 %"; "" if there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{percent(estimate.low)} to {percent(estimate.high)}".replace(" % to", " to")

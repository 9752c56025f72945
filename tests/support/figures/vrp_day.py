"""Figures of routing during the day."""

from __future__ import annotations

from .cells import interval, rows, table

__all__ = ["judged"]

_LABELS = {
    "learned": "`learned`", "prizes": "`sampled-prizes`", "Kleopatra": "Kleopatra, first in the final",
    "Team_sb": "Team_sb, second", "OptiML": "OptiML, third",
}  # fmt: skip


def judged() -> str:
    """Costs on days of the final, divided by the greedy baseline's."""
    found = [each for each in rows("vrp/day") if each["policy"] in _LABELS]
    lines = ([_LABELS[each["policy"]], each["seconds"], each["days"], interval(each, "ratio", 3)] for each in found)
    return table(["", "seconds an epoch", "days", "cost, of the greedy baseline's"], lines)

"""Figures of routing during the day."""

from __future__ import annotations

from .cells import interval, rows, table

__all__ = ["judged"]

_LABELS = {
    "learned": "`learned`", "prizes": "`sampled-prizes`", "prizes:factor=1.8": "`sampled-prizes` with the factor of `learned`",
    "Kleopatra": "Kleopatra, first in the final",
    "Team_sb": "Team_sb, second", "OptiML": "OptiML, third",
}  # fmt: skip

_FIRST = ", an earlier network"


def judged() -> str:
    """Costs on days of the final, divided by the greedy baseline's: the second judgement, then the first."""
    found = sorted((each for each in rows("vrp/day") if each["policy"] in _LABELS), key=lambda each: -int(each["judgement"]))
    lines = (
        [
            _LABELS[each["policy"]] + (_FIRST if each["judgement"] == "1" and each["policy"] == "learned" else ""),
            each["seconds"],
            each["used"],
            each["days"],
            interval(each, "ratio", 3),
        ]
        for each in found
    )
    return table(["", "seconds an epoch", "days of training + tuning", "days judged", "cost, of the greedy baseline's"], lines)

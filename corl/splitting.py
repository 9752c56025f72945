"""Splitting: the files of a folder divided into parts to train on, to choose on, and to judge on, by a hash of their names.

The parts depend on the names alone, so that they are the same on every machine and in every run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

__all__ = ["FEWEST_FILES", "Parts", "hash_of", "split"]

_FEWEST = {"train": 3, "choose": 2, "judge": 5}  # files of each part; for fewer than five values there is no interval
_SHARES = {"choose": 0.15, "judge": 0.3}
FEWEST_FILES = sum(_FEWEST.values())
"""The least number of files that can be divided into parts."""


class Parts(NamedTuple):
    """The files of a folder."""

    train: list[Path]
    choose: list[Path]
    judge: list[Path]


def hash_of(path: Path) -> bytes:
    """Return the SHA-256 of a file's name."""
    return hashlib.sha256(path.name.encode()).digest()


def split(files: Iterable[Path]) -> Parts:
    """Divide files, in the order of a hash of their names: 55 % to train, 15 % to choose, 30 % to judge.

    At least two are to choose and five to judge. There must be at least FEWEST_FILES files.
    """
    ordered = sorted(files, key=hash_of)
    judged, chosen = (max(_FEWEST[part], round(_SHARES[part] * len(ordered))) for part in ("judge", "choose"))
    return Parts(ordered[judged + chosen :], ordered[judged : judged + chosen], ordered[:judged])

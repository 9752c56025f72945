"""A folder with the user's own programs to learn from, and its parts: to train on, to choose on, and to judge on."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from corl.errors import UsageError
from corl.options import option

__all__ = ["FEWEST_FILES", "Parts", "instances_option", "parts", "program_files"]

_FEWEST = {"train": 3, "choose": 2, "judge": 5}  # programs of each part; for fewer than five values there is no interval
_SHARES = {"choose": 0.15, "judge": 0.3}
FEWEST_FILES = sum(_FEWEST.values())
"""The least number of files of a folder that is divided into parts."""


class Parts(NamedTuple):
    """The files of a folder."""

    train: list[Path]
    choose: list[Path]
    judge: list[Path]


def instances_option() -> str:
    """Return the option `instances` for the dataclass of a recipe."""
    return option("", "A folder of .mps and .lp files (or .gz), used in turn instead of generated programs.")


def program_files(folder: str) -> list[Path]:
    """Return the MPS and LP files of a folder, sorted by name. Raises UsageError if there are none."""
    files = sorted(path for path in Path(folder).glob("*") if path.name.endswith((".mps", ".lp", ".mps.gz", ".lp.gz")))
    if not files:
        raise UsageError(f"{folder}: no .mps or .lp file there; accepted: instances=FOLDER of such files")
    return files


def parts(folder: str) -> Parts:
    """Divide the files of a folder, in the order of a hash of their names: 55 % to train, 15 % to choose, 30 % to judge.

    At least two are to choose and five to judge. Raises UsageError if the folder has fewer than FEWEST_FILES files.
    """
    files = sorted(program_files(folder), key=lambda path: hashlib.sha256(path.name.encode()).digest())
    if len(files) < FEWEST_FILES:
        fewest = f"accepted: {FEWEST_FILES} or more, of which some are kept apart to judge the policy"
        raise UsageError(f"{folder}: {len(files)} programs; {fewest}; or judge=false, which writes it unjudged")
    judged, chosen = (max(_FEWEST[part], round(_SHARES[part] * len(files))) for part in ("judge", "choose"))
    return Parts(files[judged + chosen :], files[judged : judged + chosen], files[:judged])

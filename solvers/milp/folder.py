"""The option `instances` of recipes: a folder with the user's own programs to learn from."""

from __future__ import annotations

from pathlib import Path

from corl.errors import UsageError
from corl.options import option

__all__ = ["instances_option", "program_files"]


def instances_option() -> str:
    """Return the option `instances` for the dataclass of a recipe."""
    return option("", "A folder of .mps and .lp files (or .gz), used in turn instead of generated programs.")


def program_files(folder: str) -> list[Path]:
    """Return the MPS and LP files of a folder, sorted by name. Raises UsageError if there are none."""
    files = sorted(path for path in Path(folder).glob("*") if path.name.endswith((".mps", ".lp", ".mps.gz", ".lp.gz")))
    if not files:
        raise UsageError(f"{folder}: no .mps or .lp file there; accepted: instances=FOLDER of such files")
    return files

"""Programs in a folder, for recipes that learn from files of one's own (`instances`)."""

from __future__ import annotations

from pathlib import Path

from corl.errors import UsageError
from corl.options import option

__all__ = ["instances_option", "program_files"]


def instances_option() -> str:
    """What a recipe calls the folder."""
    return option(
        "", "A folder of .mps and .lp files (.gz too), solved in turn, again and again, instead of what `family` generates."
    )


def program_files(folder: str) -> list[Path]:
    """Those of a folder, by name. Raises UsageError where there are none."""
    files = sorted(path for path in Path(folder).glob("*") if path.name.endswith((".mps", ".lp", ".mps.gz", ".lp.gz")))
    if not files:
        raise UsageError(f"{folder}: no .mps or .lp file there; accepted: instances=FOLDER of such files")
    return files

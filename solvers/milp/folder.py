"""A folder with the user's own programs to learn from, and its parts: to train on, to choose on, and to judge on."""

from __future__ import annotations

from pathlib import Path

from corl.errors import UsageError
from corl.options import option
from corl.splitting import FEWEST_FILES, Parts, split

__all__ = ["instances_option", "parts", "program_files"]


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
    """Divide the files of a folder (corl.splitting). Raises UsageError if there are fewer than FEWEST_FILES."""
    files = program_files(folder)
    if len(files) < FEWEST_FILES:
        fewest = f"accepted: {FEWEST_FILES} or more, of which some are kept apart to judge the policy"
        raise UsageError(f"{folder}: {len(files)} programs; {fewest}; or judge=false, which writes it unjudged")
    return split(files)

"""MPS and LP files, also compressed with gzip. When reading, the content decides on the format; when writing, the file name."""

from __future__ import annotations

from pathlib import Path

from corl.errors import UsageError
from corl.files.opening import plain_name
from corl.files.text import Text
from corl.problems.milp.formats.lp_reader import read_lp, recognises_lp
from corl.problems.milp.formats.lp_writer import write_lp
from corl.problems.milp.formats.mps_reader import read_mps, recognises_mps
from corl.problems.milp.formats.mps_writer import write_mps
from corl.problems.milp.instance import MilpInstance

__all__ = ["read_instance", "read_text", "recognises", "write_instance"]


def recognises(head: str) -> bool:
    """Return whether a file that begins with `head` looks like an MPS or an LP file."""
    return recognises_mps(head) or recognises_lp(head)


def read_instance(path: str | Path) -> MilpInstance:
    """Return the instance in a file. Raises InputError with file, line, field and what is accepted, or OSError."""
    return read_text(Text.read(path), plain_name(path).stem)


def read_text(text: Text, name: str = "") -> MilpInstance:
    """Return the instance in a text; `name` is used if the text contains no name. Raises InputError."""
    head = text.content[:4096]
    if recognises_lp(head) and not recognises_mps(head):
        return read_lp(text, name)
    if recognises_mps(head) or text.content.lstrip()[:1] != "\\":
        return read_mps(text, name)
    return read_lp(text, name)


def write_instance(instance: MilpInstance, path: str | Path) -> None:
    """Write an .lp or .mps file, compressed if .gz follows; without a suffix, MPS. Raises UsageError for other suffixes."""
    path = Path(path)
    suffix = plain_name(path).suffix.lower()
    if suffix not in (".lp", ".mps", ""):  # "": standard output or a pipe
        raise UsageError(f"{path.name}: a name for an instance ends in .mps or .lp, or in .mps.gz or .lp.gz")
    (write_lp if suffix == ".lp" else write_mps)(instance, path)

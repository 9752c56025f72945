"""Common parts of the text formats: lines of tokens, the header, and the check of the number of lines."""

from __future__ import annotations

from corl.files.text import Text, quoted
from corl.problems.jobshop.instance import LARGEST_MACHINES

__all__ = ["Line", "Operation", "check_count", "read_lines", "size"]

_MAX_JOBS = 10_000_000

Line = tuple[int, list[str]]
"""The line number, and the tokens of the line."""
Operation = list[tuple[int, int]]
"""(machine, duration) for every machine that can process the operation."""


def read_lines(text: Text) -> tuple[list[Line], str]:
    """Return the lines that are not comments, and the text of the comments."""
    lines, comments = [], []
    for number, line in text.lines():
        if line.startswith("#"):
            comments.append(line[1:].strip())
        else:
            lines.append((number, line.split()))
    return lines, "\n".join(comments)


def size(text: Text, header: Line) -> tuple[int, int]:
    """Return (number of jobs, number of machines) of a header. Raises InputError."""
    number, tokens = header
    if len(tokens) < 2:
        message = f"{quoted(' '.join(tokens))} is not accepted; accepted: the numbers of jobs and machines"
        raise text.error(message, line=number, field="header")
    jobs = text.integer(tokens[0], "jobs", number, 1, _MAX_JOBS)
    return jobs, text.integer(tokens[1], "machines", number, 1, LARGEST_MACHINES)


def check_count(text: Text, rows: list[Line], jobs: int, field: str, header: int) -> None:
    """Raise InputError unless there is one row per job; `header` is the number of the line that states the number of jobs."""
    if len(rows) != jobs:
        line = rows[min(jobs, len(rows) - 1)][0] if rows else header
        raise text.error(f"{len(rows):,} lines; line {header} says {jobs:,} jobs, a line each", line=line, field=field)

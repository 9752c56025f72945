"""The formats with one line per job: the standard format and the flexible .fjs.

standard  A header "jobs machines". The line of a job has a pair "machine duration" for each operation, in the order of
          processing. Machines are numbered from 0.
.fjs      A header "jobs machines [third number, ignored]". The line of a job has the number of operations; then, for each
          operation, the number of eligible machines and that many pairs "machine duration". Machines are numbered from 1.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from corl.errors import InputError
from corl.files.opening import writing
from corl.files.text import Text, quoted
from corl.problems.jobshop.formats.lines import Line, Operation, check_count, size
from corl.problems.jobshop.instance import HORIZON, JobShopInstance, from_jobs

__all__ = ["most_operations", "read_flexible", "read_standard", "write_flexible", "write_standard"]


def read_standard(text: Text, lines: list[Line], name: str, comment: str) -> JobShopInstance:
    """Return the instance in the lines of a standard file. Raises InputError."""
    return _read(text, lines, name, comment, _standard_row, 0)


def read_flexible(text: Text, lines: list[Line], name: str, comment: str) -> JobShopInstance:
    """Return the instance in the lines of an .fjs file. Raises InputError."""
    return _read(text, lines, name, comment, _flexible_row, 1)


def most_operations(text: Text, line: Line, machines: int) -> int:
    """Return the number of operations in a line: the larger number of the two formats, 0 for a format that the line violates."""
    return max(_count(row, text, line, machines) for row in (_standard_row, _flexible_row))


def _count(row: Callable[[Text, Line, int], list[Operation]], text: Text, line: Line, machines: int) -> int:
    """Return the number of operations in a line that `row` parses; 0 if the line is malformed."""
    try:
        return len(row(text, line, machines))
    except InputError:
        return 0


def _read(
    text: Text,
    lines: list[Line],
    name: str,
    comment: str,
    row: Callable[[Text, Line, int], list[Operation]],
    first_machine: int,
) -> JobShopInstance:
    """Return the instance of a header and rows that `row` parses. Raises InputError."""
    jobs, machines = size(text, lines[0])
    header, tokens = lines[0]
    if len(tokens) > (2 if row is _standard_row else 3):
        message = f"{quoted(' '.join(tokens))} is not accepted; accepted: the numbers of jobs and machines"
        raise text.error(message, line=header, field="header")
    check_count(text, lines[1:], jobs, "jobs", header)
    rows = [row(text, line, machines) for line in lines[1:]]
    return from_jobs(rows, machines, name=name, first_machine=first_machine, comment=comment)


def _standard_row(text: Text, line: Line, machines: int) -> list[Operation]:
    """Return the operations in a line of the standard format. Raises InputError."""
    number, tokens = line
    if len(tokens) % 2:
        message = f"{len(tokens)} numbers; accepted: pairs of machine and duration (a flexible instance's name ends in .fjs)"
        raise text.error(message, line=number, field="job")
    return [[_pair(text, number, tokens, at, machines, 0)] for at in range(0, len(tokens), 2)]


def _flexible_row(text: Text, line: Line, machines: int) -> list[Operation]:
    """Return the operations in a line of the .fjs format. Raises InputError."""
    number, tokens = line
    count = text.integer(tokens[0], "operations", number, 1, len(tokens))
    at = 1
    operations: list[Operation] = []
    for _ in range(count):
        if at >= len(tokens):
            raise text.error(f"{len(operations)} operations; the line says {count}", line=number, field="operations")
        able = text.integer(tokens[at], "choices", number, 1, machines)
        if at + 2 * able >= len(tokens):
            message = f"the line ends within operation {len(operations)}, which has {able} pairs of machine and duration"
            raise text.error(message, line=number, field="operations")
        operations.append([_pair(text, number, tokens, at + 1 + 2 * k, machines, 1) for k in range(able)])
        if len({machine for machine, _ in operations[-1]}) < able:
            raise text.error(f"operation {len(operations) - 1} has a machine twice", line=number, field="machine")
        at += 1 + 2 * able
    if at < len(tokens):
        message = f"{len(tokens) - at} numbers after the last of {count} operations"
        raise text.error(message, line=number, field="operations")
    return operations


def _pair(text: Text, number: int, tokens: list[str], at: int, machines: int, base: int) -> tuple[int, int]:
    machine = text.integer(tokens[at], "machine", number, base, machines - 1 + base)
    return machine - base, text.integer(tokens[at + 1], "duration", number, 0, HORIZON)


# -------------------------------------------------------------------- the writers
def write_standard(instance: JobShopInstance, path: Path) -> None:
    """Write the standard text of an instance without choices; machines are numbered from 0."""
    _write(instance, path, _standard_text)


def write_flexible(instance: JobShopInstance, path: Path) -> None:
    """Write an .fjs file; machines are numbered from 1."""
    _write(instance, path, _flexible_text)


def _write(instance: JobShopInstance, path: Path, row: Callable[[list[Operation]], str]) -> None:
    with writing(path) as stream:
        stream.writelines(f"# {line}\n" for line in instance.comment.splitlines())
        stream.write(f"{instance.jobs} {instance.machines}\n")
        stream.writelines(row(job) + "\n" for job in instance.rows())


def _standard_text(job: list[Operation]) -> str:
    return " ".join(f"{machine} {duration}" for ((machine, duration),) in job)


def _flexible_text(job: list[Operation]) -> str:
    parts = [f"{len(choices)} " + " ".join(f"{machine + 1} {duration}" for machine, duration in choices) for choices in job]
    return " ".join([str(len(job)), *parts])

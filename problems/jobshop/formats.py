"""Instance files: the standard text, Taillard's own, the flexible .fjs; JSON stands in json_format.py.

standard    "jobs machines", then a line a job: "machine duration" pairs in the order of the operations, machines from 0
Taillard's  "jobs machines [time seed, machine seed, upper bound, lower bound]", Times, a line a job, Machines, a line a job;
            machines from 1
.fjs        "jobs machines [anything]", then a line a job: how many operations, and for each how many machines can do it and
            as many "machine duration" pairs, machines from 1

Lines that begin with # are comments. Numbers are integers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from corl.errors import InputError, UsageError
from corl.files import plain_name, writing
from corl.problems.jobshop.instance import HORIZON, LARGEST_MACHINES, JobShopInstance, from_jobs
from corl.problems.jobshop.json_format import read_json, write_json
from corl.text import Text, quoted

__all__ = ["plain", "read_instance", "read_text", "recognises", "write_instance"]

_LARGEST_JOBS = 10_000_000
_SECTION = re.compile(r"^[^\S\n]*(times|machines)[^\S\n]*$", re.IGNORECASE | re.MULTILINE)
_TITLE = re.compile(r"nb of jobs", re.IGNORECASE)
_JSON = re.compile(r'\s*\{.*?"problem"\s*:\s*"jobshop"', re.DOTALL)
_HEAD = 4096

_Line = tuple[int, list[str]]
_Operation = list[tuple[int, int]]


def read_instance(path: str | Path) -> JobShopInstance:
    """The instance in a file, its format by the content (a flexible one's name ends in .fjs, unless its header has three
    numbers). Raises InputError with file, line, field and what is accepted, or OSError."""
    name = plain_name(path)
    return read_text(Text.read(path), name.stem, name.suffix.lower() == ".fjs")


def read_text(text: Text, name: str = "", flexible: bool = False) -> JobShopInstance:
    """The instance in a text; `name` stands in where the format has none. Raises InputError."""
    if text.content.lstrip()[:1] in ("{", "["):
        return read_json(text, name)
    lines, comment = _lines(text)
    if not lines:
        raise text.error("nothing but comments; accepted: jobs and machines, then a line a job", line=text.last_line)
    try:
        if _SECTION.search(text.content) or _TITLE.search(text.content):
            return _read_taillard(text, lines, name, comment)
        if flexible or len(lines[0][1]) == 3:
            return _read_rows(text, lines, name, comment, _flexible_row, 1)
        return _read_rows(text, lines, name, comment, _standard_row, 0)
    except InputError as error:
        if error.file is not None:
            raise
        raise text.error(error.reason, field=error.field) from None


def recognises(head: str) -> bool:
    """Whether a file that begins so looks like one of these formats.

    Of plain numbers: a header of two or three, and at least half of the whole lines after it rows of the standard or the
    flexible format, one of them with two operations at least. (So `read` can say what is wrong with the others.)
    """
    if _JSON.match(head) or _TITLE.search(head):
        return True
    text = Text(head)
    try:
        lines, _ = _lines(text)
        machines = _size(text, lines[0])[1]
        if _SECTION.search(head):
            return True
        rows = lines[1:]
        if len(head) >= _HEAD:  # the last line is cut: it counts only where it is the only one, and then up to the cut
            *rows, (number, tokens) = rows
            rows = rows or [(number, tokens[: (len(tokens) - 1) // 2 * 2])]
        counts = [max(_count(row, text, line, machines) for row in (_standard_row, _flexible_row)) for line in rows]
        return len(lines[0][1]) <= 3 and max(counts, default=0) > 1 and 2 * sum(map(bool, counts)) >= len(counts)
    except (InputError, IndexError, ValueError):
        return False


def _count(row: Callable[[Text, _Line, int], list[_Operation]], text: Text, line: _Line, machines: int) -> int:
    """How many operations a line has in a format; 0 where it has a fault."""
    try:
        return len(row(text, line, machines))
    except InputError:
        return 0


def _lines(text: Text) -> tuple[list[_Line], str]:
    """(line number, tokens) of the lines that are no comments; and the comments."""
    lines, comments = [], []
    for number, line in text.lines():
        if line.startswith("#"):
            comments.append(line[1:].strip())
        else:
            lines.append((number, line.split()))
    return lines, "\n".join(comments)


def _size(text: Text, header: _Line) -> tuple[int, int]:
    """Jobs and machines."""
    number, tokens = header
    if len(tokens) < 2:
        message = f"{quoted(' '.join(tokens))} is not accepted; accepted: the numbers of jobs and machines"
        raise text.error(message, line=number, field="header")
    jobs = text.integer(tokens[0], "jobs", number, 1, _LARGEST_JOBS)
    return jobs, text.integer(tokens[1], "machines", number, 1, LARGEST_MACHINES)


# -------------------------------------------------------------------- a line a job
def _read_rows(
    text: Text,
    lines: list[_Line],
    name: str,
    comment: str,
    row: Callable[[Text, _Line, int], list[_Operation]],
    first_machine: int,
) -> JobShopInstance:
    jobs, machines = _size(text, lines[0])
    header, tokens = lines[0]
    if len(tokens) > (2 if row is _standard_row else 3):
        message = f"{quoted(' '.join(tokens))} is not accepted; accepted: the numbers of jobs and machines"
        raise text.error(message, line=header, field="header")
    _check_count(text, lines[1:], jobs, "jobs", header)
    rows = [row(text, line, machines) for line in lines[1:]]
    return from_jobs(rows, machines, name=name, first_machine=first_machine, comment=comment)


def _check_count(text: Text, rows: list[_Line], jobs: int, field: str, header: int) -> None:
    if len(rows) != jobs:
        line = rows[min(jobs, len(rows) - 1)][0] if rows else header
        raise text.error(f"{len(rows):,} lines; line {header} says {jobs:,} jobs, a line each", line=line, field=field)


def _standard_row(text: Text, line: _Line, machines: int) -> list[_Operation]:
    """Pairs "machine duration", machines from 0."""
    number, tokens = line
    if len(tokens) % 2:
        message = f"{len(tokens)} numbers; accepted: pairs of machine and duration (a flexible instance's name ends in .fjs)"
        raise text.error(message, line=number, field="job")
    return [[_pair(text, number, tokens, at, machines, 0)] for at in range(0, len(tokens), 2)]


def _flexible_row(text: Text, line: _Line, machines: int) -> list[_Operation]:
    """How many operations; for each how many machines, and as many pairs "machine duration", machines from 1."""
    number, tokens = line
    count = text.integer(tokens[0], "operations", number, 1, len(tokens))
    at = 1
    operations: list[_Operation] = []
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


# -------------------------------------------------------------------- Taillard's format
def _read_taillard(text: Text, lines: list[_Line], name: str, comment: str) -> JobShopInstance:
    """Times and machines as two matrices; every job visits every machine once."""
    if _TITLE.search(" ".join(lines[0][1])):
        lines = lines[1:]
    if not lines:
        raise text.error("missing; accepted: the numbers of jobs and machines", line=text.last_line, field="header")
    jobs, machines = _size(text, lines[0])
    _check_claim(text, jobs * machines, lines[0][0])
    parts = dict(_sections(text, lines[1:]))
    for keyword in ("times", "machines"):
        if keyword not in parts:
            raise text.error("missing; accepted: Times and Machines, a line a job each", line=text.last_line, field=keyword)
        _check_count(text, parts[keyword], jobs, keyword, lines[0][0])
    times = [_matrix_row(text, line, machines, "times", 0, HORIZON) for line in parts["times"]]
    visits = [_matrix_row(text, line, machines, "machines", 1, machines) for line in parts["machines"]]
    for (number, _), row in zip(parts["machines"], visits):
        if len(set(row)) < machines:
            again = next(machine for machine in row if row.count(machine) > 1)
            raise text.error(f"machine {again} is visited twice; accepted: each once", line=number, field="machines")
    rows = [[[(machine - 1, time)] for machine, time in zip(*pair)] for pair in zip(visits, times)]
    return from_jobs(rows, machines, name=name, first_machine=1, comment=comment)


def _sections(text: Text, lines: list[_Line]) -> Iterator[tuple[str, list[_Line]]]:
    """The lines under each of the words Times and Machines."""
    seen: dict[str, int] = {}
    keyword, rows = "", []  # type: str, list[_Line]
    for number, tokens in lines:
        word = tokens[0].lower()
        if word in ("times", "machines") and len(tokens) == 1:
            if word in seen:
                message = f"given twice, first in line {seen[word]}; accepted: one instance"
                raise text.error(message, line=number, field=word)
            seen[word] = number
            if keyword:
                yield keyword, rows
            keyword, rows = word, []
        elif not keyword:
            message = f"{quoted(' '.join(tokens))} is not accepted; accepted: Times or Machines"
            raise text.error(message, line=number, field="header")
        else:
            rows.append((number, tokens))
    if keyword:
        yield keyword, rows


def _matrix_row(text: Text, line: _Line, machines: int, field: str, low: int, high: int) -> list[int]:
    number, tokens = line
    if len(tokens) != machines:
        raise text.error(f"{len(tokens)} numbers; accepted: {machines}, one for every machine", line=number, field=field)
    return [text.integer(token, field, number, low, high) for token in tokens]


def _check_claim(text: Text, operations: int, line: int) -> None:
    if operations > max(1, len(text.content)):  # a character each, at the least
        raise text.error(f"{operations:,} operations cannot be in a file of {len(text.content):,} characters", line=line)


# -------------------------------------------------------------------- the writer
def plain(instance: JobShopInstance) -> bool:
    """Whether an instance is no more than machines and durations: no dates, weights or other objective than the makespan."""
    dates = instance.release.any() or instance.due is not None or (instance.weight != 1).any()
    return instance.objective == "makespan" and not dates


def write_instance(instance: JobShopInstance, path: str | Path) -> None:
    """Write a file from which `read_instance` gives the same instance back (the name by the file's own, but in JSON).

    .fjs is the flexible format, .json JSON; under other names the standard text where it can hold the instance, else JSON.
    Raises UsageError for an .fjs that cannot.
    """
    path = Path(path)
    suffix = plain_name(path).suffix.lower()
    if suffix == ".fjs":
        if not plain(instance):
            raise UsageError(f"{path.name}: a .fjs file has no dates, weights or objectives; accepted: a name in .json")
        return _write_rows(instance, path, _flexible_text)
    if suffix != ".json" and plain(instance) and not instance.flexible and instance.first_machine == 0:
        return _write_rows(instance, path, _standard_text)
    write_json(instance, path)


def _write_rows(instance: JobShopInstance, path: Path, row: Callable[[list[_Operation]], str]) -> None:
    with writing(path) as stream:
        stream.writelines(f"# {line}\n" for line in instance.comment.splitlines())
        stream.write(f"{instance.jobs} {instance.machines}\n")
        stream.writelines(row(job) + "\n" for job in instance.rows())


def _standard_text(job: list[_Operation]) -> str:
    return " ".join(f"{machine} {duration}" for ((machine, duration),) in job)


def _flexible_text(job: list[_Operation]) -> str:
    parts = [f"{len(choices)} " + " ".join(f"{machine + 1} {duration}" for machine, duration in choices) for choices in job]
    return " ".join([str(len(job)), *parts])

"""Taillard's format, in which every job visits every machine once.

The file has a header "jobs machines [time seed, machine seed, upper bound, lower bound]"; a line "Times", then one line of
durations per job; a line "Machines", then one line of machines per job in the order of visits, numbered from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from corl.files.text import Text, quoted
from corl.problems.jobshop.formats.lines import Line, check_count, size
from corl.problems.jobshop.instance import HORIZON, JobShopInstance, from_jobs

__all__ = ["has_sections", "has_title", "read_taillard"]

_SECTION = re.compile(r"^[^\S\n]*(times|machines)[^\S\n]*$", re.IGNORECASE | re.MULTILINE)
_TITLE = re.compile(r"nb of jobs", re.IGNORECASE)


def has_sections(content: str) -> bool:
    """Return whether a text has a line "Times" or "Machines"."""
    return _SECTION.search(content) is not None


def has_title(content: str) -> bool:
    """Return whether a text has a line of column titles ("Nb of jobs ...") above its header, as some copies of the files do."""
    return _TITLE.search(content) is not None


def read_taillard(text: Text, lines: list[Line], name: str, comment: str) -> JobShopInstance:
    """Return the instance in the lines of a file in Taillard's format. Raises InputError."""
    if has_title(" ".join(lines[0][1])):
        lines = lines[1:]
    if not lines:
        raise text.error("missing; accepted: the numbers of jobs and machines", line=text.last_line, field="header")
    jobs, machines = size(text, lines[0])
    _check_size_is_plausible(text, jobs * machines, lines[0][0])
    parts = dict(_sections(text, lines[1:]))
    for keyword in ("times", "machines"):
        if keyword not in parts:
            raise text.error("missing; accepted: Times and Machines, a line a job each", line=text.last_line, field=keyword)
        check_count(text, parts[keyword], jobs, keyword, lines[0][0])
    times = [_matrix_row(text, line, machines, "times", 0, HORIZON) for line in parts["times"]]
    visits = [_matrix_row(text, line, machines, "machines", 1, machines) for line in parts["machines"]]
    for (number, _), row in zip(parts["machines"], visits):
        if len(set(row)) < machines:
            repeated = next(machine for machine in row if row.count(machine) > 1)
            raise text.error(f"machine {repeated} is visited twice; accepted: each once", line=number, field="machines")
    rows = [[[(machine - 1, time)] for machine, time in zip(*pair)] for pair in zip(visits, times)]
    return from_jobs(rows, machines, name=name, first_machine=1, comment=comment)


def _sections(text: Text, lines: list[Line]) -> Iterator[tuple[str, list[Line]]]:
    """Yield (keyword, lines below it) for each section; the keyword is "times" or "machines"."""
    first_line: dict[str, int] = {}
    keyword, rows = "", []  # type: str, list[Line]
    for number, tokens in lines:
        word = tokens[0].lower()
        if word in ("times", "machines") and len(tokens) == 1:
            if word in first_line:
                message = f"given twice, first in line {first_line[word]}; accepted: one instance"
                raise text.error(message, line=number, field=word)
            first_line[word] = number
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


def _matrix_row(text: Text, line: Line, machines: int, field: str, low: int, high: int) -> list[int]:
    number, tokens = line
    if len(tokens) != machines:
        raise text.error(f"{len(tokens)} numbers; accepted: {machines}, one for every machine", line=number, field=field)
    return [text.integer(token, field, number, low, high) for token in tokens]


def _check_size_is_plausible(text: Text, operations: int, line: int) -> None:
    """Raise InputError if the header states more operations than the file has characters."""
    if operations > max(1, len(text.content)):
        raise text.error(f"{operations:,} operations cannot be in a file of {len(text.content):,} characters", line=line)

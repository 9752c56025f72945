"""Instance files: Taillard's text, a later text format with one row per job, and JSON.

Taillard's  a title ("number of jobs, number of machines, initial seed, upper bound and lower bound :"), these numbers, the title
            "processing times :", one line per machine with one number per job. The titles, and all but the first two numbers,
            are optional
by jobs     the number of jobs and the number of machines, on two lines; one line per job with one number per machine; optionally
            for each machine one line per job with the set-ups from it to each job (SDST instances)
JSON        {"problem": "flowshop", "name": "small", "objective": "total_completion_time", "durations": [[3, 2], [1, 4]],
            "setups": [[[0, 1], [2, 0]], [[0, 3], [1, 0]]]}: one row of durations per job; one table of set-ups per machine, with
            an additional last row for the first job if there are such set-ups. Or the call of a generator:
            {"problem": "flowshop", "name": "ta001", "generator": "taillard", "parameters": {"jobs": 20, ...}}

Lines that begin with # are comments. Numbers are integers from 0.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.fields import Array, Choice, Constant, Either, Integer, Object, String, document, generator_call
from corl.files.json_instances import Field, generated, heading, read_object
from corl.files.json_values import dumps
from corl.files.opening import plain_name, writing
from corl.files.text import Text, quoted
from corl.problems.flowshop.generators import GENERATORS
from corl.problems.flowshop.instance import HORIZON, LARGEST_OPERATIONS, OBJECTIVES, FlowShopInstance

__all__ = ["SCHEMAS", "from_json_value", "read_instance", "read_text", "recognises", "write_instance"]

_JSON = re.compile(r'\s*\{.*?"problem"\s*:\s*"flowshop"', re.DOTALL)
_TITLE = re.compile(r"number of jobs, *number of machines", re.IGNORECASE)
_TABLE = Array(Array(Integer(0, HORIZON), 1), 1)
_INSTANCE = Object(
    {"durations": _TABLE},
    {
        "problem": Constant("flowshop"),
        "name": String(),
        "comment": String(),
        "objective": Choice(OBJECTIVES),
        "setups": Array(_TABLE, 1),
    },
)
SCHEMAS = {
    "instance": document("corl flowshop instance", Either(_INSTANCE, generator_call("flowshop", GENERATORS))),
    "solution": document("corl flowshop solution: the jobs in their sequence, from 0", Array(Integer(0))),
}

_HEAD = 4096  # the number of characters that `recognises` receives
_Line = tuple[int, list[str]]


def recognises(head: str) -> bool:
    """Return whether a file that begins with `head` is a flow shop.

    It is one in JSON (its key "problem" first), with Taillard's title, or of numbers: Taillard's five or the first two of them,
    then rows with one number per job; or the two lines of a text by jobs, then a row with one number per machine.
    """
    if _JSON.match(head) or _TITLE.search(head):
        return True
    lines = [tokens for _, tokens in _lines(Text(head))[0]]
    if not all(token.isdigit() for tokens in lines for token in tokens) or len(lines) < 2:
        return False
    if len(lines[0]) in (2, 5):
        jobs, machines = (int(token) for token in lines[0][:2])
        rows = lines[1:] if len(head) < _HEAD else lines[1:2]
        fits = all(len(row) == jobs for row in rows) and (len(rows) == machines or len(head) >= _HEAD)
        return fits and not (len(lines[0]) == 2 and all(_visits(row, machines) for row in rows))
    return len(lines) >= 3 and len(lines[0]) == len(lines[1]) == 1 and len(lines[2]) == int(lines[1][0])


def _visits(row: list[str], machines: int) -> bool:
    """Return whether a row is that of a classic job shop: pairs of machine and duration, each machine once."""
    return sorted(map(int, row[::2])) == list(range(machines))


def read_instance(path: str | Path) -> FlowShopInstance:
    """Return the instance in a file; its content decides on the format.

    Raises InputError with file, line, field and what is accepted, or OSError.
    """
    return read_text(Text.read(path), plain_name(path).stem)


def read_text(text: Text, name: str = "") -> FlowShopInstance:
    """Return the instance in a text; it is called `name` if the format has no name. Raises InputError."""
    if text.content.lstrip()[:1] in ("{", "["):
        return read_object(text, lambda field: from_json_value(field, name))
    lines, comment = _lines(text)
    if not lines:
        raise text.error("nothing but comments; accepted: jobs and machines, then their durations", line=text.last_line)
    try:
        duration, setup = (_by_jobs if len(lines[0][1]) == 1 else _taillard)(text, lines)
        return FlowShopInstance(name, duration, setup, comment=comment)
    except InputError as error:
        if error.file is not None:
            raise
        raise text.error(error.reason, field=error.field) from None


def _lines(text: Text) -> tuple[list[_Line], str]:
    """Return (line number, tokens) of the lines that are neither comments nor titles; and the text of the comments."""
    lines, comments = [], []
    for number, line in text.lines():
        if line.startswith("#"):
            comments.append(line[1:].strip())
        elif not (_TITLE.match(line) or line.lower().startswith("processing times")):
            lines.append((number, line.split()))
    return lines, "\n".join(comments)


def _taillard(text: Text, lines: list[_Line]) -> tuple[NDArray[np.int64], None]:
    """Return durations [jobs, machines] of Taillard's text, and None for its set-ups. Raises InputError."""
    number, header = lines[0]
    if len(header) not in (2, 5):
        message = f"{quoted(' '.join(header))} is not accepted; accepted: jobs, machines, perhaps a seed and two bounds"
        raise text.error(message, line=number, field="header")
    jobs = text.integer(header[0], "jobs", number, 1, LARGEST_OPERATIONS)
    machines = text.integer(header[1], "machines", number, 1, LARGEST_OPERATIONS)
    return _table(text, lines[1:], machines, jobs, "processing times", "machine").T, None


def _by_jobs(text: Text, lines: list[_Line]) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Return durations [jobs, machines] and set-ups [machines, jobs, jobs] or None of a text by jobs. Raises InputError."""
    jobs = text.integer(lines[0][1][0], "jobs", lines[0][0], 1, LARGEST_OPERATIONS)
    if len(lines) < 2 or len(lines[1][1]) != 1:
        raise text.error("accepted: the number of machines", line=lines[min(1, len(lines) - 1)][0], field="machines")
    machines = text.integer(lines[1][1][0], "machines", lines[1][0], 1, LARGEST_OPERATIONS)
    rows, rest = lines[2 : 2 + jobs], lines[2 + jobs :]
    duration = _table(text, rows, jobs, machines, "durations", "job")
    if not rest:
        return duration, None
    return duration, _table(text, rest, machines * jobs, jobs, "setups", "job of each machine").reshape(machines, jobs, jobs)


def _table(text: Text, lines: list[_Line], rows: int, columns: int, field: str, what: str) -> NDArray[np.int64]:
    """Return an array int64 [rows, columns], one line per row. Raises InputError."""
    if len(lines) != rows:
        line = lines[min(rows, len(lines) - 1)][0] if lines else text.last_line
        raise text.error(f"{len(lines):,} lines; accepted: {rows:,}, one for every {what}", line=line, field=field)
    table = []
    for number, tokens in lines:
        if len(tokens) != columns:
            raise text.error(f"{len(tokens):,} numbers; accepted: {columns:,}", line=number, field=field)
        table.append([text.integer(token, field, number, 0, HORIZON) for token in tokens])
    return np.array(table, np.int64)


def from_json_value(field: Field, name: str = "") -> FlowShopInstance:
    """Return the instance of a JSON object. Raises InputError with the field."""
    if "generator" in field.value:
        made: FlowShopInstance = generated(field, GENERATORS, "flowshop", name)
        return made
    given = field.record(_INSTANCE)
    name, comment = heading(given, "flowshop", name)
    chosen: Any = given.get("objective", "makespan").choice()
    duration, setup = given["durations"].integers(None, None), None
    if "setups" in given:
        jobs, machines = duration.shape
        tables = given["setups"].entries(machines)
        rows = jobs + 1 if isinstance(tables[0].value, list) and len(tables[0].value) == jobs + 1 else jobs
        setup = given["setups"].integers(machines, rows, jobs)
    return FlowShopInstance(name, duration, setup, chosen, comment)


# -------------------------------------------------------------------- the writer
def write_instance(instance: FlowShopInstance, path: str | Path) -> None:
    """Write a file from which `read_instance` returns an equal instance (named by the file name, unless it is JSON).

    The suffix .json means JSON; any other Taillard's text if it can hold the instance, otherwise JSON.
    """
    json_name = plain_name(path).suffix.lower() == ".json"
    with writing(path) as stream:
        if json_name or instance.setup is not None or instance.objective != "makespan":
            stream.write(_json(instance))
            return
        stream.writelines(f"# {line}\n" for line in instance.comment.splitlines())
        title = "number of jobs, number of machines, initial seed, upper bound and lower bound :"
        stream.write(f"{title}\n{instance.jobs} {instance.machines}\nprocessing times :\n")
        stream.writelines(f"{' '.join(map(str, row))}\n" for row in instance.duration.T.tolist())


def _json(instance: FlowShopInstance) -> str:
    """Return the JSON text, with one line per row of a table."""
    head: dict[str, Any] = {"problem": "flowshop", "name": instance.name}
    head |= {"comment": instance.comment} if instance.comment else {}
    head |= {"objective": instance.objective} if instance.objective != "makespan" else {}
    content = f'{dumps(head)[:-1]}, "durations": {_rows(instance.duration)}'
    if instance.setup is not None:
        first = instance.setup[:, instance.jobs].any()
        tables = [_rows(table if first else table[:-1]) for table in instance.setup]
        content += f', "setups": [{", ".join(tables)}]'
    return content + "}\n"


def _rows(table: NDArray[np.int64]) -> str:
    return "[\n" + ",\n".join(map(dumps, table.tolist())) + "]"

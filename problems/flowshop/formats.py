"""Instance files: Taillard's text, a later text format with one row per job, and JSON.

Taillard's  A title ("number of jobs, number of machines, initial seed, upper bound and lower bound :"), a line with these
            numbers, the title "processing times :", then one line per machine with one number per job. The titles are optional,
            and so are all but the first two numbers.
by jobs     The number of jobs and the number of machines, on two lines; then one line per job with one number per machine. If
            there are set-ups (SDST instances): for each machine one line per job a, with its set-up times to each job b.
pairs       The numbers of jobs and machines on one line; then one line per job with a pair "machine duration" for each machine,
            from machine 0 on. Without the name of the problem, such a file is a job shop.
JSON        {"problem": "flowshop", "name": "small", "objective": "total_completion_time", "durations": [[3, 2], [1, 4]],
            "setups": [[[0, 1], [2, 0]], [[0, 3], [1, 0]]]}
            `durations` has one row per job. `setups` has one table per machine: row a holds the set-up times from job a to each
            job; an optional last row holds the set-ups before the first job. Instead, a generator may be named:
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

_HEAD_LENGTH = 4096  # characters that `recognises` receives of a longer file
_Line = tuple[int, list[str]]
"""The line number, and the tokens of the line."""


def recognises(head: str) -> bool:
    """Return whether a file that begins with `head` looks like a flow shop.

    JSON is recognised by its key "problem", Taillard's text by its title. A text of numbers is recognised if it begins with
    Taillard's five numbers, or the first two of them, and rows with one number per job follow; or if it begins with the two lines
    of a text by jobs, and a row with one number per machine follows. One row more than there are jobs is a hybrid flow shop's.
    """
    if _JSON.match(head) or _TITLE.search(head):
        return True
    lines = [tokens for _, tokens in _lines(Text(head))[0]]
    if not all(token.isdigit() for tokens in lines for token in tokens) or len(lines) < 2:
        return False
    if len(lines[0]) in (2, 5):
        jobs, machines = (int(token) for token in lines[0][:2])
        is_whole_file = len(head) < _HEAD_LENGTH
        rows = lines[1:] if is_whole_file else lines[1:2]
        fits = all(len(row) == jobs for row in rows) and (len(rows) == machines or not is_whole_file)
        return fits and not (len(lines[0]) == 2 and all(_visits(row, machines) for row in rows))
    by_jobs = len(lines) >= 3 and len(lines[0]) == len(lines[1]) == 1 and len(lines[2]) == int(lines[1][0])
    is_hybrid = by_jobs and len(head) < _HEAD_LENGTH and len(lines) == 3 + int(lines[0][0]) and len(lines[-1]) == len(lines[2])
    return by_jobs and not is_hybrid


def _visits(row: list[str], machines: int) -> bool:
    """Return whether a row looks like one of a classic job shop: pairs of machine and duration, each machine once."""
    return sorted(map(int, row[::2])) == list(range(machines))


def read_instance(path: str | Path) -> FlowShopInstance:
    """Return the instance in a file, whose content decides the format.

    Raises OSError, or InputError with file, line, field and what is accepted.
    """
    return read_text(Text.read(path), plain_name(path).stem)


def read_text(text: Text, name: str = "") -> FlowShopInstance:
    """Return the instance in a text; `name` is its name if the text states none. Raises InputError."""
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
    """Return the lines that are neither comments nor titles, and the text of the comments."""
    lines, comments = [], []
    for number, line in text.lines():
        if line.startswith("#"):
            comments.append(line[1:].strip())
        elif not (_TITLE.match(line) or line.lower().startswith("processing times")):
            lines.append((number, line.split()))
    return lines, "\n".join(comments)


def _taillard(text: Text, lines: list[_Line]) -> tuple[NDArray[np.int64], None]:
    """Return the durations in Taillard's text, int64 [jobs, machines], and None because it has no set-ups. Raises InputError."""
    number, header = lines[0]
    if len(header) not in (2, 5):
        message = f"{quoted(' '.join(header))} is not accepted; accepted: jobs, machines, perhaps a seed and two bounds"
        raise text.error(message, line=number, field="header")
    jobs = text.integer(header[0], "jobs", number, 1, LARGEST_OPERATIONS)
    machines = text.integer(header[1], "machines", number, 1, LARGEST_OPERATIONS)
    if len(lines) - 1 == jobs and all(len(tokens) == 2 * machines for _, tokens in lines[1:]):
        return _pairs(text, lines[1:], jobs, machines), None
    return _table(text, lines[1:], machines, jobs, "processing times", "machine").T, None


def _pairs(text: Text, lines: list[_Line], jobs: int, machines: int) -> NDArray[np.int64]:
    """Return the durations in lines of pairs "machine duration", int64 [jobs, machines]. Raises InputError."""
    table = _table(text, lines, jobs, 2 * machines, "durations", "job")
    if (wrong := (table[:, ::2] != np.arange(machines)).any(axis=1)).any():
        accepted = f"accepted: the machines 0 to {machines - 1} in this order, each with a duration"
        raise text.error(accepted, line=lines[int(wrong.argmax())][0], field="machine")
    return table[:, 1::2].copy()


def _by_jobs(text: Text, lines: list[_Line]) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Return the durations, int64 [jobs, machines], and the set-ups, int64 [machines, jobs, jobs] or None, in a text by jobs.

    Raises InputError.
    """
    jobs = text.integer(lines[0][1][0], "jobs", lines[0][0], 1, LARGEST_OPERATIONS)
    if len(lines) < 2 or len(lines[1][1]) != 1:
        raise text.error("accepted: the number of machines", line=lines[min(1, len(lines) - 1)][0], field="machines")
    machines = text.integer(lines[1][1][0], "machines", lines[1][0], 1, LARGEST_OPERATIONS)
    rows, setups = lines[2 : 2 + jobs], lines[2 + jobs :]
    duration = _table(text, rows, jobs, machines, "durations", "job")
    if not setups:
        return duration, None
    return duration, _table(text, setups, machines * jobs, jobs, "setups", "job of each machine").reshape(machines, jobs, jobs)


def _table(text: Text, lines: list[_Line], rows: int, columns: int, field: str, what: str) -> NDArray[np.int64]:
    """Return the numbers in `lines`, int64 [rows, columns]; `what` names a row in messages. Raises InputError."""
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
    """Return the instance in a JSON object; `name` is its name if the object has none. Raises InputError with the field."""
    if "generator" in field.value:
        made: FlowShopInstance = generated(field, GENERATORS, "flowshop", name)
        return made
    given = field.record(_INSTANCE)
    name, comment = heading(given, "flowshop", name)
    objective: Any = given.get("objective", "makespan").choice()
    duration, setup = given["durations"].integers(None, None), None
    if "setups" in given:
        jobs, machines = duration.shape
        tables = given["setups"].entries(machines)
        rows = jobs + 1 if isinstance(tables[0].value, list) and len(tables[0].value) == jobs + 1 else jobs
        setup = given["setups"].integers(machines, rows, jobs)
    return FlowShopInstance(name, duration, setup, objective, comment)


# -------------------------------------------------------------------- the writer
def write_instance(instance: FlowShopInstance, path: str | Path) -> None:
    """Write a file from which `read_instance` returns an equal instance.

    The suffix .json means JSON. Any other suffix means Taillard's text if it can hold the instance, otherwise JSON. Taillard's
    text has no name: from it, the instance gets the name of the file.
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
    """Return the JSON text of an instance, with one line per row of a table."""
    head: dict[str, Any] = {"problem": "flowshop", "name": instance.name}
    head |= {"comment": instance.comment} if instance.comment else {}
    head |= {"objective": instance.objective} if instance.objective != "makespan" else {}
    content = f'{dumps(head)[:-1]}, "durations": {_rows(instance.duration)}'
    if instance.setup is not None:
        has_first_setups = instance.setup[:, instance.jobs].any()
        tables = [_rows(table if has_first_setups else table[:-1]) for table in instance.setup]
        content += f', "setups": [{", ".join(tables)}]'
    return content + "}\n"


def _rows(table: NDArray[np.int64]) -> str:
    return "[\n" + ",\n".join(map(dumps, table.tolist())) + "]"

"""Instance files: the standard text, Taillard's format, the flexible .fjs, hybrid flow shops, JSON, also ScheduleOpt's.

The content decides which.

Lines of a text format that begin with # are comments. Numbers are integers.
"""

from __future__ import annotations

import re
from pathlib import Path

from corl.errors import InputError, UsageError
from corl.files.opening import plain_name
from corl.files.text import Text
from corl.problems.jobshop.formats.json_format import read_json, write_json
from corl.problems.jobshop.formats.lines import read_lines, size
from corl.problems.jobshop.formats.rows import most_operations, read_flexible, read_standard, write_flexible, write_standard
from corl.problems.jobshop.formats.scheduleopt import is_scheduleopt, read_scheduleopt
from corl.problems.jobshop.formats.stages import has_stages, read_stages
from corl.problems.jobshop.formats.taillard import has_sections, has_title, read_taillard
from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["read_instance", "read_text", "recognises", "write_instance"]

_JSON = re.compile(r'\s*\{.*?"problem"\s*:\s*"jobshop"', re.DOTALL)
_HEAD_LENGTH = 4096  # characters; a head of this length may end within a line


def read_instance(path: str | Path) -> JobShopInstance:
    """Return the instance in a file.

    The content decides the format, with one exception: a flexible text file is recognised by a name in .fjs or by three numbers
    in its header. Raises OSError, or InputError with file, line, field and what is accepted.
    """
    name = plain_name(path)
    return read_text(Text.read(path), name.stem, name.suffix.lower() == ".fjs")


def read_text(text: Text, name: str = "", flexible: bool = False) -> JobShopInstance:
    """Return the instance in a text. `name` is its name if the text states none. Raises InputError.

    flexible: whether a text of plain numbers with two numbers in its header is read as .fjs, not as the standard format.
    """
    if is_scheduleopt(text.content):
        return read_scheduleopt(text)
    if text.content.lstrip()[:1] in ("{", "["):
        return read_json(text, name)
    lines, comment = read_lines(text)
    if not lines:
        raise text.error("nothing but comments; accepted: jobs and machines, then a line a job", line=text.last_line)
    try:
        if has_stages(lines):
            return read_stages(text, lines, name, comment)
        if has_sections(text.content) or has_title(text.content):
            return read_taillard(text, lines, name, comment)
        if flexible or len(lines[0][1]) == 3:
            return read_flexible(text, lines, name, comment)
        return read_standard(text, lines, name, comment)
    except InputError as error:
        if error.file is not None:
            raise
        raise text.error(error.reason, field=error.field) from None


def recognises(head: str) -> bool:
    """Return whether a file that begins with `head` looks like one of these formats.

    A file of plain numbers is recognised if its header has two or three numbers, at least half of the complete lines after the
    header are rows of the standard or the flexible format, and one row has at least two operations. The other half may be
    malformed, so that `read_instance` can report their faults. A hybrid flow shop is recognised by its complete text only,
    because it may begin as a flow shop does.
    """
    if _JSON.match(head) is not None or is_scheduleopt(head) or has_title(head):
        return True
    text = Text(head)
    try:
        lines, _ = read_lines(text)
        if has_stages(lines):
            return len(head) < _HEAD_LENGTH and len(lines) == 3 + int(lines[0][1][0]) and len(lines[-1][1]) == len(lines[2][1])
        machines = size(text, lines[0])[1]
        if has_sections(head):
            return True
        rows = lines[1:]
        if len(head) >= _HEAD_LENGTH:  # the last line may be incomplete: it is used only if there is no other, without its end
            *rows, (number, tokens) = rows
            rows = rows or [(number, tokens[: (len(tokens) - 1) // 2 * 2])]
        counts = [most_operations(text, line, machines) for line in rows]
        return len(lines[0][1]) <= 3 and max(counts, default=0) > 1 and 2 * sum(map(bool, counts)) >= len(counts)
    except (InputError, IndexError, ValueError):
        return False


def write_instance(instance: JobShopInstance, path: str | Path) -> None:
    """Write a file from which `read_instance` returns an equal instance.

    The suffix .fjs means the flexible format, and .json means JSON. Any other suffix means the standard text if it can hold the
    instance, otherwise JSON. The text formats hold no name: the instance that is read has the name of the file. Raises UsageError
    for the suffix .fjs if the flexible format cannot hold the instance.
    """
    path = Path(path)
    suffix = plain_name(path).suffix.lower()
    if suffix == ".fjs":
        if not _has_no_dates(instance):
            raise UsageError(f"{path.name}: a .fjs file has no dates, weights, rules or objectives; accepted: a name in .json")
        return write_flexible(instance, path)
    if suffix != ".json" and _has_no_dates(instance) and not instance.flexible and instance.first_machine == 0:
        return write_standard(instance, path)
    write_json(instance, path)


def _has_no_dates(instance: JobShopInstance) -> bool:
    """Return whether an instance has only machines and durations: no dates, weights or side constraints, and the makespan."""
    dates = instance.release.any() or instance.due is not None or (instance.weight != 1).any() or instance.rules is not None
    return instance.objective == "makespan" and not dates

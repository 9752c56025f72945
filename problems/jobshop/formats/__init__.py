"""Instance files, their format by the content: the standard text, Taillard's own, the flexible .fjs, JSON.

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
from corl.problems.jobshop.formats.taillard import has_sections, has_title, read_taillard
from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["read_instance", "read_text", "recognises", "write_instance"]

_JSON = re.compile(r'\s*\{.*?"problem"\s*:\s*"jobshop"', re.DOTALL)
_HEAD = 4096


def read_instance(path: str | Path) -> JobShopInstance:
    """The instance in a file, its format by the content (a flexible one's name ends in .fjs, unless its header has three
    numbers). Raises InputError with file, line, field and what is accepted, or OSError."""
    name = plain_name(path)
    return read_text(Text.read(path), name.stem, name.suffix.lower() == ".fjs")


def read_text(text: Text, name: str = "", flexible: bool = False) -> JobShopInstance:
    """The instance in a text; `name` stands in where the format has none. Raises InputError."""
    if text.content.lstrip()[:1] in ("{", "["):
        return read_json(text, name)
    lines, comment = read_lines(text)
    if not lines:
        raise text.error("nothing but comments; accepted: jobs and machines, then a line a job", line=text.last_line)
    try:
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
    """Whether a file that begins so looks like one of these formats.

    Of plain numbers: a header of two or three, and at least half of the whole lines after it rows of the standard or the
    flexible format, one of them with two operations at least. (So `read` can say what is wrong with the others.)
    """
    if _JSON.match(head) is not None or has_title(head):
        return True
    text = Text(head)
    try:
        lines, _ = read_lines(text)
        machines = size(text, lines[0])[1]
        if has_sections(head):
            return True
        rows = lines[1:]
        if len(head) >= _HEAD:  # the last line is cut: it counts only where it is the only one, and then up to the cut
            *rows, (number, tokens) = rows
            rows = rows or [(number, tokens[: (len(tokens) - 1) // 2 * 2])]
        counts = [most_operations(text, line, machines) for line in rows]
        return len(lines[0][1]) <= 3 and max(counts, default=0) > 1 and 2 * sum(map(bool, counts)) >= len(counts)
    except (InputError, IndexError, ValueError):
        return False


def write_instance(instance: JobShopInstance, path: str | Path) -> None:
    """Write a file from which `read_instance` gives the same instance back (the name by the file's own, but in JSON).

    .fjs is the flexible format, .json JSON; under other names the standard text where it can hold the instance, else JSON.
    Raises UsageError for an .fjs that cannot.
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
    """Whether an instance is no more than machines and durations: no dates, weights, rules or objective but the makespan."""
    dates = instance.release.any() or instance.due is not None or (instance.weight != 1).any() or instance.rules is not None
    return instance.objective == "makespan" and not dates

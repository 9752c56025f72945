"""The options of solvers and recipes, as `corl list --verbose` and `--help` show them."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable

from corl import registry
from corl.errors import UsageError, unknown
from corl.learning.recipe import recipe_class, recipe_names
from corl.options import Row, option_table

__all__ = ["options_text", "option_lines"]

_MAX_COLUMNS = 110  # of a text on a wide terminal


def option_lines(rows: Iterable[Row], indent: str) -> list[str]:
    """Return the lines of each option: first its name, default and accepted values, then its help, indented further."""
    wrapper = textwrap.TextWrapper(min(shutil.get_terminal_size().columns, _MAX_COLUMNS), break_on_hyphens=False)
    wrapper.subsequent_indent, lines = indent + "    ", []
    for row in rows:
        for text, first_indent in ((f"--option {row.name}={row.default}  ({row.accepted})", indent), (row.help, indent + "    ")):
            wrapper.initial_indent = first_indent
            lines += wrapper.wrap(text)
    return lines


def options_text(what: str, problem: str | None, name: str) -> str:
    """Return the text about options at the end of --help.

    Args:
        what: "solver" or "recipe".
        problem: The problem; None: the text has the options for every problem with a solver or recipe of this name.
        name: The name of the solver or recipe.
    """
    names, find = (registry.solvers, registry.solver) if what == "solver" else (recipe_names, recipe_class)
    owners = [problem] if problem else [other.name for other in registry.working_problems() if name in names(other.name)]
    if not owners:
        every = {owner for other in registry.problems() for owner in names(other)}
        raise UsageError(unknown(f"no {what} is called", name, sorted(every)))
    kinds: dict[type, list[str]] = {}
    for owner in owners:
        kinds.setdefault(find(owner, name), []).append(owner)
    text = ""
    for kind, problems in kinds.items():
        lines = option_lines(option_table(kind), "  ") or ["  none"]
        text += "\n".join(["", f"options of the {what} {name} ({', '.join(problems)}):", *lines, ""])
    return text

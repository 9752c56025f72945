"""Golden rows of names: problems, generators, solvers, recipes and their options, networks, checkpoints, commands and flags."""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import re
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from corl import registry
from corl.networks.checkpoints import shipped
from corl.version import DISTRIBUTION


def _output(*arguments: str) -> str:
    """What `corl ARGUMENTS` prints."""
    (corl,) = entry_points(group="console_scripts", name="corl")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        corl.load()(list(arguments))
    return printed.getvalue()


def _listed(what: str) -> list[dict[str, Any]]:
    return json.loads(_output("list", what, "--json"))  # type: ignore[no-any-return]


def _commands() -> list[str]:
    return re.findall(r"^    ([\w-]+)", _output("--help"), re.MULTILINE)


def _flags(command: str) -> list[str]:
    """The flags and arguments of a command with what they take, sorted; not their order or help."""
    lines = re.findall(r"^  (\S.*?)(?:  .*)?$", _output(command, "--help"), re.MULTILINE)
    return sorted(set(lines))


def _problem(name: str) -> dict[str, Any]:
    problem = registry.problem(name)
    return {
        "features": list(problem.features),
        "sense": problem.sense,
        "suffixes": list(problem.suffixes),
        "title": problem.title,
    }


def _generators(name: str) -> dict[str, str]:
    """Generator -> its parameters and their defaults, in order."""
    found = {}
    for generator, function in registry.problem(name).generators.items():
        parameters = inspect.signature(function).parameters.values()
        found[generator] = ", ".join(p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters)
    return found


def _grouped(listed: list[dict[str, Any]]) -> dict[str, Any]:
    """NAME: PROBLEM, PROBLEM -> what is the same for these problems: title, unit, options with default and type."""
    groups: dict[tuple[str, str], list[str]] = {}
    for each in listed:
        options = {option["name"]: f"{option['default']} ({option['type']})" for option in each["options"]}
        unit = each.get("iteration", each.get("step", ""))
        facts = json.dumps({"options": options, "title": each["title"], "unit": unit})
        groups.setdefault((each["name"], facts), []).append(each["problem"])
    return {f"{name}: {', '.join(problems)}": json.loads(facts) for (name, facts), problems in groups.items()}


ROWS: dict[str, Callable[[], Any]] = {
    "checkpoints": lambda: sorted(shipped()),
    "commands": lambda: {name: _flags(name) for name in _commands()},
    "generators": lambda: {name: _generators(name) for name in registry.problems()},
    "instances": lambda: [f"{each['problem']} {each['name']} {each['value']} {each['status']}" for each in _listed("instances")],
    "networks": lambda: sorted(entry.name for entry in entry_points(group="corl.networks") if entry.dist.name == DISTRIBUTION),
    "online": lambda: _grouped(_listed("online")),
    "problems": lambda: {name: _problem(name) for name in registry.problems()},
    "recipes": lambda: _grouped(_listed("recipes")),
    "solvers": lambda: _grouped(_listed("solvers")),
}
"""Row -> how it is made, from what `corl list` and `--help` tell."""

"""`corl list problems|solvers|recipes|online|instances|suites`: list what is installed."""

from __future__ import annotations

import argparse
import json
import logging
from typing import Any

from corl import registry
from corl.cli.option_help import option_lines
from corl.errors import UsageError
from corl.formatting import value
from corl.learning.recipe import recipe_class, recipe_names
from corl.options import Row, option_table

__all__ = ["arguments", "execute"]

_log = logging.getLogger(__name__)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=list(_ROWS), help="what to list")
    parser.add_argument("problem", metavar="PROBLEM", nargs="?", help="list only what belongs to this problem")
    parser.add_argument(
        "--verbose", action="store_true", help="explain each option of a solver, recipe or policy, and its accepted values"
    )
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def execute(args: argparse.Namespace) -> int:
    names = [problem.name for problem in ([registry.problem(args.problem)] if args.problem else registry.working_problems())]
    rows = _ROWS[args.what](names)
    if args.json:
        print(json.dumps(rows))
        return 0
    for row in rows:
        print(_text(args.what, row, verbose=args.verbose))
    return 0


def _problems(names: list[str]) -> list[dict[str, Any]]:
    rows = []
    for name in names:
        problem = registry.problem(name)
        rows.append({"name": name, "title": problem.title, "sense": problem.sense, "generators": list(problem.generators)})
    return rows


def _solvers(names: list[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for problem in names:
        if (chooser := registry.chooser(problem)) is not None:
            rows.append({"problem": problem, "name": "auto", "title": chooser.__doc__ or "", "iteration": "", "options": []})
        for name in registry.solvers(problem):
            try:
                solver = registry.solver(problem, name)
            except UsageError as error:  # a broken plug-in must not hide the other solvers
                _log.warning("%s", error)
                continue
            facts = {"title": solver.title, "iteration": solver.iteration, "options": _options(solver)}
            rows.append({"problem": problem, "name": name, **facts})
    return rows


def _recipes(names: list[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for problem in names:
        for name in recipe_names(problem):
            try:
                recipe = recipe_class(problem, name)
            except UsageError as error:
                _log.warning("%s", error)
                continue
            facts = {"title": recipe.title, "step": recipe.step, "options": _options(recipe)}
            rows.append({"problem": problem, "name": name, **facts})
    return rows


def _online(names: list[str]) -> list[dict[str, Any]]:
    from corl.online.dispatcher import GROUP, policy_class

    rows: list[dict[str, Any]] = []
    for problem in names:
        for name in registry.names(GROUP, problem):
            try:
                policy = policy_class(problem, name)
            except UsageError as error:
                _log.warning("%s", error)
                continue
            rows.append({"problem": problem, "name": name, "title": policy.title, "options": _options(policy)})
    return rows


def _options(kind: type) -> list[dict[str, str]]:
    return [row._asdict() for row in option_table(kind)]


def _instances(names: list[str]) -> list[dict[str, Any]]:
    from corl import shipped

    return [row for row in shipped.instances() if row["problem"] in names]


def _suites(names: list[str]) -> list[dict[str, Any]]:
    from corl import shipped

    return [row for row in shipped.suites() if row["problem"] in names]


def _text(what: str, row: dict[str, Any], *, verbose: bool) -> str:
    """Return the line, or lines, that show one entry of the list `what`."""
    if what == "problems":
        return f"{row['name']:<16}{row['title']}  ({row['sense']}; generators: {', '.join(row['generators']) or 'none'})"
    if what == "instances":
        reference = f"{value(row['value']):>14}  {row['status'] or '':<12}"
        return f"{row['problem']:<16}{row['name']:<26}{reference}{row['path']}"
    if what == "suites":
        return f"{row['name']:<28}{row['title']}"
    lines = [f"{row['problem']}  {row['name']:<20}{row['title']}"]
    lines += [f"        {unit}: {row[unit]}" for unit in ("iteration", "step") if row.get(unit)]
    if verbose:
        return "\n".join(lines + option_lines([Row(**option) for option in row["options"]], " " * 8))
    lines += [f"        --option {o['name']}={o['default']}  ({o['type']})" for o in row["options"]]
    return "\n".join(lines)


_ROWS = {
    "problems": _problems,
    "solvers": _solvers,
    "recipes": _recipes,
    "online": _online,
    "instances": _instances,
    "suites": _suites,
}

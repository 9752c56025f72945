"""`corl list problems|solvers|recipes|instances`"""

from __future__ import annotations

import argparse
import csv
import json
import logging
from importlib import resources
from typing import Any

from corl import registry
from corl.errors import UsageError
from corl.files import plain_name
from corl.progress import value

__all__ = ["arguments", "execute"]

_log = logging.getLogger(__name__)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=list(_ROWS), help="solvers and recipes come with their options")
    parser.add_argument("problem", metavar="PROBLEM", nargs="?", help="of this problem only")
    parser.add_argument("--json", action="store_true", help="print a list as JSON")


def execute(args: argparse.Namespace) -> int:
    names = [problem.name for problem in ([registry.problem(args.problem)] if args.problem else registry.working_problems())]
    rows = _ROWS[args.what](names)
    if args.json:
        print(json.dumps(rows))
        return 0
    for row in rows:
        print(_text(args.what, row))
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
            except UsageError as error:  # somebody's broken plug-in hides none of the others
                _log.warning("%s", error)
                continue
            facts = {"title": solver.title, "iteration": solver.iteration, "options": _options(solver)}
            rows.append({"problem": problem, "name": name, **facts})
    return rows


def _recipes(names: list[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for problem in names:
        for name in registry.recipes(problem):
            try:
                recipe = registry.recipe(problem, name)
            except UsageError as error:
                _log.warning("%s", error)
                continue
            facts = {"title": recipe.title, "step": recipe.step, "options": _options(recipe)}
            rows.append({"problem": problem, "name": name, **facts})
    return rows


def _options(kind: type) -> list[dict[str, str]]:
    from corl.options import option_table

    return [dict(zip(("name", "type", "default"), option)) for option in option_table(kind)]


def _instances(names: list[str]) -> list[dict[str, Any]]:
    """The shipped instances with their reference values; the path is the installed file."""
    rows = []
    for problem in names:
        folder = resources.files("corl.instances") / problem
        if not folder.is_dir():
            continue
        table = folder / "reference.csv"
        lines = table.read_text(encoding="utf-8").splitlines() if table.is_file() else []
        reference = {row["name"]: row for row in csv.DictReader(lines)}
        for file in sorted(folder.iterdir(), key=lambda file: file.name):
            stem = plain_name(file.name).stem
            if stem in reference:
                known = reference[stem]
                facts = {"path": str(file), "value": float(known["value"]), "status": known["status"]}
                rows.append({"problem": problem, "name": stem, **facts})
    return rows


def _text(what: str, row: dict[str, Any]) -> str:
    if what == "problems":
        return f"{row['name']:<16}{row['title']}  ({row['sense']}; generators: {', '.join(row['generators']) or 'none'})"
    if what == "instances":
        return f"{row['problem']:<16}{row['name']:<26}{value(row['value']):>14}  {row['status']:<12}{row['path']}"
    lines = [f"{row['problem']}  {row['name']:<20}{row['title']}"]
    lines += [f"        {unit}: {row[unit]}" for unit in ("iteration", "step") if row.get(unit)]
    lines += [f"        --option {o['name']}={o['default']}  ({o['type']})" for o in row["options"]]
    return "\n".join(lines)


_ROWS = {"problems": _problems, "solvers": _solvers, "recipes": _recipes, "instances": _instances}

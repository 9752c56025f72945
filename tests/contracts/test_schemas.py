"""JSON schemas of every registered problem, held against what its reader takes and refuses."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from families import small
from mutation import mutant
from specimen import FORMATS, named_cheap, specimens

import corl
from corl import registry
from corl.cli.main import main
from corl.errors import CorlError
from corl.loading import load

jsonschema = pytest.importorskip("jsonschema")
WITH_JSON = [name for name, suffix in FORMATS if suffix == ".json"]
MUTANTS = 400
UNREAD = {"vrp": {"x", "y", "z", "lat", "lon", "at", "window", "id"}}
"""Fields that a reader does not look at where others stand for them; a schema wants them right all the same."""


def validator(name: str, kind: str) -> Any:
    found = jsonschema.Draft202012Validator(registry.problem(name).schemas()[kind])
    found.check_schema(found.schema)
    return found


def accepted(name: str, value: Any, folder: Path) -> bool:
    """Whether the problem reads an instance in this JSON."""
    file = folder / "a.json"
    file.write_text(json.dumps(value))
    try:
        load(file, name)
    except CorlError:
        return False
    return True


def places(value: Any) -> Any:
    """(holder, key) of every value in a JSON value, but for a generator's parameters; of long lists the first two entries."""
    for key in list(value) if isinstance(value, dict) else range(min(2, len(value))):
        if key == "parameters":
            continue
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from places(value[key])


@pytest.mark.parametrize("name", registry.problems())
def test_every_problem_has_schemas(name: str):
    """Of its solutions, and of its instances where their files can be JSON."""
    assert set(registry.problem(name).schemas()) == {"solution"} | ({"instance"} if name in WITH_JSON else set())


@pytest.mark.parametrize("name", registry.problems())
def test_solutions_fit(name: str, tmp_path: Path):
    """What solvers find, as JSON; and no number, text or nothing."""
    problem, check = registry.problem(name), validator(name, "solution")
    for instance in small(name)[:6]:
        limit = {"iterations": 10} if registry.solver(name, named_cheap(name)).iteration else {"time_limit": 20}
        result = corl.solve(instance, problem=name, solver=named_cheap(name), **limit)
        if result.solution is not None:
            check.validate(json.loads(json.dumps(problem.to_json(instance, result.solution))))
    assert not any(check.is_valid(value) for value in (None, 1, "x", [[[0]]], {"x": []}))


@pytest.mark.parametrize("name", WITH_JSON)
def test_instances_fit(name: str):
    """Every specimen in JSON."""
    check = validator(name, "instance")
    for file, content in specimens(name, ".json"):
        assert not [error.message for error in check.iter_errors(json.loads(content))], file


@pytest.mark.parametrize("name", WITH_JSON)
def test_a_schema_refuses_what_is_no_such_object(name: str, tmp_path: Path):
    """A key too many, a value of another type: where the reader refuses it, the schema does."""
    check, wrong = validator(name, "instance"), 0
    for _, content in specimens(name, ".json"):
        if len(content) > 2500:
            continue
        value = json.loads(content)
        for k in range(sum(1 for _ in places(value))):
            for fault in ("key", "type"):
                changed = copy.deepcopy(value)
                holder, key = list(places(changed))[k]
                if fault == "type":
                    holder[key] = {"no": True}
                elif isinstance(holder, dict):
                    holder["no such key"] = holder[key]
                if not accepted(name, changed, tmp_path):
                    assert not check.is_valid(changed), (fault, key, changed)
                    wrong += 1
    assert wrong > 20


@pytest.mark.parametrize("name", WITH_JSON)
def test_what_a_schema_refuses_the_reader_refuses(name: str, tmp_path: Path):
    """Over mutants of the specimens."""
    check, drawn, refused = validator(name, "instance"), random.Random(1), 0
    files = [content for _, content in specimens(name, ".json") if len(content) < 2500]
    for k in range(MUTANTS):
        try:
            value = json.loads(mutant(files[k % len(files)], drawn))
            json.dumps(value, allow_nan=False)
        except (ValueError, RecursionError):
            continue
        errors = list(check.iter_errors(value))
        if errors and not any({*error.absolute_path} & UNREAD.get(name, set()) for error in errors):
            assert not accepted(name, value, tmp_path), [(list(error.absolute_path), error.message) for error in errors][:3]
            refused += 1
    assert refused > 20


def test_the_command(capsys: Any):
    """corl schema prints them; what has none is a usage error that says what there is."""
    assert main(["schema", "knapsack"]) == 0
    assert json.loads(capsys.readouterr().out) == registry.problem("knapsack").schemas()["instance"]
    assert main(["schema", "result"]) == 0
    assert json.loads(capsys.readouterr().out) == corl.Result.json_schema()
    assert main(["schema", "milp"]) == 2
    assert "accepted: solution" in capsys.readouterr().err

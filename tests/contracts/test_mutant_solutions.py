"""Damaged solution files: an error of one line, Infeasible with the first fault, or the objective of what is a solution still."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from examination import examined, judged, refused
from mutation import mutant
from specimen import FORMATS, named_cheap, specimens

import corl
from corl import registry
from corl.cli.check import judge, read_solution
from corl.errors import Infeasible, InputError
from corl.files.json_values import to_json

MANY = pytest.mark.parametrize("count", [150, pytest.param(500, marks=pytest.mark.long)], indirect=True)
INSTANCES = 4  # of a problem
SOLVERS = {"bandits": ("null", "random", "sampling", "iterative-myopic", "whittle", "fluid", "rollout", "two-step")}
"""Of problems whose solvers' solutions differ in kind."""


def solved(name: str, folder: Path) -> Iterator[tuple[Any, corl.Result]]:
    """A few instances of a problem with results."""
    problem = registry.problem(name)
    files = [file for owner, suffix in FORMATS if owner == name for file in specimens(name, suffix)]
    for file, content in files[:: max(1, len(files) // INSTANCES)]:
        path = folder / file
        path.write_bytes(content)
        instance = problem.read(path)
        for solver in SOLVERS.get(name, (named_cheap(name),)):
            limit = {"iterations": 30} if registry.solver(name, solver).iteration else {"time_limit": 20}
            result = corl.solve(instance, problem=name, solver=solver, **limit)
            if result.solution is not None:
                yield instance, result


@MANY
@pytest.mark.parametrize("name", sorted({name for name, _ in FORMATS}))
def test_damaged_solutions(name: str, count: int, tmp_path: Path):
    """In JSON alone, as a result's JSON, and in the family's own formats; by the readers themselves and as `corl check` does."""
    problem, generator, whole = registry.problem(name), random.Random(count), []
    for instance, result in solved(name, tmp_path):
        for suffix in (".json", *problem.suffixes):
            path = tmp_path / f"result{suffix}"
            try:
                result.write(path)
            except corl.UsageError:  # .sol files do not tell vehicles apart
                continue
            whole.append((instance, suffix, path.read_bytes()))
        whole.append((instance, ".json", to_json(problem.to_json(instance, result.solution)).encode()))
    values = []
    for instance, suffix, content in whole:
        path = tmp_path / f"mutant{suffix}"

        def examine(instance: Any = instance, path: Path = path) -> None:
            adapter = problem.with_sense_of(instance)
            with refused(path, (InputError, Infeasible)):
                solution, _ = read_solution(adapter, instance, path)
                values.append(judge(adapter, instance, solution, path))
            with refused(path, (InputError, Infeasible)):
                judged(adapter, instance, path)

        share = -(-count // len(whole))
        faults = examined((mutant(content, generator) for _ in range(share)), path, examine)
        assert not faults, "\n".join(faults)
    assert values and all(isinstance(value, float) for value in values)


HUGE = (10**400, -(10**400), 2**63, 1e300)


def with_other_numbers(value: Any) -> Iterator[Any]:
    """The value with one of its numbers replaced by one that no array of numbers holds; of long lists the first two entries."""
    if isinstance(value, dict):
        for key in value:
            yield from (value | {key: other} for other in with_other_numbers(value[key]))
    elif isinstance(value, list):
        for k, entry in enumerate(value[:2]):
            yield from ([*value[:k], other, *value[k + 1 :]] for other in with_other_numbers(entry))
    elif isinstance(value, (int, float)):
        yield from HUGE


@pytest.mark.parametrize("name", sorted({name for name, _ in FORMATS}))
def test_huge_numbers_in_solutions(name: str, tmp_path: Path):
    """Integers of 400 digits and the like are refused in a short line, or found infeasible, wherever they stand."""
    problem, seen = registry.problem(name), 0
    for instance, result in solved(name, tmp_path):
        for value in (*HUGE, *([huge] for huge in HUGE), *with_other_numbers(problem.to_json(instance, result.solution))):
            said = ""
            try:
                problem.with_sense_of(instance).evaluate(instance, problem.from_json(instance, value))
            except (Infeasible, InputError) as error:
                said = str(error)
            assert "\n" not in said and len(said) <= 700
            seen += 1
    assert seen > 12

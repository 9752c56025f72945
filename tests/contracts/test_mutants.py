"""Damaged instance files: an error of one line that names the file, or an instance that works like any other."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from examination import check_instance, examined, large, refused, solve_cheaply
from mutation import mutant
from specimen import FORMATS, specimens

from corl import registry
from corl.loading import load

MANY = pytest.mark.parametrize("count", [60, pytest.param(500, marks=pytest.mark.long)], indirect=True)
SOLVED = 4  # of so many instances that were read, one is solved


def test_every_problem_has_specimens():
    """A new problem brings files of its formats, so that these tests reach its readers."""
    assert {problem for problem, _ in FORMATS} == set(registry.problems())


@MANY
@pytest.mark.parametrize(("name", "suffix"), FORMATS)
def test_damaged_instances(name: str, suffix: str, count: int, tmp_path: Path):
    """InputError, or an instance that has facts, is written and read again, and is solved cheaply; so are whole ones."""
    problem, path, files = registry.problem(name), tmp_path / f"mutant{suffix}", specimens(name, suffix)
    accepted = 0

    def examine() -> None:
        nonlocal accepted
        with refused(path):
            instance = problem.read(path)
            if large(instance):
                return
            check_instance(problem, instance, path)
            accepted += 1
            if accepted % SOLVED == 0:
                solve_cheaply(problem, instance, path)

    for file, content in files:  # undamaged; this compiles as well
        whole = tmp_path / file
        whole.write_bytes(content)
        instance = problem.read(whole)
        check_instance(problem, instance, whole)
        assert solve_cheaply(problem, instance, whole) is not None
    generator = random.Random(count)
    faults = examined((mutant(generator.choice(files)[1], generator) for _ in range(count)), path, examine)
    assert not faults, "\n".join(faults)
    assert accepted > count / 50  # damage that leaves nothing to read tests only the first lines of a reader


@pytest.mark.parametrize("count", [20, pytest.param(400, marks=pytest.mark.long)], indirect=True)
@pytest.mark.parametrize(("name", "suffix"), FORMATS)
def test_damaged_files_of_nobody_named(name: str, suffix: str, count: int, tmp_path: Path):
    """Where the problem must be recognised, under the format's own name or one that says nothing: an instance, or InputError."""
    generator, files = random.Random(count), specimens(name, suffix)
    for path in (tmp_path / f"mutant{suffix}", tmp_path / "mutant"):

        def examine(path: Path = path) -> None:
            with refused(path):
                load(path)

        faults = examined((mutant(generator.choice(files)[1], generator) for _ in range(count)), path, examine)
        assert not faults, "\n".join(faults)

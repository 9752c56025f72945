"""The shipped instances of static allocation: what made them, their lowest heights, the suites that use them."""

from __future__ import annotations

import csv
import itertools
import shlex
from pathlib import Path

import numpy as np
import pytest

import corl
from corl import options
from corl.benchmark.running.suite import read_suite
from corl.problems.memory_static.problem import StaticAllocation

STATIC = StaticAllocation()
SHIPPED = Path(__file__).resolve().parents[3] / "instances" / "memory"
FILES = [path for path in sorted(SHIPPED.glob("*.csv")) if not path.stem.endswith("reference")]


def references():
    with open(SHIPPED / "static-reference.csv", encoding="utf-8", newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def test_every_file_has_its_lowest_height():
    """A proven value and where it is from, for each file and for no other."""
    rows = references()
    assert set(rows) == {path.stem for path in FILES} and len(FILES) == 4
    assert all(row["status"] == "proven" and row["source"] for row in rows.values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_are_made_again(path):
    """The command in the comment makes the same instance."""
    instance = STATIC.read(path)
    words = shlex.split(instance.comment)
    assert words[:3] == ["corl", "generate", "memory-static"]
    given = options.parse_pairs([word for before, word in itertools.pairwise(words) if before == "--option"])
    flags = {word[2:]: value for word, value in itertools.pairwise(words[4:]) if word in ("--size", "--seed")}
    again = options.call(STATIC.generators[words[3]], given | flags)
    assert again.ids == instance.ids
    for field in ("lower", "upper", "size", "alignment", "fixed"):
        assert np.array_equal(getattr(instance, field), getattr(again, field)), field


def test_the_lowest_heights_are_reached():
    """By branch and bound, which proves them where they are the load."""
    for path in FILES:
        result = corl.solve(path, problem="memory-static", solver="branch-and-bound", iterations=100_000)
        assert result.objective == float(references()[path.stem]["value"]), path.name


@pytest.mark.parametrize("name", ["static-smoke", "static-standard", "static-large", "static-challenging"])
def test_suites_are_read(name, monkeypatch, tmp_path):
    """Every suite is read; what is generated or shipped can be loaded."""
    monkeypatch.setenv("CORL_DATA", str(tmp_path))
    for suite in ("minimalloc", "static_large"):
        (tmp_path / "memory" / suite).mkdir(parents=True)
    (tmp_path / "memory" / "minimalloc" / "A.12.csv").write_text("id,lower,upper,size\na,0,3,4\n")
    (tmp_path / "memory" / "static_large" / "a.csv").write_text("id,lower,upper,size\na,0,3,4\n")
    suite = read_suite(f"memory/{name}")
    assert suite.sources and all(STATIC.describe(source.load())["buffers"] for source in suite.sources[:4])

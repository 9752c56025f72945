"""The shipped programs: what made them, their optima, the suites that use them."""

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
from corl.problems.milp.problem import Milp

MILP = Milp()
SHIPPED = Path(__file__).resolve().parents[3] / "instances" / "milp"
FILES = sorted(SHIPPED.glob("*.mps.gz"))


def references():
    with open(SHIPPED / "reference.csv", encoding="utf-8", newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def test_every_file_has_its_optimum():
    """A proven value and where it is from, for each file and for no other."""
    rows = references()
    assert set(rows) == {path.name.removesuffix(".mps.gz") for path in FILES} and len(FILES) == 5
    assert all(row["status"] == "proven" and row["source"] for row in rows.values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_are_made_again(path):
    """The command in the comment makes the same program."""
    instance = MILP.read(path)
    words = shlex.split(instance.comment)
    assert words[:3] == ["corl", "generate", "milp"]
    given = options.parse_pairs([word for before, word in itertools.pairwise(words) if before == "--option"])
    again = options.call(MILP.generators[words[3]], given | {"seed": words[-1]})
    for field in ("c", "first", "column", "value", "row_lower", "row_upper", "lower", "upper", "integer"):
        assert np.array_equal(getattr(instance, field), getattr(again, field)), field
    assert (instance.names, instance.sense) == (again.names, again.sense)


@pytest.mark.parametrize("name", ["independent-set-60-1", "multiple-knapsack-12x3-1"])
def test_the_optima_are_reached(name):
    """SCIP proves the value in reference.csv."""
    result = corl.solve(SHIPPED / f"{name}.mps.gz", iterations=100_000)
    assert result.status == "optimal" and result.objective == pytest.approx(float(references()[name]["value"]), rel=1e-9)


@pytest.mark.parametrize("name", ["milp/smoke", "milp/smoke-max"])
def test_suites_are_of_one_sense(name):
    """They are read, and what is minimised and what is maximised are kept apart."""
    suite = read_suite(name)
    senses = {MILP.with_sense_of(source.load()).sense for source in suite.sources}
    assert senses == {"max" if name.endswith("max") else "min"}
    assert all(source.reference for source in suite.sources if source.group == "shipped")

"""Problem.with_sense_of: a family whose instances have a sense each."""

from __future__ import annotations

import json

import pytest

import corl
from corl import registry
from corl.benchmark.reporting.grid import Grid
from corl.errors import UsageError
from corl.record import Record

MODULE = """
from dataclasses import dataclass

import corl
import numpy as np


@dataclass(frozen=True)
class Ends:
    name: str
    sense: str


class EndsProblem(corl.Problem):
    name, title, instance_type = "ends", "a number is worth itself", Ends

    def with_sense_of(self, instance):
        return Largest() if instance.sense == "max" else self

    def recognises(self, head):
        return head.startswith("ENDS")

    def read(self, path):
        return Ends(path.stem, path.read_text().split()[1])

    def evaluate(self, instance, solution):
        return float(solution[0])


class Largest(EndsProblem):
    sense = "max"


@dataclass(frozen=True)
class Walk(corl.Solver):
    title, iteration = "0, 1, -1, 2, -2, ...", "a number"

    def solve(self, instance, run):
        while run.budget(1):
            k = run._done
            run.report(np.array([(k + 1) // 2 * (1 if k % 2 else -1)]))
"""


@pytest.fixture
def ends(tmp_path, searched):
    """A folder with the problem "ends" installed and an instance of each sense."""
    (tmp_path / "ends.py").write_text(MODULE)
    info = tmp_path / "ends-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ends\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[corl.problems]\nends = ends:EndsProblem\n[corl.solvers]\nends.walk = ends:Walk\n")
    for sense in ("min", "max"):
        (tmp_path / f"{sense}.txt").write_text(f"ENDS {sense}\n")
    return searched(tmp_path)


def test_a_problem_is_of_its_own_sense_unless_it_says_otherwise():
    """The default of `of` is the problem itself."""
    tsp = registry.problem("tsp")
    assert tsp.with_sense_of(None) is tsp


@pytest.mark.parametrize(("sense", "best"), [("min", -3.0), ("max", 3.0)])
def test_solve_uses_the_instance_sense(ends, sense, best):
    """The incumbent, the trace and the result follow the sense of the instance, from a path and from an Instance."""
    result = corl.solve(ends / f"{sense}.txt", iterations=7)
    assert (result.sense, result.objective) == (sense, best) and json.loads(result.to_json())["sense"] == sense
    values = [objective for _, objective, _ in result.trace]
    assert values == sorted(values, reverse=sense == "min")
    assert corl.solve(result.data, iterations=7).objective == best
    assert corl.Result.from_json(result.to_json(), result.data).solution.tolist() == [best]
    assert corl.solve(result.data, iterations=100, target=best).limit == "target"


def test_workers_use_the_instance_sense(ends, monkeypatch):
    """So do worker processes, and the choice among them."""
    monkeypatch.setenv("PYTHONPATH", str(ends))
    for sense, best in (("min", -3.0), ("max", 3.0)):
        assert corl.solve(ends / f"{sense}.txt", iterations=7, workers=2).objective == best


def test_the_benchmark_refuses_a_mixture():
    """Gaps of instances that are minimised and of others that are maximised do not go into one table."""
    records = [Record("s", "ends", name, "walk", 0, 1.0, None, "ok", objective=1.0, sense=name) for name in ("min", "max")]
    Grid.of(records[1:])
    with pytest.raises(UsageError, match="separate suites"):
        Grid.of(records)

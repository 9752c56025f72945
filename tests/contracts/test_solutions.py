"""Every solver of the registry on small instances: what it reports is what the judge says, also of the solution's own files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from families import GENERIC, small
from specimen import fullest_format, named_cheap

import corl
from corl import UsageError, registry
from corl.cli.main import main

FAST = {(name, solver) for name in registry.problems() for solver in ("auto", named_cheap(name))}
EVERY = [(name, solver) for name in registry.problems() for solver in ("auto", *registry.solvers(name)) if solver not in GENERIC]
OPTIONS = {("milp", "learned-branching"): {"policy": "milp-auctions"}}
ENGINES = {"fast-tsp", "ortools", "pyvrp", "cp-sat"}
"""They search on until the clock ends them; what they report is held to the same."""
INSTANCES = 3
"""For a solver."""


def _marks(name: str, solver: str) -> Any:
    return pytest.mark.chance if solver in ENGINES else () if (name, solver) in FAST else pytest.mark.long


def solved(name: str, solver: str) -> list[corl.Result]:
    """Of the first few instances that the solver takes; 30 iterations, or a moment where it has none."""
    results: list[corl.Result] = []
    for instance in small(name):
        if len(results) == INSTANCES:
            break
        iterates = solver == "auto" or registry.solver(name, solver).iteration
        limit: dict[str, Any] = {"iterations": 30} if iterates else {"time_limit": 0.3 if solver in ENGINES else 20}
        try:
            results.append(corl.solve(instance, problem=name, solver=solver, **limit, **OPTIONS.get((name, solver), {})))
        except UsageError:  # it does not take the instance
            continue
    return results


@pytest.mark.parametrize(("name", "solver"), [pytest.param(*pair, marks=_marks(*pair)) for pair in EVERY])
def test_solve_and_evaluate_agree(name: str, solver: str, tmp_path: Path, capsys: Any):
    """The objective of a result is that of its solution, of the solution that went through JSON, and of those that went through
    the family's own files; `corl check` finds the instance's file, the result's and those in order."""
    found = [result for result in solved(name, solver) if result.solution is not None]
    assert found, "no small instance is solved"
    file = tmp_path / f"instance{fullest_format(name)}"
    for result in found:
        instance, problem = result.data, registry.problem(name).with_sense_of(result.data)
        value = json.loads(json.dumps(problem.to_json(instance, result.solution)))
        again = problem.from_json(instance, value)
        assert problem.to_json(instance, again) == value
        solutions = [result.solution, again]
        for suffix in problem.suffixes:
            try:
                problem.write_solution(instance, result.solution, tmp_path / f"own{suffix}")
            except UsageError:  # .sol files do not tell vehicles apart
                continue
            solutions.append(problem.read_solution(instance, tmp_path / f"own{suffix}"))
            problem.write(instance, file)
            assert main(["check", str(file), str(tmp_path / f"own{suffix}"), "--problem", name]) == 0, capsys.readouterr()
        for solution in solutions:
            assert problem.evaluate(instance, solution) == pytest.approx(result.objective, rel=1e-9, abs=1e-9)
        problem.write(instance, file)
        result.write(tmp_path / "result.json")
        assert result.verified and json.loads((tmp_path / "result.json").read_text())["objective"] == result.objective
        assert main(["check", str(file), str(tmp_path / "result.json"), "--problem", name]) == 0, capsys.readouterr()

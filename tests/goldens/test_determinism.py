"""A seed and a number of iterations give the same bits, however the work is cut into grants, and in whatever process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from golden_cases import CASES, Case, instance
from golden_solves import digest_of, options, solved, standing_clock

import corl

_BITS = [case for case in CASES if case.kind == "bits"]
_COUNTED = [case for case in _BITS if case.iterations]
_QUICK = list({case.problem: case for case in reversed(_COUNTED) if case.iterations <= 400}.values())  # the first of each problem
_CHILD = """
import json, sys
sys.path.insert(0, sys.argv[1])
from golden_solves import case_of
from test_determinism import outcome
problem, *keys = json.load(sys.stdin)
print(json.dumps({key: outcome(case_of(problem, key)) for key in keys}))
"""


def outcome(case: Case) -> dict[str, Any]:
    """What must not depend on the machine's speed. (The trace does: it has what was found when the solver looked.)"""
    result = solved(case)
    return {"status": result.status, "objective": result.objective, "bound": result.bound, "solution": digest_of(result)}


def _marked(case: Case) -> Any:
    return pytest.param(case, id=f"{case.problem}: {case.key}", marks=() if case in _QUICK else pytest.mark.long)


@pytest.mark.parametrize("case", [_marked(case) for case in _COUNTED])
def test_grants_change_nothing(case, monkeypatch):
    """Grants of one unit each, where every look at the clock costs a second, lead where large ones lead."""
    large = outcome(case)
    monkeypatch.setattr("golden_solves.standing_clock", lambda: standing_clock(1.0))
    assert outcome(case) == large


@pytest.mark.long
@pytest.mark.parametrize("problem", sorted({case.problem for case in _BITS}))
def test_processes_change_nothing(problem):
    """Another process, with another order of sets, gets what this one gets, twice."""
    cases = [case for case in _BITS if case.problem == problem]
    here = {case.key: outcome(case) for case in cases}
    command = [sys.executable, "-P", "-c", _CHILD, str(Path(__file__).resolve().parent)]
    environment = os.environ | {"PYTHONHASHSEED": "12345"}
    asked = json.dumps([problem, *here])
    done = subprocess.run(command, input=asked, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == here
    assert {case.key: outcome(case) for case in cases} == here


@pytest.mark.long
@pytest.mark.parametrize(
    ("problem", "key"),
    [("bandits", "whittle budget"), ("bandits", "sequoia 2 epochs=2 capacity"), ("jobshop", "dispatch 40 noise=0.3 classic")],
)
def test_the_first_run_on_a_machine(problem, key, tmp_path):
    """Kernels that were compiled just now compute what they compute when they are loaded: `fastmath` does not always.

    (A helper's machine code is in its own file and, optimised once more, in its caller's; which one runs depends on which is
    loaded first, and sums that may be reordered differ by rounding.)
    """
    command = [sys.executable, "-P", "-c", _CHILD, str(Path(__file__).resolve().parent)]
    environment = os.environ | {"CORL_CACHE": str(tmp_path)}
    quiet = {"input": json.dumps([problem, key]), "env": environment, "capture_output": True, "text": True, "timeout": 600}
    cold, warm = (json.loads(subprocess.run(command, check=True, **quiet).stdout) for _ in range(2))
    assert cold == warm


@pytest.mark.long
@pytest.mark.parametrize("case", sorted(_QUICK), ids=lambda case: f"{case.problem}: {case.key}")
def test_workers_repeat_themselves(case):
    """Two workers with a seed and a number of iterations find the same twice."""
    found = [
        corl.solve(
            instance(case.problem, case.instance), problem=case.problem, solver=case.solver, seed=3, workers=2,
            iterations=case.iterations, **options(case),
        )
        for _ in range(2)
    ]  # fmt: skip
    assert found[0].objective == found[1].objective and digest_of(found[0]) == digest_of(found[1])

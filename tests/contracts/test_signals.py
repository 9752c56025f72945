"""Ctrl-C and SIGTERM at random moments of a solve by every solver: the command ends soon, with what it has, and says so."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from corl import registry
from corl.loading import load
from support.families import family

pytestmark = [
    pytest.mark.chance,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals"),
]

PROMPT = 1.0  # seconds in which our own solvers end
ENGINES = {"cp-sat", "fast-tsp", "highs", "learned-branching", "ortools", "pyvrp"}
PROMPT_ENGINES = 3.0
BUSY = 3  # how many times as long a machine may take that does other things as well
LATEST = 1.0  # seconds on the clock when a signal comes
INSTANCES: dict[str, tuple[str, dict[str, Any]]] = {
    name: family(name).BUSY for name in registry.problems() if hasattr(family(name), "BUSY")
}
ENDINGS = {
    "tsp": ".tsp", "vrp": ".vrp", "orienteering": ".oplib", "milp": ".mps", "milp-branching": ".mps", "knapsack": ".txt",
    "memory-static": ".csv",
}  # fmt: skip
"""Of instance files; JSON for the others."""
OTHERS: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {
    ("knapsack", "dp"): ("weakly-correlated", {"size": 300_000}),
    ("memory", "cp-sat"): ("dag", {"ops": 12}),
}
"""For solvers that do not take the problem's own."""
TOLD = """
import sys
from corl.run import Run
start = Run.start
def told(run):
    print("the clock runs", file=sys.stderr, flush=True)
    start(run)
Run.start = told
from corl.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def _solvers() -> list[tuple[str, str]]:
    generic = {"tsp": {"policy", "tree-search"}, "memory": {"policy", "tree-search", "muzero"}}  # with policies that are shipped
    found = []
    for problem in INSTANCES:
        left_out = {"policy", "tree-search", "muzero", "online"} - generic.get(problem, set())
        found += [(problem, solver) for solver in registry.solvers(problem) if solver not in left_out]
    return found


@pytest.fixture(scope="module")
def instance_file(tmp_path_factory):
    """A function: the file of the instance for a solver, written once."""
    folder = tmp_path_factory.mktemp("instances")

    def file(problem: str, solver: str) -> Path:
        generator, options = OTHERS.get((problem, solver), INSTANCES[problem])
        adapter = registry.problem(problem)
        path = folder / f"{problem}-{generator}{ENDINGS.get(problem, '.json')}"
        if not path.exists():
            adapter.write(adapter.generators[generator](**options), path)
        return path

    return file


@pytest.mark.parametrize(("problem", "solver"), _solvers())
def test_a_signal_ends_a_solve_with_what_it_has(problem, solver, instance_file, tmp_path):
    """Either signal at a random moment: one JSON on stdout whose solution is worth what it says, or `no_solution`; exit 130."""
    path = instance_file(problem, solver)
    if reason := registry.solver(problem, solver)().accepts(load(path, problem)[1]):
        pytest.skip(reason)
    chance = random.Random(f"{problem} {solver} {os.environ.get('CORL_CHANCE', '')}")
    how, when = chance.choice([signal.SIGINT, signal.SIGTERM]), chance.uniform(0.0, LATEST)
    command = [sys.executable, "-P", "-c", TOLD, "solve", str(path), "--problem", problem, "--solver", solver, "--json"]
    pipe = subprocess.PIPE
    child = subprocess.Popen(
        [*command, "--time-limit", "30"], stdout=pipe, stderr=pipe, text=True, cwd=tmp_path, start_new_session=True
    )
    said = ""
    while "the clock runs" not in said:
        line = child.stderr.readline()
        assert line, said
        said += line
    time.sleep(when)
    child.send_signal(how)
    begun = time.monotonic()
    out = child.stdout.readline()
    seconds = time.monotonic() - begun  # to the result; what Python does on its way out (slim: 4 s of torch) is not measured
    more, rest = child.communicate(timeout=60)
    assert more == ""
    assert "Traceback" not in rest, rest
    result = json.loads(out)
    if result["limit"] == "interrupted":
        assert child.returncode == 130, rest
    else:  # it had ended before; all is told, and Python itself may have met the signal on its way out
        assert child.returncode in (0, 4, 130, -how), rest
    assert (result["status"] == "no_solution") == (result["solution"] is None)
    assert seconds < BUSY * (PROMPT_ENGINES if solver in ENGINES or problem == "milp" else PROMPT), (how, when)
    if result["solution"] is not None:
        (tmp_path / "kept.json").write_text(out)
        adapter, instance = load(path, problem)
        value = adapter.evaluate(instance, adapter.from_json(instance, result["solution"]))
        assert value == pytest.approx(result["objective"], rel=1e-9)

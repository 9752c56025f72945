"""Everything that a solver runs is compiled, or loaded, before the clock of its run starts; records cover all its kinds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from kinds import kinds

from corl import registry
from corl.compilation import precompile

SCRIPT = Path(__file__).with_name("prepared.py")
SOLVERS = [(problem, short) for problem in registry.problems() for short in registry.solvers(problem)]
COMPILING = [pair for pair in SOLVERS if registry.solver(*pair).preparation_size or precompile.recorded(registry.solver(*pair))]
RECORDED = [pair for pair in SOLVERS if precompile.recorded(registry.solver(*pair))]
LEARNERS = {"sequoia": ["budget"], "iterative-dqn": ["budget"]}
"""The kinds for solvers that learn in every run, which takes them minutes for some."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a process for each kind is forked")


def late(problem, short, *names):
    """By kind of instance, the kernels that a solver met inside the clock."""
    done = subprocess.run([sys.executable, SCRIPT, problem, short, *names], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("problem", "short", "names"),
    [
        ("jobshop", "annealing", ["setups and calendars", "classic"]),
        ("vrp", "ruin-recreate", ["breaks", "fewest"]),
    ],
)
def test_nothing_is_compiled_inside_the_clock(problem, short, names):
    """Of kinds that were: set-ups with calendars, and the search for places with breaks."""
    assert late(problem, short, *names) == {}


@pytest.mark.long
@pytest.mark.parametrize(("problem", "short"), COMPILING)
def test_nothing_is_compiled_inside_the_clock_of_any_kind(problem, short):
    """For some iterations, for some time, and from a solution on, in a process that has solved nothing before."""
    assert late(problem, short, *LEARNERS.get(short, ())) == {}


@pytest.mark.parametrize(("problem", "short"), RECORDED)
def test_every_kind_has_a_record(problem, short):
    """What `corl warm-up` compiles, and `corl doctor` counts; else `python -P tests/record_kernels.py PROBLEM.SOLVER`."""
    cls = registry.solver(problem, short)
    solver, known = cls(), {record["kind"] for record in precompile.recorded(cls)}
    for make in kinds(problem).values():
        instance = make()
        assert solver.accepts(instance) or solver.kind(instance) in known

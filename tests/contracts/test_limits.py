"""Time limits are kept on large instances: our own code ends within 0.2 s of processor time, engines of others when asked."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from families import family

import corl
from corl import registry

LIMIT = 0.3
ALLOWED = 0.2
LOST = 5.0  # seconds that workers may wait for processors; their time is no process's own
ENGINES = ("cp-sat", "fast-tsp", "highs", "ortools", "pyvrp", "scip")
ALLOWED_OF_ENGINES = 0.6  # they look at their clocks, or for a request, when they please, and free what they have built
ALLOWED_OF_SCIP = 1.0  # its steps at the root of 2,000 rows: neither its limit nor a request ends one


def _described(sizes: str) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Return, by a name, the problem, generator and options of the instances that families describe under `sizes`."""
    return {
        name: (problem, generator, options)
        for problem in registry.problems()
        for name, (generator, options) in getattr(family(problem), sizes, {}).items()
    }


LARGE, LESS_LARGE = _described("LARGE"), _described("LESS_LARGE")
"""The latter are for solvers that take none of the former."""
INSTANCES = LARGE | LESS_LARGE

POLICIES = {"memory": ("memory-alphazero", "memory-muzero"), "tsp": ("tsp-bq",), "atsp": ("atsp-bq",)}
"""Checkpoints that are shipped."""
SEARCHED: dict[str, dict[str, Any]] = {"memory": {"ops": 2000}, "tsp": {"size": 2000}, "atsp": {"size": 300}}
"""Options of the instances that they meet."""


@cache
def _instance(name: str, searched: bool = False) -> Any:
    problem, generator, options = INSTANCES[name]
    return registry.problem(problem).generators[generator](**(SEARCHED[name] if searched else options))


GENERIC = {"muzero", "online", "policy", "tree-search"}
OWN = [
    (problem, solver)
    for problem in registry.problems()
    for solver in registry.solvers(problem)
    if solver not in GENERIC
]  # fmt: skip


def _meets(problem: str, solver: str) -> str | None:
    """Return the name of a large instance that the solver takes, for each solver another one as far as they go; a less large one
    only if it takes none of these."""
    names, less = ([name for name, (owner, _, _) in group.items() if owner == problem] for group in (LARGE, LESS_LARGE))
    first = [own for own in OWN if own[0] == problem].index((problem, solver))
    method = registry.solver(problem, solver)()
    for name in names[first % len(names) :] + names[: first % len(names)] + less:
        if not method.accepts(_instance(name)):
            return None if method.own_process(_instance(name)) else name
    raise AssertionError(f"{problem}.{solver} takes none of {names + less}")


@pytest.mark.chance
@pytest.mark.parametrize(("problem", "solver"), OWN)
def test_time_limits_are_kept(problem, solver, overtime):
    """`corl.solve` ends in time on a large instance, with or without a solution."""
    if (name := _meets(problem, solver)) is None:
        pytest.skip("its process is killed when the time is over (tests/corl/processes/test_team.py)")
    allowed = ALLOWED_OF_ENGINES if solver.startswith(ENGINES) else ALLOWED
    if problem == "milp" and not solver.startswith(("highs", "cp-sat")):  # the learned ones run SCIP
        allowed = ALLOWED_OF_SCIP
    over = overtime(_instance(name), solver, LIMIT)
    assert over <= allowed, (name, over)


@pytest.mark.chance
@pytest.mark.parametrize(("name", "policy"), [(name, policy) for name in POLICIES for policy in POLICIES[name]])
def test_time_limits_are_kept_by_policies(name, policy, overtime):
    """So do `policy` and `tree-search`, or `muzero`, with the networks that are shipped."""
    for solver in ("muzero",) if policy.endswith("muzero") else ("policy", "tree-search"):
        over = overtime(_instance(name, True), solver, LIMIT, policy=policy)
        assert over <= ALLOWED, (solver, over)


@pytest.mark.chance
@pytest.mark.parametrize("problem", ["bandits", "jobshop", "memory", "memory-static"])
def test_time_limits_are_kept_by_workers(problem):
    """Two workers end with their parent's clock, and what they have judged is there at once."""
    name = {"bandits": "routing", "jobshop": "jobshop-flexible"}.get(problem, problem)
    result = corl.solve(_instance(name), time_limit=LIMIT, workers=2)
    assert result.runtime <= LIMIT + ALLOWED + LOST

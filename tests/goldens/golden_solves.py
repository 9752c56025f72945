"""Golden rows of solves: status, objective, bound, trace and a hash of the solution."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from typing import Any

from golden_cases import CASES, NETWORKS, Case, instance

import corl
from corl import registry

_PATIENCE = 60.0  # seconds for solvers that end by themselves
_ENGINES = 0.3  # seconds for engines that never do
SEEDS = 5
"""Of a search, whose objectives are compared by their mean."""


def solved(case: Case, seed: int = 1) -> corl.Result:
    """The result of a case; of kind "bits" under a clock that stands still, so that grants and reports are always the same."""
    seconds = _ENGINES if case.kind == "engine" else _PATIENCE
    limit = {"iterations": case.iterations} if case.iterations else {"time_limit": seconds}
    with standing_clock() if case.kind == "bits" else contextlib.nullcontext():
        return corl.solve(
            instance(case.problem, case.instance), problem=case.problem, solver=case.solver, seed=seed, **limit, **options(case)
        )


def options(case: Case) -> dict[str, Any]:
    """The solver's options."""
    given = dict(pair.split("=") for pair in case.options.split())
    if network := given.pop("network", ""):
        given["policy"] = str(NETWORKS / f"{network}.safetensors")
    return given


@contextlib.contextmanager
def standing_clock(tick: float = 0.0) -> Iterator[None]:
    """Let `tick` seconds pass whenever a Run looks at its clock: `budget` then grants the same numbers on every machine."""
    before, looks = corl.Run.elapsed, iter(range(1 << 62))
    corl.Run.elapsed = property(lambda run: tick * next(looks))  # type: ignore[assignment]
    try:
        yield
    finally:
        corl.Run.elapsed = before  # type: ignore[assignment]


def case_of(problem: str, key: str) -> Case:
    """The case of a problem with that key."""
    return next(case for case in CASES if (case.problem, case.key) == (problem, key))


def row(case: Case) -> dict[str, Any]:
    """What the golden file says of a case."""
    result = solved(case)
    if case.kind == "engine":
        return {"status": "feasible or optimal" if result.status in ("feasible", "optimal") else result.status}
    if case.kind == "proof":
        return {"bound": result.bound, "limit": result.limit, "objective": result.objective, "status": result.status}
    return {
        "bound": result.bound,
        "limit": result.limit,
        "objective": result.objective,
        "solution": digest_of(result),
        "status": result.status,
        "trace": _trace([(objective, bound) for _, objective, bound in result.trace]),
    }


def objectives(case: Case, count: int = SEEDS) -> list[float | None]:
    """Of a search, with each of some seeds; of one that has no iterations, with one, for chance has no part in it."""
    return [solved(case, seed).objective for seed in range(1, 1 + (count if case.iterations else 1))]


def worse(case: Case, found: list[float], kept: list[float]) -> float:
    """By how much the mean of some objectives is worse than that of others, relatively; below zero where it is better."""
    sign = -1.0 if registry.problem(case.problem).sense == "max" else 1.0
    mean = sum(kept) / len(kept)
    return sign * (sum(found) / len(found) - mean) / max(abs(mean), 1e-9)


def digest_of(result: corl.Result) -> str:
    """A hash of the solution in the form of its JSON."""
    if result.solution is None:
        return "none"
    value = registry.problem(result.problem).to_json(result.data, result.solution)
    return hashed(json.dumps(value, sort_keys=True))


def hashed(text: str | bytes) -> str:
    """The first 16 digits of its SHA-256."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()[:16]


def _trace(values: list[tuple[float | None, float | None]]) -> str:
    """First and last objective and bound, how many there are, and a hash of all."""
    if not values:
        return "empty"
    (first, low), (last, high) = values[0], values[-1]
    return f"{len(values)}: {first!r} ({low!r}) .. {last!r} ({high!r}) #{hashed(json.dumps(values))}"

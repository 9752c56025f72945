"""Conversion of the answer of a run's process to a Record. The solution in the answer is evaluated again, by the problem."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

from corl.adapter import Problem
from corl.benchmark.running.machine import git_commit
from corl.benchmark.running.plan import Loaded, PlannedRun
from corl.benchmark.running.process import Ended
from corl.benchmark.running.suite import Suite
from corl.errors import CorlError, described
from corl.record import Record
from corl.tolerance import agrees, beats

__all__ = ["beaten", "judged"]


def judged(suite: Suite, plan: PlannedRun, loaded: Loaded, ended: Ended, circumstances: Mapping[str, Any]) -> Record:
    """Return the Record of a run, however it ended; `circumstances` are added to the facts of its machine."""
    answer, fault = _unpickled(ended)
    outcome, reason = ended.fault or answer.get("outcome", "crash"), ended.reason or answer.get("reason", fault)
    objective, solution = None, None
    if not fault and answer.get("solution") is not None:
        objective, solution, wrong = _verified(suite.problem, loaded.instance, answer)
        if wrong:
            outcome, reason = "wrong", wrong
    reference = plan.source.reference
    facts = loaded.facts | {"group": plan.source.group, "origin": plan.source.origin}
    facts |= {name: load for name, load in zip(("load_begin", "load_end"), ended.loads) if load is not None}
    if plan.base_limit is not None:
        facts |= {"base_limit": plan.base_limit, "limit_per": suite.time_limit_per}
    if "program_cpu_seconds" in answer:
        facts |= {"program_cpu_seconds": answer["program_cpu_seconds"]}
    return Record(
        suite=suite.name,
        problem=suite.problem.name,
        instance=plan.source.label,
        solver=plan.lineup.label,
        seed=plan.seed,
        time_limit=plan.time_limit,
        iterations=plan.iterations,
        outcome=outcome,
        reason=" ".join(reason.split()),
        objective=objective,
        bound=answer.get("bound") if outcome in ("ok", "nothing") else None,
        sense=suite.problem.with_sense_of(loaded.instance).sense,
        reference=reference.value if reference else None,
        reference_status=reference.status if reference else "",
        reference_source=reference.source if reference else "",
        limit=answer.get("limit") or "",
        runtime=answer.get("runtime"),
        setup_seconds=answer.get("setup_seconds"),
        wall_seconds=ended.wall_seconds,
        cpu_seconds=ended.cpu_seconds,
        peak_bytes=answer.get("peak_bytes"),
        trace=tuple(answer.get("trace", ())) if outcome in ("ok", "nothing") else (),
        solution=solution if suite.keep_solutions else None,
        solver_name=answer.get("solver_name", plan.lineup.solver),
        options=plan.lineup.options if plan.lineup.external else answer.get("options", plan.lineup.options),
        facts=facts,
        cores=ended.cores,
        started=ended.started,
        versions=answer.get("versions", {}),
        machine={**ended.machine, **circumstances},
        commit=git_commit(),
    )


def beaten(record: Record) -> bool:
    """Return whether a run's solution is better than the reference value by more than rounding."""
    if record.outcome != "ok" or record.objective is None or record.reference is None:
        return False
    return bool(beats(record.objective, record.reference, record.sense))


def _unpickled(ended: Ended) -> tuple[dict[str, Any], str]:
    """Return (answer of the run's process, ""), or ({}, the reason why there is no answer)."""
    if not ended.answer:
        return {}, ended.reason
    try:
        answer = pickle.loads(ended.answer)
        return (answer, "") if isinstance(answer, dict) else ({}, "the run's answer is not a dict")
    except Exception as error:
        return {}, f"the run's answer cannot be read: {described(error)}"


def _verified(problem: Problem, instance: Any, answer: dict[str, Any]) -> tuple[float | None, Any, str]:
    """Return (objective value, solution in JSON form, "") of the solution in an answer, or (None, None, its fault)."""
    claimed = answer.get("objective")
    try:
        value = float(problem.evaluate(instance, answer["solution"]))
        if claimed is None or not agrees(value, claimed):
            return None, None, f"claimed {claimed!r} for a solution with objective value {value!r}"
        return value, problem.to_json(instance, answer["solution"]), ""
    except CorlError as error:
        return None, None, f"the solution is not valid: {error}"
    except Exception as error:
        return None, None, f"the solution cannot be evaluated: {described(error)}"

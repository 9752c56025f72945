"""The runner: executes the missing runs of a suite, and evaluates and stores each run, also if the run fails."""

from __future__ import annotations

import hashlib
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from corl import registry
from corl.benchmark.running.cores import claimed
from corl.benchmark.running.judge import judged
from corl.benchmark.running.machine import machine_facts, measure_slowdown
from corl.benchmark.running.plan import PlannedRun, load, planned_runs
from corl.benchmark.running.process import Ended
from corl.benchmark.running.suite import Suite
from corl.benchmark.running.supervisor import Supervisor
from corl.errors import UsageError
from corl.processes.processors import available
from corl.record import Record
from corl.store import Store

__all__ = ["Listener", "missing", "run_suite", "task_of", "warm_up"]

_ATTEMPTS = 2  # a run that is lost with its machine is repeated once
_WARM_LIMIT = 0.2  # seconds of a run that only fills the cache of kernels


@dataclass(frozen=True)
class Listener:
    """Callbacks for the progress of a benchmark."""

    say: Callable[[str], None] = field(default=lambda text: None)
    """Called with a message of one line."""
    begin: Callable[[Sequence[PlannedRun]], None] = field(default=lambda todo: None)
    """Called with the runs to be done."""
    started: Callable[[PlannedRun], None] = field(default=lambda plan: None)
    """Called when a run starts."""
    ended: Callable[[Record], None] = field(default=lambda record: None)
    """Called when a run has ended and is stored."""


def missing(suite: Suite, store: Store, *, resume: bool) -> list[PlannedRun]:
    """Return the runs of a suite that are not in the store.

    Raises:
        UsageError: The store has runs of this suite and `resume` is False, or runs of another suite with the same name.
    """
    done = store.done_keys(suite.name)
    if done and not resume:
        hint = "continue with --resume, or name another file with --store"
        raise UsageError(f"{store.path} holds runs of {suite.name} already ({len(done)}); {hint}")
    before = store.suites().get(suite.name)
    if before is not None and done:
        _check_same(suite, before, {key[2] for key in done}, {key[1] for key in done}, store.path)
    return [plan for plan in planned_runs(suite) if plan.key(suite.name) not in done]


def run_suite(
    suite: Suite,
    todo: Iterable[PlannedRun],
    store: Store,
    supervisor: Supervisor,
    listener: Listener,
    command: str = "",
    *,
    warm: bool = True,
) -> None:
    """Execute the runs and store each when it ends.

    Args:
        suite: The suite.
        todo: Its runs that are not yet in the store.
        store: The store.
        supervisor: Starts the processes of runs; it is closed at the end.
        listener: Receives the progress.
        command: The command line, which is stored with the suite.
        warm: Whether to call `warm_up` first, on this machine.

    Raises:
        UsageError: A solver needs more processors than there are; no run has started.
        KeyboardInterrupt: On Ctrl-C; all runs that have ended are stored.
    """
    waiting = deque(todo)
    for cores in {plan.lineup.cores for plan in waiting}:
        supervisor.room(cores)  # raises UsageError before the first run if a run could never start
    store.add_suite(suite.name, _merged(suite.definition(), store.suites().get(suite.name)), command)
    listener.begin(tuple(waiting))
    if not waiting:
        return
    circumstances: dict[str, Any] = {}
    with closing(supervisor):
        if supervisor.local:
            if supervisor.jobs > 1:
                circumstances["parallel_slowdown"] = _slowdown(suite, store, listener)
            if warm:
                warm_up(suite, waiting, supervisor, listener)
        for plan, ended in _run_all(suite, waiting, supervisor, listener.started):
            record = judged(suite, plan, load(suite, plan.source), ended, circumstances)
            store.add(record)
            listener.ended(record)


def _run_all(
    suite: Suite, waiting: deque[PlannedRun], supervisor: Supervisor, started: Callable[[PlannedRun], None]
) -> Iterator[tuple[PlannedRun, Ended]]:
    """Execute the runs on all free processors; yield each run when it has ended, a lost run only after the last attempt."""
    running: dict[int, tuple[PlannedRun, int]] = {}  # number -> (run, attempt)
    lost: deque[tuple[PlannedRun, int]] = deque()  # (run, next attempt)
    number = 0
    while waiting or lost or running:
        while waiting or lost:
            plan, attempt = lost[0] if lost else (waiting[0], 1)
            if not supervisor.room(plan.lineup.cores):
                break
            if lost:
                lost.popleft()
            else:
                waiting.popleft()
            supervisor.submit(number, task_of(suite, plan), plan.lineup.cores, suite.hard_limit(plan.lineup, plan.time_limit))
            running[number] = plan, attempt
            number += 1
            started(plan)
        ended_number, ended = supervisor.next()
        plan, attempt = running.pop(ended_number)
        if ended.fault == "lost" and attempt < _ATTEMPTS:
            lost.append((plan, attempt + 1))
        else:
            yield plan, ended


def task_of(suite: Suite, plan: PlannedRun, **changes: Any) -> bytes:
    """Return the pickled task for the process of a run: the arguments of `corl.solve`, with the instance as pickled bytes."""
    arguments = {
        "instance": load(suite, plan.source).pickled,
        "problem": suite.problem.name,
        "solver": plan.lineup.external or plan.lineup.solver,
        "options": {} if plan.lineup.external else dict(plan.lineup.options),
        "time_limit": plan.time_limit,
        "iterations": plan.iterations,
        "seed": plan.seed,
        "workers": plan.lineup.cores,
    }
    return pickle.dumps(arguments | changes, protocol=5)


# -------------------------------------------------------------------- before the first run
def warm_up(suite: Suite, todo: Iterable[PlannedRun], supervisor: Supervisor, listener: Listener) -> None:
    """Fill the cache of kernels by one short run per solver and kind of instance, unless an earlier benchmark has done so.

    Otherwise parallel runs would all compile the same kernels, and kernels that a solver does not compile before its clock
    starts would be compiled while the clock runs. The results of these runs are discarded.
    """
    short: dict[Path, PlannedRun] = {}
    for plan in {(plan.source.label, plan.lineup.label): plan for plan in todo}.values():
        if plan.lineup.external is not None:  # a program has no kernels of ours
            continue
        plan = _shortened(suite, plan)
        if (stamp := _stamp(suite, plan)) is not None and not stamp.exists():
            short.setdefault(stamp, plan)
    if not short:
        return
    listener.say(f"compiling: {len(short)} short runs fill the cache of kernels")
    for plan, ended in _run_all(suite, deque(short.values()), supervisor, listener.started):
        if not ended.fault:
            next(stamp for stamp, other in short.items() if other is plan).touch()


def _shortened(suite: Suite, plan: PlannedRun) -> PlannedRun:
    """Return the plan with a limit of 0.2 s or 1 iteration; auto is replaced by the solver that it chooses at the full limit."""
    instance = load(suite, plan.source).instance
    solver = registry.choose(suite.problem.name, plan.lineup.solver, instance, plan.time_limit, plan.iterations)
    plan = replace(plan, lineup=replace(plan.lineup, solver=solver))
    return replace(plan, time_limit=_WARM_LIMIT) if plan.iterations is None else replace(plan, iterations=1)


def _stamp(suite: Suite, plan: PlannedRun) -> Path | None:
    """Return the path of an empty file; it exists if the kernels of the solver for this kind of instance are in the cache.

    None if the solver's package has no cache.
    """
    from corl.compilation.cache import package_folder

    lineup = plan.lineup
    package = registry.solver(suite.problem.name, lineup.solver).__module__.partition(".")[0]
    folder = package_folder(package)
    content = repr((suite.problem.name, lineup.solver, sorted(lineup.options.items()), load(suite, plan.source).kind))
    return None if folder is None else folder / f"warm-{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def _slowdown(suite: Suite, store: Store, listener: Listener) -> float | None:
    """Return how much two pinned runs slow each other: measured now, unless a stored run on this machine has the value."""
    facts = machine_facts()
    for record in reversed(store.records(suite.name)):
        if record.machine.get("parallel_slowdown") is not None and facts.items() <= record.machine.items():
            return float(record.machine["parallel_slowdown"])
    if len(available()) < 2:
        return None
    listener.say("measuring how much two runs slow each other")
    with claimed(2) as (first, second):
        return measure_slowdown(first, second)


# -------------------------------------------------------------------- earlier runs of the suite
def _check_same(suite: Suite, before: Mapping[str, Any], solvers: set[str], instances: set[str], path: Path) -> None:
    """Raise UsageError if a label of earlier runs now has another meaning.

    Args:
        suite: The suite now.
        before: Its definition in the store.
        solvers, instances: The labels of earlier runs.
        path: The path of the store, for the message.
    """
    now = suite.definition()
    if before.get("problem") != now["problem"]:
        raise UsageError(
            f"{path} holds runs of another suite {suite.name}, of {before.get('problem')}; name another file with --store"
        )
    for part, labels in (("solvers", solvers), ("instances", instances)):
        for label in sorted(labels & set(now[part]) & set(before.get(part, {}))):
            was, new = before[part][label], now[part][label]
            if any(was.get(key) != new[key] for key in new if key not in ("group", "held")):
                fault = f"{part[:-1]} {label!r} was {_settings(was)} and is {_settings(new)} now"
                raise UsageError(f"{path}: {fault}; choose another label, or another file with --store")


def _merged(now: dict[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the definition `now`, extended by what only the definition `before` has, because earlier runs refer to it."""
    for key, value in (before or {}).items():
        if isinstance(value, dict):
            now[key] = value | now.get(key, {})
        elif isinstance(value, list) and key != "left_out":
            now[key] = sorted({*value, *now.get(key, [])})
    return now


def _settings(definition: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in definition.items() if key not in ("group", "held"))

"""Operations in the CP-SAT model whose stay on a machine differs from their duration: resumable ones, and jobs that block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from ortools.sat.python import cp_model

from corl.problems.jobshop.evaluation import ends
from corl.problems.jobshop.evaluation_resumable import is_resumable
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.problems.jobshop.rules import SideConstraints
from corl.solvers.jobshop.cp_task import Task

if TYPE_CHECKING:
    from corl.solvers.jobshop.cp_model import Model

__all__ = ["add_stay", "add_stays", "stays"]


def stays(rules: SideConstraints | None, operation: int) -> bool:
    """Return whether the stay of an operation's job on the machine may differ from its duration."""
    blocks = rules is not None and rules.blocking is not None and bool(rules.blocking[operation])
    return blocks or (rules is not None and rules.unavailable is not None and is_resumable(rules, operation))


def add_stay(
    problem: Model, operation: int, choices: Sequence[tuple[int, int]], start: Any, horizon: int, on_machine: list[list[Task]]
) -> Any:
    """Add an operation whose `stays` is true; return the variable of its end.

    Args:
        problem: The model.
        operation: The operation.
        choices: (machine, duration) for each eligible machine.
        start: The variable of its start.
        horizon: An upper bound of all times.
        on_machine: The tasks of each machine; the tasks of the operation are appended in place.
    """
    model, rules = problem.model, problem.instance.rules
    assert rules is not None
    end: Any = model.new_int_var(0, horizon, "")
    blocks = rules.blocking is not None and bool(rules.blocking[operation])
    leaves = model.new_int_var(0, horizon, "") if blocks else end
    literals = [model.new_bool_var("") for _ in choices] if len(choices) > 1 else []

    def time() -> Any:
        return model.new_int_var(0, horizon, "")

    for k, (machine, duration) in enumerate(choices):
        literal = literals[k] if literals else None
        work = None
        if is_resumable(rules, operation):
            _add_breaks(model, rules.spells(machine), start, end, duration, horizon, literal)
            runs = _interval(model, start, time(), end, literal)
        else:
            work = runs = _interval(model, start, duration, end, literal)
        occupied = _interval(model, start, time(), leaves, literal) if blocks else runs
        on_machine[machine].append(Task(operation, start, end, work, literal, leaves, runs, occupied))
    problem.intervals.append(_interval(model, start, time(), end, None) if literals else runs)
    if literals:
        model.add_exactly_one(literals)
    problem.literals.append(literals)
    return end


def _interval(model: Any, start: Any, size: Any, end: Any, literal: Any) -> Any:
    """Return the interval of length `size` from `start` to `end`, which is there if `literal` is true (None: always)."""
    if literal is None:
        return model.new_interval_var(start, size, end, "")
    return model.new_optional_interval_var(start, size, end, literal, "")


def _add_breaks(
    model: Any, spells: Sequence[Sequence[int]], start: Any, end: Any, duration: int, horizon: int, literal: Any
) -> None:
    """Require that a resumable operation ends `duration` and the breaks at which it stops after its start, if `literal` is true.

    The breaks depend on the start alone: for each total length of them a literal states that the start is one that leads to it.
    """
    found: dict[int, list[list[int]]] = {}
    for low, high, pause in _pauses(spells, duration, horizon):
        found.setdefault(pause, []).append([low, high])
    literals = []
    for pause, intervals in found.items():
        chosen = model.new_bool_var("")
        literals.append(chosen)
        model.add_linear_expression_in_domain(start, cp_model.Domain.from_intervals(intervals)).only_enforce_if(chosen)
        model.add(end == start + duration + pause).only_enforce_if(chosen)
    if literal is None:
        model.add_exactly_one(literals)
    else:
        model.add(sum(literals) == literal)


def _pauses(spells: Sequence[Sequence[int]], duration: int, horizon: int) -> Iterator[tuple[int, int, int]]:
    """Yield (low, high, pause): an operation that starts at low..high stops for `pause` in all, and ends by `horizon`."""
    opens = [0, *(end for _, end in spells)]
    closes = [*(begin for begin, _ in spells), horizon + 1 + duration]
    for k in range(len(opens)):
        low, pause, later = opens[k], 0, 0  # `later`: the open time of the windows after k that the operation may use
        high_of_window = closes[k] - 1 if duration else closes[k]
        for n in range(k, len(opens)):
            if n > k:
                pause += opens[n] - closes[n - 1]
                later += closes[n] - opens[n]
            # with all windows up to n, starts up to `high` leave enough time
            high = min(high_of_window, closes[k] - duration + later, horizon - duration - pause)
            if low <= high:
                yield low, high, pause
            low = max(low, closes[k] - duration + later + 1)
            if low > high_of_window or low > horizon:
                break


def add_stays(problem: Model, on_machine: Sequence[Sequence[Task]], horizon: int, hint: Schedule | None) -> None:
    """Add no-overlap constraints of the stays on each machine, and the ends of the stays of jobs that block.

    Args:
        problem: The model, with all operations.
        on_machine: The tasks of each machine.
        horizon: An upper bound of all times.
        hint: A feasible schedule, or None.
    """
    instance, model = problem.instance, problem.model
    rules, hinted = instance.rules, None if hint is None else ends(instance, hint)
    for tasks in on_machine:
        if any(task.occupied is not task.interval for task in tasks):
            model.add_no_overlap([task.occupied for task in tasks])
    for i, end in enumerate(problem.ends):
        if hinted is not None and stays(rules, i):
            model.add_hint(end, int(hinted[i]))
    if rules is None or rules.blocking is None or not rules.blocking.any():
        return
    leaves = {task.operation: task.leaves for tasks in on_machine for task in tasks if rules.blocking[task.operation]}
    for i, time in leaves.items():
        model.add(time == problem.starts[i + 1])
        if hint is not None:
            model.add_hint(time, int(hint.start[i + 1]))
    if not rules.swap:
        _order_moves(problem, on_machine, rules, horizon, hint)


def _order_moves(
    problem: Model, on_machine: Sequence[Sequence[Task]], rules: SideConstraints, horizon: int, hint: Schedule | None
) -> None:
    """Require that the moves of jobs at one time have an order in which each is to a free machine.

    Operation i gets the time scale * start + rank, with ranks 0..scale - 1. On these times, a job that blocks a machine leaves it
    one unit after it has moved on, except for a next operation of its own on the same machine. Arguments as in `add_stays`.
    """
    model, instance = problem.model, problem.instance
    assert rules.blocking is not None
    scale, latest = instance.operations + 1, (instance.operations + 1) * (horizon + 2)
    times: list[Any] = []
    ranks = None if hint is None else _ranks(instance, rules, hint)
    for i, start in enumerate(problem.starts):
        rank, time = model.new_int_var(0, scale - 1, ""), model.new_int_var(0, latest, "")
        model.add(time == scale * start + rank)
        if i and instance.job[i] == instance.job[i - 1]:  # valid, because a rank may be larger than needed
            model.add(time >= times[-1] + scale * int(instance.shortest[i - 1]))
        if ranks is not None and hint is not None:
            model.add_hint(rank, ranks[i])
            model.add_hint(time, scale * int(hint.start[i]) + ranks[i])
        times.append(time)
    for tasks in ({task.operation: task for task in tasks} for tasks in on_machine):
        intervals = []
        for i, task in tasks.items():
            size, end = model.new_int_var(0, latest, ""), scale * task.end
            if rules.blocking[i]:
                end = times[i + 1] + 1
            if rules.blocking[i] and i + 1 in tasks:
                end = model.new_int_var(0, latest, "")
                model.add(end == times[i + 1] + 1 - _both(model, task.literal, tasks[i + 1].literal))
            intervals.append(_interval(model, times[i], size, end, task.literal))
        model.add_no_overlap(intervals)


def _ranks(instance: JobShopInstance, rules: SideConstraints, schedule: Schedule) -> list[int]:
    """Return for each operation the number of moves that precede it at the time of its start in a feasible schedule."""
    assert rules.blocking is not None
    start, order = schedule.start.tolist(), np.lexsort((schedule.start, schedule.machine)).tolist()
    pairs = ((a, b) for a, b in pairwise(order) if schedule.machine[a] == schedule.machine[b])
    waits = {b: a + 1 for a, b in pairs if rules.blocking[a] and b != a + 1 and start[a + 1] == start[b]}
    ranks, end = [0] * instance.operations, ends(instance, schedule).tolist()
    for _ in ranks:
        old = list(ranks)
        for b, moved in waits.items():
            ranks[b] = max(ranks[b], ranks[moved] + 1)
        for i in range(1, instance.operations):
            if instance.job[i] == instance.job[i - 1] and start[i] == end[i - 1]:
                ranks[i] = max(ranks[i], ranks[i - 1])
        if ranks == old:
            break
    return ranks


def _both(model: Any, one: Any, other: Any) -> Any:
    """Return a literal, or the number 1, that is true if two literals are; None stands for a literal that is true."""
    given = [literal for literal in (one, other) if literal is not None]
    if not given:
        return 1
    both = model.new_bool_var("")
    model.add_bool_and(given).only_enforce_if(both)
    model.add_bool_or([both, *(~literal for literal in given)])
    return both

"""Side constraints in the CP-SAT model: bounds of starts, breaks of machines, resources, and circuit constraints for set-ups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from corl.problems.jobshop.evaluation_rules import setups_before
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.problems.jobshop.rules import FOREVER, SideConstraints
from corl.solvers.jobshop.cp_resources import add_resources

if TYPE_CHECKING:
    from corl.solvers.jobshop.cp_model import Model
    from corl.solvers.jobshop.cp_task import Task

__all__ = ["add_rules", "earliness"]


def add_rules(
    problem: Model, on_machine: Sequence[Sequence[Task]], horizon: int, hint: Schedule | None, stopped: Callable[[], bool]
) -> list[list[Any]] | None:
    """Add all side constraints to the model.

    Args:
        problem: The model, with all operations.
        on_machine: The tasks of each machine.
        horizon: An upper bound of all times.
        hint: A feasible schedule, or None.
        stopped: Once it returns True, the model is given up.

    Returns:
        For each machine, the intervals (breaks, set-ups) that its operations must not overlap; None if `stopped` returned True.
    """
    instance, model = problem.instance, problem.model
    rules = instance.rules
    assert rules is not None
    _bounds(problem, rules)
    add_resources(problem, rules, on_machine)
    blocked: list[list[Any]] = [[] for _ in range(instance.machines)]
    end = horizon + int(instance.longest.max()) + rules.longest_setups(instance) + 1
    for machine, closes, opens in [] if rules.unavailable is None else rules.unavailable.tolist():
        if closes < end:
            until = end if opens == FOREVER else opens
            blocked[machine].append(model.new_fixed_size_interval_var(closes, max(closes + 1, until) - closes, ""))
    if rules.setups is not None:
        hinted = {} if hint is None else {i: before for i, before, _ in setups_before(instance, hint.start, hint.machine)}
        for machine, tasks in enumerate(on_machine):
            has_first_setups = rules.first_setups is not None and rules.first_setups[machine].any()
            if tasks and (has_first_setups or rules.setups[machine].any()):
                if stopped():
                    return None
                blocked[machine] += _Circuit(problem, rules, machine, tasks, bool(blocked[machine]), hinted).add(horizon)
    return blocked


def _bounds(problem: Model, rules: SideConstraints) -> None:
    """Add earliest starts, fixed operations, and no-wait operations."""
    instance, model = problem.instance, problem.model
    for start, low in zip(problem.starts, rules.lowest(instance).tolist()):
        if low:
            model.add(start >= low)
    for i in rules.fixed.tolist():
        assert rules.fixed_start is not None and rules.fixed_machine is not None
        model.add(problem.starts[i] == int(rules.fixed_start[i]))
        for literal, (machine, _) in zip(problem.literals[i], instance.choices(i)):
            model.add(literal == int(machine == rules.fixed_machine[i]))
    if rules.no_wait is not None:
        for i in rules.no_wait.nonzero()[0].tolist():
            model.add(problem.starts[i] == problem.ends[i - 1])


class _Circuit:
    """The sequence of one machine: an arc for each pair of operations that may follow each other, with the set-up between them.

    If the machine has breaks, or a present time is given, each set-up is an interval variable, because it may begin later than
    the operation before it ends. Otherwise it is a minimum time between two operations.
    """

    def __init__(
        self, problem: Model, rules: SideConstraints, machine: int, tasks: Sequence[Task], breaks: bool, hinted: dict[int, int]
    ) -> None:
        """Prepare the circuit.

        Args:
            problem: The model, with all operations.
            rules: The side constraints.
            machine: The machine.
            tasks: The tasks of the machine.
            breaks: Whether the machine has breaks.
            hinted: For each operation its machine predecessor in the hint, or -1; empty if there is no hint.
        """
        assert rules.setups is not None
        self._problem, self._model, self._rules, self._tasks, self._hinted = problem, problem.model, rules, tasks, hinted
        self._setups, self._family = rules.setups[machine], rules.families(problem.instance)
        self._first_setups = None if rules.first_setups is None else rules.first_setups[machine]
        self._as_intervals = breaks or rules.now > 0
        self._fixed = set(rules.fixed.tolist())
        self._begins: list[Any] = []
        self._lengths: list[Any] = []

    def add(self, horizon: int) -> list[Any]:
        """Add the circuit constraint; return the intervals of the set-ups, if they are modelled as intervals."""
        model, tasks = self._model, self._tasks
        intervals = [self._interval(task, horizon) for task in tasks] if self._as_intervals else []
        arcs: list[tuple[int, int, Any]] = []  # task b is node b + 1; node 0 is the begin and the end of the sequence
        for b, task in enumerate(tasks):
            arcs += [(0, b + 1, self._arc(-1, b)), (b + 1, 0, model.new_bool_var(""))]
            arcs += [(a + 1, b + 1, self._arc(a, b)) for a in range(len(tasks)) if self._possible(a, b)]
            if task.literal is not None:
                arcs.append((b + 1, b + 1, ~task.literal))
        if all(task.literal is not None for task in tasks):
            arcs.append((0, 0, model.new_bool_var("")))
        model.add_circuit(arcs)
        return intervals

    def _possible(self, a: int, b: int) -> bool:
        """Return whether task b may follow task a: operations of a job keep their order."""
        before, after = self._tasks[a].operation, self._tasks[b].operation
        job = self._problem.instance.job
        return before != after and (job[before] != job[after] or before < after)

    def _interval(self, task: Task, horizon: int) -> Any:
        """Return the interval of the set-up before an operation; the arc to the operation fixes the interval's length."""
        model = self._model
        longest = max(int(self._setups.max()), 0 if self._first_setups is None else int(self._first_setups.max()))
        low = 0 if task.operation in self._fixed else self._rules.now
        begin, end = model.new_int_var(0, horizon, ""), model.new_int_var(0, horizon + longest, "")
        length = model.new_int_var(0, longest, "")
        if task.literal is None:
            interval = model.new_interval_var(begin, length, end, "")
            model.add(begin >= low)
            model.add(end <= task.start)
        else:
            interval = model.new_optional_interval_var(begin, length, end, task.literal, "")
            model.add(begin >= low).only_enforce_if(task.literal)
            model.add(end <= task.start).only_enforce_if(task.literal)
        self._begins.append(begin)
        self._lengths.append(length)
        return interval

    def _arc(self, a: int, b: int) -> Any:
        """Return the literal of the arc from task a to task b (a = -1: b is first), and enforce the set-up if it is true."""
        model, task = self._model, self._tasks[b]
        literal = model.new_bool_var("")
        family = self._family[task.operation]
        ready: Any = 0
        if a >= 0:
            # a job that stays on its machine for its next operation does not hinder the set-up for it
            ready = self._tasks[a].end if self._tasks[a].operation + 1 == task.operation else self._tasks[a].leaves
            length = int(self._setups[self._family[self._tasks[a].operation], family])
        else:
            length = 0 if self._first_setups is None else int(self._first_setups[family])
        if not self._as_intervals:
            model.add(task.start >= ready + length).only_enforce_if(literal)
        elif length:
            model.add(self._lengths[b] == length).only_enforce_if(literal)
            model.add(self._begins[b] >= ready).only_enforce_if(literal)
        else:
            model.add(task.start >= ready).only_enforce_if(literal)
        if self._hinted:
            before = -1 if a < 0 else self._tasks[a].operation
            model.add_hint(literal, self._hinted.get(task.operation, -2) == before)
        return literal


def earliness(model: Any, instance: JobShopInstance, ends: list[Any]) -> Any:
    """Return the expression of the total weighted earliness, given the variables of the jobs' ends."""
    rules = instance.rules
    assert rules is not None and instance.due is not None
    early = instance.due if rules.early is None else rules.early
    weights = [1] * instance.jobs if rules.earliness is None else rules.earliness.tolist()
    cost = 0
    for end, window_begin, weight in zip(ends, early.tolist(), weights):
        early_by = model.new_int_var(0, max(0, window_begin), "")
        model.add(early_by >= window_begin - end)
        cost += weight * early_by
    return cost

"""JobShop: the job shop problem for `corl` (files, judge, environments, drawings)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.adapter import Problem
from corl.errors import InputError, kind_of
from corl.files.json_instances import Field, plain
from corl.problems.jobshop.generators import GENERATORS
from corl.problems.jobshop.instance import JobShopInstance, Schedule, from_jobs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corl.environment import Environment
    from corl.online.stream import Stream
    from corl.tokens import Tokens
    from corl.view.scene import Scene

__all__ = ["JobShop"]

_ACCEPTED = 'accepted: {"start": [[...] per job], "machine": [[...] per job]}, integers (or names), one for every operation'
_WARM_UP = 4  # jobs, and operations per job, of the instance on which kernels are compiled


def _operations(observation: Mapping[str, Any]) -> Tokens:
    """See corl.problems.jobshop.features.operations."""
    from corl.problems.jobshop.features import operations

    return operations(observation)


def _intervals(observation: Mapping[str, Any]) -> Tokens:
    """See corl.problems.jobshop.environments.intervals.features.intervals."""
    from corl.problems.jobshop.environments.intervals.features import intervals

    return intervals(observation)


def _queue(observation: Mapping[str, Any]) -> Tokens:
    """See corl.problems.jobshop.environments.arriving.features.queue."""
    from corl.problems.jobshop.environments.arriving.features import queue

    return queue(observation)


def _floor(observation: Mapping[str, Any]) -> Tokens:
    """See corl.problems.jobshop.environments.floor.features.floor."""
    from corl.problems.jobshop.environments.floor.features import floor

    return floor(observation)


class JobShop(Problem):
    """The job shop: classic, with release and due dates, with flexible machines, and with side constraints such as set-ups.

    A solution is a Schedule: the start and the machine of every operation. A module that only one method needs is imported inside
    that method, so that `import corl.problems.jobshop.problem` loads no third-party package but NumPy.
    """

    name = "jobshop"
    title = "job shop scheduling, classic and flexible, with set-ups, calendars and more; makespan, tardiness or earliness"
    sense = "min"
    instance_type = JobShopInstance
    generators = GENERATORS
    instance_suffixes = (".fjs",)
    environments = ("dispatching", "semi-active", "intervals", "arriving", "floor")
    features = {"operations": _operations, "intervals": _intervals, "queue": _queue, "floor": _floor}  # noqa: RUF012

    def evaluate(self, instance: JobShopInstance, solution: Any) -> float:
        """Return the objective value: the makespan, the weighted tardiness, or the sum of weighted earliness and tardiness.

        Raises Infeasible, naming the first violated constraint.
        """
        from corl.problems.jobshop.evaluation import objective

        return objective(instance, solution)

    def infeasible(self, instance: JobShopInstance) -> str:
        """Return a reason why no schedule exists: an operation that no machine is available for, or a fixed one that violates a
        constraint; "" if neither is found. See Problem.infeasible.
        """
        from corl.problems.jobshop.feasibility import impossible

        return impossible(instance)

    def recognises(self, head: str) -> bool:
        """Return whether `head`, the beginning of a file, looks like a job shop in one of the text formats or in JSON."""
        from corl.problems.jobshop.formats import recognises

        return recognises(head)

    def read(self, path: Path) -> JobShopInstance:
        """Return the instance in a file: standard text, Taillard's format, .fjs or JSON. Raises InputError or OSError."""
        from corl.problems.jobshop.formats import read_instance

        return read_instance(path)

    def write(self, instance: JobShopInstance, path: Path) -> None:
        """Write a file from which `read` returns an equal instance.

        A name in .fjs or .json means that format. For other names the format is the standard text, or
        JSON if the standard text cannot hold the instance.
        """
        from corl.problems.jobshop.formats import write_instance

        write_instance(instance, path)

    def adapt(self, data: Any) -> JobShopInstance:
        """Return the instance given as a list of jobs, an array or an object.

        A job is a list of operations. An operation is (machine, duration), or a list of these pairs if it has a choice of
        machines. An array is int [jobs, operations, 2], with machine and duration in the last axis. Machines are numbered from 0.
        An object has the layout of the JSON files. Raises InputError.
        """
        if isinstance(data, Mapping):
            from corl.problems.jobshop.formats.json_format import from_json_value

            return from_json_value(Field(plain(data)), "object")
        accepted = "a list of jobs, each a list of (machine, duration) or of lists of these; or an array [jobs, operations, 2]"
        jobs = plain(data)
        try:
            rows = [[_choices(operation) for operation in job] for job in jobs]
            machines = 1 + max(machine for job in rows for operation in job for machine, _ in operation)
        except (TypeError, ValueError):
            raise InputError(f"{kind_of(data)} that is no list of jobs; accepted: {accepted}") from None
        return from_jobs(rows, max(1, machines), name="array")

    def to_json(self, instance: JobShopInstance, solution: Any) -> dict[str, Any]:
        """Return {"start": [[...] per job], "machine": [[...] per job]}, machines numbered as in the file, or by name.

        If the jobs have names, the names are under the key "job".
        """
        start, machine = (np.asarray(part).tolist() for part in solution)
        names = instance.machine_names or range(instance.first_machine, instance.first_machine + instance.machines)
        labels, spans = [names[number] for number in machine], list(pairwise(instance.first.tolist()))
        rows = {"start": [start[begin:end] for begin, end in spans], "machine": [labels[begin:end] for begin, end in spans]}
        return ({"job": list(instance.job_names)} if instance.job_names else {}) | rows

    def from_json(self, instance: JobShopInstance, value: Any) -> Schedule:
        """Return the Schedule given in the form that `to_json` returns. Raises InputError for any other value."""
        if isinstance(value, dict) and instance.job_names and "job" in value:
            value = _in_order(instance.job_names, value)
        parts: list[Any] = [None]
        if isinstance(value, dict) and len(value) == 2:
            parts = [value.get(key) for key in ("start", "machine")]
        lengths, number_of = np.diff(instance.first).tolist(), dict(zip(instance.machine_names, count(instance.first_machine)))
        rows: list[list[int]] = []
        for part in parts:
            if not isinstance(part, list) or len(part) != len(lengths):
                raise InputError(_ACCEPTED, field="solution")
            names = number_of if len(rows) else {}  # only machines, the second part, have names
            rows.append([])
            for row, length in zip(part, lengths):
                if not isinstance(row, list) or len(row) != length:
                    raise InputError(_ACCEPTED, field="solution")
                numbers: list[Any] = [names.get(each, each) if isinstance(each, str) else each for each in row]
                if not all(map(_is_integer, numbers)):
                    raise InputError(_ACCEPTED, field="solution")
                rows[-1] += numbers
        start, machine = (np.array(row, np.int64) for row in rows)
        return Schedule(start, (machine - instance.first_machine).astype(np.int32))

    def schemas(self) -> dict[str, dict[str, Any]]:
        """See Problem.schemas."""
        from corl.problems.jobshop.formats.json_format import SCHEMAS

        return SCHEMAS

    def describe(self, instance: JobShopInstance) -> dict[str, Any]:
        """Return the facts about the instance that `corl info` prints."""
        from corl.problems.jobshop.resources import row_labels

        lengths = np.diff(instance.first)
        facts: dict[str, Any] = {
            "objective": instance.objective,
            "jobs": instance.jobs,
            "machines": instance.machines,
            "operations": instance.operations,
            "operations_per_job": _span(lengths),
            "durations": _span(instance.choice_duration),
        }
        if instance.flexible:
            facts["machines_per_operation"] = _span(np.diff(instance.choice_first))
        if instance.release.any():
            facts["release_dates"] = _span(instance.release)
        if instance.due is not None:
            facts["due_dates"] = _span(instance.due)
        if instance.rules is not None and instance.rules.names:
            facts["rules"] = ", ".join(instance.rules.names)
            if instance.rules.capacity is not None:
                units = zip(row_labels(instance.rules), instance.rules.capacity.tolist())
                facts["resources"] = ", ".join(f"{count} x {label}" for label, count in units)
        if instance.comment:
            facts["comment"] = " / ".join(instance.comment.splitlines())
        return facts

    def draw(self, instance: JobShopInstance, solution: Any, axes: Axes) -> None:
        """Draw a Gantt chart, one row per machine and one colour per job; without a solution, each job's chain of operations."""
        from corl.problems.jobshop.drawing import draw

        draw(instance, solution, axes)

    def view(self, instance: JobShopInstance, solution: Any) -> Scene | None:
        """See `corl.adapter.Problem.view`."""
        from corl.problems.jobshop.drawing import scene

        return scene(instance, solution)

    def view_against(self, instance: JobShopInstance, solution: Any, other: Any) -> Scene:
        """See `corl.adapter.Problem.view_against`; `other` is a Schedule, in which a start of -1 means a new operation."""
        from corl.problems.jobshop.comparing import comparison

        return comparison(instance, solution, other)

    def environment(
        self, instances: Sequence[JobShopInstance], rows: int, width: int | None = None, name: str = ""
    ) -> Environment:
        """Return an environment of `rows` states of `instances`.

        "dispatching" builds an active schedule operation by operation, and lists the `width` choices that can start first;
        "semi-active" builds any semi-active schedule. "intervals" is a constraint model, in which the clock advances from
        decision to decision. In "arriving" an action starts one of the jobs that wait for a free machine; "floor"
        adds set-ups, choices of machines, breakdowns and the action of waiting.
        """
        from corl.problems.jobshop.environment import JobShopEnvironment
        from corl.problems.jobshop.environments.arriving.environment import ArrivingEnvironment
        from corl.problems.jobshop.environments.floor.environment import FloorEnvironment
        from corl.problems.jobshop.environments.intervals.environment import IntervalEnvironment

        listed: dict[str, Any] = {} if width is None else {"width": width}
        if self.environment_name(name) == "intervals":
            return IntervalEnvironment(instances, rows, **listed)
        if self.environment_name(name) == "arriving":
            return ArrivingEnvironment(instances, rows, **listed)
        if self.environment_name(name) == "floor":
            return FloorEnvironment(instances, rows, **listed)
        if self.environment_name(name) == "semi-active":
            listed["schedules"] = "semi-active"
        return JobShopEnvironment(instances, rows, **listed)

    def decisions(self, instance: JobShopInstance, solution: Any, key: int = 0, name: str = "") -> NDArray[np.int64]:
        """Return actions of the named environment that build a schedule in which no operation ends later than in `solution`."""
        from corl.problems.jobshop.decisions import decisions as dispatching
        from corl.problems.jobshop.environments.arriving.decisions import decisions as arriving
        from corl.problems.jobshop.environments.floor.decisions import decisions as floor
        from corl.problems.jobshop.environments.intervals.decisions import decisions as intervals

        follow = {"intervals": intervals, "arriving": arriving, "floor": floor}.get(self.environment_name(name), dispatching)
        return follow(instance, solution)

    def stream(self, instance: JobShopInstance) -> Stream:
        """Return the stream of a shop floor: arrivals and breakdowns are revealed over time (problems/jobshop/stream.py)."""
        from corl.problems.jobshop.stream import FloorStream

        return FloorStream(instance)

    def default_policy(self, instance: JobShopInstance) -> str:
        """Return the name of the shipped policy for an instance; "" if there is none.

        There is one for the makespan without choices of machines, and one for the weighted tardiness.
        """
        if instance.rules is not None or (instance.flexible and instance.objective == "makespan"):
            return ""
        return "jobshop-slim" if instance.objective == "makespan" else "jobshop-arrivals"

    def warm_up_instance(self, instance: JobShopInstance) -> JobShopInstance:
        """Return a small instance of the same kind: the first four jobs with their first four operations, no side constraints."""
        at = np.concatenate([np.arange(a, min(b, a + _WARM_UP)) for a, b in zip(instance.first[:_WARM_UP], instance.first[1:])])
        choice = np.concatenate([np.arange(instance.choice_first[i], instance.choice_first[i + 1]) for i in at])
        jobs = min(_WARM_UP, instance.jobs)
        used, machine = np.unique(instance.choice_machine[choice], return_inverse=True)
        return replace(
            instance,
            machines=len(used),
            first=np.append(0, np.bincount(instance.job[at], minlength=jobs)[:jobs].cumsum()),
            choice_first=np.append(0, np.diff(instance.choice_first)[at].cumsum()),
            choice_machine=machine.astype(np.int32),
            choice_duration=instance.choice_duration[choice],
            release=instance.release[:jobs],
            due=None if instance.due is None else instance.due[:jobs],
            job_names=(),
            machine_names=(),
            weight=instance.weight[:jobs],
            rules=None,
        )


def _in_order(names: Sequence[str], value: dict[str, Any]) -> dict[str, Any]:
    """Return a solution's JSON without its key "job", and with the rows in the order of `names`. Raises InputError."""
    jobs, lists = value["job"], {key: rows for key, rows in value.items() if key != "job"}
    complete = all(isinstance(rows, list) and len(rows) == len(names) for rows in (jobs, *lists.values()))
    if not complete or set(map(str, jobs)) != set(names):
        raise InputError("accepted: the names of all jobs, each with a row of the other lists", field="job")
    place = {str(job): k for k, job in enumerate(jobs)}
    return {key: [rows[place[name]] for name in names] for key, rows in lists.items()}


def _choices(operation: Any) -> list[tuple[int, int]]:
    """Return [(machine, duration), ...] of an operation given as a pair or as a list of pairs. Raises TypeError or ValueError."""
    pairs = [operation] if len(operation) == 2 and not hasattr(operation[0], "__len__") else operation
    choices = [(machine, duration) for machine, duration in pairs]
    integers = [isinstance(number, (int, np.integer)) and not isinstance(number, bool) for pair in choices for number in pair]
    if not choices or not all(integers):
        raise ValueError
    return [(int(machine), int(duration)) for machine, duration in choices]


def _is_integer(value: Any) -> bool:
    return type(value) is int and abs(value) < 2**31


def _span(values: np.ndarray[Any, Any]) -> str:
    low, high = int(values.min()), int(values.max())
    return str(low) if low == high else f"{low} to {high}"

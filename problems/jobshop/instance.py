"""JobShopInstance, the data of one job shop as flat arrays with offsets, and Schedule, a solution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.errors import InputError
from corl.problems.jobshop.rules import SideConstraints

__all__ = ["HORIZON", "LARGEST_MACHINES", "OBJECTIVES", "JobShopInstance", "Objective", "Schedule", "from_jobs"]

HORIZON = 10**9
"""The maximum of `JobShopInstance.horizon`, the time by which every schedule without needless idle time has ended.

Every start and end of such a schedule is then an int32, and weighted sums of these times are exact in float64.
"""
LARGEST_MACHINES = 1_000_000  # the largest number of machines
_LARGEST_WEIGHT = 10**6
OBJECTIVES = ("makespan", "weighted_tardiness", "earliness_tardiness")
Objective = Literal["makespan", "weighted_tardiness", "earliness_tardiness"]


class Schedule(NamedTuple):
    """A solution: the start and the machine of each operation, both in the instance's flat order of operations."""

    start: NDArray[np.int64]
    """int64 [operations], start times."""
    machine: NDArray[np.int32]
    """int32 [operations], machines 0..machines-1."""


@dataclass(frozen=True, eq=False)
class JobShopInstance:
    """Jobs, each a chain of operations; an operation occupies one machine (of one or several eligible ones) without interruption.

    Operations are numbered job after job: those of job j are `first[j]` to `first[j + 1] - 1`, in the order in which they are
    processed. A choice is an operation with one of its eligible machines. The choices of operation i are at `choice_first[i]` to
    `choice_first[i + 1] - 1` of `choice_machine` and `choice_duration`; in a classic job shop there is one per operation. Jobs
    may have different numbers of operations and return to a machine; durations may be zero. Times are integers. The constructor
    raises InputError naming the field.
    """

    name: str
    machines: int
    first: NDArray[np.int32]
    """int32 [jobs + 1], the first operation of each job, then the number of operations."""
    choice_first: NDArray[np.int32]
    """int32 [operations + 1], the first choice of each operation, then the number of choices."""
    choice_machine: NDArray[np.int32]
    """int32 [choices], machines 0..machines-1."""
    choice_duration: NDArray[np.int32]
    """int32 [choices], the duration of the choice's operation on the choice's machine, at least 0."""
    release: NDArray[np.int64] = None  # type: ignore[assignment]
    """int64 [jobs], the earliest start of each job; 0 by default."""
    due: NDArray[np.int64] | None = None
    """int64 [jobs], due dates; required unless the objective is the makespan."""
    weight: NDArray[np.int64] = None  # type: ignore[assignment]
    """int64 [jobs], the weight of one time unit of tardiness; 1 by default."""
    objective: Objective = "makespan"
    """The objective: the makespan, the jobs' total weighted tardiness, or their total weighted tardiness and earliness."""
    first_machine: int = 0
    """The number that the file gives to machine 0: 0 or 1."""
    comment: str = ""
    rules: SideConstraints | None = None
    """Side constraints, or None; never None if the objective is "earliness_tardiness", because the side constraints hold the
    weights of earliness."""
    job_names: tuple[str, ...] = ()
    """Distinct names of the jobs; if empty, messages show numbers."""
    machine_names: tuple[str, ...] = ()
    """Distinct names of the machines; if empty, messages show numbers."""

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise InputError(f"{self.objective!r} is not known; accepted: {', '.join(OBJECTIVES)}", field="objective")
        if not 1 <= self.machines <= LARGEST_MACHINES:
            raise InputError(f"{self.machines} is not accepted; accepted: 1 to {LARGEST_MACHINES:,}", field="machines")
        if self.first_machine not in (0, 1):
            raise InputError(f"{self.first_machine} is not accepted; accepted: 0 or 1", field="first_machine")
        self._take("first", np.int32)
        self._take("choice_first", np.int32)
        _check_offsets("first", self.first, len(self.choice_first) - 1, "a job has at least one operation")
        self._take("choice_machine", np.int32, 0, self.machines - 1)
        self._take("choice_duration", np.int32, 0, HORIZON, len(self.choice_machine))
        _check_offsets("choice_first", self.choice_first, len(self.choice_machine), "an operation has at least one machine")
        self._check_choices()
        jobs = self.jobs
        for field, default in (("release", 0), ("weight", 1)):
            if getattr(self, field) is None:
                object.__setattr__(self, field, np.full(jobs, default, np.int64))
        self._take("release", np.int64, 0, HORIZON, jobs)
        self._take("weight", np.int64, 0, _LARGEST_WEIGHT, jobs)
        if self.due is not None:
            self._take("due", np.int64, 0, 2 * HORIZON, jobs)
        elif self.objective != "makespan":
            raise InputError(f"missing; {self.objective} needs one for every job", field="due")
        for field, count in (("job_names", jobs), ("machine_names", self.machines)):
            given = getattr(self, field)
            if given and (len(given) != count or len(set(given)) < count or not all(isinstance(name, str) for name in given)):
                raise InputError(f"accepted: {count} different texts, or none", field=field)
            object.__setattr__(self, field, tuple(given))
        if self.rules is None and self.objective == "earliness_tardiness":
            object.__setattr__(self, "rules", SideConstraints())
        if self.rules is not None:
            self.rules.check(self)
        if self.horizon > HORIZON:
            parts = "durations" if self.rules is None else "durations, set-ups"
            message = f"the longest {parts} and the latest release date add up to {self.horizon:,}; accepted: {HORIZON:,}"
            raise InputError(message, field="durations")

    def _take(self, field: str, kind: type, low: int = 0, high: int = 2**31 - 1, length: int | None = None) -> None:
        """Convert a field to a contiguous array of dtype `kind`. Raises InputError unless its integers are in low..high."""
        try:
            array = np.asarray(getattr(self, field))
        except ValueError:  # rows of different lengths; two dimensions make the next check fail
            array = np.zeros((0, 0))
        if array.ndim != 1 or array.dtype.kind not in "iu" or (length is not None and len(array) != length):
            many = "" if length is None else f"{length:,} "
            raise InputError(f"accepted: an array of {many}integers", field=field)
        if len(array) and not (array.min() >= low and array.max() <= high):
            at = int(((array < low) | (array > high)).argmax())
            raise InputError(f"entry {at} is {array[at]}; accepted: {low} to {high:,}", field=field)
        object.__setattr__(self, field, np.ascontiguousarray(array, kind))

    def _check_choices(self) -> None:
        if self.flexible:
            owner = np.repeat(np.arange(self.operations), np.diff(self.choice_first))
            pair = np.sort(owner * np.int64(self.machines) + self.choice_machine)
            if (again := pair[1:] == pair[:-1]).any():
                operation, machine = divmod(int(pair[1:][again][0]), self.machines)
                message = f"{self.place_of(operation)} has machine {self.machine_label(machine)} twice; accepted: each once"
                raise InputError(message, field="choice_machine")

    # ---------------------------------------------------------------- derived data
    @property
    def jobs(self) -> int:
        """The number of jobs."""
        return len(self.first) - 1

    @property
    def operations(self) -> int:
        """The number of operations."""
        return len(self.choice_first) - 1

    @property
    def flexible(self) -> bool:
        """Whether an operation has a choice of machines."""
        return len(self.choice_machine) > self.operations

    @property
    def job(self) -> NDArray[np.int32]:
        """The job of each operation, int32 [operations]."""
        return np.repeat(np.arange(self.jobs, dtype=np.int32), np.diff(self.first))

    @property
    def shortest(self) -> NDArray[np.int32]:
        """The least duration of each operation over its machines, int32 [operations]."""
        return np.asarray(np.minimum.reduceat(self.choice_duration, self.choice_first[:-1]))

    @property
    def longest(self) -> NDArray[np.int32]:
        """The greatest duration of each operation over its machines, int32 [operations]."""
        return np.asarray(np.maximum.reduceat(self.choice_duration, self.choice_first[:-1]))

    @property
    def horizon(self) -> int:
        """The time by which every schedule without needless idle time has ended."""
        begin, work = int(self.release.max()), int(self.longest.sum(dtype=np.int64))
        if self.rules is None:
            return begin + work
        return max(begin, self.rules.last_event(self)) + work + self.rules.longest_setups(self)

    def job_label(self, job: int) -> str:
        """Return the label of a job in messages: its name in quotes, or its number if it has no name."""
        return repr(self.job_names[job]) if self.job_names else str(job)

    def machine_label(self, machine: int) -> str:
        """Return the label of a machine in messages: its name in quotes, or its number in the file if it has no name."""
        return repr(self.machine_names[machine]) if self.machine_names else str(machine + self.first_machine)

    def place_of(self, operation: int) -> str:
        """Return the label of an operation in messages, such as "operation 2 of job 5"."""
        job = int(np.searchsorted(self.first, operation, side="right")) - 1
        return f"operation {operation - int(self.first[job])} of job {self.job_label(job)}"

    def choices(self, operation: int) -> list[tuple[int, int]]:
        """Return (machine, duration) for every machine that can process an operation."""
        span = slice(int(self.choice_first[operation]), int(self.choice_first[operation + 1]))
        return list(zip(self.choice_machine[span].tolist(), self.choice_duration[span].tolist()))

    def rows(self) -> Iterator[list[list[tuple[int, int]]]]:
        """Yield for each job the list of its operations, each as `choices` returns it."""
        for begin, end in zip(self.first[:-1].tolist(), self.first[1:].tolist()):
            yield [self.choices(operation) for operation in range(begin, end)]


def from_jobs(
    jobs: Sequence[Sequence[Sequence[tuple[int, int]]]],
    machines: int,
    *,
    name: str = "",
    release: ArrayLike | None = None,
    due: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    objective: Objective = "makespan",
    first_machine: int = 0,
    comment: str = "",
    rules: SideConstraints | None = None,
    job_names: Sequence[str] = (),
    machine_names: Sequence[str] = (),
) -> JobShopInstance:
    """Return an instance given as nested lists.

    jobs[j][k] = [(machine, duration), ...] holds one pair for each machine that can process the k-th operation of job j. Machines
    are 0..machines-1. The other arguments are those of JobShopInstance. Raises InputError.
    """
    operations = [operation for job in jobs for operation in job]
    choices = [choice for operation in operations for choice in operation]
    if not choices:
        raise InputError("there are none; accepted: at least one job of at least one operation", field="jobs")
    try:
        flat = np.array(choices, np.int64).reshape(len(choices), 2)
    except (TypeError, ValueError, OverflowError):
        raise InputError("accepted: operations that are lists of (machine, duration), integers", field="jobs") from None
    return JobShopInstance(
        name=name,
        machines=machines,
        first=_offsets([len(job) for job in jobs]),
        choice_first=_offsets([len(operation) for operation in operations]),
        choice_machine=flat[:, 0],  # type: ignore[arg-type]  # which __post_init__ makes int32
        choice_duration=flat[:, 1],  # type: ignore[arg-type]
        release=release,  # type: ignore[arg-type]
        due=due,  # type: ignore[arg-type]
        weight=weight,  # type: ignore[arg-type]
        objective=objective,
        first_machine=first_machine,
        comment=comment,
        rules=rules,
        job_names=tuple(job_names),
        machine_names=tuple(machine_names),
    )


def _offsets(lengths: list[int]) -> NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def _check_offsets(field: str, offsets: NDArray[np.int32], end: int, rule: str) -> None:
    if len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != end:
        raise InputError(f"accepted: offsets from 0 to {end:,}, at least two", field=field)
    if (short := np.diff(offsets) < 1).any():
        raise InputError(f"entry {int(short.argmax())} is followed by none that is larger; {rule}", field=field)

"""SideConstraints: constraints of a job shop beyond machines, durations, release and due dates."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.deprecation import renamed
from corl.errors import InputError
from corl.problems.jobshop.change_costs import ChangeCosts

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["FOREVER", "MAX_UNITS", "SideConstraints", "first_rule", "refused"]

_FLAGS = ("no_wait", "blocking", "resumable")  # fields that hold bools
FOREVER = 2**62
"""The end of a break that never ends: the machine is down for good."""
_MAX_TIME = 10**9
_MAX_WEIGHT = 10**6
MAX_UNITS = 10**6
"""The largest number of units of a resource."""

_Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SideConstraints:
    """Side constraints of an instance with J jobs, O operations, M machines and F set-up families.

    A field is None if the instance has no such constraint. The constructor copies arrays and makes them read-only. Values are
    checked by the constructor of JobShopInstance: it raises InputError if one is invalid or if two fields contradict each other.
    """

    earliest: _Integers | None = None
    """int64 [O], the earliest start of each operation, in addition to the release dates of jobs."""
    no_wait: NDArray[np.bool_] | None = None
    """bool [O], which operations start exactly when their job predecessor ends; False for the first operation of a job."""
    blocking: NDArray[np.bool_] | None = None
    """bool [O], after which operations the job stays on its machine until its next operation starts; False for the last operation
    of a job. The machine does nothing else until then, but may have a break."""
    swap: bool = False
    """Whether jobs that block each other's next machines in a cycle may exchange these machines at the same time."""
    unavailable: _Integers | None = None
    """int64 [breaks, 3], machine, from, to (FOREVER: for good), sorted by machine and time. No set-up overlaps a break of its
    machine, nor does an operation, unless it is resumable."""
    resumable: NDArray[np.bool_] | None = None
    """bool [O], which operations stop at the breaks of their machine and continue after them, with the machine occupied
    meanwhile. They do not start in a break, and end before a break that never ends."""
    family: _Integers | None = None
    """int64 [O], the set-up family 0..F-1 of each operation; by default the number of the operation's job."""
    setups: _Integers | None = None
    """int64 [M, F, F], setups[m, a, b] is the set-up time of machine m between two consecutive operations, of families a and b. A
    set-up is not interrupted. It does not need the job, so it may take place before the job is ready."""
    first_setups: _Integers | None = None
    """int64 [M, F], the set-up time before the first operation of a machine, by family; 0 by default. It begins at 0 or later."""
    early: _Integers | None = None
    """int64 [J], the begin of each job's due window, which ends at the due date: a job that ends before its window is penalised;
    by default the due date."""
    earliness: _Integers | None = None
    """int64 [J], the weight of one time unit of earliness; 1 by default."""
    now: int = 0
    """The present time: operations that are not fixed, and the set-ups before them, start now or later."""
    fixed_start: _Integers | None = None
    """int64 [O], the start of each fixed operation, which has already started or is frozen; -1 for other operations."""
    fixed_machine: _Integers | None = None
    """int64 [O], the machine of each fixed operation; -1 for other operations."""
    changes: ChangeCosts | None = None
    """An announced schedule, and what it costs to deviate from it, as a part of the objective."""
    capacity: _Integers | None = None
    """int64 [R], the number of units of each of R renewable resources (tools, workers) that exist beside the machines."""
    demand: _Integers | None = None
    """int64 [C, R] for C choices (JobShopInstance), the units of each resource that an operation occupies from its start to its
    end on the choice's machine. An operation of duration zero occupies none."""
    resource_names: tuple[str, ...] = ()
    """Distinct names of the resources; if empty, messages show numbers from 0."""

    def __post_init__(self) -> None:
        for each in fields(self):
            given = getattr(self, each.name)
            if isinstance(given, np.ndarray):
                copy = np.array(given, bool if given.dtype == bool else np.int64 if given.dtype.kind in "iu" else None, order="C")
                copy.flags.writeable = False
                object.__setattr__(self, each.name, copy)
            elif isinstance(given, np.integer):
                object.__setattr__(self, each.name, int(given))
        object.__setattr__(self, "resource_names", tuple(self.resource_names))

    @property
    def fixed(self) -> NDArray[np.int64]:
        """The numbers of the fixed operations, int64, ascending."""
        return np.zeros(0, np.int64) if self.fixed_start is None else np.flatnonzero(self.fixed_start >= 0)

    @property
    def names(self) -> list[str]:
        """The side constraints that are set, in words for messages."""
        found = [words for name, words in _WORDS.items() if getattr(self, name) is not None]
        return [*found, "a time that is now"] if self.now else found

    def spells(self, machine: int) -> list[list[int]]:
        """Return [from, to] for each break of a machine, sorted by time."""
        if self.unavailable is None:
            return []
        begin, end = np.searchsorted(self.unavailable[:, 0], [machine, machine + 1])
        found: list[list[int]] = self.unavailable[begin:end, 1:].tolist()
        return found

    def resource_label(self, resource: int) -> str:
        """Return the label of a resource in messages: its name in quotes, or its number if it has no name."""
        return repr(self.resource_names[resource]) if self.resource_names else str(resource)

    def families(self, instance: JobShopInstance) -> _Integers:
        """Return the set-up family of each operation, int64 [O]."""
        return instance.job.astype(np.int64) if self.family is None else self.family

    def lowest(self, instance: JobShopInstance) -> _Integers:
        """Return the earliest start of each operation by release dates, `earliest` and `now`, int64 [O]."""
        lowest = np.zeros(instance.operations, np.int64) if self.earliest is None else self.earliest.copy()
        free = np.ones(instance.operations, bool)
        free[self.fixed] = False
        lowest[free] = np.maximum(lowest[free], self.now)
        first_operations = instance.first[:-1]
        lowest[first_operations] = np.maximum(lowest[first_operations], instance.release)
        return lowest

    def last_event(self, instance: JobShopInstance) -> int:
        """Return the time after which no date, break or fixed operation restricts a schedule.

        Machines that are down for good, and the release dates of the jobs, are not considered.
        """
        events = [self.now, 0]
        events += [int(given.max()) for given in (self.earliest, self.early) if given is not None]
        if self.unavailable is not None:
            events += self.unavailable[:, 1:][self.unavailable[:, 1:] < FOREVER].tolist()
        if self.fixed_start is not None:
            events.append(int((self.fixed_start + instance.longest).max()))
        if self.changes is not None:
            events.append(int(self.changes.start.max()))
        if self.early is None and instance.objective == "earliness_tardiness" and instance.due is not None:
            events.append(int(instance.due.max()))
        return max(events)

    def longest_setups(self, instance: JobShopInstance) -> int:
        """Return an upper bound of the sum of all set-up times: of each operation the longest set-up that can precede it."""
        if self.setups is None:
            return 0
        longest = self.setups.max(axis=(0, 1))
        if self.first_setups is not None:
            longest = np.maximum(longest, self.first_setups.max(axis=0))
        return int(longest[self.families(instance)].sum())

    # ---------------------------------------------------------------- checks
    def check(self, instance: JobShopInstance) -> None:
        """Raise InputError if a shape, a value or a combination of values is invalid for this instance."""
        o, j, m = instance.operations, instance.jobs, instance.machines
        families = 0 if self.setups is None or self.setups.ndim != 3 else self.setups.shape[1]
        shapes: dict[str, tuple[tuple[int | None, ...], int, int]] = {
            "earliest": ((o,), 0, _MAX_TIME), "no_wait": ((o,), 0, 1), "unavailable": ((None, 3), 0, FOREVER),
            "blocking": ((o,), 0, 1), "resumable": ((o,), 0, 1),
            "setups": ((m, families, families), 0, _MAX_TIME), "first_setups": ((m, families), 0, _MAX_TIME),
            "family": ((o,), 0, families - 1), "early": ((j,), 0, 2 * _MAX_TIME), "earliness": ((j,), 0, _MAX_WEIGHT),
            "fixed_start": ((o,), -1, _MAX_TIME), "fixed_machine": ((o,), -1, m - 1),
            "capacity": ((None,), 0, MAX_UNITS),
            "demand": ((len(instance.choice_machine), 0 if self.capacity is None else np.size(self.capacity)), 0, MAX_UNITS),
        }  # fmt: skip
        for name in ("family", "first_setups"):
            if self.setups is None and getattr(self, name) is not None:
                raise InputError("there are no setups; accepted: none without", field=name)
        for name, (shape, low, high) in shapes.items():
            if (value := getattr(self, name)) is not None:
                _check_array(name, value, shape, low, high)
        if type(self.now) is not int or not 0 <= self.now <= _MAX_TIME:
            raise InputError(f"{self.now!r} is not accepted; accepted: an integer from 0 to {_MAX_TIME:,}", field="now")
        if self.no_wait is not None and self.no_wait[instance.first[:-1]].any():
            job = int(self.no_wait[instance.first[:-1]].argmax())
            raise InputError(
                f"the first operation of job {instance.job_label(job)} has none before it; accepted: false there", field="no_wait"
            )
        self._check_blocking(instance)
        self._check_machines(instance)
        self._check_setups(instance)
        self._check_dates(instance)
        self._check_fixed(instance)
        if self.changes is not None:
            self.changes.check(instance)
        self._check_resources()

    def _check_blocking(self, instance: JobShopInstance) -> None:
        if type(self.swap) is not bool or (self.swap and self.blocking is None):
            raise InputError(f"{self.swap!r} is not accepted; accepted: true or false, and false without blocking", field="swap")
        if self.blocking is None:
            return
        if (wrong := self.blocking[instance.first[1:] - 1]).any():
            job = instance.job_label(int(wrong.argmax()))
            raise InputError(f"the last operation of job {job} has none after it; accepted: false there", field="blocking")
        # the order in which jobs move at the same time would be ambiguous
        if (instance.choice_duration == 0).any():
            raise InputError("accepted: from 1, in an instance with blocking", field="durations")

    def _check_machines(self, instance: JobShopInstance) -> None:
        if self.unavailable is None:
            return
        machine, begin, end = self.unavailable.T
        for wrong in np.flatnonzero((machine >= instance.machines) | (begin >= end)):
            accepted = f"accepted: machine 0 to {instance.machines - 1}, from, to, the latter later"
            raise InputError(f"entry {wrong} is {self.unavailable[wrong].tolist()}; {accepted}", field="unavailable")
        if (wrong := (machine[1:] < machine[:-1]) | ((machine[1:] == machine[:-1]) & (begin[1:] < end[:-1]))).any():
            message = f"entry {int(wrong.argmax()) + 1} begins before the one before it ends; accepted: by machine, then by time"
            raise InputError(message, field="unavailable")
        if (late := (end > _MAX_TIME) & (end < FOREVER)).any():
            message = f"entry {int(late.argmax())} ends after {_MAX_TIME:,}; accepted: up to it, or for good"
            raise InputError(message, field="unavailable")

    def _check_setups(self, instance: JobShopInstance) -> None:
        if self.setups is None:
            return
        if self.family is None and self.setups.shape[1] != instance.jobs:
            families = f"there are {self.setups.shape[1]} families and {instance.jobs} jobs"
            raise InputError(f"{families}; accepted: as many, or a family of each operation", field="setups")
        has_setups = np.asarray(self.setups.any(axis=(1, 2)))
        if self.first_setups is not None:
            has_setups |= self.first_setups.any(axis=1)
        # the sequence of operations of duration zero that start at the same time would be ambiguous
        if (instance.choice_duration[has_setups[instance.choice_machine]] == 0).any():
            raise InputError("accepted: from 1, on machines with set-ups", field="durations")

    def _check_dates(self, instance: JobShopInstance) -> None:
        for name in ("early", "earliness"):
            if getattr(self, name) is not None and instance.due is None:
                raise InputError("there are no due dates; accepted: one for every job", field=name)
        if self.early is not None and instance.due is not None and (self.early > instance.due).any():
            job = int((self.early > instance.due).argmax())
            message = f"job {instance.job_label(job)} may end from {self.early[job]} and is due at {instance.due[job]}"
            raise InputError(f"{message}; accepted: up to the due date", field="early")

    def _check_fixed(self, instance: JobShopInstance) -> None:
        if (self.fixed_start is None) != (self.fixed_machine is None):
            raise InputError("fixed_start and fixed_machine come together", field="fixed_machine")
        if self.fixed_start is None or self.fixed_machine is None:
            return
        if ((self.fixed_start < 0) != (self.fixed_machine < 0)).any():
            raise InputError("accepted: both of an operation, or neither", field="fixed_machine")
        for i in self.fixed.tolist():
            machines = [machine for machine, _ in instance.choices(i)]
            if self.fixed_machine[i] not in machines:
                accepted = ", ".join(map(instance.machine_label, machines))
                where = instance.machine_label(int(self.fixed_machine[i]))
                message = f"{instance.place_of(i)} is on machine {where}; accepted: {accepted}"
                raise InputError(message, field="fixed_machine")

    def _check_resources(self) -> None:
        if (self.capacity is None) != (self.demand is None):
            raise InputError("capacity and demand come together", field="demand")
        if self.capacity is not None and not len(self.capacity):
            raise InputError("there are no resources; accepted: at least one, or None", field="capacity")
        names = self.resource_names
        is_text = all(isinstance(name, str) for name in names)
        if names and (not is_text or self.capacity is None or not len(names) == len(set(names)) == len(self.capacity)):
            count = 0 if self.capacity is None else len(self.capacity)
            raise InputError(f"accepted: {count} different texts, or none", field="resource_names")


def refused(instance: JobShopInstance, *supported: str) -> str:
    """Return the reason why a method that supports only some side constraints refuses an instance; "" if it does not.

    supported: Fields of SideConstraints.
    """
    return f"it does not support {first}" if (first := first_rule(instance, *supported)) else ""


def first_rule(instance: JobShopInstance, *without: str) -> str:
    """Return the first side constraint of an instance, in words; "" if it has none except for the fields `without`."""
    if instance.rules is None:
        return ""
    names = [name for name in instance.rules.names if name not in {_WORDS[field] for field in without}]
    if names or not without:
        return (names or ["earliness"])[0]
    return "earliness" if instance.objective == "earliness_tardiness" or not instance.rules.names else ""


_WORDS = {
    "earliest": "release times of operations", "no_wait": "operations without waiting", "unavailable": "machine calendars",
    "blocking": "jobs that block their machines", "resumable": "operations that continue after a break",
    "setups": "set-ups", "early": "due windows", "earliness": "weights of earliness",
    "fixed_start": "operations that are frozen or running",
    "changes": "costs of changes", "capacity": "resources beside machines",
}  # fmt: skip


def _check_array(name: str, value: Any, shape: tuple[int | None, ...], low: int, high: int) -> None:
    """Raise InputError unless `value` is an array of `shape` (None: any length) of integers in low..high (_FLAGS: of bools)."""
    kinds = "b" if name in _FLAGS else "iu"
    is_array = isinstance(value, np.ndarray) and value.ndim == len(shape) and value.dtype.kind in kinds
    if not is_array or any(size not in (None, given) for size, given in zip(shape, value.shape)):
        asked = " x ".join("any" if size is None else f"{size:,}" for size in shape)
        raise InputError(f"accepted: an array of {asked} {'flags' if kinds == 'b' else 'integers'}", field=name)
    if value.size and kinds != "b" and not (value.min() >= low and value.max() <= high):
        bad = value[(value < low) | (value > high)][0]
        raise InputError(f"{bad} is not accepted; accepted: {low} to {high:,}", field=name)


if not TYPE_CHECKING:  # to a type checker, an old name is an error
    __getattr__ = renamed(__name__, {"Rules": "SideConstraints"})

"""`Known`: what is known of a shop floor at one moment, and the same as a state of the environment "floor" or as an instance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corl.problems.jobshop.environments.floor.environment import FloorEnvironment
from corl.problems.jobshop.instance import JobShopInstance, from_jobs
from corl.problems.jobshop.rules import SideConstraints

__all__ = ["Job", "Known", "Machine", "Row", "environment_row", "instance_now"]


@dataclass
class Job:
    """A job that has arrived and is not finished."""

    operations: list[list[tuple[int, int]]]
    """The (machine, duration) pairs of each operation."""
    family: list[int]
    """The set-up family of each operation."""
    due: int
    weight: int
    release: int
    next: int = 0
    """The first operation that has not begun."""
    ready: int = 0
    """When the last begun operation will end by plan, or has ended, or was undone; at first the time of the arrival."""


@dataclass
class Machine:
    """A machine."""

    job: int | None = None
    """The job of the operation that is set up for or processed; None if there is none."""
    until: int = 0
    """When this operation ends by plan, or the breakdown ends; not after the present time if the machine is free."""
    down: bool = False
    family: int = -1
    """The family that the machine is set up for; -1 at first."""
    family_before: int = -1
    """The same before the operation under way, whose undoing restores it."""


@dataclass
class Known:
    """What is known of a day at one moment."""

    shop: JobShopInstance
    """The instance, of which only machines, set-ups and the objective are used."""
    time: float = float("-inf")
    """The time of the last event."""
    reported: bool = False
    """Whether everything that has happened up to now is known (the event "clock")."""
    decided: bool = False
    """Whether it has been decided since then what starts now."""
    jobs: dict[int, Job] = field(default_factory=dict)
    """The jobs that have arrived and are not finished, in the order of their arrival."""
    finished: set[int] = field(default_factory=set)
    machines: list[Machine] = field(default_factory=list)

    @property
    def now(self) -> int:
        """The present time, in whole units."""
        return int(np.ceil(max(0.0, self.time)))

    def waits(self, job: Job) -> bool:
        """Return whether a job waits for its next operation."""
        return job.next < len(job.operations) and not any(
            machine.job is not None and self.jobs[machine.job] is job for machine in self.machines
        )

    def idle(self, machine: int) -> bool:
        """Return whether a machine is up and at no operation."""
        return self.machines[machine].job is None and not self.machines[machine].down

    def setup(self, machine: int, family: int) -> int:
        """Return the set-up time before an operation of a family that is next on a machine."""
        rules = self.shop.rules
        if rules is None or rules.setups is None:
            return 0
        before = self.machines[machine].family
        if before < 0:
            return 0 if rules.first_setups is None else int(rules.first_setups[machine, family])
        return int(rules.setups[machine, before, family])


@dataclass(frozen=True)
class Row:
    """A state of the environment "floor" in row 0 of `environment`."""

    environment: FloorEnvironment
    jobs: list[int]
    """The number of each job of the environment's instance."""
    skipped: list[int]
    """How many first operations of the job its instance leaves out."""

    def start(self, action: int) -> dict[str, int] | None:
        """Return an action as an entry of a decision; None for waiting."""
        instance = self.environment.instances[0]
        if action == len(instance.choice_machine):
            return None
        operation = int(np.searchsorted(instance.choice_first, action, side="right")) - 1
        j = int(instance.job[operation])
        number = operation - int(instance.first[j]) + self.skipped[j]
        return {"job": self.jobs[j], "operation": number, "machine": int(instance.choice_machine[action])}


def environment_row(known: Known) -> Row:
    """Return what is known as a state of the environment "floor", whose day has no future arrivals and breakdowns."""
    now, running = known.now, {machine.job for machine in known.machines}
    skipped = [job.next - 1 if number in running else job.next for number, job in known.jobs.items()]
    instance = _instance(known, skipped)
    environment = FloorEnvironment([instance], 1, len(instance.choice_machine) + 1)
    state, place = environment.state, {number: j for j, number in enumerate(known.jobs)}
    state.now[0], state.arrived[0], state.present_count[0] = now, instance.jobs, instance.jobs
    state.present[0, : instance.jobs] = np.arange(instance.jobs)
    for number, job in known.jobs.items():
        j = place[number]
        state.next[0, j] = instance.first[j] + job.next - skipped[j]
        state.ready[0, j] = max(job.ready, now + 1) if number in running else job.ready
    for m, machine in enumerate(known.machines):
        late = machine.job is not None or machine.down
        state.free[0, m] = max(machine.until, now + 1) if late else min(machine.until, now)
        state.running[0, m] = -1 if machine.job is None else place[machine.job]
        state.family[0, m], state.family_before[0, m] = machine.family, machine.family_before
    return Row(environment, list(known.jobs), skipped)


def instance_now(known: Known) -> tuple[JobShopInstance, list[tuple[int, int]]]:
    """Return the static instance of the operations that have not begun, and the (job, operation) of each of its operations.

    Machines that are at work or down are unavailable until they are free again by plan; jobs are released when their operation
    under way ends.
    """
    now = known.now
    numbers = [number for number, job in known.jobs.items() if job.next < len(job.operations)]
    jobs = {number: known.jobs[number] for number in numbers}
    running = {machine.job for machine in known.machines}
    release = [max(now + 1, job.ready) if number in running else now for number, job in jobs.items()]
    rules = SideConstraints(
        now=now,
        unavailable=np.array(
            [[m, 0, max(now + 1, machine.until)] for m, machine in enumerate(known.machines) if not known.idle(m)], np.int64
        ).reshape(-1, 3),
        **_setups(known, [family for job in jobs.values() for family in job.family[job.next :]], current=True),
    )
    instance = from_jobs(
        [job.operations[job.next :] for job in jobs.values()],
        known.shop.machines,
        release=release,
        due=[max(0, job.due) for job in jobs.values()],
        weight=[job.weight for job in jobs.values()],
        objective=known.shop.objective,
        rules=rules,
    )
    return instance, [(number, k) for number, job in jobs.items() for k in range(job.next, len(job.operations))]


def _instance(known: Known, skipped: list[int]) -> JobShopInstance:
    """Return the instance of the jobs, without the first `skipped` operations of each."""
    families = [family for job, count in zip(known.jobs.values(), skipped) for family in job.family[count:]]
    setups = _setups(known, families)
    return from_jobs(
        [job.operations[count:] for job, count in zip(known.jobs.values(), skipped)],
        known.shop.machines,
        release=[job.release for job in known.jobs.values()],
        due=[job.due for job in known.jobs.values()],
        weight=[job.weight for job in known.jobs.values()],
        objective=known.shop.objective,
        rules=SideConstraints(**setups) if setups else None,
    )


def _setups(known: Known, families: list[int], current: bool = False) -> dict[str, Any]:
    """Return the set-ups of the shop, as arguments of SideConstraints.

    With `current`, the set-up before a machine's first operation is the one from the family that it is set up for now.
    """
    rules = known.shop.rules
    if rules is None or rules.setups is None:
        return {}
    first = rules.first_setups
    if current:
        count = rules.setups.shape[1]
        first = np.array([[known.setup(m, family) for family in range(count)] for m in range(known.shop.machines)], np.int64)
    return {"setups": rules.setups, "family": np.array(families, np.int64), "first_setups": first}

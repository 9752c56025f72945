"""`FloorStream`: a shop floor over time (corl.online): jobs arrive, machines break down, and operations are started.

Events, with times in whole units of the instance:

    {"time": 3, "kind": "arrival", "job": 0, "operations": [[[machine, duration], ...], ...], "family": [0, ...], "due": 90,
     "weight": 2}
    {"time": 9, "kind": "ended", "job": 0, "operation": 0, "machine": 1}
    {"time": 9, "kind": "down", "machine": 1, "until": 40}
    {"time": 40, "kind": "up", "machine": 1}
    {"time": 40, "kind": "clock"}

The set-up families of the operations may be missing (then 0), and so may the weight (then 1).
"clock" says that all that has happened up to its time has been reported; then it may be decided. A decision is {"start": [{"job",
"operation", "machine"}, ...]}: the set-ups for these operations begin now, each on a free machine; with an empty list nothing
starts until the next events. A breakdown undoes the operation under way with its set-up.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np

from corl.errors import InputError, UsageError, shown
from corl.fields import Array, Either, Flag, Integer, Kind, Null, Number, Object, Row
from corl.online.events import check_event, check_form
from corl.online.stream import Day, Decision, Event, Stream
from corl.problems.jobshop.environments.floor.pool import check_supported
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.problems.jobshop.online.known import Job, Known, Machine, instance_now

__all__ = ["FloorStream"]

_OPERATIONS = Array(Array(Row(Integer(0), Integer(0)), 1), 1)
_KINDS: dict[str, dict[str, Kind]] = {
    "arrival": {
        "job": Integer(0), "operations": _OPERATIONS, "family": Either(Array(Integer(0), 1), Null()), "due": Integer(0),
        "weight": Either(Integer(0), Null()),
    },
    "ended": {"job": Integer(0), "operation": Integer(0), "machine": Integer(0)},
    "down": {"machine": Integer(0), "until": Integer(0)},
    "up": {"machine": Integer(0)},
    "clock": {},
}  # fmt: skip
_START = Object({"job": Integer(0), "operation": Integer(0), "machine": Integer(0)})
_DECISION = Object({"start": Array(_START)})
_JOB = Object(
    {"job": Integer(0), "operations": _OPERATIONS, "family": Array(Integer(0), 1), "due": Integer(0), "weight": Integer(0),
     "release": Integer(0), "next": Integer(0), "ready": Integer(0)}
)  # fmt: skip
_MACHINE = Object(
    {"job": Either(Integer(0), Null()), "until": Integer(0), "down": Flag(), "family": Integer(-1), "family_before": Integer(-1)}
)
_KNOWN = Object(
    {"time": Either(Number(), Null()), "reported": Flag(), "decided": Flag(), "jobs": Array(_JOB), "finished": Array(Integer(0)),
     "machines": Array(_MACHINE)}
)  # fmt: skip


class FloorStream(Stream):
    """Arrivals, breakdowns and ends of operations on a shop floor."""

    version: ClassVar[int] = 1

    def __init__(self, instance: JobShopInstance) -> None:
        """Raise UsageError if the instance has side constraints other than set-ups and breakdowns."""
        check_supported([instance])

    def begin(self, instance: JobShopInstance) -> Known:
        return Known(instance, machines=[Machine() for _ in range(instance.machines)])

    # ---------------------------------------------------------------- events
    def observe(self, knowledge: Known, event: Event) -> None:
        check_event(event, _KINDS, knowledge.time)
        kind = event["kind"]
        if kind == "clock":
            if knowledge.reported or event["time"] != knowledge.time:
                raise UsageError(
                    f"event.time is {event['time']}; accepted: the time of another event, once after those of this time"
                )
            knowledge.reported = True
            return
        if event["time"] != int(event["time"]) or event["time"] < 0:
            raise UsageError(f"event.time is {shown(event['time'])}; accepted: a whole number from 0")
        if kind != "arrival" and event["machine"] >= len(knowledge.machines):
            raise UsageError(f"event.machine is {event['machine']}; accepted: 0 to {len(knowledge.machines) - 1}")
        {"arrival": self._arrive, "ended": self._end, "down": self._break, "up": self._repair}[kind](knowledge, event)
        knowledge.time, knowledge.reported, knowledge.decided = int(event["time"]), False, False

    def _arrive(self, knowledge: Known, event: Event) -> None:
        number = event["job"]
        if number in knowledge.jobs or number in knowledge.finished:
            raise UsageError(f"event.job is {number}, which has arrived; accepted: another job")
        operations = [[(machine, duration) for machine, duration in choices] for choices in event["operations"]]
        for choices in operations:
            machines = [machine for machine, _ in choices]
            if max(machines) >= len(knowledge.machines) or len(set(machines)) < len(machines):
                accepted = f"different machines of an operation, 0 to {len(knowledge.machines) - 1}"
                raise UsageError(f"event.operations has the machines {machines}; accepted: {accepted}")
        rules = knowledge.shop.rules
        families = 1 if rules is None or rules.setups is None else rules.setups.shape[1]
        family = [0] * len(operations) if event.get("family") is None else list(event["family"])
        if len(family) != len(operations) or max(family) >= families:
            raise UsageError(f"event.family is {family}; accepted: 0 to {families - 1} for each of {len(operations)} operations")
        weight = 1 if event.get("weight") is None else event["weight"]
        time = int(event["time"])
        knowledge.jobs[number] = Job(operations, family, event["due"], weight, time, 0, time)

    def _end(self, knowledge: Known, event: Event) -> None:
        machine, number = knowledge.machines[event["machine"]], event["job"]
        if machine.job is None or machine.job != number or knowledge.jobs[number].next - 1 != event["operation"]:
            raise UsageError(
                f"event.job is {number}, operation {event['operation']}; accepted: the operation under way on the machine"
            )
        job = knowledge.jobs[number]
        machine.job, machine.until, job.ready = None, int(event["time"]), int(event["time"])
        if job.next == len(job.operations):
            del knowledge.jobs[number]
            knowledge.finished.add(number)

    def _break(self, knowledge: Known, event: Event) -> None:
        machine, time = knowledge.machines[event["machine"]], int(event["time"])
        if machine.down:
            raise UsageError(f"event.machine is {event['machine']}, which is down; accepted: a machine that is up")
        if event["until"] <= time:
            raise UsageError(f"event.until is {event['until']}; accepted: after {time}, the time of the event")
        if machine.job is not None:
            job = knowledge.jobs[machine.job]
            job.next, job.ready, machine.job, machine.family = job.next - 1, time, None, machine.family_before
        machine.down, machine.until = True, event["until"]

    def _repair(self, knowledge: Known, event: Event) -> None:
        machine = knowledge.machines[event["machine"]]
        if not machine.down:
            raise UsageError(f"event.machine is {event['machine']}, which is up; accepted: a machine that is down")
        machine.down, machine.until = False, int(event["time"])

    # ---------------------------------------------------------------- decisions
    def decidable(self, knowledge: Known) -> bool:
        if not knowledge.reported or knowledge.decided:
            return False
        free = {m for m in range(len(knowledge.machines)) if knowledge.idle(m)}
        running = {machine.job for machine in knowledge.machines}
        return any(
            machine in free
            for number, job in knowledge.jobs.items()
            if number not in running and job.next < len(job.operations)
            for machine, _ in job.operations[job.next]
        )

    def checked(self, knowledge: Known, decision: Decision, delay: float = 0.0) -> list[dict[str, int]]:
        """Return the starts of a decision. Raises UsageError for one that is not permitted now."""
        check_form("decision", decision, _DECISION)
        if not self.decidable(knowledge):
            raise UsageError("decision: nothing can start now; accepted: decisions after an event clock, while a job waits")
        starts: list[dict[str, int]] = decision["start"]
        for start in starts:
            number, m = start["job"], start["machine"]
            job = knowledge.jobs.get(number)
            if job is None or start["operation"] != job.next or not knowledge.waits(job):
                raise UsageError(
                    f"decision.start: operation {start['operation']} of job {number} does not wait; accepted: one that does"
                )
            if m not in dict(job.operations[job.next]) or not knowledge.idle(m):
                raise UsageError(
                    f"decision.start: machine {m} is not free or not eligible; accepted: a free one of the operation's"
                )
        for name in ("job", "machine"):
            if len({start[name] for start in starts}) < len(starts):
                raise UsageError(f"decision.start: a {name} is repeated; accepted: different ones")
        if not starts and not delay and all(map(knowledge.idle, range(len(knowledge.machines)))):
            raise UsageError("decision.start is empty; accepted: a start, as no machine is at work or down")
        return starts

    def perform(self, knowledge: Known, decision: Decision, delay: float = 0.0) -> None:
        begin = math.ceil(knowledge.time + delay)
        for start in self.checked(knowledge, decision, delay):
            m, job = start["machine"], knowledge.jobs[start["job"]]
            machine, family = knowledge.machines[m], job.family[job.next]
            machine.until = begin + knowledge.setup(m, family) + dict(job.operations[job.next])[m]
            machine.job, machine.family_before, machine.family = start["job"], machine.family, family
            job.next, job.ready = job.next + 1, machine.until
        knowledge.decided = True

    # ---------------------------------------------------------------- files
    def to_json(self, knowledge: Known) -> Any:
        return {
            "time": None if math.isinf(knowledge.time) else knowledge.time,
            "reported": knowledge.reported,
            "decided": knowledge.decided,
            "jobs": [{"job": number, **asdict(job)} for number, job in knowledge.jobs.items()],
            "finished": sorted(knowledge.finished),
            "machines": [asdict(machine) for machine in knowledge.machines],
        }

    def from_json(self, instance: JobShopInstance, value: Any) -> Known:
        if not _KNOWN.fits(value) or len(value["machines"]) != instance.machines:
            raise InputError(f"accepted: {_KNOWN.words}, as `to_json` writes them", field="knowledge")
        jobs = {}
        for each in value["jobs"]:
            fields = {name: content for name, content in each.items() if name != "job"}
            fields["operations"] = [[(machine, duration) for machine, duration in choices] for choices in each["operations"]]
            jobs[each["job"]] = Job(**fields)
        machines = [Machine(**each) for each in value["machines"]]
        if any(machine.job is not None and machine.job not in jobs for machine in machines):
            raise InputError("a machine has a job that is not present; accepted: what `to_json` writes", field="knowledge")
        time = -math.inf if value["time"] is None else value["time"]
        return Known(instance, time, value["reported"], value["decided"], jobs, set(value["finished"]), machines)

    # ---------------------------------------------------------------- days and re-solving
    def day(self, instance: JobShopInstance, key: int) -> Day:
        from corl.problems.jobshop.floor_day import FloorDay

        return FloorDay(instance, self)

    def problem_now(self, knowledge: Known) -> tuple[JobShopInstance, Schedule | None]:
        return instance_now(knowledge)[0], None

    def decision_from(self, knowledge: Known, solution: Any) -> Decision:
        instance, operations = instance_now(knowledge)
        start, machine = (np.asarray(part) for part in solution)
        chosen = []
        for m in range(instance.machines):
            on = np.flatnonzero(machine == m)
            if not len(on) or not knowledge.idle(m):
                continue
            number, operation = operations[first := int(on[np.argmin(start[on])])]
            job = knowledge.jobs[number]
            begin = start[first] - knowledge.setup(m, job.family[operation])
            if job.next == operation and knowledge.waits(job) and begin <= knowledge.now:
                chosen.append({"job": number, "operation": operation, "machine": m})
        return {"start": chosen}

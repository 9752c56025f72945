"""`FloorDay`: a simulated day of a shop floor, in which everything follows from the instance."""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

import numpy as np

from corl.errors import UsageError
from corl.online.stream import Day, Decision, Event
from corl.problems.jobshop.instance import JobShopInstance, Schedule

if TYPE_CHECKING:
    from corl.problems.jobshop.stream import FloorStream

__all__ = ["FloorDay"]

_ENDED, _DOWN, _UP, _ARRIVAL = range(4)  # the order of events of the same time


class FloorDay(Day):
    """The events of a time are followed by the event "clock", after which it may be decided."""

    def __init__(self, instance: JobShopInstance, stream: FloorStream) -> None:
        self._instance, self._stream, self._known = instance, stream, stream.begin(instance)
        self._start = np.zeros(instance.operations, np.int64)
        self._machine = instance.choice_machine[instance.choice_first[:-1]].astype(np.int32)
        self._events: list[tuple[int, int, int, int]] = [
            (int(time), _ARRIVAL, job, 0) for job, time in enumerate(instance.release.tolist())
        ]
        rules = instance.rules
        self._breaks: list[tuple[int, int, int]] = []
        if rules is not None and rules.unavailable is not None:
            self._breaks = [(begin, machine, end) for machine, begin, end in rules.unavailable.tolist()]
            self._events += [(begin, _DOWN, machine, end) for begin, machine, end in self._breaks]
        heapq.heapify(self._events)
        self._under_way = [-1] * instance.machines  # the operation of each machine, or -1

    def next_event(self) -> Event | None:
        known = self._known
        later = not self._events or self._events[0][0] > known.time
        if later and not known.reported and math.isfinite(known.time):
            event: Event | None = {"time": known.time, "kind": "clock"}
        else:
            event = self._popped() if len(known.finished) < self._instance.jobs else None
        if event is not None:
            self._stream.observe(known, event)
        return event

    def _popped(self) -> Event:
        """Return the next event besides the clock, without ends of operations that were undone."""
        while True:
            time, kind, number, more = heapq.heappop(self._events)
            if kind == _ARRIVAL:
                return self._arrival(time, number)
            if kind == _DOWN:
                self._under_way[number] = -1
                heapq.heappush(self._events, (more, _UP, number, 0))
                return {"time": time, "kind": "down", "machine": number, "until": more}
            if kind == _UP:
                return {"time": time, "kind": "up", "machine": number}
            if self._under_way[number] == more and self._known.machines[number].until == time:  # not undone
                self._under_way[number] = -1
                job = int(self._instance.job[more])
                operation = more - int(self._instance.first[job])
                return {"time": time, "kind": "ended", "job": job, "operation": operation, "machine": number}

    def _arrival(self, time: int, job: int) -> Event:
        instance = self._instance
        span = range(int(instance.first[job]), int(instance.first[job + 1]))
        rules = instance.rules
        family = [0] * len(span) if rules is None or rules.setups is None else rules.families(instance)[list(span)].tolist()
        due = 0 if instance.due is None else int(instance.due[job])
        operations = [[list(pair) for pair in instance.choices(operation)] for operation in span]
        known = {"operations": operations, "family": family, "due": due, "weight": int(instance.weight[job])}
        return {"time": time, "kind": "arrival", "job": job, **known}

    def perform(self, decision: Decision, delay: float = 0.0) -> Decision:
        starts = self._stream.checked(self._known, decision, delay)
        begin = math.ceil(self._known.time + delay)
        done = [start for start in starts if not self._breaks_down(start["machine"], begin)]
        self._stream.perform(self._known, {"start": done}, delay)
        for start in done:
            operation, machine = int(self._instance.first[start["job"]]) + start["operation"], start["machine"]
            until = self._known.machines[machine].until
            self._start[operation] = until - dict(self._instance.choices(operation))[machine]
            self._machine[operation], self._under_way[machine] = machine, operation
            heapq.heappush(self._events, (until, _ENDED, machine, operation))
        return {"start": done}

    def _breaks_down(self, machine: int, begin: int) -> bool:
        """Return whether a machine breaks down between the last event and the time `begin`."""
        return any(which == machine and self._known.time < time <= begin for time, which, _ in self._breaks)

    def solution(self) -> Schedule:
        if len(self._known.finished) < self._instance.jobs:
            raise UsageError("the day has not ended; accepted: a day of which all events are told")
        return Schedule(self._start, self._machine)

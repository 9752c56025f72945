"""The smallest family that is revealed over time: customers come to one counter, and some of them leave again before their turn.

`installed` declares it, a static solver and two policies as an installed distribution does, for one test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import corl
from corl.entry_points import declared
from corl.errors import InputError, UsageError
from corl.fields import Integer, Number
from corl.files.json_values import dumps, from_json
from corl.online.events import check_event
from corl.online.stream import Day, OnlinePolicy, Seeds, Stream

__all__ = ["ENTRIES", "Counter", "Fifo", "futures", "installed", "random_decision", "streamed"]

ENTRIES = {
    ("corl.problems", "counter"): "Counters",
    ("corl.solvers", "counter.orders"): "Orders",
    ("corl.online", "counter.fifo"): "Fifo",
    ("corl.online", "counter.shortest"): "Shortest",
}
_KINDS = {
    "arrival": {"customer": Integer(0), "duration": Number(0)},
    "left": {"customer": Integer(0)},
    "free": {"customer": Integer(0)},
}


@dataclass(frozen=True, eq=False)
class Counter:
    """Customers with their arrivals, their durations and the times at which they leave unless served, float [n] each."""

    name: str
    arrivals: np.ndarray
    durations: np.ndarray
    leaves: np.ndarray


class Counters(corl.Problem):
    """A solution is the start of each customer's service, float [n]; -1 for one who left. The sum of waits is minimised."""

    name, title, instance_type = "counter", "customers at one counter", Counter
    generators = {"random": lambda *, size=6, seed=0: streamed(seed, size)}  # noqa: RUF012

    def evaluate(self, instance: Counter, solution: Any) -> float:
        starts = np.asarray(solution, float)
        if starts.shape != instance.arrivals.shape:
            raise corl.Infeasible("a solution has a start for every customer")
        served = starts >= 0
        if (starts[served] < instance.arrivals[served]).any() or (starts[served] > instance.leaves[served]).any():
            raise corl.Infeasible("a customer is served who is not there")
        if np.isinf(instance.leaves[~served]).any():
            raise corl.Infeasible("a customer who stays is not served")
        order = np.argsort(starts[served], kind="stable")
        begin, duration = starts[served][order], instance.durations[served][order]
        if (begin[1:] < begin[:-1] + duration[:-1] - 1e-9).any():
            raise corl.Infeasible("two customers are served at once")
        return float((starts - instance.arrivals)[served].sum())

    def read(self, path: Path) -> Counter:
        given = from_json(path.read_text(encoding="utf-8"))
        leaves = [math.inf if each is None else each for each in given["leaves"]]
        return Counter(
            given["name"], np.array(given["arrivals"], float), np.array(given["durations"], float), np.array(leaves, float)
        )

    def write(self, instance: Counter, path: Path) -> None:
        leaves = [None if math.isinf(each) else each for each in instance.leaves]
        values = {"name": instance.name, "arrivals": instance.arrivals, "durations": instance.durations, "leaves": leaves}
        path.write_text(dumps(values), encoding="utf-8")

    def recognises(self, head: str) -> bool:
        return '"leaves"' in head

    def stream(self, instance: Counter) -> Stream:
        return CounterStream()


@dataclass
class Known:
    """What is known: waiting customers with their durations, starts of the others, who is served now."""

    time: float = -math.inf
    served: int | None = None
    waiting: dict[int, float] = field(default_factory=dict)
    starts: dict[int, float] = field(default_factory=dict)
    left: list[int] = field(default_factory=list)


class CounterStream(Stream):
    """A decision is {"serve": customer}, or {} if the customer left during its delay."""

    def begin(self, instance: Counter) -> Known:
        return Known()

    def observe(self, knowledge: Known, event: Any) -> None:
        check_event(event, _KINDS, knowledge.time)
        kind, customer = event["kind"], event.get("customer")
        if kind == "arrival" and (customer in knowledge.waiting or customer in knowledge.starts or customer in knowledge.left):
            raise UsageError(f"event.customer is {customer}, who has arrived; accepted: another customer")
        if kind == "left" and customer not in knowledge.waiting:
            raise UsageError(f"event.customer is {customer}; accepted: one of {sorted(knowledge.waiting)}, who wait")
        if kind == "free" and customer != knowledge.served:
            raise UsageError(f"event.customer is {customer}; accepted: {knowledge.served}, who is served")
        knowledge.time = float(event["time"])
        if kind == "arrival":
            knowledge.waiting[customer] = float(event["duration"])
        elif kind == "left":
            knowledge.left.append(customer)
            del knowledge.waiting[customer]
        else:
            knowledge.served = None

    def decidable(self, knowledge: Known) -> bool:
        return bool(knowledge.waiting) and knowledge.served is None

    def perform(self, knowledge: Known, decision: Any, delay: float = 0.0) -> None:
        if not decision:
            return
        customer = decision.get("serve")
        if not self.decidable(knowledge) or customer not in knowledge.waiting:
            raise UsageError(f"decision.serve is {customer}; accepted: one who waits, while the counter is free")
        del knowledge.waiting[customer]
        knowledge.starts[customer], knowledge.served = knowledge.time + delay, customer

    def to_json(self, knowledge: Known) -> Any:
        pairs = {name: list(map(list, getattr(knowledge, name).items())) for name in ("waiting", "starts")}
        time = None if math.isinf(knowledge.time) else knowledge.time
        return {"time": time, "served": knowledge.served, "left": knowledge.left, **pairs}

    def from_json(self, instance: Counter, value: Any) -> Known:
        try:
            time = -math.inf if value["time"] is None else float(value["time"])
            return Known(time, value["served"], dict(value["waiting"]), dict(value["starts"]), list(value["left"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"not what to_json wrote: {error}", field="knowledge") from error

    def day(self, instance: Counter, key: int) -> Day:
        return CounterDay(instance)

    def problem_now(self, knowledge: Known) -> tuple[Counter, Any]:
        n = len(knowledge.waiting)
        now = np.full(n, max(knowledge.time, 0.0))
        return Counter("now", now, np.array(list(knowledge.waiting.values()), float), np.full(n, np.inf)), None

    def decision_from(self, knowledge: Known, solution: Any) -> Any:
        return {"serve": list(knowledge.waiting)[int(np.argmin(solution))]}


class CounterDay(Day):
    """All is in the instance; nothing is random."""

    def __init__(self, instance: Counter) -> None:
        self.instance, self.time, self.free = instance, -math.inf, -math.inf
        self.starts = np.full(len(instance.arrivals), -1.0)
        self.coming = {("arrival", c): float(time) for c, time in enumerate(instance.arrivals)}
        self.coming |= {("left", c): float(time) for c, time in enumerate(instance.leaves) if math.isfinite(time)}

    def next_event(self) -> Any:
        if not self.coming:
            return None
        kind, customer = min(self.coming, key=lambda each: (self.coming[each], each))
        self.time = self.coming.pop((kind, customer))
        if kind == "left" and self.starts[customer] >= 0:
            return self.next_event()
        duration = {"duration": float(self.instance.durations[customer])} if kind == "arrival" else {}
        return {"time": self.time, "kind": kind, "customer": customer, **duration}

    def perform(self, decision: Any, delay: float = 0.0) -> Any:
        customer, start = decision.get("serve"), self.time + delay
        there = np.flatnonzero((self.starts < 0) & (self.instance.arrivals <= self.time) & (self.instance.leaves >= self.time))
        if customer not in there or self.time < self.free:
            raise UsageError(f"decision.serve is {customer}; accepted: one who waits, while the counter is free")
        if start > self.instance.leaves[customer]:
            return {}
        self.starts[customer], self.free = start, start + self.instance.durations[customer]
        self.coming["free", customer] = float(self.free)
        return decision

    def solution(self) -> np.ndarray:
        if self.coming:
            raise UsageError("the day has not ended")
        return self.starts


@dataclass(frozen=True)
class Fifo(OnlinePolicy):
    """The customer who came first."""

    sleep: float = corl.option(0.0, "Seconds of sleep.", low=0)
    title = "first come, first served"

    def decide(self, stream: Stream, knowledge: Known, seconds: float, seeds: Seeds) -> Any:
        if self.sleep:
            import time

            time.sleep(self.sleep)
        return {"serve": next(iter(knowledge.waiting))}


@dataclass(frozen=True)
class Shortest(OnlinePolicy):
    """The customer with the shortest service."""

    title = "the shortest service first"

    def decide(self, stream: Stream, knowledge: Known, seconds: float, seeds: Seeds) -> Any:
        return {"serve": min(knowledge.waiting, key=lambda customer: knowledge.waiting[customer])}


@dataclass(frozen=True)
class Orders(corl.Solver):
    """Random orders, at most 200; each customer is served as soon as possible, unless gone."""

    title, iteration = "random orders", "one order"

    def solve(self, instance: Counter, run: corl.Run) -> None:
        random, left = np.random.default_rng(run.seed), 200
        while left and (n := min(left, run.budget())):
            for _ in range(n):
                run.report(_in_order(instance, random.permutation(len(instance.arrivals))))
            left -= n


def _in_order(instance: Counter, order: np.ndarray) -> np.ndarray:
    starts, free = np.full(len(order), -1.0), 0.0
    for c in order:
        start = max(free, instance.arrivals[c])
        if start <= instance.leaves[c]:
            starts[c], free = start, start + instance.durations[c]
    return starts


def streamed(seed: int, size: int = 6) -> Counter:
    """A small day."""
    random = np.random.default_rng(seed)
    arrivals = np.sort(random.integers(0, 4 * size, size)).astype(float)
    leaves = np.where(random.random(size) < 0.3, arrivals + random.integers(1, 9, size), np.inf)
    return Counter(f"random-{size}-{seed}", arrivals, random.integers(1, 9, size).astype(float), leaves)


def futures(seed: int) -> tuple[Counter, Counter, float]:
    """Two days that differ only in what happens after a time, and the time."""
    first, random = streamed(seed, 8), np.random.default_rng([seed, 1])
    time = float(first.arrivals[4])
    durations = np.where(first.arrivals > time, random.integers(1, 9, 8), first.durations)
    leaves = np.where((first.leaves > time) & (random.random(8) < 0.5), np.inf, first.leaves)
    return first, Counter(first.name, first.arrivals, durations.astype(float), leaves), time


def random_decision(stream: Stream, knowledge: Known, random: np.random.Generator) -> Any:
    """A decision that is permitted."""
    return {"serve": int(random.choice(list(knowledge.waiting)))}


EXOGENOUS = ("arrival",)
"""Kinds of events that do not depend on decisions."""


def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Declare the family's entry points until the end of the test."""
    for (group, name), kind in ENTRIES.items():
        monkeypatch.setitem(declared(group), name, EntryPoint(name, f"support.counter:{kind}", group))

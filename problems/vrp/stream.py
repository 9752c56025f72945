"""`RequestStream`: requests become known epoch by epoch; at the beginning of an epoch, routes are dispatched (corl.online).

An instance is a day. Its required clients are requests, whose release times say in which epoch they become known. Its optional
clients are the customers of the past, known from the beginning; they have no prize and are not visited. Each request is at the
place of a customer. Event: the requests of an epoch. Decision: {"routes": [[id, ...], ...]}, the routes that leave now; requests
in no route are postponed. The rules are those of EURO meets NeurIPS 2022, see corl.problems.vrp.online.epochs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError, UsageError, shown
from corl.fields import Array, Flag, Integer, Number, Object
from corl.online.events import check_event, check_form
from corl.online.stream import Day, Decision, Event, Stream
from corl.problems.vrp.evaluation import Route
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.online.days import customers_of, requests_of, why_no_day
from corl.problems.vrp.online.epochs import EPOCH, MARGIN, Epochs, Requests, departure, drivable, epochs, reachable
from corl.problems.vrp.online.hindsight import planning_instance
from corl.problems.vrp.online.situation import Situation, situation

__all__ = ["Known", "RequestDay", "RequestStream"]

_REQUEST = Object(
    {"id": Integer(0), "customer": Integer(0), "demand": Number(0), "window": Array(Number(0), 2, 2), "service": Number(0)}
)
_EVENTS = {"epoch": {"epoch": Integer(0), "requests": Array(_REQUEST)}}
_KNOWN = Object({"epoch": Integer(-1), "decided": Flag(), "waiting": Array(_REQUEST), "dispatched": Array(Integer(0))})
_DECISION = Object({"routes": Array(Array(Integer(0), 1))})


@dataclass
class Known:
    """What is known at one moment of a day."""

    customers: VrpInstance
    """The depot and the customers of the past."""
    epochs: Epochs
    """The first and the last epoch of the day."""
    epoch: int = -1
    """The number of the current epoch; -1 before the first."""
    decided: bool = True
    """Whether the routes of the current epoch have been chosen."""
    waiting: dict[int, dict[str, Any]] = field(default_factory=dict)
    """The waiting requests by their ids, as in events."""
    dispatched: set[int] = field(default_factory=set)
    """The ids of the requests that have left."""

    def situation(self) -> tuple[NDArray[np.int64], Situation]:
        """Return the ids of the R waiting requests, int64 [R], and the situation."""
        requests = _arrays(self.customers, list(self.waiting.values()))
        return np.array(list(self.waiting), np.int64), situation(self.customers, requests, self.epoch, self.epochs.last)


class RequestStream(Stream):
    """Requests of a day, epoch by epoch."""

    version: ClassVar[int] = 1

    def begin(self, instance: VrpInstance) -> Known:
        customers = customers_of(instance)[1]
        assert customers.earliest is not None
        return Known(customers, epochs(customers.earliest[1:]))

    def observe(self, knowledge: Known, event: Event) -> None:
        last = float("-inf") if knowledge.epoch < 0 else knowledge.epoch * EPOCH
        check_event(event, _EVENTS, last)
        expected = knowledge.epochs.first if knowledge.epoch < 0 else knowledge.epoch + 1
        if expected > knowledge.epochs.last:
            raise UsageError(f"event.epoch is {event['epoch']}; accepted: nothing after the last epoch, {knowledge.epochs.last}")
        for key, value, wanted in (("epoch", event["epoch"], expected), ("time", event["time"], expected * EPOCH)):
            if value != wanted:
                raise UsageError(f"event.{key} is {shown(value)}; accepted: {wanted:g}, the next epoch's")
        if not knowledge.decided and (must := _must_go(knowledge)):
            raise UsageError(f"event: request {must[0]} must go in epoch {knowledge.epoch}; accepted: a decision first")
        requests = {each["id"]: dict(each) for each in event["requests"]}
        if len(requests) < len(event["requests"]):
            raise UsageError("event.requests: an id is repeated; accepted: different ids")
        for number, each in requests.items():
            if number in knowledge.waiting or number in knowledge.dispatched:
                raise UsageError(f"event.requests: request {number} is known already; accepted: new requests")
            _check_request(knowledge.customers, each, expected)
        knowledge.waiting |= requests
        knowledge.epoch, knowledge.decided = expected, False

    def decidable(self, knowledge: Known) -> bool:
        return not knowledge.decided and bool(knowledge.waiting)

    def perform(self, knowledge: Known, decision: Decision, delay: float = 0.0) -> None:
        routes = _checked_routes(knowledge, decision, delay)
        for number in (number for route in routes for number in route):
            del knowledge.waiting[number]
            knowledge.dispatched.add(number)
        knowledge.decided = True

    def to_json(self, knowledge: Known) -> Any:
        return {
            "epoch": knowledge.epoch,
            "decided": knowledge.decided,
            "waiting": list(knowledge.waiting.values()),
            "dispatched": sorted(knowledge.dispatched),
        }

    def from_json(self, instance: VrpInstance, value: Any) -> Known:
        if not _KNOWN.fits(value):
            raise InputError(f"accepted: {_KNOWN.words}, as `to_json` writes them", field="knowledge")
        knowledge = self.begin(instance)
        waiting = {each["id"]: each for each in value["waiting"]}
        try:
            for each in waiting.values():
                _check_request(knowledge.customers, each, -1)
        except UsageError as error:
            raise InputError(str(error), field="knowledge") from None
        return Known(knowledge.customers, knowledge.epochs, value["epoch"], value["decided"], waiting, set(value["dispatched"]))

    def day(self, instance: VrpInstance, key: int) -> RequestDay:
        return RequestDay(instance)

    def problem_now(self, knowledge: Known) -> tuple[VrpInstance, None]:
        now = knowledge.situation()[1]
        return planning_instance(now.customers, now.requests, start=now.start), None

    def decision_from(self, knowledge: Known, solution: Any) -> Decision:
        ids = list(knowledge.waiting)
        return {"routes": [[ids[node - 1] for node in route.visits.tolist()] for route in solution]}


class RequestDay(Day):
    """A day whose requests are those of the instance; nothing in it is random."""

    def __init__(self, instance: VrpInstance) -> None:
        self._stream = RequestStream()
        self._nodes, self._known, self._requests = requests_of(instance)
        self._ids, self._customer_ids = instance.ids, customers_of(instance)[1].ids
        self._knowledge = self._stream.begin(instance)
        self._routes: list[list[int]] = []

    def next_event(self) -> Event | None:
        first, last = self._knowledge.epochs
        epoch = max(first, self._knowledge.epoch + 1)
        if epoch > last:
            return None
        requests = [self._request(i) for i in np.flatnonzero(self._known == epoch).tolist()]
        event = {"time": epoch * EPOCH, "kind": "epoch", "epoch": epoch, "requests": requests}
        self._stream.observe(self._knowledge, event)
        return event

    def perform(self, decision: Decision, delay: float = 0.0) -> Decision:
        self._stream.perform(self._knowledge, decision, delay)
        self._routes += decision["routes"]
        return decision

    def solution(self) -> list[Route]:
        if self._knowledge.epoch < self._knowledge.epochs.last or self._knowledge.waiting:
            raise UsageError(f"the day is in epoch {self._knowledge.epoch}; accepted: a solution at its end")
        node = {int(self._ids[node]): int(node) for node in self._nodes}
        return [Route(0, np.array([node[number] for number in route], np.int32)) for route in self._routes]

    def _request(self, i: int) -> dict[str, Any]:
        """Return request i as in events."""
        place, demand, earliest, latest, service = (values[i].item() for values in self._requests)
        number = int(self._ids[self._nodes[i]])
        customer = int(self._customer_ids[place])
        return {"id": number, "customer": customer, "demand": demand, "window": [earliest, latest], "service": service}


def _arrays(customers: VrpInstance, requests: list[dict[str, Any]]) -> Requests:
    """Return requests of events as arrays."""
    place = {number: node for node, number in enumerate(customers.ids.tolist())}
    rows = np.array([(each["demand"], *each["window"], each["service"]) for each in requests], np.float64).reshape(-1, 4)
    return Requests(np.array([place[each["customer"]] for each in requests], np.int64), *rows.T)


def _check_request(customers: VrpInstance, request: dict[str, Any], epoch: int) -> None:
    """Raise UsageError for a request at an unknown place, too large for a vehicle, or too late to be served."""
    number = request["id"]
    if request["customer"] not in customers.ids[1:]:
        raise UsageError(f"request {number} has customer {request['customer']}; accepted: customers of the day's instance")
    if request["demand"] > customers.vehicles.capacity[0]:
        raise UsageError(f"request {number} has demand {request['demand']:g}; accepted: up to {customers.vehicles.capacity[0]:g}")
    assert customers.matrix is not None and customers.latest is not None
    earliest = departure(epoch) if epoch >= 0 else 0.0
    if not reachable(_arrays(customers, [request]), customers.matrix, float(customers.latest[0]), earliest)[0]:
        raise UsageError(f"request {number} cannot be served by a vehicle that leaves at {earliest:g}; accepted: a later window")


def _must_go(knowledge: Known) -> list[int]:
    """Return the ids of the waiting requests that must be dispatched in this epoch."""
    ids, now = knowledge.situation()
    return [int(number) for number in ids[now.must]]


def _checked_routes(knowledge: Known, decision: Decision, delay: float) -> list[list[int]]:
    """Return the routes of a decision. Raises UsageError for a decision that is not permitted."""
    check_form("decision", dict(decision), _DECISION)
    if knowledge.decided:
        raise UsageError("decision: the routes of this epoch have been chosen; accepted: one decision in an epoch")
    if delay > MARGIN:
        raise UsageError(f"decision: {delay:g} after the beginning of the epoch; accepted: up to {MARGIN:g}, when routes leave")
    routes: list[list[int]] = decision["routes"]
    chosen = [number for route in routes for number in route]
    if unknown := [number for number in chosen if number not in knowledge.waiting]:
        raise UsageError(f"decision: request {unknown[0]} is not waiting; accepted: {len(knowledge.waiting)} waiting requests")
    if len(set(chosen)) < len(chosen):
        raise UsageError("decision: a request is in two places; accepted: each request once")
    if left := sorted(set(_must_go(knowledge)) - set(chosen)):
        raise UsageError(f"decision: request {left[0]} is postponed; accepted: all requests that must go in this epoch")
    customers = knowledge.customers
    assert customers.matrix is not None and customers.latest is not None
    for number, route in enumerate(routes, 1):
        requests = _arrays(customers, [knowledge.waiting[each] for each in route])
        if requests.demand.sum() > customers.vehicles.capacity[0]:
            raise UsageError(f"decision: route {number} exceeds the capacity; accepted: {customers.vehicles.capacity[0]:g}")
        if not drivable(requests, customers.matrix, float(customers.latest[0]), departure(knowledge.epoch)):
            raise UsageError(f"decision: route {number} is late; accepted: routes within the windows of requests and depot")
    return routes


def stream(instance: VrpInstance) -> RequestStream:
    """Return the stream of a day of requests. Raises UsageError for other instances."""
    if reason := why_no_day(instance):
        raise UsageError(f"this instance is not revealed over time; {reason} (corl generate vrp requests)")
    return RequestStream()

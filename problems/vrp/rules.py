"""Rules: what an instance asks for beyond capacities, one window a client, fleets, depots and prizes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.routing.edge_weights import LARGEST

if TYPE_CHECKING:
    from corl.problems.vrp.instance import VrpInstance

__all__ = ["Rules"]

_Floats = NDArray[np.float64]
_Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rules:
    """Each is None where an instance does without. n nodes, depots first; K vehicle types; Q dimensions of load; arrays are
    read-only. Times, distances and costs are held as the instance holds its own (times its `scale`).

    Raises InputError, once an instance takes them, where a value is off or two of them do not go together.
    """

    # ---------------------------------------------------------------- loads
    demands: _Floats | None = None
    """float64 [n, Q]: what clients are brought from the depot, in every dimension; the first is the instance's `demand`."""
    capacities: _Floats | None = None
    """float64 [K, Q]; the first is the vehicles' `capacity`. By default that in every dimension."""
    pickups: _Floats | None = None
    """float64 [n, Q]: what clients hand over for the depot, once they have been brought their demand."""
    backhauls_last: bool = False
    """A trip collects only after its last delivery, and makes one: who hands something over is brought nothing."""
    shipments: _Integers | None = None
    """int64 [S, 2]: the nodes where one is picked up and, later on the same route, brought."""
    amounts: _Floats | None = None
    """float64 [S, Q]: how much each shipment is."""
    aboard: _Floats | None = None
    """float64 [K, Q]: what is aboard from the beginning and goes to the depot."""
    # ---------------------------------------------------------------- clients
    release: _Floats | None = None
    """float64 [n]: a trip leaves its depot when all that it brings is there."""
    groups: _Integers | None = None
    """int64 [n]: the group 0..G-1 of which one client is served at most; -1 for none."""
    group_required: NDArray[np.bool_] | None = None
    """bool [G]: whether one is in any case. Clients of groups are not `required` themselves."""
    closed: _Floats | None = None
    """float64 [c, 3]: node, from, to: service does not begin between these times; what lies between a node's windows."""
    allowed: NDArray[np.bool_] | None = None
    """bool [K, n]: which vehicles may serve whom."""
    # ---------------------------------------------------------------- vehicles
    shift: _Floats | None = None
    """float64 [K, 2]: a vehicle does not leave before, and is back (or has served its last client) by."""
    stays_out: NDArray[np.bool_] | None = None
    """bool [K]: the route ends at its last client."""
    reloads: _Integers | None = None
    """int64 [K]: how often a vehicle may come back to a depot to load, with trips of its own before and after."""
    reload_depots: NDArray[np.bool_] | None = None
    """bool [K, D]: where it may; by default where it begins."""
    duration_cost: _Floats | None = None
    """float64 [K]: what a unit of time costs from leaving to being back."""
    overtime_from: _Floats | None = None
    overtime_cost: _Floats | None = None
    """float64 [K] each: what a unit of time costs, beside `duration_cost`, of a duration above the first."""
    breaks: _Floats | None = None
    """float64 [b, 4]: vehicle type, from, to, how long: a pause that begins between these times, at a client or a reload, before
    or after service; in order, and left out where the vehicle is back before it has to begin."""
    max_driving: _Floats | None = None
    rest: _Floats | None = None
    """float64 [K] each: after so much driving there is a pause, which lasts so long, at a client or a reload; breaks as long
    count."""
    profile: _Integers | None = None
    """int64 [K]: which of `distances` and `durations` a vehicle has; by default the first."""
    distances: _Floats | None = None
    """float64 [P, n, n]; the instance's own by default. Where they are given, the instance's matrix is the first."""
    durations: _Floats | None = None
    """float64 [P, n, n]: how long the way takes; by default as long as the distance."""
    begun: tuple[_Integers, ...] | None = None
    """K times int64 [any]: the nodes that a route already under way goes to first; such a vehicle is one of its type."""

    def __post_init__(self) -> None:
        for each in fields(self):
            given = getattr(self, each.name)
            if each.name in ("closed", "breaks") and given is not None and not len(given):
                object.__setattr__(self, each.name, None)
            elif isinstance(given, np.ndarray):
                held = np.array(given, order="C")
                held.flags.writeable = False
                object.__setattr__(self, each.name, held)

    def of(self, name: str, default: Any) -> Any:
        """Return a rule, or `default` if there is none."""
        value = getattr(self, name)
        return default if value is None else value

    @property
    def names(self) -> list[str]:
        """What is asked for, in words for messages."""
        return self.named(each.name for each in fields(self))

    def named(self, fields: Iterable[str]) -> list[str]:
        """Which of these fields ask for something, in words for messages."""
        return [_WORDS[name] for name in fields if name in _WORDS and _there(getattr(self, name))]

    @property
    def dimensions(self) -> int:
        """Q."""
        return next((a.shape[1] for a in (self.demands, self.capacities, self.pickups, self.amounts) if a is not None), 1)

    @property
    def lasting(self) -> bool:
        """Whether time costs."""
        return self.duration_cost is not None or self.overtime_cost is not None

    def first(self, n: int) -> Rules:
        """The rules of the first n nodes; a shipment is theirs if both its nodes are."""
        cut: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and each.name in ("demands", "pickups", "release", "groups"):
                cut[each.name] = value[:n]
            elif value is not None and each.name in ("allowed", "distances", "durations"):
                cut[each.name] = value[:, :n] if value.ndim == 2 else value[:, :n, :n]
        if self.group_required is not None:
            cut["group_required"] = self.group_required & np.isin(np.arange(len(self.group_required)), cut["groups"])
        if self.shipments is not None and self.amounts is not None:
            inside = (self.shipments < n).all(axis=1)
            cut |= {"shipments": self.shipments[inside], "amounts": self.amounts[inside]}
        cut |= {} if self.closed is None else {"closed": self.closed[self.closed[:, 0] < n]}
        cut |= {} if self.begun is None else {"begun": tuple(nodes[nodes < n] for nodes in self.begun)}
        return replace(self, **cut)

    def check(self, instance: VrpInstance) -> None:
        """Raises InputError where shapes, values or combinations are not accepted in this instance."""
        n, types, depots, q = instance.n, instance.vehicles.types, instance.depots, self.dimensions
        shapes: dict[str, tuple[int | None, ...]] = {
            "demands": (n, q), "capacities": (types, q), "pickups": (n, q), "shipments": (None, 2), "amounts": (None, q),
            "aboard": (types, q), "release": (n,), "groups": (n,), "group_required": (None,), "closed": (None, 3),
            "allowed": (types, n), "shift": (types, 2), "stays_out": (types,), "reloads": (types,),
            "reload_depots": (types, depots), "duration_cost": (types,), "overtime_from": (types,), "overtime_cost": (types,),
            "breaks": (None, 4), "max_driving": (types,), "rest": (types,), "profile": (types,), "distances": (None, n, n),
            "durations": (None, n, n),
        }  # fmt: skip
        for name, shape in shapes.items():
            if (value := getattr(self, name)) is not None:
                _check_array(name, value, shape)
        for one, other in (("overtime_from", "overtime_cost"), ("max_driving", "rest"), ("shipments", "amounts"),
                           ("groups", "group_required")):  # fmt: skip
            if (getattr(self, one) is None) != (getattr(self, other) is None):
                raise InputError(f"{one} and {other} come together", field=other)
        self._check_loads(instance)
        self._check_clients(instance)
        self._check_vehicles(instance)
        self._check_together(instance)

    def _check_loads(self, instance: VrpInstance) -> None:
        if self.demands is not None and not np.array_equal(self.demands[:, 0], instance.demand):
            raise InputError("the first column is the instance's demand", field="demands")
        if self.capacities is not None and not np.array_equal(self.capacities[:, 0], instance.vehicles.capacity):
            raise InputError("the first column is the vehicles' capacity", field="capacities")
        if self.pickups is not None and self.pickups[: instance.depots].any():
            raise InputError("accepted: 0 at depots", field="pickups")
        if self.backhauls_last and self.pickups is not None:
            both = (instance.demand > 0) & (self.pickups > 0).any(axis=1)
            if both.any():
                node = instance.labels[int(both.argmax())]
                raise InputError(f"client {node} has both; with backhauls last a client has one of them", field="pickups")
        if self.shipments is None or self.amounts is None:
            return
        ends = self.shipments.ravel()
        if len(self.amounts) != len(self.shipments):
            raise InputError("accepted: a line for each of the shipments", field="amounts")
        if len(np.unique(ends)) != len(ends) or ((ends < instance.depots) | (ends >= instance.n)).any():
            raise InputError("accepted: clients, each in one shipment", field="shipments")
        own = instance.demand[ends].any() or (self.pickups is not None and self.pickups[ends].any())
        if own or not instance.required[ends].all():
            raise InputError("a shipment's ends have no demand of their own and are required", field="shipments")

    def _check_clients(self, instance: VrpInstance) -> None:
        if self.groups is not None and self.group_required is not None:
            if not ((self.groups >= -1) & (self.groups < len(self.group_required))).all():
                raise InputError(f"accepted: -1 to {len(self.group_required) - 1}", field="groups")
            if not np.isin(np.flatnonzero(self.group_required), self.groups).all():
                raise InputError("a group that must be served has no client", field="group_required")
            if (self.groups[: instance.depots] >= 0).any() or (instance.required & (self.groups >= 0)).any():
                raise InputError("accepted: clients that are not required", field="groups")
        if self.closed is None:
            return
        node, begins, ends = self.closed.T
        known = ((node >= instance.depots) & (node < instance.n) & (begins <= ends)).all()
        if not known or instance.earliest is None or instance.latest is None:
            raise InputError("accepted: client, from, to", field="closed")
        node = node.astype(np.int64)
        if (begins < instance.earliest[node]).any() or (ends > instance.latest[node]).any():
            raise InputError("accepted: times within the window of the client", field="closed")

    def _check_vehicles(self, instance: VrpInstance) -> None:
        types = instance.vehicles.types
        if self.breaks is not None and not (self.breaks[:, 0] < types).all():
            raise InputError(f"accepted: vehicle types 0 to {types - 1}", field="breaks")
        if self.profile is not None:
            known = [len(each) for each in (self.distances, self.durations) if each is not None]
            if not known or self.profile.min() < 0 or self.profile.max() >= min(known):
                raise InputError("accepted: places in distances and durations", field="profile")
        if self.distances is not None and (instance.matrix is None or not np.array_equal(self.distances[0], instance.matrix)):
            raise InputError("the first is the instance's own matrix", field="distances")
        if self.begun is None:
            return
        if len(self.begun) != types:
            raise InputError("accepted: a list of nodes for each vehicle type", field="begun")
        nodes = np.concatenate([np.zeros(0, np.int64), *self.begun])
        if len(np.unique(nodes)) != len(nodes) or ((nodes < instance.depots) | (nodes >= instance.n)).any():
            raise InputError("accepted: clients, each in one list", field="begun")
        if any(len(each) and count != 1 for each, count in zip(self.begun, instance.vehicles.count.tolist())):
            raise InputError("a vehicle that is under way is the only one of its type: count 1", field="begun")

    def _check_together(self, instance: VrpInstance) -> None:
        """What the judge, or no solver here, can tell: no test covers it."""
        lasting = self.lasting or bool(np.isfinite(instance.vehicles.max_duration).any())
        pauses = [name for name in ("closed", "breaks", "max_driving") if getattr(self, name) is not None]
        trips = self.reloads is not None and bool(self.reloads.any())
        out = self.stays_out is not None and bool(self.stays_out.any())
        for refused, field, message in (
            (lasting and bool(pauses), (*pauses, "")[0], "longest durations or costs of time"),
            (trips and self.shipments is not None, "reloads", "shipments"),
            (trips and self.backhauls_last, "reloads", "backhauls last"),
            (trips and self.aboard is not None, "reloads", "loads that are aboard from the beginning"),
            (self.shipments is not None and self.backhauls_last, "shipments", "backhauls last"),
            (trips and out, "reloads", "routes that end at their last client"),
        ):
            if refused:
                raise InputError(f"{_WORDS[field]} beside {message} are not supported", field=field)


_WORDS = {
    "demands": "several dimensions of load", "pickups": "pick-ups", "shipments": "shipments", "aboard": "loads aboard",
    "release": "release times", "groups": "groups of clients", "closed": "several windows of a client",
    "allowed": "vehicles with clients of their own", "shift": "shifts", "stays_out": "open routes", "reloads": "reloads",
    "duration_cost": "costs of duration", "overtime_cost": "overtime", "breaks": "breaks", "max_driving": "rests from driving",
    "distances": "distances of vehicles' own", "durations": "travel times other than distances", "begun": "routes under way",
}  # fmt: skip


def _there(value: Any) -> bool:
    return value is not None and value is not False


def _check_array(name: str, value: Any, shape: tuple[int | None, ...]) -> None:
    kind = {"allowed": "b", "stays_out": "b", "reload_depots": "b", "group_required": "b"}.get(name)
    kind = kind or ("i" if name in ("shipments", "groups", "reloads", "profile") else "f")
    fits = value.ndim == len(shape) and all(want in (None, have) for want, have in zip(shape, value.shape))
    if not fits or value.dtype.kind != kind:
        words = " x ".join("any" if want is None else str(want) for want in shape)
        raise InputError(f"accepted: an array of shape {words}, of kind {kind!r}", field=name)
    unlimited = name in ("capacities", "overtime_from", "max_driving", "shift", "durations", "distances")
    if kind == "f" and not ((value >= 0) & ((value <= LARGEST) | (unlimited & (value == np.inf)))).all():
        raise InputError(f"accepted: numbers from 0 to {LARGEST:g}", field=name)

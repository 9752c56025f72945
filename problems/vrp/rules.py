"""Side constraints: what an instance requires beyond capacities, one window per client, fleets, depots and prizes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.deprecation import renamed
from corl.errors import InputError
from corl.routing.edge_weights import LARGEST

if TYPE_CHECKING:
    from corl.problems.vrp.instance import VrpInstance

__all__ = ["SideConstraints"]

_Floats = NDArray[np.float64]
_Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SideConstraints:
    """Side constraints; each is None if an instance does without it.

    In the shapes, there are n nodes, depots first; K vehicle types; Q dimensions of load. Arrays are read-only. Times, distances
    and costs are in the instance's units (times its `scale`).

    Raises InputError, once an instance takes them, for an invalid value, and for two of them that are not supported together.
    """

    # ---------------------------------------------------------------- loads
    demands: _Floats | None = None
    """float64 [n, Q]: what is delivered to clients from the depot, in every dimension; the first is the instance's `demand`."""
    capacities: _Floats | None = None
    """float64 [K, Q]; the first column is the vehicles' `capacity`. By default that in every dimension."""
    pickups: _Floats | None = None
    """float64 [n, Q]: what is collected from clients for the depot, after their delivery."""
    backhauls_last: bool = False
    """A trip collects only after its last delivery, and makes at least one; no client has both a delivery and a pickup."""
    shipments: _Integers | None = None
    """int64 [S, 2]: the nodes where a shipment is picked up and, later on the same route, delivered."""
    amounts: _Floats | None = None
    """float64 [S, Q]: the size of each shipment."""
    aboard: _Floats | None = None
    """float64 [K, Q]: the load that is on board from the beginning and goes to the depot."""
    # ---------------------------------------------------------------- clients
    release: _Floats | None = None
    """float64 [n]: a trip leaves its depot when all that it delivers has been released."""
    groups: _Integers | None = None
    """int64 [n]: the client's group, 0..G-1, at most one client of which is served; -1: none."""
    group_required: NDArray[np.bool_] | None = None
    """bool [G]: whether one client of the group must be served. Clients of groups are not `required` themselves."""
    closed: _Floats | None = None
    """float64 [c, 3]: node, from, to: service does not begin between these times, which lie between a node's windows."""
    allowed: NDArray[np.bool_] | None = None
    """bool [K, n]: which vehicle types may serve which client."""
    # ---------------------------------------------------------------- vehicles
    shift: _Floats | None = None
    """float64 [K, 2]: the earliest departure, and the latest return (or end of the last service)."""
    stays_out: NDArray[np.bool_] | None = None
    """bool [K]: the route ends at its last client."""
    reloads: _Integers | None = None
    """int64 [K]: how often a vehicle may return to a depot to load, between two trips."""
    reload_depots: NDArray[np.bool_] | None = None
    """bool [K, D]: where it may reload; by default at its first depot."""
    duration_cost: _Floats | None = None
    """float64 [K]: the cost of a unit of time between departure and return."""
    overtime_from: _Floats | None = None
    overtime_cost: _Floats | None = None
    """float64 [K] each: the duration after which overtime begins, and the cost of a unit of it, in addition to
    `duration_cost`.
    """
    breaks: _Floats | None = None
    """float64 [b, 4]: vehicle type, earliest and latest start, duration.

    A break is taken at a client or a reload, before or after service. The breaks of a vehicle are taken in order; a break is
    skipped if the vehicle is back before its latest start.
    """
    max_driving: _Floats | None = None
    rest: _Floats | None = None
    """float64 [K] each: the greatest driving time without a rest, and the least duration of a rest, at a client or a reload;
    breaks of that duration count as rests.
    """
    profile: _Integers | None = None
    """int64 [K]: the index of the type's matrix in `distances` and `durations`; by default the first."""
    distances: _Floats | None = None
    """float64 [P, n, n]; by default the instance's own. If they are given, the first is the instance's matrix."""
    durations: _Floats | None = None
    """float64 [P, n, n]: travel times; by default equal to the distances."""
    begun: tuple[_Integers, ...] | None = None
    """K arrays int64: the nodes that a route under way visits first; its vehicle is the only one of its type."""

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
        """Return a side constraint, or `default` if there is none."""
        value = getattr(self, name)
        return default if value is None else value

    @property
    def names(self) -> list[str]:
        """The names of the side constraints that are given, in words for messages."""
        return self.named(each.name for each in fields(self))

    def named(self, fields: Iterable[str]) -> list[str]:
        """Return the names of those of these fields that are given, in words for messages."""
        return [_WORDS[name] for name in fields if name in _WORDS and _there(getattr(self, name))]

    @property
    def dimensions(self) -> int:
        """Q."""
        return next((a.shape[1] for a in (self.demands, self.capacities, self.pickups, self.amounts) if a is not None), 1)

    @property
    def lasting(self) -> bool:
        """Whether the duration of a route costs something."""
        return self.duration_cost is not None or self.overtime_cost is not None

    def first(self, n: int) -> SideConstraints:
        """Return the side constraints of the first n nodes; a shipment is included if both its nodes are."""
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
        """Raise InputError if shapes, values or combinations are not accepted for this instance."""
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
                raise InputError(
                    f"client {node} has a demand too; with backhauls last, a client has only one of them", field="pickups"
                )
        if self.shipments is None or self.amounts is None:
            return
        ends = self.shipments.ravel()
        if len(self.amounts) != len(self.shipments):
            raise InputError("accepted: a line for each of the shipments", field="amounts")
        if len(np.unique(ends)) != len(ends) or ((ends < instance.depots) | (ends >= instance.n)).any():
            raise InputError("accepted: clients, each in one shipment", field="shipments")
        own = instance.demand[ends].any() or (self.pickups is not None and self.pickups[ends].any())
        if own or not instance.required[ends].all():
            raise InputError("a shipment's ends have no other demand or pickup, and are required", field="shipments")

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
        """Refuse combinations that the judge or the solvers do not support."""
        lasting = self.lasting or bool(np.isfinite(instance.vehicles.max_duration).any())
        pauses = [name for name in ("closed", "breaks", "max_driving") if getattr(self, name) is not None]
        trips = self.reloads is not None and bool(self.reloads.any())
        out = self.stays_out is not None and bool(self.stays_out.any())
        for refused, field, message in (
            (lasting and bool(pauses), (*pauses, "")[0], "maximum durations or costs of time"),
            (trips and self.shipments is not None, "reloads", "shipments"),
            (trips and self.backhauls_last, "reloads", "backhauls last"),
            (trips and self.aboard is not None, "reloads", "initial loads"),
            (self.shipments is not None and self.backhauls_last, "shipments", "backhauls last"),
            (trips and out, "reloads", "routes that end at their last client"),
        ):
            if refused:
                raise InputError(f"{_WORDS[field]} together with {message} are not supported", field=field)


_WORDS = {
    "demands": "several dimensions of load", "pickups": "pick-ups", "shipments": "shipments", "aboard": "initial loads",
    "release": "release times", "groups": "groups of clients", "closed": "several windows per client",
    "allowed": "clients restricted to some vehicles", "shift": "shifts", "stays_out": "open routes", "reloads": "reloads",
    "duration_cost": "costs of duration", "overtime_cost": "overtime", "breaks": "breaks", "max_driving": "rests from driving",
    "distances": "distances that differ by vehicle", "durations": "travel times other than distances",
    "begun": "routes under way",
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


if not TYPE_CHECKING:  # to a type checker, an old name is an error
    __getattr__ = renamed(__name__, {"Rules": "SideConstraints"})

"""Side constraints: requirements beyond capacities, one time window per client, vehicle types, depots and prizes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.deprecation import renamed
from corl.errors import InputError
from corl.problems.vrp.rules_of_time import WORDS_OF_TIME, check_times, shapes_of_time
from corl.problems.vrp.rules_structure import Balance, check_structure, first_clusters
from corl.routing.edge_weights import LARGEST

if TYPE_CHECKING:
    from corl.problems.vrp.instance import VrpInstance

__all__ = ["SideConstraints"]

_Floats = NDArray[np.float64]
_Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SideConstraints:
    """The side constraints of an instance; a field is None if the instance does not have the constraint.

    In the shapes, there are n nodes, the D depots first; K vehicle types; Q dimensions of load. Arrays are read-only. Times,
    distances and costs are in the instance's units (times its `scale`). A trip is the part of a route between two loadings at a
    depot.

    The constructor of the instance raises InputError for invalid values and for combinations that are not supported.
    """

    # ---------------------------------------------------------------- loads
    demands: _Floats | None = None
    """float64 [n, Q]: the load delivered to each client, in every dimension; the first column is the instance's `demand`."""
    capacities: _Floats | None = None
    """float64 [K, Q]: the first column is the vehicles' `capacity`. By default every column equals it."""
    pickups: _Floats | None = None
    """float64 [n, Q]: the load collected from each client for the depot, after the client's delivery."""
    backhauls_last: bool = False
    """A trip with pickups makes all of its deliveries, at least one, before them. No client has both a delivery and a pickup."""
    shipments: _Integers | None = None
    """int64 [S, 2]: for each shipment the node where it is picked up, and the node where the same route delivers it later."""
    amounts: _Floats | None = None
    """float64 [S, Q]: the size of each shipment."""
    aboard: _Floats | None = None
    """float64 [K, Q]: the load that is on board at the departure and remains there until the return."""
    # ---------------------------------------------------------------- clients
    release: _Floats | None = None
    """float64 [n]: when each client's load is available at the depot; a trip leaves after the release of all its loads."""
    groups: _Integers | None = None
    """int64 [n]: the client's group, 0..G-1, or -1 for no group. At most one client of a group is served."""
    group_required: NDArray[np.bool_] | None = None
    """bool [G]: whether one client of the group must be served. The instance's `required` is false for clients in groups."""
    closed: _Floats | None = None
    """float64 [c, 3]: (node, begin, end) of each interval between two windows of a node; service does not begin inside."""
    allowed: NDArray[np.bool_] | None = None
    """bool [K, n]: which vehicle types may serve which client."""
    # ---------------------------------------------------------------- vehicles
    shift: _Floats | None = None
    """float64 [K, 2]: the earliest departure, and the latest return (with `stays_out`, the latest end of the last service)."""
    stays_out: NDArray[np.bool_] | None = None
    """bool [K]: whether the route ends at its last client, without a return to a depot."""
    reloads: _Integers | None = None
    """int64 [K]: how often a vehicle may return to a depot to load again, which begins a new trip."""
    reload_depots: NDArray[np.bool_] | None = None
    """bool [K, D]: the depots where a vehicle may reload; by default the depot where its route begins."""
    duration_cost: _Floats | None = None
    """float64 [K]: the cost of a unit of time between departure and return."""
    overtime_from: _Floats | None = None
    """float64 [K]: the duration of a route after which overtime begins."""
    overtime_cost: _Floats | None = None
    """float64 [K]: the cost of a unit of overtime, in addition to `duration_cost`."""
    breaks: _Floats | None = None
    """float64 [b, 4]: vehicle type, earliest start, latest start, duration.

    A break is taken at a client or a reload, before or after service. A vehicle takes its breaks in the order of their latest
    starts; it skips a break if it is back before the latest start of the break.
    """
    max_driving: _Floats | None = None
    """float64 [K]: the greatest driving time without a rest."""
    rest: _Floats | None = None
    """float64 [K]: the duration of a rest, taken at a client or a reload. Breaks at least as long count as rests."""
    profile: _Integers | None = None
    """int64 [K]: the index of the type's matrix in `distances` and `durations`; by default the first."""
    distances: _Floats | None = None
    """float64 [P, n, n]: distance matrices, the first of which is the instance's `matrix`. By default all types use that one."""
    durations: _Floats | None = None
    """float64 [P, n, n]: matrices of travel times; by default equal to the distances."""
    begun: tuple[_Integers, ...] | None = None
    """K arrays int64: the nodes that a vehicle already under way must visit first, in order; it is the only one of its type."""
    # ---------------------------------------------------------------- soft windows, travel times by the hour (rules_of_time.py)
    soft_windows: _Floats | None = None
    """float64 [n, 2]: the times between which service should begin; (0, inf) at nodes without a soft window."""
    early_cost: _Floats | None = None
    """float64 [n]: the cost of each unit of time by which service begins before the soft window."""
    late_cost: _Floats | None = None
    """float64 [n]: the cost of each unit of time by which service begins after the soft window."""
    period_starts: _Floats | None = None
    """float64 [H]: when each period of the day begins, in order; the first begins at 0, the last never ends."""
    speed_factors: _Floats | None = None
    """float64 [K, H]: the speed of a vehicle type in each period; a leg with travel time t takes t / factor at this speed."""
    period_durations: _Floats | None = None
    """float64 [H, n, n]: the travel time of a leg that is driven within one period, for all types.

    On a leg that crosses periods, each hour covers the share of the way that it covers in its period, so that who leaves later
    never arrives earlier (FIFO).
    """
    # ---------------------------------------------------------------- structure of the solution
    clusters: _Integers | None = None
    """int64 [n]: the client's cluster, 0..C-1, or -1 for none. One route serves all clients of a cluster that are served."""
    cluster_in_a_row: NDArray[np.bool_] | None = None
    """bool [C]: whether the route serves the clients of the cluster one after another, with no other visit between them."""
    balance: Balance | None = None
    """What the longest route, or the difference between the longest and the shortest, costs."""
    roster: _Integers | None = None
    """int64 [K]: the roster, 0..R-1, of which the type is a shift, or -1. A roster is the list of the shifts of one vehicle."""
    roster_duration: _Floats | None = None
    """float64 [R]: the greatest sum of the durations of all routes of a roster; inf: unlimited."""
    roster_driving: _Floats | None = None
    """float64 [R]: the greatest sum of the travel times of all routes of a roster; inf: unlimited."""
    roster_cost: _Floats | None = None
    """float64 [R]: the cost of a roster with a route, regardless of the number of its routes."""

    def __post_init__(self) -> None:
        for each in fields(self):
            given = getattr(self, each.name)
            if each.name in ("closed", "breaks") and given is not None and not len(given):
                object.__setattr__(self, each.name, None)
            elif isinstance(given, np.ndarray):
                copied = np.array(given, order="C")
                copied.flags.writeable = False
                object.__setattr__(self, each.name, copied)

    def of(self, name: str, default: Any) -> Any:
        """Return a side constraint, or `default` if there is none."""
        value = getattr(self, name)
        return default if value is None else value

    @property
    def names(self) -> list[str]:
        """The names of the side constraints that are given, in words for messages."""
        return self.named(each.name for each in fields(self))

    def named(self, fields: Iterable[str]) -> list[str]:
        """Return the names of the side constraints among these fields that are given, in words for messages."""
        return [_WORDS[name] for name in fields if name in _WORDS and _is_given(getattr(self, name))]

    @property
    def dimensions(self) -> int:
        """Q, the number of dimensions of load."""
        return next((a.shape[1] for a in (self.demands, self.capacities, self.pickups, self.amounts) if a is not None), 1)

    @property
    def lasting(self) -> bool:
        """Whether the duration of a route costs something."""
        return self.duration_cost is not None or self.overtime_cost is not None

    @property
    def prices_times(self) -> bool:
        """Whether the times of a route cost something: its duration, or services outside soft windows."""
        return self.lasting or self.soft_windows is not None

    @property
    def hourly(self) -> bool:
        """Whether travel times depend on the time of departure."""
        return self.period_starts is not None

    @property
    def measures_duration(self) -> bool:
        """Whether the durations of several routes together cost something or are limited."""
        return (self.balance is not None and self.balance.of == "duration") or self.roster_duration is not None

    def first(self, n: int) -> SideConstraints:
        """Return the side constraints of the first n nodes. A shipment is included if both of its nodes are."""
        of_first_nodes: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and each.name in _BY_NODE:
                of_first_nodes[each.name] = value[:n]
            elif value is not None and each.name in ("allowed", "distances", "durations", "period_durations"):
                of_first_nodes[each.name] = value[:, :n] if value.ndim == 2 else value[:, :n, :n]
        if self.group_required is not None:
            of_first_nodes["group_required"] = self.group_required & np.isin(
                np.arange(len(self.group_required)), of_first_nodes["groups"]
            )
        if self.shipments is not None and self.amounts is not None:
            both_ends_included = (self.shipments < n).all(axis=1)
            of_first_nodes |= {"shipments": self.shipments[both_ends_included], "amounts": self.amounts[both_ends_included]}
        of_first_nodes |= {} if self.closed is None else {"closed": self.closed[self.closed[:, 0] < n]}
        of_first_nodes |= first_clusters(self, n)
        of_first_nodes |= {} if self.begun is None else {"begun": tuple(nodes[nodes < n] for nodes in self.begun)}
        return replace(self, **of_first_nodes)

    def check(self, instance: VrpInstance) -> None:
        """Raise InputError if shapes, values or combinations are not accepted for this instance."""
        n, types, depots, q = instance.n, instance.vehicles.types, instance.depots, self.dimensions
        shapes: dict[str, tuple[int | None, ...]] = {
            "demands": (n, q), "capacities": (types, q), "pickups": (n, q), "shipments": (None, 2), "amounts": (None, q),
            "aboard": (types, q), "release": (n,), "groups": (n,), "group_required": (None,), "closed": (None, 3),
            "allowed": (types, n), "shift": (types, 2), "stays_out": (types,), "reloads": (types,),
            "reload_depots": (types, depots), "duration_cost": (types,), "overtime_from": (types,), "overtime_cost": (types,),
            "breaks": (None, 4), "max_driving": (types,), "rest": (types,), "profile": (types,), "distances": (None, n, n),
            "durations": (None, n, n), **shapes_of_time(instance),
            "clusters": (n,), "cluster_in_a_row": (None,), "roster": (types,), "roster_duration": (None,),
            "roster_driving": (None,), "roster_cost": (None,),
        }  # fmt: skip
        for name, shape in shapes.items():
            if (value := getattr(self, name)) is not None:
                _check_array(name, value, shape)
        for one, other in (("overtime_from", "overtime_cost"), ("max_driving", "rest"), ("shipments", "amounts"),
                           ("groups", "group_required"), ("soft_windows", "early_cost"), ("soft_windows", "late_cost"),
                           ("clusters", "cluster_in_a_row")):  # fmt: skip
            if (getattr(self, one) is None) != (getattr(self, other) is None):
                raise InputError(f"{one} and {other} must be given together", field=other)
        self._check_loads(instance)
        self._check_clients(instance)
        self._check_vehicles(instance)
        check_structure(self, instance)
        self._check_together(instance)
        check_times(self, instance)

    def _check_loads(self, instance: VrpInstance) -> None:
        """Check demands, capacities, pickups and shipments. Raises InputError."""
        if self.demands is not None and not np.array_equal(self.demands[:, 0], instance.demand):
            raise InputError("the first column is the instance's demand", field="demands")
        if self.capacities is not None and not np.array_equal(self.capacities[:, 0], instance.vehicles.capacity):
            raise InputError("the first column is the vehicles' capacity", field="capacities")
        if self.pickups is not None and self.pickups[: instance.depots].any():
            raise InputError("accepted: 0 at depots", field="pickups")
        if self.backhauls_last and self.pickups is not None:
            delivers_and_collects = (instance.demand > 0) & (self.pickups > 0).any(axis=1)
            if delivers_and_collects.any():
                node = instance.labels[int(delivers_and_collects.argmax())]
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
        other_loads = instance.demand[ends].any() or (self.pickups is not None and self.pickups[ends].any())
        if other_loads or not instance.required[ends].all():
            raise InputError("a shipment's ends have no other demand or pickup, and are required", field="shipments")

    def _check_clients(self, instance: VrpInstance) -> None:
        """Check groups and closed intervals. Raises InputError."""
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
        valid = ((node >= instance.depots) & (node < instance.n) & (begins <= ends)).all()
        if not valid or instance.earliest is None or instance.latest is None:
            raise InputError("accepted: client, from, to", field="closed")
        node = node.astype(np.int64)
        if (begins < instance.earliest[node]).any() or (ends > instance.latest[node]).any():
            raise InputError("accepted: times within the window of the client", field="closed")

    def _check_vehicles(self, instance: VrpInstance) -> None:
        """Check breaks, matrices and fixed first nodes. Raises InputError."""
        types = instance.vehicles.types
        if self.breaks is not None and not (self.breaks[:, 0] < types).all():
            raise InputError(f"accepted: vehicle types 0 to {types - 1}", field="breaks")
        if self.profile is not None:
            matrix_counts = [len(each) for each in (self.distances, self.durations) if each is not None]
            if not matrix_counts or self.profile.min() < 0 or self.profile.max() >= min(matrix_counts):
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
        """Check that the combination is supported by the judge and the solvers. Raises InputError."""
        duration_matters = self.lasting or self.measures_duration or bool(np.isfinite(instance.vehicles.max_duration).any())
        pauses = [name for name in ("closed", "breaks", "max_driving") if getattr(self, name) is not None]
        trips = self.reloads is not None and bool(self.reloads.any())
        open_routes = self.stays_out is not None and bool(self.stays_out.any())
        for refused, field, message in (
            (duration_matters and bool(pauses), (*pauses, "")[0], "maximum durations or costs of time"),
            (trips and self.shipments is not None, "reloads", "shipments"),
            (trips and self.backhauls_last, "reloads", "backhauls last"),
            (trips and self.aboard is not None, "reloads", "initial loads"),
            (self.shipments is not None and self.backhauls_last, "shipments", "backhauls last"),
            (trips and open_routes, "reloads", "routes that end at their last client"),
        ):
            if refused:
                raise InputError(f"{_WORDS[field]} together with {message} are not supported", field=field)


_BY_NODE = ("demands", "pickups", "release", "groups", "soft_windows", "early_cost", "late_cost")  # fields with a row per node
_WORDS = {
    "demands": "several dimensions of load", "pickups": "pick-ups", "shipments": "shipments", "aboard": "initial loads",
    "release": "release times", "groups": "groups of clients", "closed": "several windows per client",
    "allowed": "clients restricted to some vehicles", "shift": "shifts", "stays_out": "open routes", "reloads": "reloads",
    "duration_cost": "costs of duration", "overtime_cost": "overtime", "breaks": "breaks", "max_driving": "rests from driving",
    "distances": "distances that differ by vehicle", "durations": "travel times other than distances",
    "begun": "routes under way", **WORDS_OF_TIME,
    "clusters": "clusters of clients", "balance": "balanced routes", "roster": "several shifts of one vehicle",
}  # fmt: skip


def _is_given(value: Any) -> bool:
    """Return whether a side constraint is given; the default is None or False."""
    return value is not None and value is not False


def _check_array(name: str, value: Any, shape: tuple[int | None, ...]) -> None:
    """Raise InputError unless a field has this shape (None: any length), its dtype and accepted values."""
    kind = {"allowed": "b", "stays_out": "b", "reload_depots": "b", "group_required": "b", "cluster_in_a_row": "b"}.get(name)
    kind = kind or ("i" if name in ("shipments", "groups", "reloads", "profile", "clusters", "roster") else "f")
    fits = value.ndim == len(shape) and all(want in (None, have) for want, have in zip(shape, value.shape))
    if not fits or value.dtype.kind != kind:
        words = " x ".join("any" if want is None else str(want) for want in shape)
        raise InputError(f"accepted: an array of shape {words}, of kind {kind!r}", field=name)
    unlimited = name in ("capacities", "overtime_from", "max_driving", "shift", "durations", "distances", "soft_windows",
                         "roster_duration", "roster_driving")  # fmt: skip
    if kind == "f" and not ((value >= 0) & ((value <= LARGEST) | (unlimited & (value == np.inf)))).all():
        raise InputError(f"accepted: numbers from 0 to {LARGEST:g}", field=name)


if not TYPE_CHECKING:  # to a type checker, an old name is an error
    __getattr__ = renamed(__name__, {"Rules": "SideConstraints"})

"""Conversion of the side constraints of an instance to the arrays of constraint_tables.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.solvers.vrp.ruin.constraint_tables import LOADS, ConstraintTables
from corl.solvers.vrp.ruin.schedule_tables import schedule_tables
from corl.solvers.vrp.ruin.structure_tables import structure_tables
from corl.tolerance import LIMIT

__all__ = ["constraint_tables", "reload_nodes"]

_EASE = 0.25 * LIMIT  # relative tolerance of limits: a quarter of the judge's


def reload_nodes(instance: VrpInstance) -> NDArray[np.int64]:
    """Return int64 [reload nodes]: the depot of each reload node. A depot has one for each reload that routes can make there."""
    rules, vehicles = instance.rules, instance.vehicles
    if rules is None or rules.reloads is None or not rules.reloads.any():
        return np.zeros(0, np.int64)
    count = np.where(vehicles.count < 0, instance.clients, np.minimum(vehicles.count, instance.clients))
    nodes = []
    for depot, types in enumerate(_reload_depots(instance).T):
        max_reloads = min(instance.clients, int((np.minimum(rules.reloads, instance.clients) * count)[types].sum()))
        nodes.append(np.full(max_reloads, depot))
    return np.concatenate(nodes).astype(np.int64)


def _reload_depots(instance: VrpInstance) -> NDArray[np.bool_]:
    """Return bool [types, D]: whether the type may reload at the depot."""
    rules, vehicles = instance.rules, instance.vehicles
    assert rules is not None and rules.reloads is not None
    start_depot = np.arange(instance.depots) == vehicles.start[:, None]
    return np.asarray(rules.of("reload_depots", start_depot) & (rules.reloads > 0)[:, None])


def constraint_tables(instance: VrpInstance, owner: NDArray[np.int64]) -> ConstraintTables | None:
    """Return the side constraints as arrays; None if the instance has none.

    Args:
        instance: The instance.
        owner: int64 [slots], the vehicle type of each slot.
    """
    rules, vehicles, depots = instance.rules, instance.vehicles, instance.depots
    if rules is None:
        return None
    reload, types, q = reload_nodes(instance), vehicles.types, rules.dimensions
    extra = len(reload)
    nodes = instance.clients + extra
    delivery = _padded(instance, rules.of("demands", instance.demand[:, None]), extra, 0.0)
    pickup = _padded(instance, rules.of("pickups", np.zeros((instance.n, q))), extra, 0.0)
    partner, is_pickup = _shipments(instance, pickup)
    earliest, latest, leave_by, return_from = _hours(instance, owner, reload)
    service = np.zeros(instance.n) if instance.service is None else instance.service
    groups = np.full(instance.n, -1) if rules.groups is None else rules.groups
    group_required = np.zeros(0, bool) if rules.group_required is None else rules.group_required.copy()
    members = [np.flatnonzero(groups[depots:] == g) for g in range(len(group_required))]
    closed = _grouped_rows(rules.of("closed", np.zeros((0, 3))), nodes, depots)
    breaks = rules.of("breaks", np.zeros((0, 4)))
    breaks = _grouped_rows(breaks[np.lexsort((breaks[:, 1], breaks[:, 2]))], types, 0)
    has_time_costs = rules.prices_times
    max_driving = rules.of("max_driving", np.full(types, np.inf))
    has_breaks = bool(len(closed[1]) or len(breaks[1]) or np.isfinite(max_driving).any())
    return ConstraintTables(
        first_reload=instance.clients,
        dimensions=q,
        timed=not (rules.hourly or rules.soft_windows is not None)
        and (
            instance.timed
            or rules.release is not None
            or rules.shift is not None
            or has_time_costs
            or has_breaks
            or rules.measures_duration
        ),
        has_time_costs=has_time_costs,
        linehaul_first=rules.backhauls_last,
        has_breaks=has_breaks,
        multi_trip=extra > 0,
        has_shipments=rules.shipments is not None,
        has_groups=rules.groups is not None,
        restricted=rules.allowed is not None or extra > 0,
        has_durations=rules.durations is not None,
        delivery=delivery,
        pickup=pickup,
        pickup_only=np.asarray((pickup > 0.0).any(axis=1) & ~(delivery > 0.0).any(axis=1)),
        capacity=_with_tolerance(rules.of("capacities", np.repeat(vehicles.capacity[:, None], q, axis=1))),
        initial_load=np.array(rules.of("aboard", np.zeros((types, q)))),
        release=_padded(instance, rules.of("release", np.full(instance.n, -np.inf)), extra, -np.inf),
        earliest=earliest,
        latest=latest,
        service=np.concatenate([_padded(instance, service, extra, 0.0), np.zeros(len(owner))]),
        leave_by=leave_by,
        return_from=return_from,
        partner=partner,
        is_pickup=is_pickup,
        group=_padded(instance, groups, extra, -1).astype(np.int32),
        member_start=np.cumsum([0, *map(len, members)]).astype(np.int32),
        members=np.concatenate([np.zeros(0), *members]).astype(np.int32),
        group_required=group_required,
        allowed=_allowed(instance, reload),
        locked=_locked(instance, nodes),
        reloads=np.array(rules.of("reloads", np.zeros(types, np.int64))),
        max_duration=_with_tolerance(vehicles.max_duration),
        time_rate=np.array(rules.of("duration_cost", np.zeros(types))),
        overtime_from=np.array(rules.of("overtime_from", np.full(types, np.inf))),
        overtime_rate=np.array(rules.of("overtime_cost", np.zeros(types))),
        profile=np.array(rules.of("profile", np.zeros(types, np.int64))),
        durations=np.array(rules.of("durations", np.zeros((0, 0, 0)))),
        closed_start=closed[0],
        closed=closed[1],
        breaks_start=breaks[0],
        breaks=breaks[1],
        max_driving=_with_tolerance(max_driving),
        rest_duration=np.array(rules.of("rest", np.full(types, np.inf))),
        **schedule_tables(instance, rules, extra, LOADS + 3 * q),
        structure=structure_tables(instance, owner, nodes),
    )


def _padded(instance: VrpInstance, values: NDArray[Any], extra: int, value: float) -> NDArray[Any]:
    """Return the clients' rows of `values`, [depots + clients, ...], then `extra` rows with `value`, for reload nodes."""
    return np.concatenate([values[instance.depots :], np.full((extra, *values.shape[1:]), value)])


def _shipments(instance: VrpInstance, pickup: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return `ConstraintTables.partner` and `is_pickup`; write the amounts of shipments to `pickup`, in place."""
    rules, partner, is_pickup = instance.rules, np.full(len(pickup), -1, np.int32), np.zeros(len(pickup), bool)
    if rules is not None and rules.shipments is not None and rules.amounts is not None:
        start, end = (rules.shipments - instance.depots).T
        partner[start], partner[end], is_pickup[start] = end, start, True
        pickup[start], pickup[end] = rules.amounts, -rules.amounts
    return partner, is_pickup


def _allowed(instance: VrpInstance, reload: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return bool [types, clients]: whether the type may visit the node."""
    allowed = np.ones((instance.vehicles.types, instance.clients + len(reload)), bool)
    if instance.rules is not None and instance.rules.allowed is not None:
        allowed[:, : instance.clients] = instance.rules.allowed[:, instance.depots :]
    if len(reload):
        allowed[:, instance.clients :] = _reload_depots(instance)[:, reload]
    return allowed


def _locked(instance: VrpInstance, nodes: int) -> NDArray[np.bool_]:
    """Return bool [nodes]: whether the node belongs to the fixed beginning of a route."""
    locked = np.zeros(nodes, bool)
    for begun in (instance.rules and instance.rules.begun) or ():
        locked[begun - instance.depots] = True
    return locked


def _hours(
    instance: VrpInstance, owner: NDArray[np.int64], reload: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return `earliest`, `latest`, `leave_by` and `return_from` of `ConstraintTables`.

    Args:
        instance: The instance.
        owner: int64 [slots], the vehicle type of each slot.
        reload: int64 [reload nodes], the depot of each reload node.
    """
    rules, vehicles = instance.rules, instance.vehicles
    assert rules is not None
    opens = np.zeros(instance.n) if instance.earliest is None else instance.earliest
    closes = np.full(instance.n, np.inf) if instance.latest is None else _with_tolerance(instance.latest)
    leave_from, return_by, return_from = opens[vehicles.start], closes[vehicles.end], opens[vehicles.end]
    if rules.stays_out is not None:
        return_by, return_from = np.where(rules.stays_out, np.inf, return_by), np.where(rules.stays_out, 0.0, return_from)
    if rules.shift is not None:
        leave_from = np.maximum(leave_from, rules.shift[:, 0])
        return_by = np.minimum(return_by, _with_tolerance(rules.shift[:, 1]))
    clients = slice(instance.depots, None)
    return (
        np.concatenate([opens[clients], opens[reload], leave_from[owner]]),
        np.concatenate([closes[clients], closes[reload], return_by[owner]]),
        closes[vehicles.start],
        return_from,
    )


def _grouped_rows(table: NDArray[np.float64], owners: int, first_owner: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Group the rows of a table by their owner.

    Args:
        table: float64 [rows, 1 + k], the owner of each row, then the row's values.
        owners: The number of owners.
        first_owner: The number of the first owner.

    Returns:
        starts: int32 [owners + 1], the rows of owner i in `values` are starts[i] : starts[i + 1].
        values: float64 [rows, k], the values, sorted by owner.
    """
    order = np.argsort(table[:, 0], kind="stable")
    counts = np.bincount((table[:, 0] - first_owner).astype(np.int64), minlength=owners)
    return np.cumsum([0, *counts]).astype(np.int32), np.ascontiguousarray(table[order, 1:])


def _with_tolerance(limit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return limits, float64, with a tolerance for rounding in sums; too small to matter if all values are integers."""
    return np.asarray(limit + np.where(np.isfinite(limit), _EASE * np.abs(limit), 0.0))

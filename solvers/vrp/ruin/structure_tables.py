"""The rules of structure as arrays for the kernels: clusters of clients, balance and rosters; and their state in a solution.

A roster is the list of the shifts of one vehicle: vehicle types with one slot each. A slot is a place for one route (state.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.rules_structure import Balance
from corl.tolerance import LIMIT

__all__ = ["StructureState", "StructureTables", "is_coupled", "new_structure_state", "structure_tables"]

_EASE = 0.25 * LIMIT  # relative tolerance of limits: a quarter of the judge's


class StructureTables(NamedTuple):
    """The rules of structure. In the shapes, `clients` counts clients and reload nodes; C clusters, R rosters, Q dimensions."""

    has_clusters: bool
    """Whether there are clusters."""
    cluster: NDArray[np.int32]
    """int32 [clients]: the client's cluster; -1 if it belongs to none."""
    member_start: NDArray[np.int32]
    """int32 [C + 1]: the clients of cluster c are members[member_start[c] : member_start[c + 1]]."""
    members: NDArray[np.int32]
    """int32 [sum of the clusters' sizes]: the clients of all clusters, cluster by cluster."""
    in_a_row: NDArray[np.bool_]
    """bool [C]: whether the cluster is served without other visits in between."""
    cluster_demand: NDArray[np.float64]
    """float64 [C, Q]: the load delivered to the clients of the cluster that must be served."""
    is_coupled: bool
    """Whether there is a balance or a roster, so that the cost of a route depends on other routes."""
    measures_duration: bool
    """Whether a balance or a roster concerns durations."""
    balance_weight: float
    """The cost of a unit of the balance; 0 without one."""
    of_duration: bool
    """Whether the balance is one of durations, not of distances."""
    is_range: bool
    """Whether the balance is the difference between the longest and the shortest route, not the longest route."""
    roster: NDArray[np.int64]
    """int64 [types]: the roster of the type; -1 if it belongs to none."""
    slot_start: NDArray[np.int64]
    """int64 [R + 1]: the slots of roster r are slots[slot_start[r] : slot_start[r + 1]]."""
    slots: NDArray[np.int64]
    """int64 [slots of rosters]: the slots of all rosters, roster by roster."""
    max_duration: NDArray[np.float64]
    """float64 [R]: the greatest sum of durations."""
    max_driving: NDArray[np.float64]
    """float64 [R]: the greatest sum of travel times."""
    roster_cost: NDArray[np.float64]
    """float64 [R]: the cost of a roster with a route."""


class StructureState(NamedTuple):
    """The state of clusters, balance and rosters in the current solution."""

    served: NDArray[np.int32]
    """int32 [C]: the number of served clients of the cluster."""
    seen: NDArray[np.int32]
    """int32 [C]: zeros, between two calls of a kernel."""
    cut: NDArray[np.int32]
    """int32 [clients + slots]: the number of clusters that a cut of the route after the node would divide."""
    is_used: NDArray[np.bool_]
    """bool [slots]: whether the slot's route has clients, as far as the following amounts take account of it."""
    distance: NDArray[np.float64]
    """float64 [slots]: the distance of the route."""
    driving: NDArray[np.float64]
    """float64 [slots]: the travel time of the route."""
    duration: NDArray[np.float64]
    """float64 [slots], if `measures_duration`: the duration of the route."""
    reach: NDArray[np.float64]
    """float64 [clients + slots]: the distance from the depot to the node on its route; 0 for a depot."""
    extremes: NDArray[np.float64]
    """float64 [4]: the longest, the second longest, the shortest and the second shortest amount of a used route; -inf or inf if
    there is none. The shortest two only for a range.
    """
    extreme_slot: NDArray[np.int64]
    """int64 [4]: the slots of these routes; -1 if there is none."""
    roster_routes: NDArray[np.int64]
    """int64 [R]: the number of used routes of the roster."""


def is_coupled(instance: VrpInstance) -> bool:
    """Return whether the cost of a route depends on other routes."""
    rules = instance.rules
    return rules is not None and (rules.balance is not None or rules.roster is not None)


def structure_tables(instance: VrpInstance, owner: NDArray[np.int64], nodes: int) -> StructureTables:
    """Return the rules of structure as arrays.

    Args:
        instance: The instance, with side constraints.
        owner: int64 [slots], the vehicle type of each slot.
        nodes: The number of clients and reload nodes.
    """
    rules, depots, types = instance.rules, instance.depots, instance.vehicles.types
    assert rules is not None
    cluster = np.full(nodes, -1, np.int32)
    if rules.clusters is not None:
        cluster[: instance.clients] = rules.clusters[depots:]
    in_a_row = rules.of("cluster_in_a_row", np.zeros(0, bool)).copy()
    members = [np.flatnonzero(cluster == c) for c in range(len(in_a_row))]
    demands, required = rules.of("demands", instance.demand[:, None])[depots:], instance.required[depots:]
    loads = [demands[each][required[each]].sum(axis=0) for each in members]
    balance = Balance("", "", 0.0) if rules.balance is None else rules.balance
    roster = np.array(rules.of("roster", np.full(types, -1)))
    rosters = max(
        int(roster.max()) + 1, len(rules.of("roster_duration", rules.of("roster_driving", rules.of("roster_cost", ()))))
    )
    slots = [np.flatnonzero(roster[owner] == r) for r in range(rosters)]
    return StructureTables(
        has_clusters=rules.clusters is not None,
        cluster=cluster,
        member_start=np.cumsum([0, *map(len, members)]).astype(np.int32),
        members=np.concatenate([np.zeros(0), *members]).astype(np.int32),
        in_a_row=in_a_row,
        cluster_demand=np.array(loads).reshape(len(in_a_row), rules.dimensions),
        is_coupled=is_coupled(instance),
        measures_duration=rules.measures_duration,
        balance_weight=float(balance.weight),
        of_duration=balance.of == "duration",
        is_range=balance.measure == "range",
        roster=roster,
        slot_start=np.cumsum([0, *map(len, slots)]).astype(np.int64),
        slots=np.concatenate([np.zeros(0), *slots]).astype(np.int64),
        max_duration=_with_tolerance(rules.of("roster_duration", np.full(rosters, np.inf))),
        max_driving=_with_tolerance(rules.of("roster_driving", np.full(rosters, np.inf))),
        roster_cost=np.array(rules.of("roster_cost", np.zeros(rosters))),
    )


def _with_tolerance(limit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return limits, float64, with a tolerance for rounding in sums; too small to matter if all values are integers."""
    return np.asarray(limit + np.where(np.isfinite(limit), _EASE * np.abs(limit), 0.0))


def new_structure_state(tables: StructureTables, nodes: int, slots: int) -> StructureState:
    """Return the state of an empty solution; `nodes`: the number of clients and reload nodes."""
    clusters = len(tables.in_a_row)
    return StructureState(
        served=np.zeros(clusters, np.int32),
        seen=np.zeros(clusters, np.int32),
        cut=np.zeros(nodes + slots, np.int32),
        is_used=np.zeros(slots, bool),
        distance=np.zeros(slots),
        driving=np.zeros(slots),
        duration=np.zeros(slots),
        reach=np.zeros(nodes + slots),
        extremes=np.array([-np.inf, -np.inf, np.inf, np.inf]),
        extreme_slot=np.full(4, -1, np.int64),
        roster_routes=np.zeros(len(tables.roster_cost), np.int64),
    )

"""Rules of structure, which concern several clients or several routes: clusters, balance, and the rosters of vehicles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from corl.errors import InputError
from corl.routing.edge_weights import LARGEST

if TYPE_CHECKING:
    from corl.problems.vrp.instance import VrpInstance
    from corl.problems.vrp.rules import SideConstraints

__all__ = ["MEASURES", "QUANTITIES", "Balance", "check_structure", "first_clusters"]

MEASURES = ("longest", "range")
"""The longest route; the difference between the longest and the shortest route that is used."""
QUANTITIES = ("distance", "duration")
"""The quantities by which a route is long."""


class Balance(NamedTuple):
    """What an unbalanced solution costs: `weight` times a measure of all routes, 0 without routes."""

    measure: str
    """One of MEASURES."""
    of: str
    """One of QUANTITIES: the length of a route, in the instance's units."""
    weight: float
    """The cost of one unit, from 0."""


def first_clusters(rules: SideConstraints, n: int) -> dict[str, Any]:
    """Return the fields of the clusters for the first n nodes; a cluster may then be empty."""
    return {} if rules.clusters is None else {"clusters": rules.clusters[:n]}


def check_structure(rules: SideConstraints, instance: VrpInstance) -> None:
    """Check clusters, balance and rosters. Raises InputError."""
    if rules.clusters is not None and rules.cluster_in_a_row is not None:
        if not ((rules.clusters >= -1) & (rules.clusters < len(rules.cluster_in_a_row))).all():
            raise InputError(f"accepted: -1 to {len(rules.cluster_in_a_row) - 1}", field="clusters")
        if (rules.clusters[: instance.depots] >= 0).any():
            raise InputError("accepted: clients", field="clusters")
        for other, words in (("shipments", "shipments"), ("begun", "routes under way")):
            if getattr(rules, other) is not None:
                raise InputError(f"clusters of clients together with {words} are not supported", field="clusters")
    if rules.balance is not None:
        measure, of, weight = rules.balance
        if measure not in MEASURES or of not in QUANTITIES or not 0.0 <= weight <= LARGEST:
            accepted = f"{' or '.join(MEASURES)}; {' or '.join(QUANTITIES)}; a weight from 0 to {LARGEST:g}"
            raise InputError(f"accepted: {accepted}", field="balance")
    _check_rosters(rules, instance)
    _check_times(rules)


def _check_times(rules: SideConstraints) -> None:
    """Check that no measured time of several routes depends on a choice of departures or on the hour. Raises InputError."""
    words = "travel times that depend on the hour" if rules.hourly else "soft windows"
    field = "balance" if rules.balance is not None and rules.balance.of == "duration" else "roster"
    if rules.measures_duration and (rules.hourly or rules.soft_windows is not None):
        measured = "a balance of durations" if field == "balance" else "limits on the durations of several shifts"
        raise InputError(f"{measured} together with {words} are not supported", field=field)
    if rules.roster_driving is not None and rules.hourly:
        raise InputError(f"limits on the driving of several shifts together with {words} are not supported", field="roster")


def _check_rosters(rules: SideConstraints, instance: VrpInstance) -> None:
    """Check the rosters. Raises InputError."""
    fields = ("roster_duration", "roster_driving", "roster_cost")
    given = [name for name in fields if getattr(rules, name) is not None]
    if rules.roster is None:
        if given:
            raise InputError("roster must be given too", field=given[0])
        return
    rosters = {len(getattr(rules, name)) for name in given} or {int(rules.roster.max(initial=-1)) + 1}
    if len(rosters) > 1:
        raise InputError(f"accepted: as many numbers in each of {', '.join(given)}", field=given[0])
    if not ((rules.roster >= -1) & (rules.roster < max(rosters))).all():
        raise InputError(f"accepted: -1 to {max(rosters) - 1}", field="roster")
    several = np.flatnonzero((rules.roster >= 0) & (instance.vehicles.count != 1))
    if len(several):
        label = instance.vehicle_label(int(several[0]))
        raise InputError(f"vehicle type {label} is a shift of one vehicle; accepted: count 1", field="roster")
    if rules.begun is not None:
        raise InputError("several shifts of one vehicle together with routes under way are not supported", field="roster")

"""Reader and writer of the rules of structure in JSON: clusters, balance, rosters; formats.md describes the fields."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.fields import Array, Choice, Flag, Integer, Kind, Number, Object
from corl.files.json_instances import Field, Record
from corl.problems.vrp.formats.clock import Clock
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.rules import SideConstraints
from corl.problems.vrp.rules_structure import MEASURES, QUANTITIES, Balance
from corl.routing.edge_weights import LARGEST

__all__ = ["FACTS", "structure_facts", "structure_rules"]

_AMOUNT = Number(0, LARGEST)
FACTS: dict[str, Kind] = {
    "clusters": Array(Object({"clients": Array(Integer())}, {"in_a_row": Flag()})),
    "balance": Object({"measure": Choice(MEASURES)}, {"of": Choice(QUANTITIES), "weight": _AMOUNT}),
    "rosters": Array(
        Object({"vehicles": Array(Integer(0), 1)}, {"max_duration": Number(0), "max_driving": Number(0), "fixed_cost": _AMOUNT})
    ),
}
"""Fields of the instance as a whole."""


def structure_rules(instance_record: Record, types: int, node_of: dict[int, int], depots: int, clock: Clock) -> dict[str, Any]:
    """Return a dict of the fields of SideConstraints for clusters, balance and rosters. Raises InputError.

    Args:
        instance_record: The JSON object of the instance.
        types: The number of vehicle types.
        node_of: The id of a node -> its number.
        depots: The number of depots.
        clock: The conversion of times.
    """
    rules = _clusters(instance_record, node_of, depots) if "clusters" in instance_record else {}
    if "balance" in instance_record:
        given = instance_record["balance"].record()
        of, weight = given.get("of", "distance").choice(), given.get("weight", 1.0).number()
        rules["balance"] = Balance(given["measure"].choice(), of, weight / (clock.speed if of == "duration" else 1.0))
    return rules | (_rosters(instance_record, types, clock) if "rosters" in instance_record else {})


def _clusters(instance_record: Record, node_of: dict[int, int], depots: int) -> dict[str, Any]:
    """Return the fields of the clusters. Raises InputError for a client of two clusters."""
    given = [each.record() for each in instance_record["clusters"].entries()]
    clusters = np.full(len(node_of), -1)
    for number, each in enumerate(given):
        for client in each["clients"].entries():
            if (node := node_of.get(client.integer(), -1)) < depots:
                raise client.error(f"{client.value} is no client of the instance")
            _place(clusters, node, number, client, "cluster")
    return {"clusters": clusters, "cluster_in_a_row": np.array([each.get("in_a_row", True).flag() for each in given], bool)}


def _place(numbers: NDArray[np.int64], at: int, number: int, field: Field, word: str) -> None:
    """Set numbers[at] to `number`, in place. Raises InputError if it is set already."""
    if numbers[at] >= 0:
        raise field.error(f"{field.value} is in two {word}s; accepted: one")
    numbers[at] = number


def _rosters(instance_record: Record, types: int, clock: Clock) -> dict[str, Any]:
    """Return the fields of the rosters. Raises InputError for a vehicle type of two rosters, or one that is not there."""
    given = [each.record() for each in instance_record["rosters"].entries()]
    roster = np.full(types, -1)
    for number, each in enumerate(given):
        for kind in each["vehicles"].entries():
            _place(roster, kind.integer(0, types - 1), number, kind, "roster")
    rules: dict[str, Any] = {"roster": roster}
    for key in ("max_duration", "max_driving"):
        if any(key in each for each in given):
            limits = [clock.in_instance_units(each[key].number()) if key in each else math.inf for each in given]
            rules[key.replace("max", "roster")] = np.array(limits)
    if any("fixed_cost" in each for each in given):
        rules["roster_cost"] = np.array([each.get("fixed_cost", 0.0).number() * clock.scale for each in given])
    return rules


def structure_facts(instance: VrpInstance, rules: SideConstraints) -> dict[str, Any]:
    """Return the JSON values of clusters, balance and rosters."""
    facts: dict[str, Any] = {}
    if rules.clusters is not None and rules.cluster_in_a_row is not None:
        facts["clusters"] = [
            {"clients": instance.ids[rules.clusters == number].tolist(), "in_a_row": in_a_row}
            for number, in_a_row in enumerate(rules.cluster_in_a_row.tolist())
        ]
    if rules.balance is not None:
        measure, of, weight = rules.balance
        facts["balance"] = {"measure": measure, "of": of, "weight": weight * (instance.speed if of == "duration" else 1.0)}
    if rules.roster is not None:
        facts["rosters"] = [_roster(instance, rules, number) for number in range(int(rules.roster.max(initial=-1)) + 1)]
    return facts


def _roster(instance: VrpInstance, rules: SideConstraints, number: int) -> dict[str, Any]:
    """Return the JSON object of a roster."""
    facts: dict[str, Any] = {"vehicles": np.flatnonzero(rules.roster == number).tolist()}
    time_factor = instance.speed * instance.scale
    for key, values, factor in (
        ("max_duration", rules.roster_duration, time_factor),
        ("max_driving", rules.roster_driving, time_factor),
        ("fixed_cost", rules.roster_cost, instance.scale),
    ):
        if values is not None and math.isfinite(values[number]):
            facts[key] = float(values[number] / factor)
    return facts

"""Small random instances of every rule, and their optima by enumeration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.problems.vrp.rules import SideConstraints
from corl.problems.vrp.rules_structure import Balance
from support.mixes.vrp_routes import least_cost

__all__ = ["MIXES", "OF_TIME", "RULES", "SLOW", "STRUCTURE", "TOGETHER", "least_cost", "make_rules"]

RULES = (
    "dimensions", "pickups", "backhauls", "shipments", "release", "groups", "some groups", "windows", "allowed", "shift", "open",
    "reloads", "reloads and release", "depots to reload", "duration", "overtime", "breaks", "rests", "breaks and rests",
    "durations", "profiles of durations", "under way", "aboard", "longest", "shipments and windows", "groups and prizes",
    "open and windows", "shipments and breaks", "reloads and duration", "pickups and prizes", "depots and overtime",
    "depots and groups", "depots and breaks", "depots and shipments",
)  # fmt: skip
MIXES = (
    "closing and depots and release",
    "closing and depots and shift", "closing and depots and duration", "closing and depots and breaks",
    "closing and depots and reloads and release", "allowed and reloads", "reloads and prizes", "reloads and some groups",
    "under way and prizes", "under way and some groups", "under way and allowed", "open and shift and breaks",
    "shipments and longest", "matrix and windows", "matrix and breaks", "matrix and longest and prizes", "matrix and rests",
    "soft and reloads", "soft and shipments", "soft and prizes and depots", "soft and matrix and open", "soft and under way",
    "hours and reloads", "hours and shipments", "hours and prizes and allowed", "hours and matrix and open",
)  # fmt: skip
SLOW = ("hours and reloads",)
"""Those whose enumeration takes seconds."""
TOGETHER = (
    "hours and duration", "hourly matrices and duration", "hours and overtime and depots", "hours and longest",
    "soft and hours and duration", "soft and hourly matrices and reloads", "soft and hours and shipments",
)  # fmt: skip
"""Rules of time whose optima `least_cost` does not know, or only after a long time."""
_TIMES = ("soft", "soft and duration", "hours", "hourly matrices")
_NUMBERED = (*RULES, *MIXES, *TOGETHER, *_TIMES)  # the place of a name is a part of the seed
RULES = (*RULES, *_TIMES)
OF_TIME = tuple(name for name in (*RULES, *MIXES) if {"soft", "hours", "hourly matrices"} & set(name.split(" and ")))
"""Those with soft windows or travel by the hour."""

STRUCTURE = (
    "rows", "clusters", "rows and windows", "clusters and prizes", "clusters and reloads", "rows and depots",
    "rows and some groups",
    "longest route", "range and pickups", "longest duration and durations", "range and duration and reloads",
    "longest route and depots and shipments", "rosters", "rosters and rests", "rosters and longest duration and rows",
)  # fmt: skip
"""Clusters in a row (rows) or of one route, balances of distances or durations, rosters of several shifts; with others."""


def make_rules(name: str, clients: int, seed: int) -> VrpInstance:
    """A random instance with the rules that its name tells; there may be no solution."""
    random = np.random.default_rng([seed, (*_NUMBERED, *STRUCTURE).index(name)])
    has = set(name.split(" and "))
    depots = 2 if has & {"depots", "depots to reload"} else 1
    types = (
        2
        if has & {"depots", "allowed", "shift", "open", "overtime", "profiles of durations", "under way", "aboard", "rosters"}
        else 1
    )
    n = clients + depots
    timed = has & {
        "windows", "release", "shift", "breaks", "rests", "durations", "profiles of durations", "longest", "duration", "closing",
        "hours", "hourly matrices", "longest duration",
    }  # fmt: skip
    demand = np.concatenate([np.zeros(depots), random.integers(1, 6, clients)]).astype(float)
    earliest = np.concatenate([np.zeros(depots), random.integers(0, 200, clients)]).astype(float)
    latest = earliest + random.integers(60, 250, n)
    latest[:depots] = 900.0
    if "closing" in has:  # vehicles leave a depot that closes soon and end at one that opens late
        latest[0], earliest[1] = random.integers(60, 220), random.integers(0, 200)
    vehicles = Vehicles(
        capacity=np.array([10.0, 13.0])[:types],
        count=np.array([-1, 3])[:types] if types > 1 else -1,
        start=np.arange(types) if "depots" in has else 0,
        end=np.ones(types) if "closing" in has else None,
        fixed_cost=np.array([20.0, 35.0])[:types],
        unit_cost=np.array([1.0, 1.3])[:types],
        max_duration=420.0 if "longest" in has else np.inf,
        max_distance=300.0 if "longest" in has else np.inf,
    )
    coordinates = matrix = None
    if "matrix" in has:  # some ways are longer than those over others
        matrix = random.integers(1, 70, (n, n)).astype(float)
        np.fill_diagonal(matrix, 0.0)
    else:
        coordinates = random.integers(0, 80, (n, 2)).astype(float)
    instance = VrpInstance(
        f"{name}-{seed}", "EUC_2D" if matrix is None else "EXPLICIT", demand, vehicles, coordinates, matrix, depots=depots,
        earliest=earliest if timed else None, latest=latest if timed else None,
        service=np.where(np.arange(n) < depots, 0.0, random.integers(0, 12, n)) if timed else None,
    )  # fmt: skip
    return _with_rules(instance, has, random)


def _with_rules(instance: VrpInstance, has: set[str], random: np.random.Generator) -> VrpInstance:
    n, depots, types, rules = instance.n, instance.depots, instance.vehicles.types, {}
    clients = np.arange(depots, n)

    def of_clients(values: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros((depots, *values.shape[1:])), values]).astype(float)

    if "dimensions" in has:
        rules["demands"] = np.column_stack([instance.demand, of_clients(random.integers(0, 6, len(clients)))])
        rules["capacities"] = np.array([[10.0, 8.0]])
    if "pickups" in has:
        rules["pickups"] = of_clients(random.integers(0, 7, (len(clients), 1)))
    if "backhauls" in has:
        back = np.append([False] * depots, random.random(len(clients)) < 0.5)
        rules |= {"pickups": np.where(back, instance.demand, 0.0)[:, None], "backhauls_last": True}
        instance = replace(instance, demand=np.where(back, 0.0, instance.demand))
    if "shipments" in has:
        rules["shipments"] = random.permutation(clients)[: len(clients) // 2 * 2].reshape(-1, 2)
        rules["amounts"] = random.integers(3, 9, (len(rules["shipments"]), 1)).astype(float)
        ends = np.zeros(n, bool)
        ends[rules["shipments"].ravel()] = True
        instance = replace(instance, demand=np.where(ends, 0.0, instance.demand))
    if "release" in has:
        rules["release"] = of_clients(random.integers(0, 150, len(clients)))
    if "groups" in has or "some groups" in has:
        rules["groups"] = np.concatenate([[-1] * depots, [0, 1], random.integers(-1, 2, len(clients) - 2)])
        rules["group_required"] = np.array([True, "some groups" not in has])
        instance = replace(instance, required=(rules["groups"] < 0) & (np.arange(n) >= depots))
    if "prizes" in has or "some groups" in has:
        free = random.random(n) < 0.6
        instance = replace(instance, required=instance.required & ~free, prize=of_clients(random.integers(5, 120, len(clients))))
    if "windows" in has and "shipments" not in has:
        begins = np.floor((instance.earliest + random.random(n) * 60)[depots:])
        ends = begins + random.integers(20, 60, len(clients))
        rules["closed"] = np.column_stack([clients, begins, np.minimum(ends, instance.latest[depots:])]).astype(float)
    if "allowed" in has:
        rules["allowed"] = random.random((types, n)) < 0.7
        rules["allowed"][0] |= ~rules["allowed"].any(axis=0)
    if "shift" in has:
        rules["shift"] = np.array([[0.0, 350.0], [120.0, 700.0]])
    if "open" in has:
        rules["stays_out"] = np.array([True, False])
    if "reloads" in has or "depots to reload" in has:
        rules["reloads"] = np.array([2, 1])[:types]
        count = np.full(types, 2 + len(clients) // (3 if "release" in has else 8))
        capacity = np.array([8.0, 5.0])[:types]
        instance = replace(instance, vehicles=replace(instance.vehicles, count=count, capacity=capacity))
    if "depots to reload" in has:
        rules["reload_depots"] = np.array([[True, True]])
    if "duration" in has:
        rules["duration_cost"] = np.full(types, 0.7)
    if "overtime" in has:
        rules |= {"overtime_from": np.array([100.0, 150.0]), "overtime_cost": np.array([2.0, 1.0])}
    if "breaks" in has:
        rules["breaks"] = np.array([[0.0, 60.0, 110.0, 30.0], [0.0, 200.0, 260.0, 20.0]])
    if "rests" in has:
        rules |= {"max_driving": np.full(types, 110.0), "rest": np.full(types, 25.0)}
    if "durations" in has or "profiles of durations" in has:
        rules["durations"] = random.integers(1, 90, (types, n, n)).astype(float)
        rules["profile"] = np.arange(types)
    if "under way" in has:
        rules["begun"] = (np.zeros(0, np.int64), random.permutation(clients)[:2])
        instance = replace(instance, vehicles=replace(instance.vehicles, count=np.array([-1, 1])))
    if "soft" in has:
        begins = random.integers(0, 250, len(clients))
        ends = np.column_stack([np.zeros((depots, 1)), np.full((depots, 1), np.inf)])
        rules["soft_windows"] = np.concatenate([ends, np.column_stack([begins, begins + random.integers(0, 80, len(clients))])])
        rules |= {key: of_clients(random.integers(0, 4, len(clients))) for key in ("early_cost", "late_cost")}
    if has & {"hours", "hourly matrices"}:
        rules["period_starts"] = np.array([0.0, 80.0, 160.0])
    if "hours" in has:
        rules["speed_factors"] = random.integers(2, 7, (types, 3)) / 4
    if "hourly matrices" in has:
        rules["period_durations"] = random.integers(1, 90, (3, n, n)).astype(float)
    if "aboard" in has:
        rules |= {"aboard": np.array([[0.0], [6.0]]), "pickups": of_clients(random.integers(0, 7, (len(clients), 1)))}
    if has & {"rows", "clusters"}:
        count = 2 if len(clients) < 8 else len(clients)
        clusters = np.concatenate([[-1] * depots, [0, 0], random.integers(-1, count, len(clients) - 2)])
        rules |= {"clusters": clusters, "cluster_in_a_row": np.full(count, "rows" in has)}
    if has & {"longest route", "range", "longest duration"}:
        of = "duration" if has & {"longest duration", "duration"} else "distance"
        rules["balance"] = Balance("range" if "range" in has else "longest", of, 2.0)
    if "rosters" in has:
        instance = replace(instance, vehicles=replace(instance.vehicles, count=1))
        rules |= {"roster": np.zeros(2, np.int64), "roster_driving": np.array([320.0]), "roster_cost": np.array([25.0])}
        rules |= {"roster_duration": np.array([430.0])} if "rests" not in has else {}
        required = instance.required & (np.arange(n) < depots + 3)
        instance = replace(instance, required=required, prize=np.where((np.arange(n) >= depots) & ~required, 90.0, 0.0))
    return replace(instance, rules=SideConstraints(**rules))

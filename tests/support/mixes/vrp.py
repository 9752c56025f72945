"""Vehicle routing: JSON instances with any of the rules, and their optima by trying every set of routes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from corl.errors import InputError
from corl.problems.vrp.problem import Vrp
from support.mixes import Mix
from support.mixes.vrp_routes import least_cost

__all__ = ["RULES", "make"]

RULES = (
    "depots", "types", "count", "profiles", "durations", "windows", "several windows", "service", "release", "pickups",
    "shipments", "groups", "backhauls", "allowed", "shift", "open", "reloads", "reload depots", "time cost", "overtime",
    "breaks", "rests", "aboard", "dimensions", "prizes", "longest way", "longest time", "begun", "fewest", "free distance",
    "soft windows", "speeds", "travel by the hour",
    "clusters", "weak clusters", "longest route", "range", "rosters",
)  # fmt: skip
_PAUSES = {"several windows", "breaks", "rests"}
_LASTING = {"time cost", "overtime", "longest time"}
_HOURLY = {"speeds", "travel by the hour"}
_LOADS = {"shipments", "backhauls", "aboard", "open"}


def make(seed: int) -> Mix:
    """Up to four clients, up to seven rules; some instances have no solution."""
    random = np.random.default_rng([seed, 37])
    while True:
        has = set(random.choice(RULES, int(random.integers(0, 8)), replace=False).tolist())
        if has & _HOURLY:  # what is refused together
            has -= {"soft windows"}  # not refused, but not enumerated together
            has -= {"speeds", "durations"} if "travel by the hour" in has else set()
        if has & (_HOURLY | {"soft windows"}):
            has -= _PAUSES | {"release"} | ({"overtime", "longest time"} if "soft windows" in has else set())
        if has & _PAUSES:
            has -= _LASTING
        if "reloads" in has:
            has -= _LOADS
        if "backhauls" in has:
            has = (has - {"shipments"}) | {"pickups"}
        if has & {"clusters", "weak clusters"}:
            has -= {"shipments", "begun"}
        if "rosters" in has:
            has -= {"begun"}
        try:
            instance = Vrp().adapt(_Maker(random, has).given())
        except InputError:  # a demand above every capacity, an optional client of a shipment
            continue
        best = least_cost(instance)
        return Mix(instance, best if math.isfinite(best) else None, tuple(sorted(has)))


class _Maker:
    """One instance as a user's JSON."""

    def __init__(self, random: np.random.Generator, has: set[str]) -> None:
        self._random, self._has = random, has
        self._clients, self._depots = int(random.integers(1, 5)), 2 if has & {"depots", "reload depots"} else 1
        self._nodes = self._clients + self._depots
        self._ids = random.permutation(50)[: self._nodes].tolist()
        self._under_way = self._ids[self._depots :]

    def _whole(self, low: int, high: int) -> int:
        return int(self._random.integers(low, high + 1))

    def _chance(self, share: float) -> bool:
        return bool(self._random.random() < share)

    def _load(self, low: int, high: int) -> Any:
        return [self._whole(low, high), self._whole(low, high)] if "dimensions" in self._has else self._whole(low, high)

    def _matrix(self) -> list[list[int]]:
        least = 0 if self._chance(0.2) else 1
        table = self._random.integers(least, 10, (self._nodes, self._nodes))
        if self._chance(0.5):
            table = np.triu(table, 1) + np.triu(table, 1).T
        np.fill_diagonal(table, 0)
        return table.tolist()

    def given(self) -> dict[str, Any]:
        clients = [self._client(node) for node in self._ids[self._depots :]]
        given: dict[str, Any] = {"problem": "vrp", "name": "mix", "matrix": self._matrix()}
        given["depots"] = [self._depot(node) for node in self._ids[: self._depots]]
        given["clients"] = clients
        if "shipments" in self._has and self._clients > 1:
            given["shipments"] = self._shipments(clients)
        if "groups" in self._has:
            given["groups"] = self._groups(clients)
        if self._has & {"profiles", "durations"}:
            given["profiles"] = [self._profile(given["matrix"] if p == 0 else self._matrix())
                                 for p in range(2 if "profiles" in self._has else 1)]  # fmt: skip
        if "backhauls" in self._has:
            given["backhauls_last"] = True
        if "fewest" in self._has:
            given["fleet"] = "fewest"
        types = self._whole(1, 3) if self._has & {"types", "depots", "profiles", "begun", "rosters"} else 1
        if self._has & _HOURLY:
            given["periods"] = self._periods()
        given["vehicles"] = [self._vehicle(len(given.get("profiles", ())), len(given.get("periods", ()))) for _ in range(types)]
        return given | self._structure(given["vehicles"])

    def _structure(self, vehicles: list[dict[str, Any]]) -> dict[str, Any]:
        """Clusters, balance and rosters; the vehicles of a roster are single ones, in place."""
        has, whole, chance, found = self._has, self._whole, self._chance, dict[str, Any]()
        if has & {"clusters", "weak clusters"}:
            left = self._random.permutation(self._ids[self._depots :]).tolist()
            clusters = [left[:2], left[2:]] if chance(0.5) else [left[: whole(2, 3)]]
            found["clusters"] = [{"clients": each, "in_a_row": "clusters" in has} for each in clusters if each]
        if has & {"longest route", "range"}:
            of = "duration" if chance(0.5) and not has & (_PAUSES | _HOURLY | {"soft windows"}) else "distance"
            found["balance"] = {"measure": "range" if "range" in has else "longest", "of": of, "weight": whole(0, 3)}
        if "rosters" in has:
            kinds = self._random.permutation(len(vehicles))[: whole(1, len(vehicles))].tolist()
            for kind in kinds:
                vehicles[kind]["count"] = 1
            limits = {"max_driving": whole(20, 60)} | ({} if has & _PAUSES else {"max_duration": whole(20, 90)})
            limits = {} if has & (_HOURLY | {"soft windows"}) else {key: limit for key, limit in limits.items() if chance(0.5)}
            found["rosters"] = [{"vehicles": kinds, **limits} | ({"fixed_cost": whole(0, 9)} if chance(0.5) else {})]
        return found

    def _periods(self) -> list[dict[str, Any]]:
        """Two or three periods that begin within the first routes."""
        periods: list[dict[str, Any]] = [
            {"from": begin} for begin in (0, self._whole(1, 12), self._whole(13, 30))[: self._whole(2, 3)]
        ]
        for period in periods:
            if "travel by the hour" in self._has:
                period["durations"] = self._matrix()
            else:
                period["speed_factor"] = self._whole(1, 8) / 4
        return periods

    def _depot(self, node: int) -> dict[str, Any]:
        found: dict[str, Any] = {"id": node}
        if "windows" in self._has and self._chance(0.6):
            opens = self._whole(0, 8)
            found["window"] = [None if self._chance(0.3) else opens, None if self._chance(0.3) else opens + self._whole(0, 50)]
        return found

    def _client(self, node: int) -> dict[str, Any]:
        found: dict[str, Any] = {"id": node, "demand": self._load(0, 4)}
        if "several windows" in self._has and self._chance(0.6):
            ends = np.cumsum(self._random.integers(0, 9, 4)).tolist()
            found["windows"] = [ends[:2], [ends[2], None if self._chance(0.3) else ends[3]]]
        elif "windows" in self._has and self._chance(0.6):
            begin = self._whole(0, 20)
            found["window"] = [begin, None if self._chance(0.3) else begin + self._whole(0, 25)]
        if "service" in self._has:
            found["service"] = self._whole(0, 5)
        if "release" in self._has and self._chance(0.6):
            found["release"] = self._whole(0, 15)
        if "soft windows" in self._has and self._chance(0.8):
            begin = self._whole(0, 25)
            found["soft_window"] = [
                None if self._chance(0.2) else begin,
                None if self._chance(0.2) else begin + self._whole(0, 8),
            ]
            found |= {"early_cost": self._whole(0, 3), "late_cost": self._whole(0, 3)}
        if "pickups" in self._has and self._chance(0.6):
            found["pickup"] = self._load(0, 4)
            if "backhauls" in self._has:
                found["demand"] = [0, 0] if "dimensions" in self._has else 0
        if "prizes" in self._has and self._chance(0.6):
            found["prize"] = self._whole(1, 25)
            if self._chance(0.1):
                found["required"] = True
        return found

    def _shipments(self, clients: list[dict[str, Any]]) -> list[dict[str, Any]]:
        order = self._random.permutation(len(clients)).tolist()
        found = []
        for k in range(self._whole(1, len(clients) // 2)):
            one, other = clients[order[2 * k]], clients[order[2 * k + 1]]
            for each in (one, other):
                for field in ("demand", "pickup", "prize", "required"):
                    each.pop(field, None)
            found.append({"from": one["id"], "to": other["id"], "amount": self._load(0, 4)})
        return found

    def _groups(self, clients: list[dict[str, Any]]) -> list[dict[str, Any]]:
        free = [each["id"] for each in clients if "demand" in each and not each.get("required")]
        found: list[dict[str, Any]] = []
        while free and (not found or self._chance(0.6)):
            size = min(len(free), self._whole(1, 3))
            found.append({"clients": free[:size], "required": self._chance(0.6)})
            free = free[size:]
        return found

    def _profile(self, distances: list[list[int]]) -> dict[str, Any]:
        return ({"distances": distances} if "profiles" in self._has else {}) | (
            {"durations": self._matrix()} if "durations" in self._has else {}
        )

    def _vehicle(self, profiles: int, periods: int) -> dict[str, Any]:
        has, whole, chance = self._has, self._whole, self._chance
        own, other = [self._ids[whole(0, self._depots - 1)] for _ in range(2)]
        clients = self._ids[self._depots :]
        found: dict[str, Any] = {"depot": own} | ({"capacity": self._load(3, 10)} if chance(0.9) else {})
        if "count" in has:
            found["count"] = 0 if chance(0.1) else whole(1, 3)
        if chance(0.5):
            found["end_depot"] = other
        if chance(0.4):
            found["fixed_cost"] = whole(0, 10)
        if chance(0.3) or "free distance" in has:
            found["unit_cost"] = 0 if "free distance" in has else whole(1, 3)
        wanted: dict[str, Any] = {
            "longest way": {"max_distance": whole(8, 40)}, "longest time": {"max_duration": whole(8, 45)},
            "allowed": {"allowed": self._random.permutation(clients)[: whole(1, len(clients))].tolist()},
            "open": {"stays_out": chance(0.8)}, "reloads": {"reloads": whole(0, 2)}, "time cost": {"duration_cost": whole(0, 3)},
            "overtime": {"overtime_from": whole(5, 25), "overtime_cost": whole(1, 4)},
            "rests": {"max_driving": whole(6, 20), "rest": whole(1, 5)},
        }  # fmt: skip
        for name, fields in wanted.items():
            found |= fields if name in has else {}
        if "shift" in has:
            begin = whole(0, 10)
            found["shift"] = [None if chance(0.3) else begin, None if chance(0.3) else begin + whole(5, 50)]
        if {"reloads", "reload depots"} <= has:
            found["reload_depots"] = self._ids[: self._depots] if chance(0.5) else [other]
        if "breaks" in has:
            begins = [whole(0, 20) for _ in range(whole(1, 2))]
            found["breaks"] = [{"window": [begin, begin + whole(0, 12)], "duration": whole(1, 5)} for begin in begins]
        if "speeds" in has and chance(0.3):
            found["speed_factors"] = [whole(1, 8) / 4 for _ in range(periods)]
        if profiles:
            found["profile"] = whole(0, profiles - 1)
        if "aboard" in has and chance(0.6):
            found["aboard"] = self._load(0, 3)
        if "begun" in has and chance(0.7):
            size = min(len(self._under_way), whole(1, 2))
            found |= {"count": 1, "begun": self._under_way[:size]}
            self._under_way = self._under_way[size:]
        return found

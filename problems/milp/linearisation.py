"""Semi-continuous variables, special ordered sets and indicators as linear rows with binary variables, for engines.

With limits l <= x <= u, a semi-continuous x becomes l z <= x <= u z with a binary z. A member x of an ordered set becomes
l y <= x <= u y; y is a binary variable of its own (kind 1), or the sum of those of the two pairs of neighbours to which x belongs
(kind 2), and at most one of these variables is 1. A row a x <= r with an indicator b becomes a x + (M - r) b <= M, where M is the
largest value of a x. The judge does not use this module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from corl.problems.milp.conditions import OrderedSet, activities, outer_limits
from corl.problems.milp.instance import MilpInstance, from_triplets
from corl.tolerance import FEASIBILITY

__all__ = ["Linear", "linear"]

_SLACK = 1e-9  # relative, added to M where it is no integer, as it is a sum of rounded numbers


@dataclass(frozen=True)
class Linear:
    """A program without conditions whose solutions are those of the instance, with further binary variables."""

    program: MilpInstance
    """The instance's variables come first. The instance itself if it has no conditions."""
    values: tuple[Callable[[NDArray[np.float64]], float], ...]
    """For each further variable, its value as a function of the instance's solution, float64 [n]."""

    def extend(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a solution of the instance, float64 [n], as one of the program, float64 [n + further variables]."""
        return np.concatenate([x, [value(x) for value in self.values]]) if self.values else x


def linear(instance: MilpInstance) -> Linear:
    """Return the program with linear rows instead of conditions."""
    if instance.conditions is None:
        return Linear(instance, ())
    rows = _Rows(instance)
    for j in np.flatnonzero(instance.conditions.semicontinuous).tolist():
        rows.semicontinuous(j)
    for ordered in instance.conditions.sets:
        if ordered.kind == 1:
            rows.one_of(ordered)
        else:
            rows.neighbours(ordered)
    rows.indicators()
    return rows.built()


@dataclass
class _Rows:
    """The rows and the binary variables that are added to an instance."""

    instance: MilpInstance
    names: list[str] = field(default_factory=list)  # of the added variables
    values: list[Callable[[NDArray[np.float64]], float]] = field(default_factory=list)
    entries: list[tuple[int, int, float]] = field(default_factory=list)  # (added row, column, coefficient)
    sides: list[tuple[str, float, float]] = field(default_factory=list)  # of each added row: its name and its two sides

    def __post_init__(self) -> None:
        self.lower, self.upper = outer_limits(self.instance)

    def add_variable(self, name: str, value: Callable[[NDArray[np.float64]], float]) -> int:
        self.names.append(name)
        self.values.append(value)
        return self.instance.n + len(self.names) - 1

    def add_row(self, name: str, terms: list[tuple[int, float]], low: float, high: float) -> None:
        self.entries += [(len(self.sides), j, value) for j, value in terms]
        self.sides.append((name, low, high))

    def link(self, j: int, switches: list[int], low: float, high: float) -> None:
        """Add low * s <= x_j <= high * s, where s is the sum of the binary variables `switches`."""
        name = self.instance.names[j]
        self.add_row(f"{name}_at_most", [(j, 1.0), *((s, -high) for s in switches)], -np.inf, 0.0)
        self.add_row(f"{name}_at_least", [(j, 1.0), *((s, -low) for s in switches)], 0.0, np.inf)

    def semicontinuous(self, j: int) -> None:
        low, high = float(self.instance.lower[j]), float(self.instance.upper[j])
        if not low <= 0.0 <= high:
            self.link(j, [self.add_variable(f"{self.instance.names[j]}_used", _differs(j))], low, high)

    def _member(self, j: int, switches: list[int]) -> None:
        self.link(j, switches, min(0.0, float(self.lower[j])), max(0.0, float(self.upper[j])))

    def one_of(self, ordered: OrderedSet) -> None:
        switches = []
        for j in ordered.columns.tolist():
            if self.instance.binary[j]:
                switches.append(j)
            else:
                switches.append(self.add_variable(f"{ordered.name}_{self.instance.names[j]}", _differs(j)))
                self._member(j, [switches[-1]])
        self.add_row(f"{ordered.name}_one", [(s, 1.0) for s in switches], -np.inf, 1.0)

    def neighbours(self, ordered: OrderedSet) -> None:
        members = ordered.columns.tolist()
        if len(members) < 3:
            return
        pairs = [
            self.add_variable(f"{ordered.name}_pair_{k + 1}", _begins_at(ordered.columns, k)) for k in range(len(members) - 1)
        ]
        for k, j in enumerate(members):
            self._member(j, pairs[max(0, k - 1) : k + 1])
        self.add_row(f"{ordered.name}_one", [(pair, 1.0) for pair in pairs], -np.inf, 1.0)

    def indicators(self) -> None:
        """Add both sides of each row that has an indicator b: the row, with a term in b that is 0 where the row must hold."""
        instance, conditions = self.instance, self.instance.conditions
        assert conditions is not None
        least, most = activities(instance)
        for i in np.flatnonzero(conditions.indicator >= 0).tolist():
            b, active = int(conditions.indicator[i]), bool(conditions.active[i])
            entries = slice(int(instance.first[i]), int(instance.first[i + 1]))
            terms = dict(zip(instance.column[entries].tolist(), instance.value[entries].tolist()))
            low, high = float(instance.row_lower[i]), float(instance.row_upper[i])
            for side, extreme, sign in ((high, float(most[i]), 1.0), (low, float(least[i]), -1.0)):
                rounding = 0.0 if extreme.is_integer() else _SLACK * max(1.0, abs(extreme))
                beyond = extreme + sign * rounding - side
                if not np.isfinite(side) or sign * beyond <= 0.0:  # no side, or one that no values break
                    continue
                with_indicator = {**terms, b: terms.get(b, 0.0) + (beyond if active else -beyond)}
                limit = side + (beyond if active else 0.0)
                name = f"{instance.row_names[i]}_{'upper' if sign > 0.0 else 'lower'}"
                self.add_row(name, list(with_indicator.items()), *((-np.inf, limit) if sign > 0.0 else (limit, np.inf)))

    def built(self) -> Linear:
        instance, conditions, added = self.instance, self.instance.conditions, len(self.names)
        assert conditions is not None
        always = conditions.indicator < 0
        low = np.where(always, instance.row_lower, -np.inf)
        high = np.where(always, instance.row_upper, np.inf)
        row, column, value = (np.array(part) for part in (zip(*self.entries) if self.entries else ([], [], [])))
        program = from_triplets(
            instance.name, instance.sense, np.concatenate([instance.c, np.zeros(added)]),
            np.concatenate([instance.row, row.astype(np.int64) + instance.m]),
            np.concatenate([instance.column, column]), np.concatenate([instance.value, value]),
            np.concatenate([low, [side[1] for side in self.sides]]), np.concatenate([high, [side[2] for side in self.sides]]),
            lower=np.concatenate([self.lower, np.zeros(added)]), upper=np.concatenate([self.upper, np.ones(added)]),
            integer=np.concatenate([instance.integer, np.ones(added, np.bool_)]), offset=instance.offset,
            names=_different(instance.names, self.names),
            row_names=_different(instance.row_names, [side[0] for side in self.sides]),
        )  # fmt: skip
        return Linear(replace(program, comment=instance.comment), tuple(self.values))


def _differs(j: int) -> Callable[[NDArray[np.float64]], float]:
    return lambda x: float(abs(x[j]) > FEASIBILITY)


def _begins_at(columns: NDArray[np.int32], k: int) -> Callable[[NDArray[np.float64]], float]:
    """Return whether the pair of members k and k + 1 is the first one that contains all members that differ from 0."""

    def value(x: NDArray[np.float64]) -> float:
        used = np.flatnonzero(np.abs(x[columns]) > FEASIBILITY)
        return float(len(used) > 0 and min(int(used[0]), len(columns) - 2) == k)

    return value


def _different(names: tuple[str, ...], added: list[str]) -> list[str]:
    """Return the names and the added ones, which get a number where they are taken."""
    taken, result = set(names), list(names)
    for name in added:
        unique, number = name, 1
        while unique in taken:
            number += 1
            unique = f"{name}_{number}"
        taken.add(unique)
        result.append(unique)
    return result

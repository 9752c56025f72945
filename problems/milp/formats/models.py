"""Conversion of pyscipopt Models to instances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from corl.errors import InputError, kind_of
from corl.problems.milp.instance import INFINITY, MilpInstance, from_triplets

__all__ = ["adapt"]

_ACCEPTED = "a pyscipopt Model with linear constraints and objective"


def adapt(data: Any) -> MilpInstance:
    """Return the instance of a pyscipopt Model that has not been solved. Raises InputError, naming what is not linear."""
    if not all(hasattr(data, name) for name in ("getVars", "getConss", "getObjectiveSense")):
        raise InputError(f"{kind_of(data)} cannot be read as an instance of milp; accepted: a path or {_ACCEPTED}")
    if data.getStageName() not in ("PROBLEM", "INIT"):
        raise InputError(f"a Model in the stage {data.getStageName()}; accepted: one that has not been solved (freeTransform)")
    variables = data.getVars()
    if not variables:
        raise InputError(f"a Model without variables; accepted: {_ACCEPTED}")
    index = {variable.ptr(): j for j, variable in enumerate(variables)}
    rows, columns, values, low, high, row_names = [], [], [], [], [], []
    for i, constraint in enumerate(data.getConss(transformed=False)):
        for variable, value in _terms(data, constraint):
            rows.append(i)
            columns.append(index[variable.ptr()])
            values.append(value)
        low.append(_limit(data.getLhs(constraint)))
        high.append(_limit(data.getRhs(constraint)))
        row_names.append(constraint.name)
    row, column, value = _merged(rows, columns, values, len(variables))
    kinds = [variable.vtype() for variable in variables]
    for variable, kind in zip(variables, kinds):
        if kind not in ("BINARY", "INTEGER", "CONTINUOUS", "IMPLINT"):
            raise InputError(f"a variable of the kind {kind}; accepted: {_ACCEPTED}", field=variable.name)
    return from_triplets(
        data.getProbName(), "max" if data.getObjectiveSense() == "maximize" else "min", [v.getObj() for v in variables],
        row, column, value, low, high, lower=[_limit(v.getLbOriginal()) for v in variables],
        upper=[_limit(v.getUbOriginal()) for v in variables], integer=[kind != "CONTINUOUS" for kind in kinds],
        offset=float(data.getObjoffset()), names=_different([v.name for v in variables]), row_names=_different(row_names),
    )  # fmt: skip


def _terms(model: Any, constraint: Any) -> list[tuple[Any, float]]:
    """Return the (variable, coefficient) pairs of a linear constraint. Raises InputError for another constraint."""
    if constraint.getConshdlrName() != "linear":
        raise InputError(f"a {constraint.getConshdlrName()} constraint; accepted: {_ACCEPTED}", field=constraint.name)
    return list(zip(model.getConsVars(constraint), model.getConsVals(constraint)))


def _merged(rows: list[int], columns: list[int], values: list[float], n: int) -> tuple[Any, Any, Any]:
    """Return rows, columns and values in which entries of equal row and column are summed up; a Model may have several."""
    key, place = np.unique(np.array(rows, np.int64) * n + np.array(columns, np.int64), return_inverse=True)
    return key // n, key % n, np.bincount(place, values, len(key))


def _limit(value: float) -> float:
    """Return a side or bound; infinite from INFINITY on."""
    return math.copysign(math.inf, value) if abs(value) >= INFINITY else float(value)


def _different(names: list[str]) -> list[str]:
    """Return the names, made unique by numbers: the second "x" becomes "x_2"; an empty name becomes "_"."""
    taken: set[str] = set()
    result = []
    for name in names:
        unique, number = name or "_", 1
        while unique in taken:
            number += 1
            unique = f"{name}_{number}"
        taken.add(unique)
        result.append(unique)
    return result

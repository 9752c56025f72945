"""Small mixed-integer programs, and their optima by enumeration."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

import corl
from corl import registry
from corl.problems.milp.instance import MilpInstance, from_triplets

CHEAP = "scip"
LARGE = {"milp": ("set-cover", {"rows": 2000, "columns": 4000})}

BUSY = ("set-cover", {"rows": 400, "columns": 800})
TINY_MIXES = 20
MANY_MIXES = 400
MANY_CLAIMS = 200
HELD: list[Any] = []  # files, Models and modules alone
PAGE = ("auctions", {"items": 10, "bids": 20})
PICTURES = False
PAGE_LIMIT = {"time_limit": 60}  # it has no iterations, and proves optimality at once
RECORDED = ("learned-branching",)
GOLDENS = {
    "auctions": ("auctions", {"items": 40, "bids": 160, "seed": 1}),
    "facilities": ("facility-location", {"customers": 8, "facilities": 6, "seed": 2}),
    "knapsacks": ("multiple-knapsack", {"items": 9, "knapsacks": 2, "seed": 3}),
    "set-cover": ("set-cover", {"rows": 120, "columns": 200, "density": 0.05, "seed": 4}),
}
GOLDEN_SOLVES = """
cp-sat knapsacks - proof +ortools
highs facilities - proof
highs set-cover - proof
learned-branching auctions 5 policy=milp-auctions root_cuts=true proof +pyscipopt
learned-branching set-cover - policy=milp-independent-set root_cuts=true proof +pyscipopt
learned-branching set-cover 5 policy=milp-set-cover root_cuts=true proof +pyscipopt
scip auctions 5 root_cuts=true proof +pyscipopt
scip set-cover - proof +pyscipopt
scip-fullstrong set-cover - root_cuts=true proof +pyscipopt
scip-pscost auctions 5 root_cuts=true proof +pyscipopt
scip-pscost set-cover 5 root_cuts=true proof +pyscipopt
scip-relpscost knapsacks - proof +pyscipopt
"""


def random_program(seed: int) -> MilpInstance:
    """Four variables - integers from -1 to 2, some continuous, some of these without a limit - and up to three rows, some of
    them equations and some empty; often infeasible, sometimes unbounded."""
    random, kind = np.random.default_rng(seed), seed % 4
    m = int(random.integers(0, 4))
    dense = random.integers(-4, 5, (m, 4)).astype(float)
    dense[random.random(m) < 0.15] = 0.0
    rows, columns = np.nonzero(dense)
    low = random.integers(-6, 5, m).astype(float)
    high = low + random.integers(0, 6, m)
    low[random.random(m) < 0.2] = -np.inf
    integer = np.array([True, True, kind == 0, kind == 0])
    lower, upper = np.full(4, -1.0), np.full(4, 2.0)
    if kind >= 2:
        lower[3], upper[3] = (-np.inf, np.inf) if kind == 3 else (-np.inf, 2.0)
    return from_triplets(
        f"p{seed}", ("min", "max")[seed // 4 % 2], random.integers(-9, 10, 4), rows, columns, dense[rows, columns], low, high,
        lower=lower, upper=upper, integer=integer, offset=3.5,
    )  # fmt: skip


def optimum(instance: MilpInstance) -> float | None:
    """Every choice of the integers, and linear programming for the rest; infinite where that is unbounded."""
    from scipy.optimize import linprog

    sign = -1.0 if instance.sense == "max" else 1.0
    dense = instance.matrix.toarray() if instance.m else np.zeros((0, instance.n))
    sides = np.concatenate([instance.row_upper, -instance.row_lower])
    rows, there = np.concatenate([dense, -dense]), np.isfinite(sides)
    values = []
    for whole in itertools.product(range(-1, 3), repeat=int(instance.integer.sum())):
        low, high = instance.lower.copy(), instance.upper.copy()
        low[instance.integer] = high[instance.integer] = whole
        found = linprog(sign * instance.c, rows[there], sides[there], bounds=np.stack([low, high], axis=1))
        if found.status == 4 or found.status == 3:
            feasible = linprog(0 * instance.c, rows[there], sides[there], bounds=np.stack([low, high], axis=1)).status == 0
            values += [-math.inf] if feasible else []
        elif found.status == 0:
            values.append(float(found.fun))
    return None if not values else sign * min(values) + instance.offset


def solved(seed: int) -> tuple[MilpInstance, float | None]:
    """A tiny program with its optimum; None where there is no solution, infinite where solutions get better without end."""
    instance = random_program(seed)
    return instance, optimum(instance)


def smallest() -> list[Any]:
    """No rows, one variable, everything fixed, nothing to gain."""

    def made(c: list[float], low: float, high: float, rows: int, integer: bool) -> Any:
        n = len(c)
        at, columns = np.divmod(np.arange(rows * n), n)
        ones, sides = np.ones(rows * n), (np.zeros(rows), np.full(rows, 9.0))
        return from_triplets("a", "min", c, at, columns, ones, *sides, lower=low, upper=high, integer=integer)

    return [made([1.0], 0, 1, 0, True), made([1.0, -1.0], 0, 3, 1, True), made([1.0, 2.0], 2, 2, 1, True),
            made([0.0, 0.0], 0, 4, 2, True), made([-1.0, -2.0], 0, 4, 1, False)]  # fmt: skip


def kernel_samples() -> list[Any]:
    """Small instances of the kinds that the solvers have kernels for."""
    return [registry.problem("milp").generators["set-cover"](rows=250, columns=500)]


def compile_further() -> None:
    """Read SCIP's LP at a few nodes; candidates, features and networks are what the solvers prepare."""
    result = corl.solve(kernel_samples()[0], solver="learned-branching", policy="milp-set-cover", iterations=5)
    if result.limit != "iterations":
        raise RuntimeError(f"the program was solved without branching ({result.limit}): no LP was read")

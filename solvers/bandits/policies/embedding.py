"""The Q-network as a mixed-integer program, whose optimum is the feasible action of highest value.

The feasible actions are the integer points of the constraint's relaxation, and the levels of the arms are linear in them. ReLUs
are modelled by big-M constraints, which need bounds on the units' inputs. The constraint's oracle computes exact bounds for the
first layer. For the second, the first layer's ReLUs are replaced by linear bounds (Zhang, Weng, Chen, Hsieh & Daniel, NeurIPS
2018), whose weighted sum the oracle maximises. The program is solved by HiGHS (via SciPy) or SCIP.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array, hstack, vstack

from corl.deadline import OutOfTime, program_solved, seconds_left
from corl.errors import SolverError
from corl.problems.bandits.instance import BanditInstance
from corl.solvers.bandits.policies.qnetwork import QNetwork

__all__ = ["best_embedded"]

_SLACK = 1e-9  # relative amount by which the bounds on inputs are widened, against rounding


class _Program(NamedTuple):
    """Maximise gain @ x subject to low <= rows @ x <= high and least <= x <= most. Z columns, M rows."""

    gain: NDArray[np.float64]
    """[Z]"""
    rows: csr_array
    """float64 [M, Z]"""
    low: NDArray[np.float64]
    """[M] -inf for none."""
    high: NDArray[np.float64]
    """[M] inf for none."""
    least: NDArray[np.float64]
    """[Z]"""
    most: NDArray[np.float64]
    """[Z] inf for none."""
    integer: NDArray[np.bool_]
    """[Z] whether the column must be an integer."""


def best_embedded(
    instance: BanditInstance,
    network: QNetwork,
    given: tuple[NDArray[np.float64], NDArray[np.float64]],
    level_values: NDArray[np.float64],
    engine: str = "highs",
) -> tuple[float, NDArray[np.int8]]:
    """Return the highest value of a feasible action (network plus level values), and the levels that the action gives, int8 [J].

    Args:
        instance: The instance.
        network: The network.
        given: The two tables of `qnetwork.given_state` for the state.
        level_values: float64 [J A], the value of each pair of an arm and a level, minus that of the arm's level 0.
        engine: "highs" or "scip".
    """
    program, chance = _program(instance, network, given, level_values)
    x = _by_scip(program) if engine == "scip" else _by_highs(program)
    arms, width = instance.rewards.shape[:2]
    levels = np.zeros(arms, np.int8)
    chosen = np.flatnonzero(chance @ x[: chance.shape[1]] > 0.5)
    levels[chosen // (width - 1)] = chosen % (width - 1) + 1
    return float(program.gain @ x + network.b3[0]), levels


def _program(
    instance: BanditInstance, network: QNetwork, given: tuple[NDArray, NDArray], level_values: NDArray
) -> tuple[_Program, Any]:
    """Return the program, and the matrix that maps its first columns to levels above 0; arguments as of `best_embedded`."""
    relaxation = instance.constraint.relaxation()
    zero, added = given
    arms, width = instance.rewards.shape[:2]
    above_zero = [j * width + a for j in range(arms) for a in range(1, width)]  # row of `chance` -> number j A + a of its pair
    low, high = _first_bounds(instance, zero, added)
    program = _Builder(relaxation.inequalities.shape[1], relaxation.whole)
    program.at_most(relaxation.inequalities, relaxation.limit)
    hidden = program.relu(csr_array((relaxation.chance.T @ added[above_zero]).T), zero, low, high)
    second_low, second_high = _second_bounds(instance, network, given, low, high)
    selected = coo_array(
        (network.w2.ravel(), (np.tile(np.arange(len(network.b2)), len(hidden)), np.repeat(hidden, len(network.b2))))
    )
    second = program.relu(csr_array(selected), network.b2, second_low, second_high)
    gain = np.zeros(program.size)
    gain[: relaxation.chance.shape[1]] = relaxation.chance.T @ level_values[above_zero]
    gain[second] += network.w3
    return program.done(gain), relaxation.chance


def _first_bounds(instance: BanditInstance, zero: NDArray, added: NDArray) -> tuple[NDArray, NDArray]:
    """Return the lowest and highest input of each unit of the first layer over all feasible actions, [16] each."""
    high = zero + _most(instance, added.T)
    low = zero - _most(instance, -added.T)
    return _loosened(low, high)


def _second_bounds(
    instance: BanditInstance, network: QNetwork, given: tuple[NDArray, NDArray], low: NDArray, high: NDArray
) -> tuple[NDArray, NDArray]:
    """Return lower and upper bounds on the inputs of the second layer, [32] each.

    They follow from the bounds `low` and `high` on the inputs of the first layer: the tighter of linear relaxation and interval
    arithmetic.
    """
    zero, added = given
    crossing = (low < 0.0) & (high > 0.0)
    span = np.where(crossing, high - low, 1.0)
    above = np.where(crossing, high / span, low >= 0.0)  # ReLU <= above * input + shift
    shift = np.where(crossing, -low * high / span, 0.0)
    below = np.where(crossing, high > -low, low >= 0.0).astype(np.float64)  # ReLU >= below * input
    least, most = np.maximum(low, 0.0), np.maximum(high, 0.0)
    bounds = []
    for sign in (1.0, -1.0):
        positive, negative = np.maximum(sign * network.w2, 0.0), np.minimum(sign * network.w2, 0.0)
        slopes = positive * above[:, None] + negative * below[:, None]
        linear = zero @ slopes + shift @ positive + _most(instance, (added @ slopes).T)
        bounds.append(sign * (sign * network.b2 + np.minimum(linear, most @ positive + least @ negative)))
    return _loosened(bounds[1], bounds[0])


def _most(instance: BanditInstance, tables: NDArray) -> NDArray:
    """Return for each table of level values [n, J A] the highest sum over a feasible action, [n]."""
    level_values = np.ascontiguousarray(tables.reshape(len(tables), *instance.rewards.shape[:2]))
    levels = instance.constraint.levels_of(instance.constraint.oracle(level_values))[:, :, None].astype(np.int64)
    return np.take_along_axis(level_values, levels, 2)[:, :, 0].sum(axis=1)  # type: ignore[no-any-return]


def _loosened(low: NDArray, high: NDArray) -> tuple[NDArray, NDArray]:
    """Return bounds widened by the effect of rounding."""
    slack = _SLACK * (1.0 + np.abs(low) + np.abs(high))
    return low - slack, high + slack


class _Builder:
    """A program under construction. Its first `points` columns are those of the constraint's relaxation.

    `whole`, [points], says which of these columns are integers; None: all of them.
    """

    def __init__(self, points: int, whole: NDArray[np.bool_] | None) -> None:
        self.size = points
        self.blocks: list[csr_array] = []
        self.ends: list[tuple[NDArray, NDArray]] = []
        self.integer: list[NDArray] = [np.ones(points, np.bool_) if whole is None else whole]
        self.most: list[NDArray] = [np.full(points, np.inf)]

    def at_most(self, rows: csr_array, limit: NDArray) -> None:
        """Add the constraints rows @ x <= limit."""
        self.blocks.append(rows)
        self.ends.append((np.full(len(limit), -np.inf), limit))

    def relu(self, rows: csr_array, shift: NDArray, low: NDArray, high: NDArray) -> NDArray[np.int64]:
        """Add columns y = max(0, rows @ x + shift), where low <= rows @ x + shift <= high is known; return their indices.

        Each column y gets a binary column `on`, which is 1 if y > 0.
        """
        count = len(shift)
        y = self.size + np.arange(count)
        on = self.size + count + np.arange(count)
        self.size += 2 * count
        self.integer += [np.zeros(count, np.bool_), np.ones(count, np.bool_)]
        self.most += [np.maximum(high, 0.0), (high > 0.0).astype(np.float64)]
        every, ones = np.arange(count), np.ones(count)
        y_itself = csr_array((ones, (every, y)), shape=(count, self.size))
        switch_low = csr_array((-np.minimum(low, 0.0), (every, on)), shape=(count, self.size))
        switch_high = csr_array((np.maximum(high, 0.0), (every, on)), shape=(count, self.size))
        inputs = _widened(rows, self.size)
        self.blocks += [
            csr_array(y_itself - inputs),
            csr_array(y_itself - inputs + switch_low),
            csr_array(y_itself - switch_high),
        ]
        self.ends.append((shift, np.full(count, np.inf)))  # y >= input
        self.ends.append((np.full(count, -np.inf), shift - np.minimum(low, 0.0)))  # y <= input - low (1 - on)
        self.ends.append((np.full(count, -np.inf), np.zeros(count)))  # y <= high on
        return y

    def done(self, gain: NDArray) -> _Program:
        """Return the program with the objective `gain`, [Z]."""
        rows = csr_array(vstack([_widened(block, self.size) for block in self.blocks]))
        low, high = (np.concatenate(each) for each in zip(*self.ends))
        least = np.zeros(self.size)
        return _Program(gain, rows, low, high, least, np.concatenate(self.most), np.concatenate(self.integer))


def _widened(rows: csr_array, size: int) -> csr_array:
    """Return the rows with zero columns appended, `size` columns in all."""
    return csr_array(hstack([rows, csr_array((rows.shape[0], size - rows.shape[1]))]))


def _by_highs(program: _Program) -> NDArray[np.float64]:
    """Return an optimal solution by HiGHS. Raises SolverError or OutOfTime."""
    result = program_solved(
        program.rows.nnz,
        milp,
        -program.gain,
        constraints=LinearConstraint(program.rows, program.low, program.high),
        integrality=program.integer.astype(np.int64),
        bounds=Bounds(program.least, program.most),
        options={"mip_rel_gap": 0.0},
    )
    if result.x is None:
        raise SolverError(f"HiGHS found no action: {result.message}")
    return result.x  # type: ignore[no-any-return]


def _by_scip(program: _Program) -> NDArray[np.float64]:
    """Return an optimal solution by SCIP. Raises SolverError or OutOfTime."""
    from pyscipopt import Model, quicksum

    model = Model()
    model.hideOutput()
    x = [
        model.addVar(lb=low, ub=None if np.isinf(high) else high, vtype="I" if integer else "C")
        for low, high, integer in zip(program.least, program.most, program.integer)
    ]
    rows = program.rows
    for r, (low, high) in enumerate(zip(program.low, program.high)):
        entries = slice(rows.indptr[r], rows.indptr[r + 1])
        total = quicksum(value * x[column] for value, column in zip(rows.data[entries], rows.indices[entries]))
        if np.isfinite(low):
            model.addCons(total >= low)
        if np.isfinite(high):
            model.addCons(total <= high)
    model.setObjective(quicksum(gain * each for gain, each in zip(program.gain, x) if gain), "maximize")
    if (left := seconds_left()) < np.inf:
        model.setParam("limits/time", left)
    model.optimize()
    if model.getStatus() == "timelimit":
        raise OutOfTime
    if model.getNSols() == 0:
        raise SolverError(f"SCIP found no action: {model.getStatus()}")
    return np.array([model.getVal(each) for each in x])

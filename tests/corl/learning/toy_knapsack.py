"""A small 0-1 knapsack problem, written as somebody's plug-in would be: Environment, two kernels, and tokens for networks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

import corl
from corl import hooks
from corl.environment import Environment
from corl.hooks import attach
from corl.tokens import Tokens

NAME = "toy-knapsack"


@dataclass(frozen=True, eq=False)
class Sack:
    name: str
    values: np.ndarray
    """float64 [n], positive"""
    weights: np.ndarray
    """float64 [n], positive"""
    capacity: float


def uniform(*, size: int = 12, seed: int = 0) -> Sack:
    """Values uniform on [0, 1), weights near the values (0.5 value + 0.5 uniform), capacity a third of all weights."""
    random = np.random.default_rng(seed)
    values = random.random(size) + 0.01
    weights = 0.5 * values + 0.5 * random.random(size) + 0.01
    return Sack(f"sack-{size}-{seed}", values, weights, float(weights.sum()) / 3)


class Pool(NamedTuple):
    """I instances of N items at most; R rows."""

    size: np.ndarray  # int64 [I]
    values: np.ndarray  # float64 [I, N]
    weights: np.ndarray  # float64 [I, N]
    instance: np.ndarray  # int32 [R]
    left: np.ndarray  # float64 [R], capacity
    taken: np.ndarray  # bool [R, N]


@attach(hooks.step, Pool)
def _step(state, src, dst, action):
    """Take an item that fits; its value is the reward."""
    i = state.instance[src]
    if action < 0 or action >= state.size[i] or state.taken[src, action] or state.weights[i, action] > state.left[src]:
        return math.nan
    state.instance[dst], state.left[dst] = i, state.left[src] - state.weights[i, action]
    if src != dst:
        state.taken[dst] = state.taken[src]
    state.taken[dst, action] = True
    return state.values[i, action]


@attach(hooks.actions, Pool)
def _actions(state, row, out):
    """The items that fit."""
    i, count = state.instance[row], 0
    for item in range(state.size[i]):
        if not state.taken[row, item] and state.weights[i, item] <= state.left[row]:
            out[count] = item
            count += 1
    return count


class Packing(Environment):
    """Items are taken one by one until none fits; the base is 0."""

    def __init__(self, instances: list[Sack], rows: int) -> None:
        sizes = np.array([len(sack.values) for sack in instances])
        super().__init__(instances, rows, width=int(sizes.max()))
        table = np.zeros((2, len(instances), self.width))
        for i, sack in enumerate(instances):
            table[0, i, : sizes[i]], table[1, i, : sizes[i]] = sack.values, sack.weights
        capacities = np.full(rows, instances[0].capacity)
        self.state = Pool(sizes, *table, np.zeros(rows, np.int32), capacities, np.zeros((rows, self.width), bool))

    def _reset(self, rows, which, keys):
        self.state.instance[rows] = which
        self.state.left[rows] = np.array([sack.capacity for sack in self.instances])[which]
        self.state.taken[rows] = False
        return np.zeros(len(rows))

    def _observe(self, rows, actions):
        """items: int32 [R, K] as `actions`; values, weights: float64 [R, K], zero in empty slots; left: float64 [R]."""
        items = actions
        there, i = items >= 0, self.state.instance[rows][:, None]
        values, weights = (np.where(there, table[i, items], 0.0) for table in (self.state.values, self.state.weights))
        return {"items": items, "values": values, "weights": weights, "left": self.state.left[rows]}

    def solution(self, row):
        if (self.actions([row]) >= 0).any():
            raise corl.UsageError(f"an item still fits in row {row}")
        return np.flatnonzero(self.state.taken[row]).astype(np.int32)


def tokens(observation: dict[str, np.ndarray]) -> Tokens:
    """A token for each item that fits, in units of the capacity left and of the values of all that fit, and one for the sack."""
    values, weights = observation["values"], observation["weights"]
    rows, width = values.shape
    scale = values.sum(axis=1)
    scale = np.where(scale > 0, scale, 1.0)
    left = np.where(observation["left"] > 0, observation["left"], 1.0)
    there = observation["items"] >= 0
    mask = np.concatenate([there, np.ones((rows, 1), bool)], axis=1)
    x = np.zeros((rows, width + 1, 5), np.float32)
    x[:, :width, 0] = values / scale[:, None] * 4.0
    x[:, :width, 1] = weights / left[:, None]
    x[:, :width, 2] = np.where(there, values / np.where(there, weights, 1.0), 0.0) / 2.0
    x[:, width, 3] = 1.0
    x[:, width, 4] = np.minimum(weights.sum(axis=1) / left, 10.0) / 4.0
    return Tokens(x, mask, None, scale)


class Knapsack(corl.Problem):
    name, title, sense, instance_type = NAME, "values of items under one capacity", "max", Sack
    generators = {"uniform": uniform}  # noqa: RUF012
    features = {"items": tokens}  # noqa: RUF012

    def evaluate(self, instance, solution):
        items = np.unique(solution)
        if len(items) < len(solution) or instance.weights[items].sum() > instance.capacity * (1 + 1e-12):
            raise corl.Infeasible("an item twice, or too heavy")
        return float(instance.values[items].sum())

    def environment(self, instances, rows, width=None, name=""):
        return Packing(instances, rows)

    def decisions(self, instance, solution, key=0, name=""):
        return np.asarray(solution)


def best(instance: Sack) -> float:
    """The optimum, by trying all subsets (2^n for up to 20 items)."""
    n = len(instance.values)
    values = weights = np.zeros(1)
    for i in range(n):
        values = np.concatenate([values, values + instance.values[i]])
        weights = np.concatenate([weights, weights + instance.weights[i]])
    return float(values[weights <= instance.capacity].max())


def install(folder: Path) -> Path:
    """Put this module into `folder` as an installed distribution; returns the folder."""
    (folder / "toy_knapsack.py").write_bytes(Path(__file__).read_bytes())
    info = folder / "toy_knapsack-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-knapsack\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[corl.problems]\n{NAME} = toy_knapsack:Knapsack\n", encoding="utf-8")
    return folder

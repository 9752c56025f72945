"""Small static allocations, and the lowest height by enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from corl import registry
from corl.problems.memory_static.instance import StaticInstance, make_instance

CHEAP = "first-fit"
LARGE = {"memory-static": ("large", {"size": 10000})}

BUSY = ("large", {"size": 1000})
MIXES = 40
MANY_CLAIMS = 200
PAGE = ("tiled", {})
HELD: list[Any] = [[[0, 2, 8], [1, 3, 4]], {"lower": [0, 1], "upper": [2, 3], "size": [8, 4]}]
RECORDED = (
    "branch-and-bound",
    "first-fit",
)
GOLDENS = {
    "aligned": "aligned.csv",
    "network": ("network", {"layers": 8, "branches": 2, "seed": 1}),
    "tiled": ("tiled", {"size": 24, "seed": 2}),
}
GOLDEN_SOLVES = """
branch-and-bound aligned 300
branch-and-bound network 300
branch-and-bound tiled 300
branch-and-bound tiled 300 capacity=1048576 fitting=0
cp-sat aligned - proof +ortools
first-fit aligned 60
first-fit tiled 60
"""
GOLDEN_NETWORKS = "tiled"


def random_instance(buffers: int, seed: int = 0, kind: str = "plain") -> StaticInstance:
    """Sizes from 0 to 6 and lifetimes within twelve moments; "aligned" and "fixed" add alignments, and a placed buffer."""
    random = np.random.default_rng([buffers, seed])
    lower = random.integers(0, 10, buffers)
    upper = lower + random.integers(1, 7, buffers)
    alignment = random.choice([1, 2, 4], buffers) if kind == "aligned" else None
    fixed = np.full(buffers, -1)
    if kind == "fixed":
        fixed[random.integers(buffers)] = random.integers(0, 6)
    ids = [f"b{k}" for k in range(buffers)]
    size = random.integers(0, 7, buffers)
    return make_instance(f"{kind}-{buffers}", lower, upper, size, ids=ids, alignment=alignment, fixed=fixed)


def overlap(instance: StaticInstance, offsets: list[int]) -> bool:
    """Whether two buffers overlap, pair by pair, straight from the definition."""
    for a, b in itertools.combinations(range(instance.n), 2):
        together = max(instance.lower[a], instance.lower[b]) < min(instance.upper[a], instance.upper[b])
        ends = min(offsets[a] + instance.size[a], offsets[b] + instance.size[b])
        if together and max(offsets[a], offsets[b]) < ends and min(instance.size[a], instance.size[b]) > 0:
            return True
    return False


def lowest(instance: StaticInstance) -> int:
    """The lowest height of an instance of a handful of buffers: every one, at every offset, under a height that grows."""

    def fits(k: int, height: int, offsets: list[int]) -> bool:
        if k == instance.n:
            return True
        tried = range(height - instance.size[k] + 1) if instance.fixed[k] < 0 else [int(instance.fixed[k])]
        for offset in tried:
            if offset % instance.alignment[k] or offset + instance.size[k] > height:
                continue
            if not overlap_last(instance, [*offsets, offset]) and fits(k + 1, height, [*offsets, offset]):
                return True
        return False

    return next(height for height in itertools.count() if fits(0, height, []))


def overlap_last(instance: StaticInstance, offsets: list[int]) -> bool:
    """Whether the last of these buffers overlaps another."""
    b = len(offsets) - 1
    return any(
        max(instance.lower[a], instance.lower[b]) < min(instance.upper[a], instance.upper[b])
        and max(offsets[a], offsets[b]) < min(offsets[a] + instance.size[a], offsets[b] + instance.size[b])
        for a in range(b)
    )


def sample(seed: int) -> StaticInstance:
    """An instance of up to twelve buffers, of a kind by the seed."""
    return random_instance(1 + seed % 12, seed, ("plain", "aligned", "fixed")[seed // 100 % 3])


def solved(seed: int) -> tuple[StaticInstance, float]:
    """A tiny allocation with its lowest height."""
    instance = random_instance(1 + seed % 5, seed, ("plain", "aligned", "fixed")[seed % 3])
    return instance, float(lowest(instance))


def kinds() -> dict[str, Callable[[], Any]]:
    """By a name: instances that take other ways through the solvers."""
    return {kind: partial(random_instance, 12, 1, kind) for kind in ("plain", "aligned", "fixed")}


def smallest() -> list[Any]:
    """One buffer, none of any size, all placed already, all at once, one after the other."""
    zeros, order = np.zeros(3, int), np.arange(3)
    return [
        make_instance("a", [0], [1], [5]), make_instance("a", zeros, zeros + 4, zeros),
        make_instance("a", zeros, zeros + 2, order + 1),
        make_instance("a", zeros, zeros + 2, zeros + 2, fixed=2 * order), make_instance("a", order, order + 1, order + 1),
        make_instance("a", zeros, zeros + 1, zeros + 3, alignment=zeros + 4),
    ]  # fmt: skip


def kernel_samples() -> list[Any]:
    """Small instances of the kinds that the solvers have kernels for."""
    return [registry.problem("memory-static").generators["tiled"](size=20)]

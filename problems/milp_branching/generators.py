"""Generators of small programs of the families of `milp`, at sizes whose trees have tens to hundreds of nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from corl.problems.milp.problem import Milp
from corl.problems.milp_branching.instance import BranchingInstance

__all__ = ["GENERATORS"]


def set_cover(*, size: int = 120, seed: int = 0) -> BranchingInstance:
    """Return a set cover problem with `size` columns, half as many rows, and a density of 0.1."""
    return BranchingInstance(Milp.generators["set-cover"](rows=size // 2, columns=size, density=0.1, seed=seed))


def multiple_knapsack(*, size: int = 8, seed: int = 0) -> BranchingInstance:
    """Return a multiple knapsack problem with `size` items and two knapsacks."""
    return BranchingInstance(Milp.generators["multiple-knapsack"](items=size, knapsacks=2, seed=seed))


def independent_set(*, size: int = 100, seed: int = 0) -> BranchingInstance:
    """Return the largest independent set in a graph of `size` nodes."""
    return BranchingInstance(Milp.generators["independent-set"](nodes=size, seed=seed))


def auctions(*, size: int = 150, seed: int = 0) -> BranchingInstance:
    """Return a combinatorial auction with `size` bids for a fifth as many items."""
    return BranchingInstance(Milp.generators["auctions"](items=max(2, size // 5), bids=size, seed=seed))


GENERATORS: Mapping[str, Callable[..., BranchingInstance]] = {
    "set-cover": set_cover, "auctions": auctions, "independent-set": independent_set, "multiple-knapsack": multiple_knapsack,
}  # fmt: skip
"""Name -> generator; the first one is the default."""

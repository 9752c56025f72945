"""Tiny programs to branch on."""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.problems.milp.instance import from_triplets
from corl.problems.milp_branching.environment import BranchingEnvironment
from corl.problems.milp_branching.instance import BranchingInstance
from support.playing import best_rewards

CHEAP = "rule"
LARGE = {"milp-branching": ("set-cover", {"size": 400})}

BUSY = ("set-cover", {"size": 60})
TINY_MIXES = 6
MANY_MIXES = 200
MANY_CLAIMS = 200
HELD: list[Any] = []  # files, Models and modules alone
PAGE = ("set-cover", {"size": 20})
GOLDENS = {
    "auctions": ("auctions", {"size": 50, "seed": 1}),
    "knapsacks": ("multiple-knapsack", {"size": 6, "seed": 2}),
}
GOLDEN_SOLVES = """
rule auctions 40
rule knapsacks 200
policy knapsacks 100 network=milp-branching-attention +torch
tree-search knapsacks 100 network=milp-branching-attention +torch
muzero knapsacks 100 network=milp-branching-muzero +torch
"""


def sample(seed: int, variables: int = 5) -> BranchingInstance:
    """Bounded integers and, in every third, a continuous variable; some are infeasible; min or max with a constant."""
    random = np.random.default_rng(seed)
    dense = random.integers(-4, 5, (3, variables)).astype(float)
    rows, columns = np.nonzero(dense)
    low = random.integers(-8, 6, 3) + 0.5
    whole = np.arange(variables) < variables - (seed % 3 == 0)
    return BranchingInstance(
        from_triplets(
            f"t{seed}", ["min", "max"][seed % 2], random.integers(-9, 10, variables) + 0.25, rows, columns, dense[rows, columns],
            low, low + random.integers(1, 7, 3), lower=-1, upper=2, integer=whole, offset=3.5,
        )
    )  # fmt: skip


def solved(seed: int) -> tuple[BranchingInstance, float]:
    """A tiny program with the least tree of those that depth first can grow, whatever is branched on."""
    instance = sample(seed, 4)
    environment = BranchingEnvironment([instance], 30)
    return instance, -float(environment.reset([0], 0)[0] + best_rewards(environment))

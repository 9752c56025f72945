"""What a network sees of a node: a token for each listed candidate and one for the tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.networks.tokens import Tokens
from corl.problems.milp.branching.environment import TREE_FEATURES
from corl.problems.milp.features import FEATURES

__all__ = ["candidates"]


def candidates(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """FEATURES of each candidate, clipped to -20..20, then TREE_FEATURES, which every token has. The unit is ten nodes."""
    mask, features, tree = observation["mask"], observation["candidates"], observation["tree"]
    rows, slots = mask.shape
    x = np.zeros((rows, slots + 1, len(FEATURES) + len(TREE_FEATURES)), np.float32)
    x[:, :slots, : len(FEATURES)] = np.clip(features, -20.0, 20.0)
    x[:, :, len(FEATURES) :] = tree[:, None, :]
    there = np.concatenate([mask, np.ones((rows, 1), bool)], axis=1)
    x *= there[:, :, None]
    return Tokens(x, there, None, np.full(rows, 10.0))

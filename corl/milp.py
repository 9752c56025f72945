"""Branching decisions in SCIP, one by one, as episodes for reinforcement learning and imitation learning.

    env = corl.milp.Branching(features="candidates", reward="nodes")
    total = env.reset(corl.generate("milp", "auctions", items=50, bids=250))
    while not env.done:
        total += env.act(env.observe()[:, corl.milp.Feature.GAINS].argmax())

`Branching` is the environment, and `BranchingGym` wraps it for Gymnasium. `Feature` names the features of a candidate variable.
`EcoleBranching` has the interface of Ecole's environment; `NodeBipartite`, `StrongBranchingScores` and `Pseudocosts` are its
observation functions, `IsDone`, `NNodes`, `LpIterations` and `SolvingTime` its reward functions.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corl.problems.milp_branching.candidates import Feature
    from corl.solvers.milp.stepping.ecole import EcoleBranching
    from corl.solvers.milp.stepping.episodes import Branching
    from corl.solvers.milp.stepping.gym import BranchingGym
    from corl.solvers.milp.stepping.observing import (
        IsDone,
        LpIterations,
        NNodes,
        NodeBipartite,
        Pseudocosts,
        SolvingTime,
        StrongBranchingScores,
    )

__all__ = [
    "Branching", "BranchingGym", "EcoleBranching", "Feature", "IsDone", "LpIterations", "NNodes", "NodeBipartite", "Pseudocosts",
    "SolvingTime", "StrongBranchingScores",
]  # fmt: skip

_HOME = {
    "Branching": "corl.solvers.milp.stepping.episodes",
    "BranchingGym": "corl.solvers.milp.stepping.gym",
    "EcoleBranching": "corl.solvers.milp.stepping.ecole",
    "Feature": "corl.problems.milp_branching.candidates",
    **dict.fromkeys(
        ("IsDone", "LpIterations", "NNodes", "NodeBipartite", "Pseudocosts", "SolvingTime", "StrongBranchingScores"),
        "corl.solvers.milp.stepping.observing",
    ),
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(_HOME[name]), name)

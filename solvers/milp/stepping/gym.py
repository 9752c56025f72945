"""Branching in SCIP as a Gymnasium environment, for agents from elsewhere.

It is no `corl.gymnasium.Gym`: SCIP's tree has no rows for an Environment to copy, and whether it leaves a choice shows only when
its root is solved. `corl.gymnasium.make("milp-branching", ...)` has the tree that can be copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.milp_branching.candidates import Feature
from corl.solvers.milp.stepping.episodes import Branching

__all__ = ["BranchingGym"]

_Seen: TypeAlias = dict[str, NDArray[Any]]


class BranchingGym(gymnasium.Env[_Seen, np.int64]):
    """One program an episode, drawn at a reset, or number options["instance"].

    An observation has "x", float32 [width, 40], the candidates with the best pseudocost scores, best first, and "mask", int8
    [width], which of the lines there are. An action is a line; one without a candidate stands for the line modulo their number.
    A program that SCIP solves without a choice is left for the next. info has nodes, LP iterations and SCIP's status.
    """

    def __init__(self, instances: Sequence[Any], *, width: int = 64, **options: Any) -> None:
        """options: those of `Branching` but `features`. Raises UsageError."""
        if not len(instances):
            raise UsageError("instances: accepted: at least one")
        self.instances, self._env, self._order = list(instances), Branching(**options), np.zeros(0, np.int64)
        self._width = width
        self.action_space = spaces.Discrete(width)
        x = spaces.Box(-np.inf, np.inf, (width, len(Feature)), np.float32)
        self.observation_space = spaces.Dict({"x": x, "mask": spaces.MultiBinary(width)})  # type: ignore[assignment]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[_Seen, dict[str, Any]]:
        """Begin a tree. Raises UsageError where no program leaves a choice."""
        super().reset(seed=seed)
        which = int((options or {}).get("instance", self.np_random.integers(len(self.instances))))
        for k in range(len(self.instances)):
            base = self._env.reset(self.instances[(which + k) % len(self.instances)], seed=int(self.np_random.integers(2**31)))
            if not self._env.done:
                return self._look(), self._info() | {"base": base}
        raise UsageError("SCIP solves every program without a choice: there is nothing to play")

    def step(self, action: np.int64 | int) -> tuple[_Seen, float, bool, bool, dict[str, Any]]:
        """Branch; the episode ends with the tree, and is cut off (truncated) at a limit."""
        if self._env.done:
            raise UsageError("the episode is over; call reset")
        reward = self._env.act(self._order[int(action) % len(self._order)])
        over = self._env.done
        cut = over and self._env.status not in ("optimal", "infeasible", "unbounded", "inforunbd")
        return self._look(), reward, over and not cut, cut, self._info()

    def close(self) -> None:
        """Free SCIP's tree."""
        self._env.close()

    def _look(self) -> _Seen:
        x, mask = np.zeros((self._width, len(Feature)), np.float32), np.zeros(self._width, np.int8)
        if not self._env.done:
            seen = self._env.observe()
            self._order = np.argsort(-seen[:, Feature.GAINS], kind="stable")[: self._width]
            x[: len(self._order)], mask[: len(self._order)] = seen[self._order], 1
        return {"x": x, "mask": mask}

    def _info(self) -> dict[str, Any]:
        found = self._env.measures
        return {"nodes": found.nodes, "lp_iterations": found.lp_iterations, "status": self._env.status}

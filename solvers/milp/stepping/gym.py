"""Branching in SCIP as a Gymnasium environment.

It is no `corl.gymnasium.Gym`: unlike the states of a corl Environment, a tree in SCIP cannot be copied, and only after solving
the root is it known whether there is a choice to make. `corl.gymnasium.make("milp-branching", ...)` has a simpler tree that
can be copied.
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

_Arrays: TypeAlias = dict[str, NDArray[Any]]


class BranchingGym(gymnasium.Env[_Arrays, np.int64]):
    """An environment in which an episode is SCIP's tree of one program.

    The program is drawn at random, or chosen by options["instance"] of `reset`; programs that SCIP solves without branching are
    skipped. An observation has "x", float32 [width, 40], the features of the candidates with the best pseudocost scores, best
    first, and "mask", int8 [width], 1 in rows of "x" with a candidate. An action is a row of "x"; the number of an empty row is
    taken modulo the number of candidates. info has the numbers of nodes and LP iterations, and SCIP's status; that
    of `reset` also has "base", the reward of the solve before the first choice.
    """

    def __init__(self, instances: Sequence[Any], *, width: int = 64, **options: Any) -> None:
        """Create the environment. Raises UsageError.

        Args:
            instances: At least one program, as `Branching.reset` accepts them.
            width: The largest number of candidates in an observation.
            options: The arguments of `Branching` except `features`.
        """
        if not len(instances):
            raise UsageError("instances: accepted: at least one")
        self.instances, self._env, self._order = list(instances), Branching(**options), np.zeros(0, np.int64)
        self._width = width
        self.action_space = spaces.Discrete(width)
        x = spaces.Box(-np.inf, np.inf, (width, len(Feature)), np.float32)
        self.observation_space = spaces.Dict({"x": x, "mask": spaces.MultiBinary(width)})  # type: ignore[assignment]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[_Arrays, dict[str, Any]]:
        """Begin a tree. Raises UsageError if SCIP solves every program without branching."""
        super().reset(seed=seed)
        which = int((options or {}).get("instance", self.np_random.integers(len(self.instances))))
        for k in range(len(self.instances)):
            base = self._env.reset(self.instances[(which + k) % len(self.instances)], seed=int(self.np_random.integers(2**31)))
            if not self._env.done:
                return self._observation(), self._info() | {"base": base}
        raise UsageError("SCIP solves every program without a choice: there is nothing to play")

    def step(self, action: np.int64 | int) -> tuple[_Arrays, float, bool, bool, dict[str, Any]]:
        """Branch on a candidate. The episode is terminated when the tree is complete, and truncated at a limit."""
        if self._env.done:
            raise UsageError("the episode is over; call reset")
        reward = self._env.act(self._order[int(action) % len(self._order)])
        done = self._env.done
        truncated = done and self._env.status not in ("optimal", "infeasible", "unbounded", "inforunbd")
        return self._observation(), reward, done and not truncated, truncated, self._info()

    def close(self) -> None:
        """Free SCIP's memory."""
        self._env.close()

    def _observation(self) -> _Arrays:
        x, mask = np.zeros((self._width, len(Feature)), np.float32), np.zeros(self._width, np.int8)
        if not self._env.done:
            features = self._env.observe()
            self._order = np.argsort(-features[:, Feature.GAINS], kind="stable")[: self._width]
            x[: len(self._order)], mask[: len(self._order)] = features[self._order], 1
        return {"x": x, "mask": mask}

    def _info(self) -> dict[str, Any]:
        measures = self._env.measures
        return {"nodes": measures.nodes, "lp_iterations": measures.lp_iterations, "status": self._env.status}

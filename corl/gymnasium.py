"""Gymnasium environments of all problems, for agents of other packages (in a checkout: `pip install ".[gymnasium]"`).

    env = corl.gymnasium.make("knapsack", instances)
    observation, info = env.reset(seed=0)
    observation, reward, over, _, info = env.step(0)    # the first action; info["action_mask"] marks all legal ones

To solve instances with a trained agent, wrap its policy in a `corl.policy.RulePolicy`: all solvers and searches then accept it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from corl import registry
from corl.adapter import Problem
from corl.environment import Environment
from corl.errors import UsageError, kind_of, unknown
from corl.networks.tokens import fitting_features

__all__ = ["Gym", "make"]

_Observation: TypeAlias = dict[str, NDArray[Any]]


def make(
    problem: str | Problem, instances: Sequence[Any], *, features: str = "", environment: str = "", width: int | None = None
) -> Gym:
    """Return an environment for some instances. Each reset draws one of them, and begins an episode of it.

    Args:
        problem: A name or a Problem.
        instances: At least one.
        features: A name among the problem's; "": the first that accept the environment's observation.
        environment: A name among the problem's; "": the first.
        width: The greatest number of listed actions; None: the problem's choice.

    Raises:
        UsageError: The problem has no environment or features, or none of the given name; or an instance is of another problem.
    """
    adapter = registry.problem(problem)
    if not adapter.takes_policies:
        raise UsageError(f"{adapter.name} has no environment that networks can see")
    if features and features not in adapter.features:
        raise UsageError(unknown(f"{adapter.name} has no features", features, adapter.features))
    if width is not None and (not isinstance(width, (int, np.integer)) or isinstance(width, bool) or width < 1):
        raise UsageError(f"width: {width!r} is not accepted; it takes an integer from 1 up, or None")
    kind = adapter.instance_type
    if not isinstance(instances, Sequence) or isinstance(instances, (str, bytes)):
        raise UsageError(f"instances: {kind_of(instances)} is not accepted; it takes a list of {kind.__name__}")
    if other := [instance for instance in instances if not isinstance(instance, kind)]:
        raise UsageError(f"instances: {kind_of(other[0])} is no instance of {adapter.name}; accepted: {kind.__name__}")
    pool = adapter.environment(instances, 1, width, environment)
    return Gym(pool, adapter.features[fitting_features(adapter, features, pool.observe([0]))[0]])


class Gym(gymnasium.Env[_Observation, np.int64]):
    """An Environment with one row, observed through a problem's features.

    An observation has the Tokens of the state (corl.tokens): "x" float32 [T, F], "mask" int8 [T] and, if the features have them,
    "pairs" float32 [T, T, P]. An action is the index, 0 .. K - 1, of an action in the list of `Environment.actions`;
    info["action_mask"], int8 [K], marks the valid indices. An invalid index is taken modulo the number of legal actions, so that
    agents without support for masks can play.

    The last step returns info["solution"]. Its objective value (the negative when minimising) is the sum of the rewards plus
    info["base"], which `reset` returned. If the problem has random events, this is the objective value for the instance with
    these events, `problem.realised_instance(instance, info["key"])`.
    """

    instances: list[Any]
    """The given instances, without those that have no decision to make."""

    def __init__(self, environment: Environment, features: Any) -> None:
        self._environment, self._features = environment, features
        self._listed_actions = np.zeros(0, np.int32)
        self._playable = [which for which in range(len(environment.instances)) if self._begin(which)]
        if not self._playable:
            raise UsageError("no instance leaves a choice: there is nothing to play")
        self.instances = [environment.instances[which] for which in self._playable]
        self._begin(self._playable[0])
        tokens = features(environment.observe([0])).arrays()
        self.action_space = spaces.Discrete(environment.width)
        self._spaces = {name: _space(tokens[name]) for name in ("x", "mask", "pairs") if name in tokens}
        self.observation_space: spaces.Space[_Observation] = spaces.Dict(self._spaces)  # type: ignore[assignment]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[_Observation, dict[str, Any]]:
        """Begin an episode of one of `instances`: a random one, or the one with the index options["instance"]."""
        super().reset(seed=seed)
        drawn, key = int(self.np_random.integers(len(self.instances))), self.np_random.integers(0, 2**63, dtype=np.uint64)
        which = (options or {}).get("instance", drawn)
        if which not in range(len(self.instances)):
            raise UsageError(f"instance: {which!r} is not accepted; it takes a number below {len(self.instances)}")
        base = self._environment.reset([0], [self._playable[which]], [key])[0]
        return self._observe(), self._info() | {"base": float(base), "key": int(key)}

    def step(self, action: np.int64 | int) -> tuple[_Observation, float, bool, bool, dict[str, Any]]:
        """Take the action with an index, see the class. Raises UsageError after the end of the episode."""
        if not self._listed_actions.size:
            raise UsageError("the episode is over; call reset")
        reward = self._environment.step([0], [0], [self._listed_actions[int(action) % self._listed_actions.size]])[0]
        observation = self._observe()
        over = not self._listed_actions.size
        outcome = {"solution": self._environment.solution(0)} if over else {}
        return observation, float(reward), over, False, self._info() | outcome

    def _begin(self, which: int) -> bool:
        """Begin an episode of instance `which`; return whether it has a decision to make."""
        self._environment.reset([0], [which])
        return bool(self._environment.actions([0])[0, 0] >= 0)

    def _observe(self) -> _Observation:
        """Return the current observation, and store the listed actions."""
        listed = self._environment.actions([0])[0]
        self._listed_actions = listed[listed >= 0]
        arrays = self._features(self._environment.observe([0])).arrays()
        return {name: arrays[name][0].astype(space.dtype) for name, space in self._spaces.items()}

    def _info(self) -> dict[str, Any]:
        return {"action_mask": (np.arange(self._environment.width) < self._listed_actions.size).astype(np.int8)}


def _space(array: NDArray[Any]) -> spaces.Space[NDArray[Any]]:
    """Return the space of one row of an array of Tokens."""
    if array.dtype == np.bool_:
        return spaces.MultiBinary(array.shape[1:])
    return spaces.Box(-np.inf, np.inf, array.shape[1:], np.float32)

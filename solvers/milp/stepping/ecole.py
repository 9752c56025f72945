"""`EcoleBranching`: branching in SCIP with the interface of Ecole's environment, so that code written for Ecole can be ported.

Ecole (Prouvost et al., arXiv 2011.06069) is a library of environments in SCIP. Values and conventions are those of its
environment Branching; the tutorial "Branching imitation, as in Ecole" lists the differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.solvers.milp.scip.candidates import positions
from corl.solvers.milp.stepping.episodes import Branching
from corl.solvers.milp.stepping.observing import Function, IsDone, NodeBipartite, Solve

__all__ = ["EcoleBranching", "Transition"]

Transition: TypeAlias = "tuple[Any, NDArray[np.int64] | None, Any, bool, Any]"
"""Observation, action set, reward, whether the episode has ended, and information."""
_SCIP = {"separating/maxrounds": -1, "presolving/maxrestarts": -1}  # SCIP's own defaults, in place of those of Gasse et al.


class EcoleBranching:
    """Branch and bound in SCIP, in which the caller chooses the branching variable at each node with a fractional LP solution.

        env = EcoleBranching(observation_function=Pseudocosts(), reward_function=-NNodes())
        observation, action_set, reward, done, info = env.reset(program)
        while not done:
            action = action_set[observation[action_set].argmax()]
            observation, action_set, reward, done, info = env.step(action)

    The action set has the positions of the candidates' columns in the LP, int64 [K], in SCIP's order; observations
    have these indices, too. At the end, the action set is None.
    """

    def __init__(
        self,
        observation_function: Any = None,
        reward_function: Any = None,
        information_function: Any = None,
        scip_params: Mapping[str, Any] | None = None,
    ) -> None:
        """Create an environment without an episode.

        Args:
            observation_function: A `Function` (observing.py), or a tuple, list or dict of such, whose values are then a tuple,
                list or dict; None: NodeBipartite().
            reward_function: A `Function`, such as a Reward; None: IsDone().
            information_function: As observation_function; None: no information, an empty dict.
            scip_params: Parameters of SCIP by name; others have SCIP's defaults.
        """
        self.observation_function = NodeBipartite() if observation_function is None else observation_function
        self.reward_function = IsDone() if reward_function is None else reward_function
        self.information_function = {} if information_function is None else information_function
        self._episodes = Branching(parameters={**_SCIP, **(scip_params or {})})
        self._solve = Solve(self._episodes)
        self._random = np.random.default_rng(0)
        self._actions: NDArray[np.int64] = np.zeros(0, np.int64)

    def seed(self, value: int) -> None:
        """Set the seed, from which each `reset` draws another seed of SCIP. Without a call, it is 0."""
        self._random = np.random.default_rng(value)

    def reset(self, instance: Any) -> Transition:
        """Begin the tree of a program and continue to its first choice. Raises InputError, UsageError.

        Args:
            instance: A MilpInstance, a path, the name of a shipped instance, or a pyscipopt Model.

        Returns:
            See `Transition`; the reward is that of the solve before the first choice. A program that SCIP solves without a
            choice has ended at once.
        """
        for function in (self.observation_function, self.reward_function, self.information_function):
            _before_reset(function, self._solve)
        self._episodes.reset(instance, seed=int(self._random.integers(2**31)))
        return self._transition()

    def step(self, action: int | np.integer[Any]) -> Transition:
        """Branch on an element of the action set and continue to the next choice. Raises UsageError for any other action."""
        slots = np.flatnonzero(self._actions == action)
        if self._episodes.done:
            raise UsageError("the episode is over; call reset")
        if not len(slots):
            raise UsageError(f"action {action} is not accepted; it takes an element of the action set")
        self._episodes.act(int(slots[0]))
        return self._transition()

    @property
    def episodes(self) -> Branching:
        """The environment beneath, with the status, objective value, bound and solution of the solve."""
        return self._episodes

    def close(self) -> None:
        """End the episode and free SCIP's memory."""
        self._episodes.close()

    def _transition(self) -> Transition:
        done = self._episodes.done
        self._actions = np.zeros(0, np.int64) if done else positions(self._episodes.node.candidates)
        reward = _extract(self.reward_function, self._solve, done)
        observation, info = (_extract(each, self._solve, done) for each in (self.observation_function, self.information_function))
        return observation, None if done else self._actions.copy(), reward, done, info


def _before_reset(function: Any, solve: Solve) -> None:
    """Call `before_reset` of a function, or of each in a tuple, list or dict."""
    if isinstance(function, Mapping):
        function = list(function.values())
    if isinstance(function, tuple | list):
        for each in function:
            _before_reset(each, solve)
    else:
        function.before_reset(solve)


def _extract(function: Function | Any, solve: Solve, done: bool) -> Any:
    """Return the value of a function, or a tuple, list or dict of values."""
    if isinstance(function, Mapping):
        return {name: _extract(each, solve, done) for name, each in function.items()}
    if isinstance(function, tuple | list):
        return type(function)(_extract(each, solve, done) for each in function)
    return function.extract(solve, done)

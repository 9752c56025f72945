"""Episodes: the observations and actions of a policy from the first to the last move, as arrays for a replay."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.decoding.play import DecisionStep, play
from corl.environment import Environment

if TYPE_CHECKING:
    from corl.networks.policy import Arrays, NetworkPolicy

__all__ = ["Choice", "Choose", "Episodes", "random_choice", "record"]


class Choice(NamedTuple):
    """The choice of an action in each of R states, and the targets of the network for these states. K: the number of slots."""

    slot: NDArray[np.integer]
    """[R] the slot of the action to take."""
    policy: NDArray[np.float32]
    """[R, K] the target of the network's policy: probabilities, 0 in empty slots; all 0 for a state without a target."""
    value: NDArray[np.float64]
    """[R] the search's estimate of the value of the state, in the environment's units."""
    action: NDArray[np.integer] | None = None
    """[R] the actions themselves; None if every action is the one in its `slot`."""


Choose = Callable[[DecisionStep, "Arrays"], Choice]
"""Function from the states of a decision, and the network's features of them, to a choice."""


class Episodes(NamedTuple):
    """E episodes with M moves in all: the moves of episode 0 in order, then those of episode 1, and so on."""

    contexts: list[Arrays]
    """For each instance the features that are constant in an episode (`NetworkPolicy.context`); empty if the network has none."""
    which: NDArray[np.int64]
    """[E] the index of an episode's instance in `contexts`."""
    observed: dict[str, NDArray[Any]]
    """The features of the states, arrays [M, ...] as `NetworkPolicy.observe` returns them."""
    moves: dict[str, NDArray[Any]]
    """Name -> array. "actions": int32 [M, K], the listed actions. "slot", "policy" and "value": as in Choice. "reward" and
    "returns" (the sum of this reward and all following ones): float64 [M], in the environment's units."""
    lengths: NDArray[np.int64]
    """[E] the number of moves of each episode in these arrays; with a `keep`, `record` leaves out moves."""
    objective: NDArray[np.float64]
    """[E] base value + all rewards: the objective value of the solution, its negative if the problem is minimised."""


def record(
    policy: NetworkPolicy,
    environment: Environment,
    rows: NDArray[np.int64],
    base: NDArray[np.float64],
    choose: Choose,
    keep: Callable[[DecisionStep], NDArray[np.bool_]] | None = None,
) -> Episodes:
    """Play the episodes in the rows of an environment to their ends and return their moves.

    Args:
        policy: The policy whose features describe the states.
        environment: The environment.
        rows: int64 [E], the rows of the episodes, after `reset`.
        base: float64 [E], the base values that `reset` returned for them.
        choose: Chooses the actions.
        keep: Function from a decision to bool [R], which of its states become moves of the result; by default all. Features are
            computed only of these states; `choose` receives the whole decision, but the features of these states alone.
    """
    observed: list[Arrays] = []
    moves: list[dict[str, NDArray[Any]]] = []

    def act(decision: DecisionStep) -> NDArray[np.integer]:
        kept = np.ones(len(decision.rows), bool) if keep is None else keep(decision)
        view = decision.view if kept.all() else environment.view(decision.rows[kept], decision.actions[kept])
        arrays = policy.observe(view) if kept.any() else {}
        choice = choose(decision, arrays)
        if kept.any():
            number = np.full(int(kept.sum()), decision.number)
            fields = {"actions": decision.actions, "slot": choice.slot, "policy": choice.policy, "value": choice.value}
            observed.append(arrays)
            moves.append({"episode": decision.episode[kept], "number": number} | {name: a[kept] for name, a in fields.items()})
        return decision.taken(choice.slot) if choice.action is None else choice.action

    played = play(environment, rows, base, act)
    contexts = [policy.context(environment, number) for number in range(len(environment.instances))]
    if not any(contexts):
        contexts = []
    instances = environment.instance_of(rows) if contexts else np.zeros(len(rows), np.int64)
    lengths = np.zeros(len(rows), np.int64)
    if not moves:
        return Episodes(contexts, instances, {}, {}, lengths, played.totals)
    joined_moves = {name: np.concatenate([part[name] for part in moves]) for name in moves[0]}
    order = np.argsort(joined_moves["episode"], kind="stable")
    episode, number = (joined_moves.pop(name)[order] for name in ("episode", "number"))
    fields = {name: array[order] for name, array in joined_moves.items()}
    returns = np.cumsum(played.rewards[:, ::-1], axis=1)[:, ::-1]
    fields |= {"reward": played.rewards[episode, number], "returns": returns[episode, number]}
    arrays = {name: np.concatenate([part[name] for part in observed])[order] for name in observed[0]}
    return Episodes(contexts, instances, arrays, fields, np.bincount(episode, minlength=len(rows)), played.totals)


def random_choice(random: np.random.Generator) -> Choose:
    """Return a `choose` that draws an action uniformly at random."""

    def choose(decision: DecisionStep, observed: Arrays) -> Choice:
        listed = decision.actions >= 0
        slot = np.where(listed, random.random(listed.shape), -1.0).argmax(axis=1)
        policy = (listed / listed.sum(axis=1, keepdims=True)).astype(np.float32)
        return Choice(slot, policy, np.zeros(len(slot)))

    return choose

"""Unrolling: the targets of MuZero's model along stretches of moves of a replay.

Schrittwieser et al., Nature 2020. After the end of an episode the absorbing state follows: reward and value 0, any action, no
policy target.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.learning.replay import Replay
from corl.tokens import joined

__all__ = ["Unroll", "spans", "unroll"]

_TAIL = 0.005  # share of the values and rewards outside the range of the heads' histograms, on either side
_MARGIN = 0.1  # share of the span of the others by which the histograms extend beyond them, on either side


class Unroll(NamedTuple):
    """N stretches of K moves from their first states, the roots; all arrays are in the root's slots and units."""

    x: NDArray[np.float32]
    """[N, K + 1, T, F] the tokens of each state; past the end of the episode those of its last state."""
    mask: NDArray[np.bool_]
    """[N, K + 1, T]"""
    pairs: NDArray[np.float32] | None
    """[N, K + 1, T, T, P]"""
    slot: NDArray[np.int64]
    """[N, K] the action of each move; past the end, or where the root does not list it, any of the root's."""
    policy: NDArray[np.float32]
    """[N, K + 1, slots] probabilities."""
    policy_weight: NDArray[np.float32]
    """[N, K + 1] the share of the policy's probability that is on slots of the root; 0 past the end."""
    value: NDArray[np.float32]
    """[N, K + 1]"""
    reward: NDArray[np.float32]
    """[N, K]"""
    known: NDArray[np.bool_]
    """[N, K + 1] False after an action that the root does not list, for which the model has no input."""
    counterpart: NDArray[np.int64]
    """[N, K + 1, T] for each token of the root, the token of the same action in each state; -1 if the state has none."""


def unroll(
    replay: Replay, at: NDArray[np.int64], steps: int, td_steps: int, extra: int, random: np.random.Generator, kinds: int = 0
) -> Unroll:
    """Return the stretches of `steps` moves from given moves of a replay of self-play.

    The target of a value is the sum of the next `td_steps` rewards and the search's value of the state after them; if the episode
    ends before, the sum of all its remaining rewards.

    Args:
        replay: The replay.
        at: int64 [N], the numbers of the first moves, ascending.
        steps: K, the number of moves of a stretch.
        td_steps: The number of rewards in a value target.
        extra: As in `Policy`.
        random: The source of random numbers, for the actions of absorbing states.
        kinds: As in the network; above 0, every action has a slot in every state, and all actions are known.
    """
    places, inside = replay.window(at, steps)
    shape = places.shape

    def all_of(name: str, empty: float = 0) -> NDArray[Any]:
        found = replay.field(name, places.ravel(), empty)
        return found.reshape(*shape, *found.shape[1:])

    tokens = {
        name: a.reshape(*shape, *a.shape[1:]) for name, a in joined(replay.collate_inputs(places.ravel()).observed, extra).items()
    }
    actions = all_of("actions", -1)
    root = np.broadcast_to(np.arange(kinds, dtype=np.int32), (len(at), kinds)) if kinds else actions[:, 0]
    root_actions = np.where(root < 0, -2, root)  # -1 is no action, in the root as elsewhere
    same = (root_actions[:, None, :, None] == actions[:, :, None, :]) & inside[:, :, None, None]
    policy = np.einsum("nkst,nkt->nks", same.astype(np.float32), all_of("policy"))
    weight = policy.sum(axis=2)
    moved = np.take_along_axis(actions[:, :-1], all_of("slot")[:, :-1, None], 2)
    hits = (root_actions[:, None, :] == moved) & inside[:, :-1, None]
    listed = hits.any(axis=2)
    known = np.ones(inside.shape, bool)
    known[:, 1:] = np.minimum.accumulate(listed | ~inside[:, :-1], axis=1)
    scale = tokens["scale"][:, :1]
    return Unroll(
        x=tokens["x"],
        mask=tokens["mask"],
        pairs=tokens.get("pairs"),
        slot=np.where(listed, hits.argmax(axis=2), _any_slot(root, steps, random)),
        policy=policy / np.maximum(weight, 1e-6)[:, :, None],
        policy_weight=weight,
        value=(np.where(inside, _value_targets(replay, places, td_steps), 0.0) / scale).astype(np.float32),
        reward=(np.where(inside[:, :-1], all_of("reward")[:, :-1], 0.0) / scale).astype(np.float32),
        known=known,
        counterpart=_everywhere(tokens["mask"], inside) if kinds else _counterparts(same, tokens["mask"]),
    )


def _any_slot(root: NDArray[np.int32], steps: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return slots of the root's actions, int64 [N, steps], drawn uniformly."""
    listed = root >= 0
    nth = (random.random((len(root), steps)) * listed.sum(axis=1)[:, None]).astype(np.int64)
    order = np.argsort(~listed, axis=1, kind="stable")
    return np.take_along_axis(order, nth, 1)


def _value_targets(replay: Replay, places: NDArray[np.int64], td_steps: int) -> NDArray[np.float64]:
    """Return the value targets of moves, float64 [N, K + 1], in the environment's units."""
    at = places.ravel()
    left, returns = replay.left(at), replay.field("returns", at)
    later = at + np.minimum(td_steps, left - 1)
    bootstrapped = returns - replay.field("returns", later) + replay.field("value", later)
    return np.where(left > td_steps, bootstrapped, returns).reshape(places.shape)


def _counterparts(same: NDArray[np.bool_], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return `Unroll.counterpart` from the equality of actions, [N, K + 1, slots, slots]; tokens after the slots stay."""
    tokens, slots = mask.shape[2], same.shape[2]
    counterpart = np.full(mask.shape, -1)
    counterpart[:, :, :slots] = np.where(same.any(axis=3), same.argmax(axis=3), -1)
    rest = np.arange(slots, tokens)
    continues: NDArray[np.bool_] = np.asarray(same.any(axis=(2, 3)))
    counterpart[:, :, slots:] = np.where(mask[:, :1, slots:] & mask[:, :, slots:] & continues[:, :, None], rest, -1)
    return counterpart


def _everywhere(mask: NDArray[np.bool_], inside: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return `Unroll.counterpart` if tokens have the same positions in all states."""
    return np.where(mask[:, :1] & mask & inside[:, :, None], np.arange(mask.shape[2]), -1)


def spans(replay: Replay, steps: int, extra: int) -> dict[str, tuple[float, float]]:
    """Return the ranges (low, high) of a network's histograms of "values" and "rewards", in network units, from a replay.

    They cover 0 and nearly all values of the replay. (Bins that covered the extremes would be wider than the differences between
    actions.)
    """
    at = np.arange(replay.added - replay.size, replay.added)
    stretches = unroll(replay, at, steps, replay.capacity, extra, np.random.default_rng(0))
    found = {}
    for name, array in (("values", stretches.value), ("rewards", stretches.reward)):
        low, high = np.quantile(array, [_TAIL, 1.0 - _TAIL]).tolist()
        low, high = min(0.0, low), max(0.0, high)
        margin = _MARGIN * (high - low) or 1.0
        found[name] = (low - margin, high + margin)
    return found

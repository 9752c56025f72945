"""Unrolling: the targets of MuZero's model along segments, which are sequences of successive moves from a replay.

Schrittwieser et al., Nature 2020. A segment that reaches the end of its episode continues in the absorbing state: reward and
value 0, random actions, no policy target.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.learning.replay import Replay
from corl.tokens import joined

__all__ = ["Unroll", "spans", "unroll"]

_TAIL = 0.005  # share of the values and rewards that the range of a histogram may leave out, on either side
_MARGIN = 0.1  # width of the margin that is added to a range on either side, as a share of the range


class Unroll(NamedTuple):
    """N segments of K moves, and so K + 1 states, the first of which is the root.

    Actions are given by their slots in the list of the root's actions; values and rewards are in the unit of the root's state.
    """

    x: NDArray[np.float32]
    """[N, K + 1, T, F] the tokens of each state; past the end of the episode the tokens of its last state."""
    mask: NDArray[np.bool_]
    """[N, K + 1, T] whether a token is present."""
    pairs: NDArray[np.float32] | None
    """[N, K + 1, T, T, P] the features of pairs of tokens, if the problem has them."""
    slot: NDArray[np.int64]
    """[N, K] the action of each move; past the end of the episode, or for an action that the root does not list, a random one."""
    policy: NDArray[np.float32]
    """[N, K + 1, slots] the targets of the policy: probabilities of the root's actions."""
    policy_weight: NDArray[np.float32]
    """[N, K + 1] the weight of the policy target: how much of its probability was on the root's actions; 0 past the end."""
    value: NDArray[np.float32]
    """[N, K + 1] the targets of the value."""
    reward: NDArray[np.float32]
    """[N, K] the reward of each move."""
    known: NDArray[np.bool_]
    """[N, K + 1] whether the model can reach the state; False after an action that the root does not list."""
    counterpart: NDArray[np.int64]
    """[N, K + 1, T] for each token of the root, the token of the same action in each state; -1 if the state has none."""


def unroll(
    replay: Replay, at: NDArray[np.int64], steps: int, td_steps: int, extra: int, random: np.random.Generator, kinds: int = 0
) -> Unroll:
    """Return the segments of `steps` moves that begin at given moves of a replay of self-play.

    A value target is the sum of the next `td_steps` rewards and the search's value of the state after them. If the episode ends
    before, it is the sum of all remaining rewards.

    Args:
        replay: The replay.
        at: int64 [N], the numbers of the first moves, ascending.
        steps: K, the number of moves of a segment.
        td_steps: The number of rewards in a value target.
        extra: `NetworkPolicy.extra`, the number of tokens that belong to no action.
        random: The source of random numbers, for the actions of absorbing states.
        kinds: `Environment.kinds`; above 0, slot a is action a in every state, so that every state is `known`.
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
    root_actions = np.where(root < 0, -2, root)  # so that an empty slot of the root (-1) equals no empty slot of another state
    same = (root_actions[:, None, :, None] == actions[:, :, None, :]) & inside[:, :, None, None]
    policy = np.einsum("nkst,nkt->nks", same.astype(np.float32), all_of("policy"))
    weight = policy.sum(axis=2)
    moved = np.take_along_axis(actions[:, :-1], all_of("slot")[:, :-1, None], 2)
    is_taken = (root_actions[:, None, :] == moved) & inside[:, :-1, None]
    listed = is_taken.any(axis=2)
    known = np.ones(inside.shape, bool)
    known[:, 1:] = np.minimum.accumulate(listed | ~inside[:, :-1], axis=1)
    scale = tokens["scale"][:, :1]
    return Unroll(
        x=tokens["x"],
        mask=tokens["mask"],
        pairs=tokens.get("pairs"),
        slot=np.where(listed, is_taken.argmax(axis=2), _random_slots(root, steps, random)),
        policy=policy / np.maximum(weight, 1e-6)[:, :, None],
        policy_weight=weight,
        value=(np.where(inside, _value_targets(replay, places, td_steps), 0.0) / scale).astype(np.float32),
        reward=(np.where(inside[:, :-1], all_of("reward")[:, :-1], 0.0) / scale).astype(np.float32),
        known=known,
        counterpart=_same_positions(tokens["mask"], inside) if kinds else _counterparts(same, tokens["mask"]),
    )


def _random_slots(root: NDArray[np.int32], steps: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return random slots of the root's actions, drawn uniformly, int64 [N, steps]."""
    listed = root >= 0
    nth = (random.random((len(root), steps)) * listed.sum(axis=1)[:, None]).astype(np.int64)
    order = np.argsort(~listed, axis=1, kind="stable")
    return np.take_along_axis(order, nth, 1)


def _value_targets(replay: Replay, places: NDArray[np.int64], td_steps: int) -> NDArray[np.float64]:
    """Return the value targets of moves, float64 [N, K + 1], in the environment's units."""
    at = places.ravel()
    moves_left, returns = replay.moves_left(at), replay.field("returns", at)
    later = at + np.minimum(td_steps, moves_left - 1)
    bootstrapped = returns - replay.field("returns", later) + replay.field("value", later)
    return np.where(moves_left > td_steps, bootstrapped, returns).reshape(places.shape)


def _counterparts(same: NDArray[np.bool_], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return `Unroll.counterpart` from `same`, bool [N, K + 1, slots, slots]: whether two slots have the same action.

    A token after the slots is its own counterpart.
    """
    tokens, slots = mask.shape[2], same.shape[2]
    counterpart = np.full(mask.shape, -1)
    counterpart[:, :, :slots] = np.where(same.any(axis=3), same.argmax(axis=3), -1)
    extra_tokens = np.arange(slots, tokens)
    continues: NDArray[np.bool_] = np.asarray(same.any(axis=(2, 3)))
    counterpart[:, :, slots:] = np.where(mask[:, :1, slots:] & mask[:, :, slots:] & continues[:, :, None], extra_tokens, -1)
    return counterpart


def _same_positions(mask: NDArray[np.bool_], inside: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return `Unroll.counterpart` for tokens that have the same positions in all states."""
    return np.where(mask[:, :1] & mask & inside[:, :, None], np.arange(mask.shape[2]), -1)


def spans(replay: Replay, steps: int, extra: int) -> dict[str, tuple[float, float]]:
    """Return the ranges (low, high) of a network's histograms of "values" and "rewards", estimated from a replay.

    They are in the units of the states, include 0, and cover 99 % of the replay's values. (Bins that covered the extremes, too,
    would be wider than the differences between actions.)
    """
    at = np.arange(replay.added - replay.size, replay.added)
    segments = unroll(replay, at, steps, replay.capacity, extra, np.random.default_rng(0))
    found = {}
    for name, array in (("values", segments.value), ("rewards", segments.reward)):
        low, high = np.quantile(array, [_TAIL, 1.0 - _TAIL]).tolist()
        low, high = min(0.0, low), max(0.0, high)
        margin = _MARGIN * (high - low) or 1.0
        found[name] = (low - margin, high + margin)
    return found

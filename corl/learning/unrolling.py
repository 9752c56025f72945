"""Unrolling: the targets of MuZero's model along stretches of moves of a replay.

Schrittwieser et al., Nature 2020. Where an episode ends, the absorbing state follows: reward and value 0, any action, no policy
target.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.learning.replay import Replay
from corl.tokens import joined

__all__ = ["Unroll", "spans", "unroll"]

_TAIL = 0.005  # share of the values and rewards that the heads' histograms leave out on either side
_MARGIN = 0.1  # of the span of the others, by which they go beyond it


class Unroll(NamedTuple):
    """N stretches of K moves, seen from their first states: the roots, in whose slots and units all is given."""

    x: NDArray[np.float32]
    """[N, K + 1, T, F] the tokens of each state; those of the root again past the end."""
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
    """[N, K + 1] false after an action that the root does not list: the model cannot be told of it."""
    counterpart: NDArray[np.int64]
    """[N, K + 1, T] the token of each state that is the root's token of the same action; -1 where it is gone."""


def unroll(
    replay: Replay, at: NDArray[np.int64], steps: int, td_steps: int, extra: int, random: np.random.Generator, kinds: int = 0
) -> Unroll:
    """The stretches of `steps` moves from the moves `at` [N], rising, of a replay of self-play; `extra` as Policy has it, `kinds`
    as the network that saw them: with them every action has a slot in every state, and all is known.

    The target of a value is the sum of the next `td_steps` rewards and what the search made of the state after them (of
    all rewards to the end of the episode where that is nearer).
    """
    places, inside = replay.window(at, steps)
    shape = places.shape

    def all_of(name: str, empty: float = 0) -> NDArray[Any]:
        found = replay.field(name, places.ravel(), empty)
        return found.reshape(*shape, *found.shape[1:])

    tokens = {name: a.reshape(*shape, *a.shape[1:]) for name, a in joined(replay.seen(places.ravel()).seen, extra).items()}
    actions = all_of("actions", -1)
    root = np.broadcast_to(np.arange(kinds, dtype=np.int32), (len(at), kinds)) if kinds else actions[:, 0]
    wanted = np.where(root < 0, -2, root)  # -1 is no action, in the root as elsewhere
    same = (wanted[:, None, :, None] == actions[:, :, None, :]) & inside[:, :, None, None]
    policy = np.einsum("nkst,nkt->nks", same.astype(np.float32), all_of("policy"))
    weight = policy.sum(axis=2)
    moved = np.take_along_axis(actions[:, :-1], all_of("slot")[:, :-1, None], 2)
    hits = (wanted[:, None, :] == moved) & inside[:, :-1, None]
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
    """Slots of the root [N, steps], each of those it has as likely."""
    there = root >= 0
    nth = (random.random((len(root), steps)) * there.sum(axis=1)[:, None]).astype(np.int64)
    order = np.argsort(~there, axis=1, kind="stable")
    return np.take_along_axis(order, nth, 1)


def _value_targets(replay: Replay, places: NDArray[np.int64], td_steps: int) -> NDArray[np.float64]:
    """The value targets of moves [N, K + 1], in the environment's units."""
    at = places.ravel()
    left, returns = replay.left(at), replay.field("returns", at)
    later = at + np.minimum(td_steps, left - 1)
    bootstrapped = returns - replay.field("returns", later) + replay.field("value", later)
    return np.where(left > td_steps, bootstrapped, returns).reshape(places.shape)


def _counterparts(same: NDArray[np.bool_], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Unroll.counterpart from which slots name the same action, [N, K + 1, slots, slots]; tokens after the slots keep theirs."""
    tokens, slots = mask.shape[2], same.shape[2]
    counterpart = np.full(mask.shape, -1)
    counterpart[:, :, :slots] = np.where(same.any(axis=3), same.argmax(axis=3), -1)
    rest = np.arange(slots, tokens)
    going_on: NDArray[np.bool_] = np.asarray(same.any(axis=(2, 3)))
    counterpart[:, :, slots:] = np.where(mask[:, :1, slots:] & mask[:, :, slots:] & going_on[:, :, None], rest, -1)
    return counterpart


def _everywhere(mask: NDArray[np.bool_], inside: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Unroll.counterpart where tokens stand at the same places in all states."""
    return np.where(mask[:, :1] & mask & inside[:, :, None], np.arange(mask.shape[2]), -1)


def spans(replay: Replay, steps: int, extra: int) -> dict[str, tuple[float, float]]:
    """What the histograms of a network's "values" and "rewards" should span, from moves of play, in network units: nearly all of
    them, and 0. (Bins as wide as the extremes of play ask for are wider than what actions differ by.)"""
    at = np.arange(replay.added - replay.size, replay.added)
    seen = unroll(replay, at, steps, replay.capacity, extra, np.random.default_rng(0))
    found = {}
    for name, array in (("values", seen.value), ("rewards", seen.reward)):
        low, high = np.quantile(array, [_TAIL, 1.0 - _TAIL]).tolist()
        low, high = min(0.0, low), max(0.0, high)
        margin = _MARGIN * (high - low) or 1.0
        found[name] = (low - margin, high + margin)
    return found

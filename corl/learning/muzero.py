"""MuZero's learning: the model is unrolled along moves of the replay and matched with what was seen there.

Schrittwieser et al., Nature 2020 (loss, K = 5 steps, gradient scaling: appendix G; reanalyse: appendix H); EfficientZero
(Ye et al., NeurIPS 2021) for the consistency loss. Where an episode ends, the absorbing state follows: reward and value 0,
any action, no policy target.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from corl.learning.episodes import Choice
from corl.learning.replay import Replay
from corl.networks.muzero import MuZeroNetwork, Slots
from corl.networks.policy import Arrays
from corl.search.gumbel import Gumbel
from corl.search.models import LearnedModel
from corl.tokens import joined

__all__ = ["Unroll", "Weights", "loss", "reanalyse", "search_latent", "spans", "unroll"]

_HALF = 0.5  # of the gradient goes through each step of the dynamics (appendix G)
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


def search_latent(
    network: MuZeroNetwork, search: Gumbel, seen: Arrays, actions: NDArray[np.int32], keys: NDArray[np.uint64]
) -> Choice:
    """Search R states that the network saw in the learned model. `actions` [R, K] are those that the environment lists: masks
    at the root only."""
    width, listed = actions.shape[1], network.ids(actions)
    found = search.search(LearnedModel(Slots(network, width)), (seen, listed), keys)
    slot = (listed == found.action[:, None]).argmax(axis=1)
    return Choice(slot, found.policy[:, :width].astype(np.float32), found.value * seen["scale"])


def reanalyse(replay: Replay, at: NDArray[np.int64], network: MuZeroNetwork, search: Gumbel, keys: NDArray[np.uint64]) -> None:
    """Search the states of the moves `at`, rising, anew and put what comes of it in the place of their targets."""
    seen = joined(replay.seen(at).seen, network.extra)
    found = search_latent(network, search, seen, replay.field("actions", at, -1), keys)
    replay.put("policy", at, found.policy)
    replay.put("value", at, found.value)


class Weights(NamedTuple):
    """What the terms of the loss count for beside the policy's."""

    value: float = 0.25
    reward: float = 1.0
    consistency: float = 1.0


def loss(network: MuZeroNetwork, batch: Unroll, weights: Weights, device: torch.device) -> tuple[Tensor, dict[str, float]]:
    """The loss of a batch and its terms. The root's terms count in full, those of the K steps 1 / K each.

    value, reward: cross-entropy with the HL-Gauss targets; consistency: minus the cosine of the unrolled latent vectors
    with the representation of the state that was seen there, which is no variable (stop-gradient).
    """
    part: dict[str, Any] = {
        name: None if array is None else torch.from_numpy(array).to(device) for name, array in batch._asdict().items()
    }
    steps = batch.slot.shape[1]
    latent = network.representation(part["x"][:, 0], part["mask"][:, 0], None if part["pairs"] is None else part["pairs"][:, 0])
    observed = _observed(network, part) if weights.consistency else None
    terms = _predicted(network, latent, part, 0)
    total = terms["policy"] + weights.value * terms["value"]
    sums = {name: term.item() for name, term in terms.items()} | {"reward": 0.0, "consistency": 0.0}
    for k in range(1, steps + 1):
        latent, reward = network.dynamics(_scaled(latent, _HALF), part["slot"][:, k - 1])
        known = part["known"][:, k].float()
        terms = _predicted(network, latent, part, k)
        terms["reward"] = (network.reward_head.loss(reward, part["reward"][:, k - 1]) * known).mean()
        total = total + (terms["policy"] + weights.value * terms["value"] + weights.reward * terms["reward"]) / steps
        if observed is not None:
            terms["consistency"] = _consistency(network, latent, observed[:, k - 1], part["counterpart"][:, k], known)
            total = total + weights.consistency * terms["consistency"] / steps
        for name in ("reward", "consistency"):
            sums[name] += terms[name].item() / steps if name in terms else 0.0
    return total, sums


def _predicted(network: MuZeroNetwork, latent: Tensor, part: Mapping[str, Any], k: int) -> dict[str, Tensor]:
    """The policy's and the value's terms of step k."""
    logits, value = network.prediction(latent)
    known = part["known"][:, k].float()
    cross_entropy = -(part["policy"][:, k] * functional.log_softmax(logits, dim=1).clamp_min(-1e4)).sum(dim=1)
    fit = network.value_head.loss(value, part["value"][:, k])
    return {"policy": (cross_entropy * part["policy_weight"][:, k] * known).mean(), "value": (fit * known).mean()}


def _observed(network: MuZeroNetwork, part: Mapping[str, Any]) -> Tensor:
    """The representations [N, K, T, D + 1] of the states after the first."""
    rows, steps, tokens = part["mask"][:, 1:].shape
    x, mask = part["x"][:, 1:].flatten(0, 1), part["mask"][:, 1:].flatten(0, 1)
    pairs = None if part["pairs"] is None else part["pairs"][:, 1:].flatten(0, 1)
    with torch.no_grad():
        return network.representation(x, mask, pairs).view(rows, steps, tokens, -1)


def _consistency(network: MuZeroNetwork, latent: Tensor, observed: Tensor, counterpart: Tensor, known: Tensor) -> Tensor:
    """Minus the cosine of the latent vectors with those of their counterparts, a mean over those of a row."""
    there = (counterpart >= 0).float() * known[:, None]
    theirs = observed.gather(1, counterpart.clamp_min(0)[..., None].expand(-1, -1, observed.shape[2]))
    cosine = network.similarity(latent, theirs)
    return -((cosine * there).sum(1) / there.sum(1).clamp_min(1.0)).mean()


def _scaled(tensor: Tensor, share: float) -> Tensor:
    """The same numbers, with that share of the gradient."""
    return tensor * share + tensor.detach() * (1.0 - share)

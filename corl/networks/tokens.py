"""Tokens: what a network sees of reduced states, whatever the problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError

if TYPE_CHECKING:
    from torch import Tensor

    from corl.problem import Problem

__all__ = ["TokenBatch", "Tokens", "groups", "joined", "seen_through", "sizes_of", "token_sizes"]


class Tokens(NamedTuple):
    """R reduced states as sets of T tokens. The first K tokens belong to the K slots of `Environment.actions`; the rest are
    what else the problem shows (for a tour: its last and its first city). `Problem.features` has the functions that make them.
    """

    x: NDArray[np.float32]
    """[R, T, F] a row of features for each token; zero where there is none."""
    mask: NDArray[np.bool_]
    """[R, T] which tokens are there."""
    pairs: NDArray[np.float32] | None
    """[R, T, T, P] features of ordered pairs of tokens, such as distances, for the bias of attention; or None."""
    scale: NDArray[np.float64]
    """[R] the row's unit, positive: a value or a reward in the network's units times this is in the environment's."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Those that are there, by name."""
        return {name: array for name, array in self._asdict().items() if array is not None}


class TokenBatch(NamedTuple):
    """The tensors of R states' Tokens."""

    x: Tensor
    mask: Tensor
    pairs: Tensor | None


def joined(parts: Sequence[Mapping[str, NDArray[Any]]], extra: int) -> dict[str, NDArray[Any]]:
    """The arrays of Tokens of several parts one after the other; parts with fewer slots are filled up with empty ones.

    extra: how many of the last tokens of every part belong to no slot; they stay the last.
    """
    if len(parts) == 1:
        return dict(parts[0])
    most = max(part["mask"].shape[1] for part in parts)
    filled = [part if part["mask"].shape[1] == most else _filled(part, most, extra) for part in parts]
    return {name: np.concatenate([part[name] for part in filled]) for name in filled[0]}


def _filled(part: Mapping[str, NDArray[Any]], most: int, extra: int) -> dict[str, NDArray[Any]]:
    """The arrays of Tokens, of `most` tokens: where each of those that are there stands then."""
    rows, tokens = part["mask"].shape
    at = np.arange(tokens)
    at[tokens - extra :] += most - tokens
    full = dict(part)
    for name, axes in (("x", 1), ("mask", 1), ("pairs", 2)):
        if (array := part.get(name)) is not None:
            full[name] = np.zeros((rows, *[most] * axes, *array.shape[1 + axes :]), array.dtype)
            if axes == 1:
                full[name][:, at] = array
            else:
                full[name][:, at[:, None], at] = array
    return full


def groups(batch: TokenBatch, extra: int, size: int) -> list[tuple[Tensor, Tensor, TokenBatch]]:
    """The rows of a batch in groups of about `size`, those with the fewest tokens first, cut to the tokens that are there.

    For each group: its rows int64 [G]; for each of its slots, which slot of the row that was, int64 [G, K]; and its tokens, the
    `extra` last ones behind the slots.
    """
    import torch

    slots = batch.mask.shape[1] - extra
    counts = batch.mask[:, :slots].sum(1)
    order = batch.mask[:, :slots].to(dtype=batch.x.dtype).argsort(dim=1, descending=True, stable=True)
    last = torch.arange(slots, slots + extra)
    found = []
    for rows in counts.argsort(stable=True).tensor_split(max(1, len(counts) // size)):
        taken = order[rows, : max(1, int(counts[rows].max())) if slots else 0]
        tokens = torch.cat([taken, last.expand(len(rows), extra)], 1)
        at = rows[:, None]
        pairs = None if batch.pairs is None else batch.pairs[at[..., None], tokens[:, :, None], tokens[:, None]]
        found.append((rows, taken, TokenBatch(batch.x[at, tokens], batch.mask[at, tokens], pairs)))
    return found


def token_sizes(problem: Problem, features: str, environment: str, instance: Any) -> dict[str, Any]:
    """The arguments "problem", "features", "environment", "inputs", "pairs" and "extra" of a network that sees such instances.

    `features` and `environment` are names among the problem's, "" for the first; of features, the first that take what the
    environment observes. Raises UsageError where there are none.
    """
    if not problem.features or (features and features not in problem.features):
        raise UsageError(f"{problem.name} has no features {features!r}; accepted: {', '.join(problem.features) or 'none'}")
    pool = problem.environment([instance], 1, name=environment)
    pool.reset([0], [0])
    name, tokens = seen_through(problem, features, pool.observe([0]))
    return {"problem": problem.name, "features": name, "environment": environment, **sizes_of(tokens, pool.width)}


def sizes_of(tokens: Tokens, slots: int) -> dict[str, int]:
    """The arguments "inputs", "pairs" and "extra" of a network that sees these tokens, `slots` of which belong to slots."""
    pairs = 0 if tokens.pairs is None else tokens.pairs.shape[3]
    return {"inputs": tokens.x.shape[2], "pairs": pairs, "extra": tokens.x.shape[1] - slots}


def seen_through(problem: Problem, features: str, observation: Mapping[str, NDArray[Any]]) -> tuple[str, Tokens]:
    """The name of the features, with "" of the first that take the observation, and their tokens. Raises UsageError."""
    refusal = None
    for name in [features] if features else problem.features:
        try:
            return name, problem.features[name](observation)
        except UsageError as error:
            refusal = refusal or error
    assert refusal is not None
    raise refusal

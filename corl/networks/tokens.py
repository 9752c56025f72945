"""Tokens as tensors, and the sizes of a network for a problem's tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray

from corl.errors import UsageError
from corl.tokens import Tokens, sizes_of

if TYPE_CHECKING:
    from torch import Tensor

    from corl.adapter import Problem

__all__ = ["TokenBatch", "fitting_features", "groups", "token_sizes"]


class TokenBatch(NamedTuple):
    """The Tokens of R states as tensors, with the shapes in corl.tokens."""

    x: Tensor
    """float32 [R, T, F] the features of each token."""
    mask: Tensor
    """bool [R, T] whether a token is present."""
    pairs: Tensor | None
    """float32 [R, T, T, P] the features of pairs of tokens, or None."""


def groups(batch: TokenBatch, extra: int, size: int) -> list[tuple[Tensor, Tensor, TokenBatch]]:
    """Return the rows of a batch in groups of about `size` rows with similar numbers of tokens, so that fewer slots are empty.

    Returns:
        For each group: the indices of its rows, int64 [G]; for each of its slots, the slot of the same token in the batch, int64
        [G, K]; and its tokens, of which the last `extra` belong to no slot.
    """
    import torch

    slots = batch.mask.shape[1] - extra
    counts = batch.mask[:, :slots].sum(1)
    order = batch.mask[:, :slots].to(dtype=batch.x.dtype).argsort(dim=1, descending=True, stable=True)
    extra_tokens = torch.arange(slots, slots + extra)
    found = []
    for rows in counts.argsort(stable=True).tensor_split(max(1, len(counts) // size)):
        kept_slots = order[rows, : max(1, int(counts[rows].max())) if slots else 0]
        tokens = torch.cat([kept_slots, extra_tokens.expand(len(rows), extra)], 1)
        at = rows[:, None]
        pairs = None if batch.pairs is None else batch.pairs[at[..., None], tokens[:, :, None], tokens[:, None]]
        found.append((rows, kept_slots, TokenBatch(batch.x[at, tokens], batch.mask[at, tokens], pairs)))
    return found


def token_sizes(problem: Problem, features: str, environment: str, instance: Any) -> dict[str, Any]:
    """Return the arguments "problem", "features", "environment", "inputs", "pairs" and "extra" of a network for such instances.

    Args:
        problem: The problem.
        features: The name of the problem's features; "": the first ones that accept the environment's observation.
        environment: The name of the problem's environment; "": the first.
        instance: An example of the instances.

    Raises:
        UsageError: The problem has no such features.
    """
    if not problem.features or (features and features not in problem.features):
        raise UsageError(f"{problem.name} has no features {features!r}; accepted: {', '.join(problem.features) or 'none'}")
    pool = problem.environment([instance], 1, name=environment)
    pool.reset([0], [0])
    name, tokens = fitting_features(problem, features, pool.observe([0]))
    return {"problem": problem.name, "features": name, "environment": environment, **sizes_of(tokens, pool.width)}


def fitting_features(problem: Problem, features: str, observation: Mapping[str, NDArray[Any]]) -> tuple[str, Tokens]:
    """Return the name and the tokens of the features called `features`, or for "" of the first that accept the observation.

    Raises UsageError if the features do not accept the observation.
    """
    refusal = None
    for name in [features] if features else problem.features:
        try:
            return name, problem.features[name](observation)
        except UsageError as error:
            refusal = refusal or error
    assert refusal is not None
    raise refusal

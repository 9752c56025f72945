"""Replay: the latest moves of self-play, in arrays that a training checkpoint can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError

__all__ = ["Replay"]


class Replay:
    """A ring of `capacity` moves. A move is one entry of every field; the moves of an episode stand one after the other.

    The fields are whatever arrays the first `add` brings, each with a leading axis of moves. Beside them stands `left`,
    how many moves its episode had from this one on (1 for the last), by which `window` knows where an episode ends: the
    ring overwrites the oldest moves first, so that whatever follows a move in its episode is there as long as the move is.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise UsageError(f"a replay of {capacity} moves; accepted: an integer from 1")
        self.capacity = capacity
        self.fields: dict[str, NDArray[Any]] = {}
        self.left = np.zeros(0, np.int32)
        self.size = 0
        """How many moves there are."""
        self.added = 0
        """How many there ever were."""

    def add(self, moves: Mapping[str, NDArray[Any]], lengths: NDArray[np.integer]) -> None:
        """Append whole episodes of `lengths` [E] moves, laid end to end in the arrays of `moves` [sum of lengths, ...].

        Raises UsageError where they are more than the ring holds, or do not look like the moves before them (all
        instances of a training must give tokens of one shape).
        """
        count = int(lengths.sum())
        if count > self.capacity:
            raise UsageError(f"{count} moves at once do not fit a replay of {self.capacity}")
        if not self.fields:
            self.left = np.zeros(self.capacity, np.int32)
            self.fields = {name: np.zeros((self.capacity, *array.shape[1:]), array.dtype) for name, array in moves.items()}
        at = (self.added + np.arange(count)) % self.capacity
        for name, array in self.fields.items():
            given = moves[name]
            if given.shape != (count, *array.shape[1:]):
                raise UsageError(f"{name} has the shape {given.shape}; the replay takes {(count, *array.shape[1:])}")
            array[at] = given
        ends = np.repeat(np.cumsum(lengths), lengths)
        self.left[at] = ends - np.arange(count)
        self.added, self.size = self.added + count, min(self.size + count, self.capacity)

    def sample(self, random: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Places of `count` moves drawn with replacement, each as likely: int64 [count]."""
        return random.integers(0, self.size, count)

    def window(self, at: NDArray[np.int64], steps: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The places of the moves `at` [N] and of the `steps` after each, and which of these belong to its episode.

        int64 and bool, both [N, steps + 1]; a place past the end of an episode is that of its last move.
        """
        ahead = np.arange(steps + 1)[None, :]
        inside = ahead < self.left[at][:, None]
        return (at[:, None] + np.minimum(ahead, self.left[at][:, None] - 1)) % self.capacity, inside

    def state_dict(self) -> dict[str, Any]:
        """All moves, for a training checkpoint."""
        fields = {name: array[: self.size] for name, array in self.fields.items()}
        return {"capacity": self.capacity, "added": self.added, "left": self.left[: self.size], "fields": fields}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The inverse of `state_dict`. Raises UsageError for a replay of another capacity."""
        if state["capacity"] != self.capacity:
            raise UsageError(f"a replay of {state['capacity']} moves was kept, and this one has {self.capacity}")
        self.added = int(state["added"])
        self.size = len(state["left"])
        self.left = np.zeros(self.capacity, np.int32)
        self.left[: self.size] = state["left"]
        self.fields = {}
        for name, array in state["fields"].items():
            self.fields[name] = np.zeros((self.capacity, *array.shape[1:]), array.dtype)
            self.fields[name][: self.size] = array

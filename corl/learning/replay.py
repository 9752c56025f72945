"""Replay: a buffer of the latest moves, in arrays that a snapshot of the training can hold."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.learning.episodes import Episodes

if TYPE_CHECKING:
    from corl.networks.policy import Arrays

__all__ = ["CollateInputs", "Replay"]


class CollateInputs(NamedTuple):
    """The arguments of `NetworkPolicy.collate` for N moves."""

    contexts: list[Arrays]
    """The network's features of each instance."""
    observed: list[Arrays]
    """The features of the states, in one part for each `Replay.add` that added some of the moves."""
    which: NDArray[np.int64]
    """[N] the index in `contexts` of each move's instance."""


class _Part(NamedTuple):
    """The M moves that one `add` added."""

    first: int
    """The number of the first move."""
    episode: NDArray[np.int64]
    """[M] the episode of each move, an index into `episodes`."""
    moves_left: NDArray[np.int64]
    """[M] the number of moves from this one to the end of its episode; 1 for the last move."""
    episodes: Episodes
    """The episodes that the moves belong to."""


class Replay:
    """A buffer of the latest `capacity` moves. Moves are numbered from 0 in the order in which they were added.

    Arrays of states may differ in shape between two calls of `add`, as instances differ in size. Hence the moves of one call are
    stored together, and `collate_inputs` returns one part for each call.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise UsageError(f"a replay of {capacity} moves; accepted: an integer from 1")
        self.capacity = capacity
        self.added = 0
        """The number of moves that were ever added."""
        self._parts: deque[_Part] = deque()

    @property
    def size(self) -> int:
        """The number of moves held."""
        return min(self.added, self.capacity)

    def add(self, episodes: Episodes) -> None:
        """Append the moves of whole episodes. The oldest moves are removed if the capacity is exceeded.

        Raises UsageError if the episodes have more moves than the capacity, or other arrays than the episodes already held.
        """
        if not (count := int(episodes.lengths.sum())):
            return
        if count > self.capacity:
            raise UsageError(f"{count} moves at once do not fit a replay of {self.capacity}")
        held = self._parts[-1].episodes if self._parts else episodes
        for given, expected in ((episodes.moves, held.moves), (episodes.observed, held.observed)):
            if given.keys() != expected.keys():
                raise UsageError(f"moves with {', '.join(sorted(given))}; the replay holds {', '.join(sorted(expected))}")
        self._append(episodes)
        while self._parts and self._parts[0].first + len(self._parts[0].moves_left) <= self.added - self.capacity:
            self._parts.popleft()

    def _append(self, episodes: Episodes) -> None:
        lengths = episodes.lengths
        moves_left = np.repeat(np.cumsum(lengths), lengths) - np.arange(lengths.sum())
        self._parts.append(_Part(self.added, np.repeat(np.arange(len(lengths)), lengths), moves_left, episodes))
        self.added += len(moves_left)

    def sample(self, random: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Return the numbers of `count` moves drawn uniformly with replacement: int64 [count], ascending."""
        return np.sort(random.integers(self.added - self.size, self.added, count))

    def sample_episodes(self, random: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Return the numbers of all held moves of random episodes, at least `count` moves in all: int64, ascending.

        A draw takes the episode of a move drawn uniformly, so long episodes are likelier; an episode may be drawn repeatedly. If
        the first moves of an episode have been removed, its other moves are returned.
        """
        found: list[NDArray[np.int64]] = []
        while sum(map(len, found)) < count:
            at = self.sample(random, 1)
            part, local = next(self._places(at))
            moves_left, place = part.moves_left, int(local[0])
            first = place
            while first > 0 and moves_left[first - 1] == moves_left[first] + 1 and part.first + first > self.added - self.size:
                first -= 1
            found.append(part.first + np.arange(first, first + moves_left[first]))
        return np.sort(np.concatenate(found))

    def window(self, at: NDArray[np.int64], steps: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return for each of N moves its number and the numbers of the `steps` moves after it in its episode.

        Args:
            at: int64 [N], the numbers of the moves, ascending.
            steps: The number of following moves.

        Returns:
            Numbers, int64 [N, steps + 1], and bool [N, steps + 1]: False past the end of the episode, where the number of its
            last move is repeated.
        """
        ahead, moves_left = np.arange(steps + 1)[None, :], self.moves_left(at)[:, None]
        return at[:, None] + np.minimum(ahead, moves_left - 1), ahead < moves_left

    def moves_left(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each move of `at` [N], ascending, the number of moves from it to the end of its episode, int64 [N]."""
        return np.concatenate([part.moves_left[local] for part, local in self._places(at)])

    def field(self, name: str, at: NDArray[np.int64], empty: float = 0) -> NDArray[Any]:
        """Return the array `name` of `Episodes.moves` for the moves `at` [N], ascending.

        Parts with fewer slots than others are filled up with `empty`.
        """
        found = [part.episodes.moves[name][local] for part, local in self._places(at)]
        widest = max(array.shape[1:] for array in found)
        no_padding = [(0, 0)]  # of the axis of the moves
        padded = (np.pad(a, no_padding + [(0, w - s) for w, s in zip(widest, a.shape[1:])], constant_values=empty) for a in found)
        return np.concatenate(list(padded))

    def put(self, name: str, at: NDArray[np.int64], values: NDArray[Any]) -> None:
        """Replace in place what `field` returns for the moves `at`, ascending; `values` [N, ...] may be wider than the field."""
        begin = 0
        for part, local in self._places(at):
            held = part.episodes.moves[name]
            held[local] = values[begin : begin + len(local)][(slice(None), *(slice(size) for size in held.shape[1:]))]
            begin += len(local)

    def collate_inputs(self, at: NDArray[np.int64]) -> CollateInputs:
        """Return the network's features of the states of the moves `at` [N], ascending."""
        contexts: list[Arrays] = []
        observed: list[Arrays] = []
        which: list[NDArray[np.int64]] = []
        for part, local in self._places(at):
            episodes = part.episodes
            observed.append({name: array[local] for name, array in episodes.observed.items()})
            instances, place = np.unique(episodes.which[part.episode[local]], return_inverse=True)
            which.append(place + len(contexts))
            contexts += [episodes.contexts[i] if episodes.contexts else {} for i in instances.tolist()]
        return CollateInputs(contexts, observed, np.concatenate(which).astype(np.int64))

    def _places(self, at: NDArray[np.int64]) -> Iterator[tuple[_Part, NDArray[np.int64]]]:
        """Yield each part that holds some of the moves `at`, ascending, and the indices of these moves in the part."""
        firsts = np.array([part.first for part in self._parts])
        owner = np.searchsorted(firsts, at, side="right") - 1
        for number in np.unique(owner).tolist():
            part = self._parts[number]
            yield part, at[owner == number] - part.first

    def state_dict(self) -> dict[str, Any]:
        """Return all moves, for a snapshot of the training."""
        return {"capacity": self.capacity, "added": self.added, "parts": [tuple(part.episodes) for part in self._parts]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state_dict` returned. Raises UsageError for a replay of another capacity."""
        if state["capacity"] != self.capacity:
            raise UsageError(f"the snapshot's replay has a capacity of {state['capacity']} moves, this one of {self.capacity}")
        kept = [Episodes(*part) for part in state["parts"]]
        self._parts.clear()
        self.added = int(state["added"]) - sum(int(episodes.lengths.sum()) for episodes in kept)
        for episodes in kept:
            self._append(episodes)

"""Replay: the latest moves of episodes, in arrays that a training checkpoint can hold."""

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
    observed: list[Arrays]
    which: NDArray[np.int64]


class _Part(NamedTuple):
    """The moves of one `add`, from number `first` on."""

    first: int
    episode: NDArray[np.int64]
    """[M] the episode of each move, an index into this part."""
    left: NDArray[np.int64]
    """[M] the number of moves of its episode from this one on; 1 for the last."""
    episodes: Episodes


class Replay:
    """A buffer of the latest `capacity` moves, numbered from 0 in the order in which they were added, episode after episode.

    Instances of different sizes, whose states have arrays of different shapes, may follow each other: the moves of one `add`
    stay together, and `collate_inputs` returns them in parts.
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
        """Append whole episodes; those without a move add nothing.

        Raises UsageError if they have more moves than the capacity, or other arrays than the episodes already held.
        """
        if not (count := int(episodes.lengths.sum())):
            return
        if count > self.capacity:
            raise UsageError(f"{count} moves at once do not fit a replay of {self.capacity}")
        held = self._parts[-1].episodes if self._parts else episodes
        for given, known in ((episodes.moves, held.moves), (episodes.observed, held.observed)):
            if given.keys() != known.keys():
                raise UsageError(f"moves with {', '.join(sorted(given))}; the replay holds {', '.join(sorted(known))}")
        self._append(episodes)
        while self._parts and self._parts[0].first + len(self._parts[0].left) <= self.added - self.capacity:
            self._parts.popleft()

    def _append(self, episodes: Episodes) -> None:
        lengths = episodes.lengths
        left = np.repeat(np.cumsum(lengths), lengths) - np.arange(lengths.sum())
        self._parts.append(_Part(self.added, np.repeat(np.arange(len(lengths)), lengths), left, episodes))
        self.added += len(left)

    def sample(self, random: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Return the numbers of `count` moves drawn uniformly with replacement: int64 [count], ascending."""
        return np.sort(random.integers(self.added - self.size, self.added, count))

    def sample_episodes(self, random: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Return the numbers of the moves of whole episodes, at least `count` in all, int64, ascending.

        An episode is drawn by drawing one of its moves, with replacement.
        """
        found: list[NDArray[np.int64]] = []
        while sum(map(len, found)) < count:
            at = self.sample(random, 1)
            part, local = next(self._places(at))
            left, place = part.left, int(local[0])
            first = place
            while first > 0 and left[first - 1] == left[first] + 1 and part.first + first > self.added - self.size:
                first -= 1
            found.append(part.first + np.arange(first, first + left[first]))
        return np.sort(np.concatenate(found))

    def window(self, at: NDArray[np.int64], steps: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the numbers of moves and of the `steps` moves after each, and which of these belong to the same episode.

        Args:
            at: int64 [N], ascending.
            steps: The number of following moves.

        Returns:
            Numbers, int64 [N, steps + 1], and membership, bool [N, steps + 1]; past the end of an episode the number is that of
            its last move.
        """
        ahead, left = np.arange(steps + 1)[None, :], self.left(at)[:, None]
        return at[:, None] + np.minimum(ahead, left - 1), ahead < left

    def left(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of moves that the episodes of the moves `at` [N], ascending, have from these on, int64 [N]."""
        return np.concatenate([part.left[local] for part, local in self._places(at)])

    def field(self, name: str, at: NDArray[np.int64], empty: float = 0) -> NDArray[Any]:
        """Return an array of `Episodes.moves` for the moves `at` [N], ascending; [N, K] is padded to the widest with `empty`."""
        found = [part.episodes.moves[name][local] for part, local in self._places(at)]
        most = max(array.shape[1:] for array in found)
        wide = [(0, 0)]
        padded = (np.pad(a, wide + [(0, m - s) for m, s in zip(most, a.shape[1:])], constant_values=empty) for a in found)
        return np.concatenate(list(padded))

    def put(self, name: str, at: NDArray[np.int64], values: NDArray[Any]) -> None:
        """Replace in place what `field` returns for the moves `at`, ascending; `values` [N, ...] may be wider than the field."""
        begin = 0
        for part, local in self._places(at):
            held = part.episodes.moves[name]
            held[local] = values[begin : begin + len(local)][(slice(None), *(slice(size) for size in held.shape[1:]))]
            begin += len(local)

    def collate_inputs(self, at: NDArray[np.int64]) -> CollateInputs:
        """Return the network's features of the moves `at` [N], ascending, in one part for each `add` by which they were added."""
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
        """Yield each part that holds some of the moves `at`, ascending, and the indices of these moves in it."""
        firsts = np.array([part.first for part in self._parts])
        owner = np.searchsorted(firsts, at, side="right") - 1
        for number in np.unique(owner).tolist():
            part = self._parts[number]
            yield part, at[owner == number] - part.first

    def state_dict(self) -> dict[str, Any]:
        """Return all moves, for a training checkpoint."""
        return {"capacity": self.capacity, "added": self.added, "parts": [tuple(part.episodes) for part in self._parts]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state_dict` returned. Raises UsageError for a replay of another capacity."""
        if state["capacity"] != self.capacity:
            raise UsageError(f"a replay of {state['capacity']} moves was kept, and this one has {self.capacity}")
        kept = [Episodes(*part) for part in state["parts"]]
        self._parts.clear()
        self.added = int(state["added"]) - sum(int(episodes.lengths.sum()) for episodes in kept)
        for episodes in kept:
            self._append(episodes)

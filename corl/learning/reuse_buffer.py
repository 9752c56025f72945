"""Rounds: a bounded, shuffled store of labelled states, each of which a training uses several times.

    rounds = Rounds(uses=4, size=128, seed=0)
    while training.budget():
        if not rounds.parts_left:
            rounds.begin(lessons)                  # a list of Episodes, the latest block
        moves = rounds.next()                      # the indices of about `size` moves in rounds.replay

The store holds the latest `uses` blocks. A round passes over all their states once, in random order; the next round begins with
a new block in place of the oldest. So each state is used `uses` times, once in each round during which the store holds it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.learning.episodes import Episodes
from corl.learning.replay import Replay

__all__ = ["Rounds"]


class Rounds:
    """The store and its rounds, which depend on the seed and the given blocks alone; a part of snapshots (`Training.manage`)."""

    def __init__(self, uses: int, size: int, seed: int, whole: bool = False) -> None:
        """Create an empty store.

        Args:
            uses: The number of blocks held, which is also the number of times that each state is used.
            size: The approximate number of moves that `next` returns.
            seed: The seed of the random order.
            whole: Whether the moves of an episode stay together; useful for networks that encode each instance only once.
        """
        self.uses, self.size, self.seed, self.whole = uses, size, seed, whole
        self.begun = 0
        """The number of rounds begun."""
        self.taken = 0
        """The number of parts of the current round that `next` has returned."""
        self.replay = Replay(1)
        self._blocks: deque[list[Episodes]] = deque(maxlen=uses)
        self._parts: list[NDArray[np.int64]] = []

    @property
    def parts_left(self) -> int:
        """The number of parts of the current round that `next` has not returned yet."""
        return len(self._parts) - self.taken

    def begin(self, block: Sequence[Episodes]) -> None:
        """Begin a round, with these episodes in place of the oldest block. A round has at least one part, which may be empty."""
        self._blocks.append(list(block))
        self.begun, self.taken = self.begun + 1, 0
        self._shuffle()

    def next(self) -> NDArray[np.int64]:
        """Return the next part of the round: the indices of its moves in `replay`, int64, ascending. Parts are similarly long."""
        self.taken += 1
        return self._parts[self.taken - 1]

    def _shuffle(self) -> None:
        """Fill `replay` with all blocks, and divide its moves into parts at random."""
        episodes = [one for block in self._blocks for one in block]
        moves = sum(int(one.lengths.sum()) for one in episodes)
        self.replay = Replay(max(1, moves))
        for one in episodes:
            self.replay.add(one)
        lengths = [length for one in episodes for length in one.lengths.tolist()] if self.whole else [1] * moves
        random = np.random.default_rng([self.seed, 5, self.begun])
        pieces = np.split(np.arange(moves), np.cumsum(lengths)[:-1])
        order = np.concatenate([np.zeros(0, np.int64), *(pieces[i] for i in random.permutation(len(pieces)))])
        self._parts = [np.sort(part) for part in np.array_split(order, max(1, round(moves / self.size)))]

    def state_dict(self) -> dict[str, Any]:
        """Return all blocks and the position in the round, for a snapshot."""
        return {"begun": self.begun, "taken": self.taken, "blocks": [[tuple(one) for one in block] for block in self._blocks]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""
        self._blocks.clear()
        self._blocks.extend([Episodes(*one) for one in block] for block in state["blocks"])
        self.begun, self.taken = int(state["begun"]), int(state["taken"])
        if self.begun:
            self._shuffle()

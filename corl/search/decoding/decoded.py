"""What decoders find, and what they are asked to decode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.environment import Environment

__all__ = ["Decoded", "Entries"]


class Entries(NamedTuple):
    """E initial states to decode from."""

    number: NDArray[np.int64]
    """[E] by which `Decoded.entry` refers to them."""
    which: NDArray[np.int64]
    """[E] instances of the environment."""
    keys: NDArray[np.uint64] | None
    """[E] keys of `Environment.reset`, or None."""
    streams: NDArray[np.uint64]
    """[E] keys of a sampler's own noise."""

    def part(self, chosen: NDArray[Any] | slice) -> Entries:
        """Some of them."""
        keys = None if self.keys is None else self.keys[chosen]
        return Entries(self.number[chosen], self.which[chosen], keys, self.streams[chosen])

    def reset(self, environment: Environment, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Make `rows` [E] these initial states; returns the bases, float64 [E]."""
        return environment.reset(rows, self.which, self.keys)


@dataclass
class Decoded:
    """Solutions in the order in which they were found. S of them."""

    entry: list[int] = field(default_factory=list)
    """[S] the entry that each belongs to: its place in `which`, as `decode` was given it."""
    total: list[float] = field(default_factory=list)
    """[S] base + rewards: the objective, negative where the problem minimises. Higher is better."""
    log_probability: list[float] = field(default_factory=list)
    """[S] of the whole action sequence under the policy at the decoder's temperature."""
    actions: list[NDArray[np.int32]] = field(default_factory=list)
    """[S] the episode's actions, int32 [T]."""
    solutions: list[Any] = field(default_factory=list)
    """[S] in the problem's own form."""
    exhausted: bool = False
    """Whether nothing is left to find for any entry: each sequence of listed actions was looked at."""
    complete: bool = True
    """Whether the decoder came to its end; False where its budget was spent before."""
    on_solution: Callable[[int, float, Any], object] | None = None
    """Called with entry, total and solution at every solution."""

    def add(
        self, environment: Environment, row: int, entry: int, total: float, log_probability: float, actions: NDArray[np.int32]
    ) -> None:
        """Take the solution of a row whose episode is over."""
        self.entry.append(int(entry))
        self.total.append(float(total))
        self.log_probability.append(float(log_probability))
        self.actions.append(np.array(actions, np.int32))
        self.solutions.append(environment.solution(int(row)))
        if self.on_solution is not None:
            self.on_solution(self.entry[-1], self.total[-1], self.solutions[-1])

    def best(self, entries: int) -> NDArray[np.int64]:
        """The place in these lists of the best solution of each of so many entries (the first of equals); -1: none."""
        found = np.full(entries, -1, np.int64)
        for i, (entry, total) in enumerate(zip(self.entry, self.total)):
            if found[entry] < 0 or total > self.total[found[entry]]:
                found[entry] = i
        return found

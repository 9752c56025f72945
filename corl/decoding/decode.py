"""`decode`: solutions of instances by a policy; what decoders are asked to decode, and what they find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.decoding.evaluator import CountedEvaluator, Stopped
from corl.decoding.noise import stream_keys
from corl.environment import Environment
from corl.errors import UsageError

__all__ = ["Decoded", "Decoder", "Entries", "decode"]


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
    """[S] of the whole action sequence under the policy at the decoder's temperature; NaN where the policy itself played it."""
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


class Decoder(Protocol):
    """Greedy, Sampling, Beam, WithoutReplacement: frozen dataclasses of their options."""

    def run(self, evaluator: CountedEvaluator, entries: Entries, found: Decoded) -> None:
        """Add solutions of each entry to `found`. Raises Stopped."""
        ...


def decode(
    decoder: Decoder,
    evaluator: CountedEvaluator,
    which: ArrayLike,
    *,
    keys: ArrayLike | None = None,
    seed: int = 0,
    found: Decoded | None = None,
) -> Decoded:
    """Solutions of the instances `which` [E] of the evaluator's environment, one or more an entry.

    keys: [E] keys of `Environment.reset` (for tours the start city), so that one instance may be decoded from several starts.
    seed: of a decoder's noise. An entry's noise depends on the seed, its instance, its key and how often both came before in
    `which`, never on what else is decoded, so that batches give what each entry gives alone (where the policy does).
    found: to add to. Every entry gets a solution unless the evaluator's `ask` ended it (`Decoded.complete`). Raises
    UsageError where the pool has too few rows for one entry; with more, entries are decoded together.
    """
    found = Decoded() if found is None else found
    instances = np.atleast_1d(np.asarray(which, np.int64))
    starts = None if keys is None else np.atleast_1d(np.asarray(keys, np.uint64))
    if starts is not None and starts.shape != instances.shape:
        raise UsageError(f"decode takes as many keys as instances, not {len(starts)} and {len(instances)}")
    keyed = np.zeros(len(instances), np.uint64) if starts is None else starts
    streams = stream_keys(seed, instances, keyed, _repeats(instances, keyed))
    try:
        decoder.run(evaluator, Entries(np.arange(len(instances)), instances, starts, streams), found)
    except Stopped:
        found.complete = False
    return found


def _repeats(instances: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """How often the same instance and key came before, int64 [E]."""
    seen: dict[tuple[int, int], int] = {}
    repeats = np.zeros(len(instances), np.int64)
    for i, pair in enumerate(zip(instances.tolist(), keys.tolist())):
        repeats[i] = seen.get(pair, 0)
        seen[pair] = int(repeats[i]) + 1
    return repeats

"""`decode`: solutions of instances by a policy; the input of decoders, and their results."""

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

__all__ = ["Decoded", "Decoder", "StartStates", "decode"]


class StartStates(NamedTuple):
    """E initial states to decode from."""

    number: NDArray[np.int64]
    """[E] the numbers by which `Decoded.entry` refers to them."""
    which: NDArray[np.int64]
    """[E] indices of the environment's instances."""
    keys: NDArray[np.uint64] | None
    """[E] keys of `Environment.reset`, or None."""
    streams: NDArray[np.uint64]
    """[E] keys of a sampler's own noise."""

    def part(self, chosen: NDArray[Any] | slice) -> StartStates:
        """Return some of the entries."""
        keys = None if self.keys is None else self.keys[chosen]
        return StartStates(self.number[chosen], self.which[chosen], keys, self.streams[chosen])

    def reset(self, environment: Environment, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Set `rows` [E] to these initial states; return the base values, float64 [E]."""
        return environment.reset(rows, self.which, self.keys)


@dataclass
class Decoded:
    """S solutions in the order in which they were found."""

    entry: list[int] = field(default_factory=list)
    """[S] the entry of each: its index in the `which` given to `decode`."""
    total: list[float] = field(default_factory=list)
    """[S] base + rewards: the objective value, negative when minimising. Higher is better."""
    log_probability: list[float] = field(default_factory=list)
    """[S] of the whole action sequence under the policy at the decoder's temperature; NaN if the policy itself played it."""
    actions: list[NDArray[np.int32]] = field(default_factory=list)
    """[S] the episode's actions, int32 [T]."""
    solutions: list[Any] = field(default_factory=list)
    """[S] in the problem's own form."""
    exhausted: bool = False
    """Whether every sequence of listed actions was considered, for every entry."""
    complete: bool = True
    """Whether the decoder finished; False if its budget was spent before."""
    on_solution: Callable[[int, float, Any], object] | None = None
    """Called with entry, total and solution at every solution."""

    def add(
        self, environment: Environment, row: int, entry: int, total: float, log_probability: float, actions: NDArray[np.int32]
    ) -> None:
        """Add the solution of a row whose episode is over."""
        self.entry.append(int(entry))
        self.total.append(float(total))
        self.log_probability.append(float(log_probability))
        self.actions.append(np.array(actions, np.int32))
        self.solutions.append(environment.solution(int(row)))
        if self.on_solution is not None:
            self.on_solution(self.entry[-1], self.total[-1], self.solutions[-1])

    def best(self, entries: int) -> NDArray[np.int64]:
        """Return the index of each entry's best solution (the first of equals) in these lists, int64 [entries]; -1 if none."""
        found = np.full(entries, -1, np.int64)
        for i, (entry, total) in enumerate(zip(self.entry, self.total)):
            if found[entry] < 0 or total > self.total[found[entry]]:
                found[entry] = i
        return found


class Decoder(Protocol):
    """The interface of Greedy, Sampling, Beam and WithoutReplacement, which are frozen dataclasses of their options."""

    def run(self, evaluator: CountedEvaluator, entries: StartStates, found: Decoded) -> None:
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
    """Return solutions of instances of the evaluator's environment, one or more for each entry.

    Args:
        decoder: The method.
        evaluator: The policy and its environment.
        which: Integers [E], indices of instances.
        keys: uint64 [E], keys of `Environment.reset` (for tours the start city), with which an instance may be decoded from
            several starts.
        seed: The seed of the decoder's noise. The noise of an entry depends on the seed, its instance, its key and the number of
            earlier entries with both equal, but not on other entries: a batch has the results of single entries (if the policy
            has).
        found: Solutions to add to; None: a new object.

    Returns:
        The solutions. Every entry has one unless the evaluator's `ask` ended the decoding (`Decoded.complete`).

    Raises:
        UsageError: The pool has too few rows for one entry; with more rows, entries are decoded together.
    """
    found = Decoded() if found is None else found
    instances = np.atleast_1d(np.asarray(which, np.int64))
    starts = None if keys is None else np.atleast_1d(np.asarray(keys, np.uint64))
    if starts is not None and starts.shape != instances.shape:
        raise UsageError(f"decode takes as many keys as instances, not {len(starts)} and {len(instances)}")
    keyed = np.zeros(len(instances), np.uint64) if starts is None else starts
    streams = stream_keys(seed, instances, keyed, _repeats(instances, keyed))
    try:
        decoder.run(evaluator, StartStates(np.arange(len(instances)), instances, starts, streams), found)
    except Stopped:
        found.complete = False
    return found


def _repeats(instances: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return the number of earlier entries with the same instance and key, int64 [E]."""
    counts: dict[tuple[int, int], int] = {}
    repeats = np.zeros(len(instances), np.int64)
    for i, pair in enumerate(zip(instances.tolist(), keys.tolist())):
        repeats[i] = counts.get(pair, 0)
        counts[pair] = int(repeats[i]) + 1
    return repeats

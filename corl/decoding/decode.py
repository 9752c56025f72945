"""`decode`: solutions of instances by a decoder and a policy; and the arguments and results of decoders."""

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
    """E entries: initial states from which solutions are decoded."""

    number: NDArray[np.int64]
    """[E] the numbers of the entries in `Decoded.entry`."""
    which: NDArray[np.int64]
    """[E] the index of each entry's instance in the environment."""
    keys: NDArray[np.uint64] | None
    """[E] the keys for `Environment.reset`, such as start cities; None: none."""
    streams: NDArray[np.uint64]
    """[E] the keys of the noise that a decoder samples with."""

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
    """[S] the entry of each solution: its index in the `which` given to `decode`."""
    total: list[float] = field(default_factory=list)
    """[S] base value + rewards: the objective value, or its negative when minimising, so that higher is better."""
    log_probability: list[float] = field(default_factory=list)
    """[S] the log probability of the actions at the decoder's temperature; NaN if a `corl.policy.Player` played the episode."""
    actions: list[NDArray[np.int32]] = field(default_factory=list)
    """[S] the episode's actions, int32 [T]."""
    solutions: list[Any] = field(default_factory=list)
    """[S] the solutions, in the problem's own form."""
    exhausted: bool = False
    """Whether every sequence of listed actions was considered, for every entry."""
    complete: bool = True
    """False if the budget was spent before the decoder finished."""
    on_solution: Callable[[int, float, Any], object] | None = None
    """Called with the entry, the total and the solution whenever one is found."""

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
    """The interface of decoders: Greedy, Sampling, Beam, WithoutReplacement, Planning and LearnedPlanning."""

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
        keys: uint64 [E], keys for `Environment.reset` (for tours, start cities), with which an instance can be decoded from
            several starts; None: without keys.
        seed: The seed of the decoder's noise. The noise of an entry depends on the seed, the entry's instance and key, and the
            number of earlier entries with equal instance and key. So decoding in a batch gives the same results as entry by
            entry, if the policy does not depend on the batch.
        found: Solutions to add to; None: a new object.

    Returns:
        The solutions. Every entry has one unless the evaluator's `ask` ended the decoding (`Decoded.complete`).

    Raises:
        UsageError: The evaluator's environment has too few rows (states held at once) for one entry. With more rows than one
            entry needs, several entries are decoded together.
    """
    found = Decoded() if found is None else found
    instances = np.atleast_1d(np.asarray(which, np.int64))
    starts = None if keys is None else np.atleast_1d(np.asarray(keys, np.uint64))
    if starts is not None and starts.shape != instances.shape:
        raise UsageError(f"decode takes as many keys as instances, not {len(starts)} and {len(instances)}")
    key_numbers = np.zeros(len(instances), np.uint64) if starts is None else starts
    streams = stream_keys(seed, instances, key_numbers, _repeats(instances, key_numbers))
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

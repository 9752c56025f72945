"""`decode`: solutions of instances by a policy."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from corl.errors import UsageError
from corl.search.decoding.decoded import Decoded, Entries
from corl.search.decoding.draws import stream_keys
from corl.search.decoding.evaluator import Evaluator, Stopped

__all__ = ["Decoder", "decode"]


class Decoder(Protocol):
    """Greedy, Sampling, Beam, WithoutReplacement, Sgbs: frozen dataclasses of their options."""

    def run(self, evaluator: Evaluator, entries: Entries, found: Decoded) -> None:
        """Add solutions of each entry to `found`. Raises Stopped."""
        ...


def decode(
    decoder: Decoder,
    evaluator: Evaluator,
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

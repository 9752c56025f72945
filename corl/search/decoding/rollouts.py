"""Greedy decoding and sampling: episodes played in place, a row each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.jit import kernel
from corl.search import hooks
from corl.search.decoding.decoded import Decoded, Entries
from corl.search.decoding.draws import gumbels, stream_keys
from corl.search.decoding.evaluator import Evaluator

__all__ = ["Greedy", "Sampling", "check_temperature", "play_listed", "roll_out"]


@dataclass(frozen=True)
class Greedy:
    """The most probable action at every step (of equals the one listed first)."""

    def run(self, evaluator: Evaluator, entries: Entries, found: Decoded) -> None:
        """A row for each entry."""
        every = max(1, evaluator.environment.rows)
        for begin in range(0, len(entries.number), every):
            _play(evaluator, entries.part(slice(begin, begin + every)), None, 1.0, found)


@dataclass(frozen=True)
class Sampling:
    """Independent samples of the policy; the best of them counts."""

    samples: int = 16
    """For each entry, from 1."""
    temperature: float = 1.0
    """Logits are divided by it; below 1 samples are more alike."""

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise UsageError(f"samples is {self.samples}; accepted: an integer from 1")
        check_temperature(self.temperature)

    def run(self, evaluator: Evaluator, entries: Entries, found: Decoded) -> None:
        """A row for each sample, as many at once as there are."""
        samples = len(entries.number) * self.samples
        for begin in range(0, samples, evaluator.environment.rows):
            number = np.arange(begin, min(samples, begin + evaluator.environment.rows))
            part = entries.part(number // self.samples)
            streams = stream_keys(part.streams, number % self.samples)
            _play(evaluator, part, streams, self.temperature, found)


def check_temperature(temperature: float) -> None:
    """Raise UsageError unless it is positive and finite."""
    if not 0.0 < temperature < float("inf"):
        raise UsageError(f"temperature is {temperature}; accepted: a number above 0")


def _play(
    evaluator: Evaluator, entries: Entries, streams: NDArray[np.uint64] | None, temperature: float, found: Decoded
) -> None:
    """Play each entry on a row of its own to the end."""
    rows = np.arange(len(entries.number))
    totals = entries.reset(evaluator.environment, rows)
    rows, totals, log_probabilities, actions = roll_out(evaluator, rows, totals, streams, temperature)
    for i, row in enumerate(rows):
        taken = actions[i]
        found.add(evaluator.environment, int(row), entries.number[i], totals[i], log_probabilities[i], taken[taken >= 0])


def roll_out(
    evaluator: Evaluator,
    rows: NDArray[np.int64],
    totals: NDArray[np.float64],
    streams: NDArray[np.uint64] | None = None,
    temperature: float = 1.0,
    into: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]:
    """Play `rows` [R], different ones, to the end of their episodes: greedily, or with `streams` by sampling.

    Returns the rows where they end, `totals` [R] with the rewards added, the log probabilities of what was played,
    float64 [R], and the actions, int32 [R, T], -1 after the end. They are played in place, or with `into` on those rows, and
    `rows` stay as they are. Finished rows leave the batch. A sample is argmax(logits + Gumbel noise).
    """
    environment = evaluator.environment
    at, totals, log_probabilities = rows.copy(), totals.copy(), np.zeros(len(rows))
    live = np.arange(len(rows))
    taken: list[NDArray[np.int32]] = []
    while True:
        offered = environment.actions(at[live])
        going = offered[:, 0] >= 0
        live, offered = live[going], offered[going]
        if not live.size:
            break
        scores = evaluator.log_probabilities(at[live], offered, temperature)
        noise = 0.0 if streams is None else gumbels(streams[live], len(taken), scores.shape[1])
        slot = (scores + noise).argmax(axis=1)
        each = np.arange(len(live))
        chosen = offered[each, slot]
        there = at[live] if into is None else into[live]
        totals[live] += environment.step(at[live], there, chosen)
        at[live] = there
        log_probabilities[live] += scores[each, slot]
        taken.append(np.full(len(rows), -1, np.int32))
        taken[-1][live] = chosen
    actions = np.stack(taken, axis=1) if taken else np.full((len(rows), 0), -1, np.int32)
    return at, totals, log_probabilities, actions


@kernel
def play_listed(state: Any, row: Any, out: Any, steps: Any) -> Any:
    """Play a row of a pool's state by the first action listed, at most so many steps; whether its episode is over then.

    `out`: int32 [K], scratch.
    """
    while hooks.actions(state, row, out) > 0:
        if steps == 0:
            return False
        hooks.step(state, row, row, out[0])
        steps -= 1
    return True

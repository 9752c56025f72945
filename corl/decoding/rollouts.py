"""Greedy decoding and sampling: episodes played in place, one row each.

An entry is an initial state from which solutions are decoded (`corl.decoding.decode`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl import hooks
from corl.decoding.decode import Decoded, StartStates
from corl.decoding.evaluator import CountedEvaluator
from corl.decoding.noise import gumbels, stream_keys
from corl.decoding.play import DecisionStep, play
from corl.jit import kernel
from corl.options import Options, option

__all__ = ["Greedy", "Sampling", "play_listed", "roll_out"]

_GOLDEN = 0.6180339887498949  # golden ratio - 1: its first n multiples modulo 1 are spread evenly, for every n


@dataclass(frozen=True)
class Greedy:
    """Greedy decoding: at every step the most probable action; of equally probable ones, the first in the list.

    A policy that can play whole episodes does so.
    """

    def run(self, evaluator: CountedEvaluator, entries: StartStates, found: Decoded) -> None:
        """Use one row for each entry."""
        rows = max(1, evaluator.environment.rows)
        for begin in range(0, len(entries.number), rows):
            part = entries.part(slice(begin, begin + rows))
            _play(evaluator, part, None, np.zeros(len(part.number)), found)


@dataclass(frozen=True)
class Sampling(Options):
    """Independent samples of action sequences from the policy. A policy that can play whole episodes does so."""

    samples: int = option(16, "Samples of each entry.", low=1)
    temperature: float = option(
        1.0, "Logits are divided by the temperature; below 1 samples are less diverse.", above=0, scale="log"
    )
    spread: float = option(
        1.0,
        "Temperatures of an entry's samples range from `temperature` to this many times that, evenly on a logarithmic scale.",
        above=0,
        scale="log",
    )

    def run(self, evaluator: CountedEvaluator, entries: StartStates, found: Decoded) -> None:
        """Use one row for each sample; as many samples are drawn at a time as the pool (the environment) has rows."""
        samples = len(entries.number) * self.samples
        for begin in range(0, samples, evaluator.environment.rows):
            number = np.arange(begin, min(samples, begin + evaluator.environment.rows))
            part = entries.part(number // self.samples)
            streams = stream_keys(part.streams, number % self.samples)
            power = (number % self.samples + 1) * _GOLDEN % 1.0
            temperature = np.asarray(self.temperature * self.spread**power, np.float64)
            _play(evaluator, part, streams, temperature, found)


def _play(
    evaluator: CountedEvaluator,
    entries: StartStates,
    streams: NDArray[np.uint64] | None,
    temperature: NDArray[np.float64],
    found: Decoded,
) -> None:
    """Play each entry on a separate row to the end of its episode, and add its solution to `found`.

    Args:
        evaluator: The policy and its environment.
        entries: The E initial states.
        streams: uint64 [E], keys of the noise; None: greedily.
        temperature: float64 [E], used only with `streams`.
        found: The receiver of the solutions.
    """
    batch = len(entries.number) if evaluator.player is None else max(1, evaluator.player.together)
    for begin in range(0, len(entries.number), batch):
        part = slice(begin, begin + batch)
        entries_part, keys, temperature_part = entries.part(part), None if streams is None else streams[part], temperature[part]
        rows = np.arange(len(entries_part.number))
        totals = entries_part.reset(evaluator.environment, rows)
        if evaluator.player is None:
            rows, totals, log_probabilities, actions = roll_out(
                evaluator, rows, totals, keys, 1.0 if keys is None else temperature_part
            )
        else:
            rewards, actions = evaluator.play(rows, temperature_part, None if keys is None else keys[:, None].copy())
            totals, log_probabilities = totals + rewards, np.full(len(rows), np.nan)
        for i, row in enumerate(rows):
            row_actions = actions[i]
            found.add(
                evaluator.environment,
                int(row),
                entries_part.number[i],
                totals[i],
                log_probabilities[i],
                row_actions[row_actions >= 0],
            )


def roll_out(
    evaluator: CountedEvaluator,
    rows: NDArray[np.int64],
    totals: NDArray[np.float64],
    streams: NDArray[np.uint64] | None = None,
    temperature: ArrayLike = 1.0,
    into: NDArray[np.int64] | None = None,
    most: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]:
    """Play rows to the ends of their episodes: greedily, or with `streams` by sampling, as argmax(logits + Gumbel noise).

    Args:
        evaluator: The policy and its environment.
        rows: int64 [R], all different.
        totals: float64 [R], initial totals, to which rewards are added.
        streams: uint64 [R], keys of the noise; None: greedily.
        temperature: The divisor of the logits, one for all rows or [R].
        into: int64 [R], rows that receive the later states; None: `rows` are overwritten (`corl.decoding.play`).
        most: int64 [R], the greatest number of actions of each row; None: no limit.

    Returns:
        The rows of the last states, int64 [R]; `totals` with the rewards added, float64 [R]; the log probabilities of the action
        sequences, float64 [R]; and the actions, int32 [R, T], -1 after the end.
    """
    log_probabilities, temperatures = np.zeros(len(rows)), np.broadcast_to(np.asarray(temperature, np.float64), rows.shape)

    def choose(decision: DecisionStep) -> NDArray[np.int32]:
        scores = evaluator.log_probabilities(decision.rows, decision.actions, temperatures[decision.episode])
        noise = 0.0 if streams is None else gumbels(streams[decision.episode], decision.number, scores.shape[1])
        slots = (scores + noise).argmax(axis=1)
        log_probabilities[decision.episode] += scores[np.arange(len(slots)), slots]
        return decision.taken(slots)

    played = play(evaluator.environment, rows, totals, choose, into, most)
    return played.rows, played.totals, log_probabilities, played.actions


@kernel
def play_listed(state: Any, row: Any, out: Any, steps: Any) -> Any:
    """Take the first listed action of a row's state, up to `steps` times; return whether the episode is over.

    Args:
        state: The pool.
        row: The row of the pool, changed in place.
        out: int32 [K], work array, overwritten.
        steps: The greatest number of actions.
    """
    while hooks.actions(state, row, out) > 0:
        if steps == 0:
            return False
        hooks.step(state, row, row, out[0])
        steps -= 1
    return True

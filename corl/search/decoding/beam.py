"""Beam search: the most probable partial solutions of each depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corl.errors import UsageError
from corl.search.decoding.decoded import Decoded, Entries
from corl.search.decoding.evaluator import Evaluator
from corl.search.decoding.frontier import Frontier, best_of_each

__all__ = ["Beam", "chunks", "needs_rows"]


@dataclass(frozen=True)
class Beam:
    """At each depth the `width` partial solutions of highest probability go on; finished ones are noted and keep their place."""

    width: int = 16
    """States of each entry, from 1; 1 is greedy."""

    def __post_init__(self) -> None:
        if self.width < 1:
            raise UsageError(f"width is {self.width}; accepted: an integer from 1")

    def run(self, evaluator: Evaluator, entries: Entries, found: Decoded) -> None:
        """`width` rows for each entry, so many entries at a time as there are rows for."""
        cut = False
        for part in chunks(evaluator, entries, self.width, f"a beam of width {self.width}"):
            cut |= self._search(evaluator, part, found)
        found.exhausted = not cut

    def _search(self, evaluator: Evaluator, entries: Entries, found: Decoded) -> bool:
        """Returns whether anything was cut off."""
        environment, cut = evaluator.environment, False
        beam = Frontier.roots(environment, entries)
        while True:
            before = beam.over
            actions = beam.offered(environment)
            beam.record(environment, entries, np.flatnonzero(beam.over & ~before), found)
            live = np.flatnonzero(~beam.over)
            if not live.size:
                return cut
            gained = np.full(actions.shape, -np.inf)
            gained[live] = evaluator.log_probabilities(beam.row[live], actions[live])
            gained[beam.over, 0] = 0.0
            scores = (beam.log_probability[:, None] + gained).ravel()
            kept = best_of_each(np.repeat(beam.entry, actions.shape[1]), scores, self.width)
            cut |= len(kept) < np.isfinite(scores).sum()
            parent, slot = np.divmod(kept, actions.shape[1])
            beam = beam.advance(environment, parent, actions[parent, slot], gained[parent, slot])


def needs_rows(evaluator: Evaluator, rows: int, what: str) -> None:
    """Raise UsageError where the pool has fewer rows than one entry takes."""
    if evaluator.environment.rows < rows:
        raise UsageError(f"{what} needs a pool of {rows} rows; this one has {evaluator.environment.rows}")


def chunks(evaluator: Evaluator, entries: Entries, rows: int, what: str) -> list[Entries]:
    """The entries in parts for which the pool has `rows` rows each. Raises UsageError where one entry does not fit."""
    needs_rows(evaluator, rows, what)
    every = evaluator.environment.rows // rows
    return [entries.part(slice(begin, begin + every)) for begin in range(0, len(entries.number), every)]

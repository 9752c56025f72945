"""Beam search: the most probable partial solutions of each depth; and the frontier that all searches by depth share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corl.decoding.decode import Decoded, StartStates
from corl.decoding.evaluator import CountedEvaluator, log_softmax
from corl.environment import Environment
from corl.errors import UsageError
from corl.options import Options, option

__all__ = ["Beam", "Frontier", "best_of_each", "chunks", "free_rows", "needs_rows"]


@dataclass(frozen=True)
class Beam(Options):
    """At each depth the `width` best partial solutions are continued; finished ones are recorded and stay in the beam.

    The best are those of highest probability; with `nat`, those of highest estimate: the rewards so far, plus the value
    of the state, plus `nat` times the logarithm of the last action's probability, which estimates its relative return if the
    policy is soft-optimal (Haarnoja, Tang, Abbeel and Levine, ICML 2017).
    """

    width: int = option(16, "States of each entry; 1 is greedy.", low=1)
    nat: float = option(
        0.0, "The weight of a factor e of probability, as a share of the estimate at the start; 0: probability alone.", low=0
    )

    def run(self, evaluator: CountedEvaluator, entries: StartStates, found: Decoded) -> None:
        """Use `width` rows for each entry; as many entries are decoded at a time as the pool has rows for."""
        cut = False
        if self.nat and not evaluator.policy.has_value:
            raise UsageError("a beam with nat needs a policy with a value")
        for part in chunks(evaluator, entries, self.width, f"a beam of width {self.width}"):
            cut |= self._search(evaluator, part, found)
        found.exhausted = not cut

    def _search(self, evaluator: CountedEvaluator, entries: StartStates, found: Decoded) -> bool:
        """Search from the entries; return whether anything was cut off."""
        environment, cut = evaluator.environment, False
        beam = Frontier.roots(environment, entries)
        unit = np.zeros(0)
        while True:
            before = beam.over
            actions = beam.offered(environment)
            beam.record(environment, entries, np.flatnonzero(beam.over & ~before), found)
            live = np.flatnonzero(~beam.over)
            if not live.size:
                return cut
            gained, base = np.full(actions.shape, -np.inf), beam.log_probability
            if self.nat:
                logits, values = evaluator.evaluate(environment.view(beam.row[live], actions[live]))
                gained[live] = log_softmax(np.where(actions[live] >= 0, logits.astype(np.float64), -np.inf))
                base = beam.total.copy()
                base[live] += values
                unit = unit if len(unit) else np.maximum(self.nat * np.abs(base), 1e-12)
                base /= unit[beam.entry]
            else:
                gained[live] = evaluator.log_probabilities(beam.row[live], actions[live])
            gained[beam.over, 0] = 0.0
            scores = (base[:, None] + gained).ravel()
            kept = best_of_each(np.repeat(beam.entry, actions.shape[1]), scores, self.width)
            cut |= len(kept) < np.isfinite(scores).sum()
            parent, slot = np.divmod(kept, actions.shape[1])
            beam = beam.advance(environment, parent, actions[parent, slot], gained[parent, slot])


def needs_rows(evaluator: CountedEvaluator, rows: int, what: str) -> None:
    """Raise UsageError if the pool has fewer rows than one entry takes."""
    if evaluator.environment.rows < rows:
        raise UsageError(f"{what} needs a pool of {rows} rows; this one has {evaluator.environment.rows}")


def chunks(evaluator: CountedEvaluator, entries: StartStates, rows: int, what: str) -> list[StartStates]:
    """Return the entries in parts for which the pool has rows, `rows` for each entry. Raises UsageError if one does not fit."""
    needs_rows(evaluator, rows, what)
    every = evaluator.environment.rows // rows
    return [entries.part(slice(begin, begin + every)) for begin in range(0, len(entries.number), every)]


@dataclass
class Frontier:
    """M states, each on its own row, sorted by entry."""

    entry: NDArray[np.int64]
    """[M] indices into the StartStates being decoded."""
    row: NDArray[np.int64]
    """[M] rows of the pool."""
    total: NDArray[np.float64]
    """[M] base + rewards so far."""
    log_probability: NDArray[np.float64]
    """[M] the log probability of the actions so far."""
    history: NDArray[np.int32]
    """[M, t] the actions so far; -1 after the end of an episode."""
    over: NDArray[np.bool_]
    """[M] whether the episode has ended."""

    @classmethod
    def roots(cls, environment: Environment, entries: StartStates) -> Frontier:
        """Create the initial states, on the first rows of the pool."""
        count = len(entries.number)
        rows = np.arange(count)
        totals = entries.reset(environment, rows)
        nothing = np.zeros((count, 0), np.int32)
        return cls(rows.copy(), rows, totals, np.zeros(count), nothing, np.zeros(count, bool))

    def part(self, chosen: NDArray) -> Frontier:
        """Return some of the states."""
        arrays = (self.entry, self.row, self.total, self.log_probability, self.history, self.over)
        return Frontier(*(array[chosen] for array in arrays))

    def offered(self, environment: Environment) -> NDArray[np.int32]:
        """Return the listed actions of all states, int32 [M, K]; update `over` in place."""
        actions = environment.actions(self.row)
        self.over = actions[:, 0] < 0
        return actions

    def advance(
        self, environment: Environment, parent: NDArray, action: NDArray, gained: NDArray, rows: NDArray | None = None
    ) -> Frontier:
        """Return the frontier of the children of some states.

        Args:
            environment: The pool whose rows are stepped.
            parent: Integers [N], indices of states, sorted by entry.
            action: Integers [N]; -1 keeps a finished parent as it is.
            gained: Float64 [N], the log probabilities of the actions.
            rows: Int64 [N], the rows of the children. None: the first child of each parent is made in its parent's row, the
                others in rows that no chosen parent has, so that as many rows suffice as there are children.
        """
        place = self._places(environment, parent) if rows is None else rows
        total = self.total[parent]
        steps, source = action >= 0, self.row[parent]
        for moved in (steps & (place != source), steps & (place == source)):  # copies first, before parents are overwritten
            if moved.any():
                total[moved] += environment.step(source[moved], place[moved], action[moved])
        history = np.concatenate([self.history[parent], action[:, None].astype(np.int32)], axis=1)
        log_probability = self.log_probability[parent] + gained
        return Frontier(self.entry[parent], place, total, log_probability, history, self.over[parent].copy())

    def _places(self, environment: Environment, parent: NDArray) -> NDArray[np.int64]:
        place = np.full(len(parent), -1, np.int64)
        _, first = np.unique(parent, return_index=True)
        place[first] = self.row[parent[first]]
        others = place < 0
        place[others] = free_rows(environment, place[first], int(others.sum()))
        return place

    def record(self, environment: Environment, entries: StartStates, chosen: NDArray, found: Decoded) -> None:
        """Add the solutions of the states `chosen`, whose episodes are over, to `found`."""
        for i in chosen:
            taken = self.history[i]
            number, total, log_probability = entries.number[self.entry[i]], self.total[i], self.log_probability[i]
            found.add(environment, self.row[i], number, total, log_probability, taken[taken >= 0])


def free_rows(environment: Environment, used: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the first `count` rows of the pool that are not `used`."""
    free = np.ones(environment.rows, bool)
    free[used] = False
    return np.flatnonzero(free)[:count]


def best_of_each(group: NDArray[np.int64], score: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Return the indices of the `most` highest scores of each group, sorted by group, then by falling score, then by index.

    Scores of -inf are skipped.
    """
    (candidates,) = np.nonzero(score > -np.inf)
    order = candidates[np.lexsort((-score[candidates], group[candidates]))]
    groups = group[order]
    rank = np.arange(len(order)) - np.searchsorted(groups, groups)
    return order[rank < most]

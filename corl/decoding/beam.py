"""Beam search, which continues the best partial solutions of each depth; and the frontier that such searches share.

An entry is an initial state from which solutions are decoded (`corl.decoding.decode`).
"""

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
    """Beam search: at each depth the `width` best partial solutions of each entry are continued.

    Finished solutions are recorded and remain in the beam. Partial solutions are ranked by probability or, with `nat`, by an
    estimate of the return: the rewards before the last action, the value of the state at that time, and a multiple of the
    logarithm of the action's probability. The logarithm estimates the action's advantage if the policy is soft-optimal
    (Haarnoja, Tang, Abbeel and Levine, ICML 2017).
    """

    width: int = option(16, "States of each entry; a beam of width 1 is greedy decoding.", low=1)
    nat: float = option(
        0.0,
        "The weight of log probability, as a share of the estimate of the return at the start; 0: rank by probability alone.",
        low=0,
    )

    def run(self, evaluator: CountedEvaluator, entries: StartStates, found: Decoded) -> None:
        """Use `width` rows for each entry; as many entries are decoded at a time as the pool (the environment) has rows for."""
        discarded = False
        if self.nat and not evaluator.policy.has_value:
            raise UsageError("a beam with nat needs a policy with a value")
        for part in chunks(evaluator, entries, self.width, f"a beam of width {self.width}"):
            discarded |= self._search(evaluator, part, found)
        found.exhausted = not discarded

    def _search(self, evaluator: CountedEvaluator, entries: StartStates, found: Decoded) -> bool:
        """Search from the entries; return whether any partial solution was discarded."""
        environment, discarded = evaluator.environment, False
        beam = Frontier.roots(environment, entries)
        nat_unit = np.zeros(0)
        while True:
            over_before = beam.over
            actions = beam.offered(environment)
            beam.record(environment, entries, np.flatnonzero(beam.over & ~over_before), found)
            live = np.flatnonzero(~beam.over)
            if not live.size:
                return discarded
            action_scores, state_scores = np.full(actions.shape, -np.inf), beam.log_probability
            if self.nat:
                logits, values = evaluator.evaluate(environment.view(beam.row[live], actions[live]))
                action_scores[live] = log_softmax(np.where(actions[live] >= 0, logits.astype(np.float64), -np.inf))
                state_scores = beam.total.copy()
                state_scores[live] += values
                nat_unit = nat_unit if len(nat_unit) else np.maximum(self.nat * np.abs(state_scores), 1e-12)
                state_scores /= nat_unit[beam.entry]
            else:
                action_scores[live] = evaluator.log_probabilities(beam.row[live], actions[live])
            action_scores[beam.over, 0] = 0.0
            scores = (state_scores[:, None] + action_scores).ravel()
            chosen = best_of_each(np.repeat(beam.entry, actions.shape[1]), scores, self.width)
            discarded |= len(chosen) < np.isfinite(scores).sum()
            parent, slot = np.divmod(chosen, actions.shape[1])
            beam = beam.advance(environment, parent, actions[parent, slot], action_scores[parent, slot])


def needs_rows(evaluator: CountedEvaluator, rows: int, what: str) -> None:
    """Raise UsageError if the pool has fewer than `rows` rows, the number for one entry; `what` begins the message."""
    if evaluator.environment.rows < rows:
        raise UsageError(f"{what} needs a pool of {rows} rows; this one has {evaluator.environment.rows}")


def chunks(evaluator: CountedEvaluator, entries: StartStates, rows: int, what: str) -> list[StartStates]:
    """Split the entries into parts that fit into the pool, at `rows` rows per entry. Raises UsageError if no entry fits."""
    needs_rows(evaluator, rows, what)
    entries_at_once = evaluator.environment.rows // rows
    return [entries.part(slice(begin, begin + entries_at_once)) for begin in range(0, len(entries.number), entries_at_once)]


@dataclass
class Frontier:
    """M states, each on a separate row of the pool, sorted by entry."""

    entry: NDArray[np.int64]
    """[M] the index of each state's entry in the StartStates that are decoded."""
    row: NDArray[np.int64]
    """[M] the row of each state in the pool."""
    total: NDArray[np.float64]
    """[M] the base value plus the rewards so far."""
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
            action: Integers [N]; -1 for a finished parent, which remains as it is.
            gained: float64 [N], the log probabilities of the actions.
            rows: int64 [N], the rows of the children. None: the first child of each parent overwrites the parent's row, the other
                children take rows of states that are not parents, so that N rows suffice.
        """
        child_rows = self._places(environment, parent) if rows is None else rows
        total = self.total[parent]
        takes_action, parent_rows = action >= 0, self.row[parent]
        # Steps to other rows come first, before the rows of parents are overwritten.
        for moved in (takes_action & (child_rows != parent_rows), takes_action & (child_rows == parent_rows)):
            if moved.any():
                total[moved] += environment.step(parent_rows[moved], child_rows[moved], action[moved])
        history = np.concatenate([self.history[parent], action[:, None].astype(np.int32)], axis=1)
        log_probability = self.log_probability[parent] + gained
        return Frontier(self.entry[parent], child_rows, total, log_probability, history, self.over[parent].copy())

    def _places(self, environment: Environment, parent: NDArray) -> NDArray[np.int64]:
        """Return the rows of the children if none are given, int64 [N]; see `advance`."""
        child_rows = np.full(len(parent), -1, np.int64)
        _, first = np.unique(parent, return_index=True)
        child_rows[first] = self.row[parent[first]]
        others = child_rows < 0
        child_rows[others] = free_rows(environment, child_rows[first], int(others.sum()))
        return child_rows

    def record(self, environment: Environment, entries: StartStates, chosen: NDArray, found: Decoded) -> None:
        """Add the solutions of some states, whose episodes are over, to `found`; `chosen`: their indices."""
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
    """Return the indices of the `most` highest scores of each group, sorted by group, then by decreasing score, then by index.

    Scores of -inf are skipped.
    """
    (candidates,) = np.nonzero(score > -np.inf)
    order = candidates[np.lexsort((-score[candidates], group[candidates]))]
    groups = group[order]
    rank = np.arange(len(order)) - np.searchsorted(groups, groups)
    return order[rank < most]

"""Simulation-guided beam search (SGBS).

J. Choo, Y.-D. Kwon, J. Kim, J. Jae, A. Hottung, K. Tierney & Y. Gwon, Simulation-guided beam search for neural
combinatorial optimization, NeurIPS 2022 (section 3): expansion by the policy, simulation by greedy rollouts, pruning by
what the rollouts came to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corl.decoding.beam import Frontier, best_of_each, chunks, free_rows
from corl.decoding.decode import Decoded, Entries
from corl.decoding.evaluator import CountedEvaluator
from corl.decoding.rollouts import roll_out
from corl.options import Options, option

__all__ = ["Sgbs"]


@dataclass(frozen=True)
class Sgbs(Options):
    """SGBS(beta, gamma): `width` states, of each the `expansion` most probable children, of these the best `width` by rollout.

    A state's most probable child has the rollout of the state itself, so that one is not played again: a step takes
    width * (expansion - 1) rollouts.
    """

    width: int = option(4, "beta: states of the beam.", low=1)
    expansion: int = option(4, "gamma: children of each state that are played out.", low=2)

    def run(self, evaluator: CountedEvaluator, entries: Entries, found: Decoded) -> None:
        """width * (2 * expansion - 1) rows for each entry, so many entries at a time as there are rows for."""
        rows = self.width * (2 * self.expansion - 1)
        for part in chunks(evaluator, entries, rows, f"SGBS of width {self.width} and expansion {self.expansion}"):
            self._search(evaluator, part, found)

    def _search(self, evaluator: CountedEvaluator, entries: Entries, found: Decoded) -> None:
        environment = evaluator.environment
        beam = Frontier.roots(environment, entries)
        worth = _simulate(evaluator, entries, beam, found, beam.row)
        while True:
            actions = beam.offered(environment)
            live = ~beam.over  # a finished one was noted by its rollout
            beam, worth, actions = beam.part(live), worth[live], actions[live]
            if not beam.entry.size:
                return
            gained = evaluator.log_probabilities(beam.row, actions)
            kept = best_of_each(np.repeat(np.arange(len(actions)), actions.shape[1]), gained.ravel(), self.expansion)
            parent, slot = np.divmod(kept, actions.shape[1])
            rows = free_rows(environment, beam.row, len(parent))
            children = beam.advance(environment, parent, actions[parent, slot], gained[parent, slot], rows)
            worth = worth[parent]
            _, greedy = np.unique(parent, return_index=True)
            others = np.setdiff1d(np.arange(len(parent)), greedy)
            worth[others] = _simulate(evaluator, entries, children.part(others), found, rows)
            kept = best_of_each(children.entry, worth, self.width)
            beam, worth = children.part(kept), worth[kept]


def _simulate(
    evaluator: CountedEvaluator, entries: Entries, states: Frontier, found: Decoded, used: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Play each state greedily to the end on rows that are not `used`; notes the solutions and returns their totals."""
    environment = evaluator.environment
    into = free_rows(environment, used, len(states.row))
    rows, totals, gained, actions = roll_out(evaluator, states.row, states.total, into=into)
    for i, row in enumerate(rows):
        taken = np.concatenate([states.history[i], actions[i]])
        number, log_probability = entries.number[states.entry[i]], states.log_probability[i] + gained[i]
        found.add(environment, row, number, totals[i], log_probability, taken[taken >= 0])
    return totals

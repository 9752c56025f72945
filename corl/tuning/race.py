"""The race: new candidates against the best ones so far, over blocks of instances and seeds, as in irace.

In a generation, new candidates are run on the blocks that the best ones were run on, block by block. After a block, each
candidate is dropped that is worse than the best one in a paired test (Student's interval of the mean difference of costs excludes
zero), and of the new ones the better half continues. The best ones then get a further block. The default options are never
dropped.

M. López-Ibáñez et al., The irace package: iterated racing for automatic algorithm configuration, 2016. (It keeps all candidates
that the test does not drop. Halving is from K. Jamieson and A. Talwalkar, Non-stochastic best arm identification, 2016: it
leaves more of the budget for new candidates.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from corl import options
from corl.benchmark.running.sources import SuiteInstance
from corl.errors import UsageError
from corl.statistics import FEWEST, sample_mean
from corl.tuning.runs import Block, Candidate, Runs
from corl.tuning.sampling import Proposals

__all__ = ["BEST", "NEW", "Race", "blocks"]

BEST = 4
"""The number of candidates, besides the defaults, that a generation keeps."""
NEW = 8
"""The number of new candidates of a generation."""
_ATTEMPTS = 50  # proposals that may equal earlier ones or have options that do not go together, for one new candidate
_MOST_SEEDS = 5  # for each instance


def blocks(sources: Sequence[SuiteInstance], seed: int) -> list[Block]:
    """Return the blocks in which candidates are compared: about FEWEST instances in random order, then again with new seeds."""
    order = np.random.default_rng(seed).permutation(len(sources))
    count = max(1, len(sources) // FEWEST)
    parts = [tuple(sources[i] for i in part) for part in np.array_split(order, count)]
    return [Block(part, (run_seed,)) for run_seed in range(_MOST_SEEDS) for part in parts]


class Race:
    """The candidates of a tuning, and the best of them."""

    def __init__(
        self, runs: Runs, solver: type, default: Candidate, proposals: Proposals, course: Sequence[Block], objective: str
    ) -> None:
        """Create a race.

        Args:
            runs: The runs.
            solver: The class of the solver.
            default: The candidate with the default options.
            proposals: The source of new candidates.
            course: The blocks, in the order in which they are used.
            objective: One of corl.tuning.costs.OBJECTIVES.
        """
        self._runs, self._solver, self._proposals, self._course, self._objective = runs, solver, proposals, course, objective
        self.default, self.best = default, list[Candidate]()
        self.candidates: dict[str, Candidate] = {default.label: default}
        """All candidates so far, by label."""
        self.generations = 0
        self._length = 1  # blocks that the best candidates are run on

    def run(self, reserve: Callable[[], float], after_block: Callable[[], None]) -> None:
        """Run generations until the budget, less the reserve, is used, or no new candidates are found.

        Args:
            reserve: Returns the processor seconds that must be left.
            after_block: Called after each block of runs.
        """
        while new := list(self._new()):
            if not self._generation(new, reserve, after_block):
                return
            self.generations += 1
            self._length = min(self._length + 1, len(self._course))

    def _generation(self, new: Sequence[Candidate], reserve: Callable[[], float], after_block: Callable[[], None]) -> bool:
        """Race new candidates against the best ones; return False if the budget ended before the end of the generation."""
        alive, within = list(new), True
        for number in range(self._length):
            block = self._course[number]
            everyone = [self.default, *self.best, *alive]
            if self._runs.unknown(everyone, block) * self._runs.per_run > self._runs.left - reserve():
                within = False
                break
            self._runs.measure(everyone, block)
            survivors = self._undropped(everyone)
            alive = self._better_half([each for each in alive if each in survivors])
            after_block()
        finalists = self._undropped([self.default, *self.best, *alive]) if within else [self.default, *self.best]
        self.best = sorted((each for each in finalists if each is not self.default), key=self.value)[:BEST]
        for each in new:
            self._tell(each.trial, each)
        return within

    def _tell(self, trial: Any, candidate: Candidate) -> None:
        value = self.value(candidate)
        self._proposals.tell(trial, value if value < float("inf") else None)

    def value(self, candidate: Candidate) -> float:
        """Return the mean of a candidate's costs less the defaults', relative to the defaults' mean; inf without runs."""
        pairs = self._runs.pairs(candidate, self._course)
        if not pairs:
            return float("inf")
        of_default, own = self._runs.costs([self.default, candidate], pairs, self._objective)
        return float((own - of_default).mean() / (of_default.mean() or 1.0))

    def _undropped(self, everyone: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates that are not significantly worse than the best one, on the pairs that both were run on."""
        leader = min(everyone, key=self.value)
        kept = []
        for each in everyone:
            pairs = self._runs.pairs(each, self._course)
            own, best = self._runs.costs([each, leader], pairs, self._objective)
            differences = (own - best)[~np.isnan(own - best)]
            low = sample_mean(differences).low if len(differences) >= FEWEST else None
            if each is self.default or low is None or low <= 0:
                kept.append(each)
        return kept

    def _better_half(self, new: list[Candidate]) -> list[Candidate]:
        return sorted(new, key=self.value)[: (len(new) + 1) // 2]

    def _new(self) -> Iterator[Candidate]:
        """Yield the new candidates of a generation: fewer, or none, if the options have few combinations."""
        for _ in range(NEW):
            for _ in range(_ATTEMPTS):
                trial, drawn = self._proposals.ask()
                found = self._candidate(trial, drawn)
                if found is None:
                    self._proposals.tell(trial, None)
                elif (earlier := self.candidates.get(found.label)) is not None:
                    self._tell(trial, earlier)
                else:
                    self.candidates[found.label] = found
                    yield found
                    break

    def _candidate(self, trial: Any, drawn: dict[str, Any]) -> Candidate | None:
        """Return the candidate with the drawn options; None if these do not go together."""
        standard = options.defaults(self._solver)
        own = {name: value for name, value in drawn.items() if value != standard.get(name)}
        given = {**self.default.options, **own}
        try:
            options.build(self._solver, given)
        except UsageError:
            return None
        return Candidate(given, self.default.label if given == self.default.options else "", trial)

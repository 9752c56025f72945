"""`Policy`: solutions built step by step by a learned policy, for every problem with an environment."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corl.options import option
from corl.policy import Policy as AnyPolicy
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.decoding import CountedEvaluator, Decoded, Decoder, StartStates
    from corl.run import Run
    from corl.solvers.generic.inference import Session

__all__ = ["Policy"]

# The automatic width of a decoder in the first round under a time limit.
_FIRST_WIDTH = {"greedy": 16, "sample": 32, "beam": 4, "stochastic-beam": 16, "without-replacement": 16}
_DOUBLING = ("beam", "stochastic-beam")  # decoders whose width doubles from round to round
_ROUNDS_PER_BUDGET = 4  # rounds of sampling without replacement among which a budget of iterations is divided
_MAX_PREFIXES = 500_000  # prefixes stored by sampling without replacement, about a kilobyte each


@dataclass(frozen=True)
class Policy(Solver):
    """Decoding of a learned policy: the greedy solution first, then rounds of a decoder until the budget ends.

    The width of the last round is reduced to fit the remaining budget. If the remaining budget is too small for a beam wider than
    the previous one, it is spent on samples.

    At an equal number of network calls, beams and greedy decoding from many starts are equally good, and better than the other
    decoders and tree search (see the results of tsp/decoders). The default is a beam, because not every problem has many starts.
    """

    policy: str | AnyPolicy = option(
        "",
        "A shipped policy's name, a checkpoint file or, from Python, a policy itself; empty: the one shipped for such instances.",
    )
    decoder: Literal["greedy", "sample", "beam", "stochastic-beam", "without-replacement"] = option(
        "beam",
        "The decoder of a round: greedy decoding from all starts, independent samples, beam search, stochastic beam search, or "
        "sampling without replacement.",
    )
    width: int = option(
        0,
        "Samples of a round or states of a beam, for each start and copy; for greedy decoding, episodes decoded side by side. "
        "0: with `iterations` as many as the budget allows for one round; with a time limit few at first. The width of beams "
        "doubles from round to round.",
        low=0,
        scale="log",
    )
    nat: float = option(
        0.0,
        "Beams, for policies with a value: states are ranked by E + nat * |E at the start| * log(probability of the last "
        "action), where E is the rewards so far + the value; 0: by probability alone.",
        low=0,
    )
    temperature: float = option(1.0, "Sampling: the divisor of the logits.", above=0, scale="log")
    spread: float = option(
        1.0,
        "Independent samples: the temperatures of a round lie between `temperature` and `spread` times that, evenly on a "
        "logarithmic scale.",
        above=0,
        scale="log",
    )
    augment: int = option(1, "Symmetric copies of the instance to solve, at most as many as it has (8 in the plane).", low=1)
    multi_start: int = option(
        0, "Starts (of a tour: first cities); 0: all for greedy decoding, one for the other decoders.", low=0
    )
    rounds: int = option(
        0, "Rounds after which the solver ends; 0: when the budget is spent or every solution has been considered.", low=0
    )

    preparation_size: ClassVar[int] = 16  # instances that differ only in numbers from 16 on need the same preparation
    title: ClassVar[str] = "a learned policy: greedy, then samples or beams of it"
    iteration: ClassVar[str] = "one state shown to the network"

    def accepts(self, instance: Any) -> str:
        from corl.solvers.generic.inference import no_environment

        return no_environment(instance)

    def prepare(self, instance: Any) -> None:
        from corl.solvers.generic import policy_solutions
        from corl.solvers.generic.inference import policy_for, warm_up

        if policy_solutions.applies(instance):
            return policy_solutions.prepare(self, instance)
        warm_up(self, instance, policy_for(instance, self.policy))

    def solve(self, instance: Any, run: Run) -> None:
        from corl.networks.threads import one_thread
        from corl.solvers.generic import policy_solutions
        from corl.solvers.generic.inference import Session, policy_for

        if policy_solutions.applies(instance):
            return policy_solutions.report(self, instance, run)
        with one_thread():
            starts = self.multi_start or (0 if self.decoder == "greedy" else 1)
            session = Session(instance, run, policy_for(instance, self.policy), self.augment, starts)
            if not session.first():
                return
            if self.decoder == "greedy":
                width = max(1, min(self.width or _FIRST_WIDTH["greedy"], session.fits(session.steps, 1)))
                session.decode(self._decoder(1, iter(())), 1, 0, together=width)
                return
            widths, number = self._widths(session), 0
            for width in widths:
                decoder = self._decoder(width, widths)
                if session.decode(decoder, self._rows(width, session), number).exhausted or run.should_stop:
                    return
                number += 1
            if not self.rounds:
                self._fill(session, number)

    def _widths(self, session: Session) -> Iterator[int]:
        """Yield the width of each round, as long as the remaining budget suffices for a useful round."""
        has_iterations, width, previous_width, rounds_done = session.run.iterations is not None, self.width, 0, 0
        states = session.steps
        while not self.rounds or rounds_done < self.rounds:
            fits = session.fits(states)
            if session.plays and self.decoder == "sample" and not has_iterations:  # samples finished before the time limit count
                fits = max(fits, session.most_rows)
            if not width:
                width = fits if has_iterations else _FIRST_WIDTH[self.decoder]
                if has_iterations and self.decoder == "without-replacement":
                    width = -(-fits // _ROUNDS_PER_BUDGET)
            max_width = min(fits, session.most_rows // self._rows(1, session))
            round_width = min(width, max_width)
            if round_width <= (previous_width if self.decoder == "beam" else 0):
                return
            yield round_width
            rounds_done, previous_width = rounds_done + 1, round_width
            width = 2 * width if self.decoder in _DOUBLING else width

    def _fill(self, session: Session, number: int) -> None:
        """Spend the remaining budget, which is too small for a wider beam, on samples, and end the run."""
        from corl.decoding import Sampling

        while not session.run.should_stop and (width := min(_FIRST_WIDTH["sample"], session.fits(session.steps))) > 0:
            session.decode(Sampling(width, self.temperature, self.spread), width, number)
            number += 1
        session.out_of_budget()

    def _rows(self, width: int, session: Session) -> int:
        """Return the rows of the pool that an entry needs; sampling without replacement decodes all entries at once."""
        return width * session.entries if self.decoder == "without-replacement" else width

    def _decoder(self, width: int, further: Iterator[int]) -> Decoder:
        """Return the decoder of a round; for sampling without replacement, it also does the rounds of the `further` widths."""
        from corl.decoding import Beam, Greedy, Sampling, WithoutReplacement

        if self.decoder == "without-replacement":
            return _Rounds(width, further, self.temperature)
        if self.decoder == "stochastic-beam":
            return WithoutReplacement(width, 1, self.temperature)
        if self.decoder == "sample":
            return Sampling(width, self.temperature, self.spread)
        if self.decoder == "greedy":
            return Greedy()
        return Beam(width, self.nat)


@dataclass(frozen=True)
class _Rounds:
    """Sampling without replacement of all entries: a round of `width` samples, then one for each of the `further` widths."""

    width: int
    further: Iterator[int]
    temperature: float

    def run(self, evaluator: CountedEvaluator, entries: StartStates, found: Decoded) -> None:
        """Sample until all widths are used, every sequence was sampled, or too many prefixes are stored."""
        from corl.decoding.without_replacement import Sampler

        sampler = Sampler(evaluator, entries, self.temperature)
        for width in itertools.chain([self.width], self.further):
            sampler.round(width, found)
            found.exhausted = sampler.exhausted
            if found.exhausted or sampler.trees.count > _MAX_PREFIXES:
                return

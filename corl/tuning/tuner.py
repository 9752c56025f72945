"""`tune`: better options of a solver for the instances of a folder, as `corl tune` does it.

The instances are divided into three parts by a hash of their names. Candidates race on the first part (corl.tuning.race). The
best ones and the defaults are compared on the second part. The winner is compared with the defaults on the third part, once.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corl import options, registry
from corl.benchmark.running.runner import Listener
from corl.benchmark.running.suite import Lineup, Suite
from corl.errors import UsageError
from corl.files.option_files import OptionFile, write_options
from corl.record import Record
from corl.store import Store
from corl.tuning.arguments import Settings, check
from corl.tuning.folder import Instances, read_folder
from corl.tuning.provenance import provenance
from corl.tuning.race import BEST, NEW, Race, blocks
from corl.tuning.runs import DEFAULT, Block, Candidate, Runs
from corl.tuning.sampling import Proposals
from corl.tuning.space import Dimension, search_space
from corl.tuning.verdict import Effect, Verdict, ablated, ablation, verdict

__all__ = ["Tuning", "tune"]

_LATER_SHARE = 0.35  # share of the budget for choosing, judging and the effects of options
_CHOOSING_SHARE, _JUDGING_SHARE = 0.4, 0.7  # shares of what is then left
_MOST_SEEDS = 5


@dataclass
class Tuning:
    """A tuning: its state while it runs, and its result."""

    problem: str
    solver: str
    settings: Settings
    dimensions: list[Dimension]
    """The options that are searched."""
    skipped: list[str]
    """Options that are not searched, because they declare no range."""
    instances: Instances
    store: Path
    phase: str = "racing"
    """"racing", "choosing", "judging", "effects", "finished" or "interrupted"."""
    spent: float = 0.0
    """Processor seconds."""
    candidates: list[tuple[Candidate, int, float]] = field(default_factory=list)
    """Each candidate with its number of runs on the first part, and its mean cost's relative difference from the defaults'."""
    best: list[Candidate] = field(default_factory=list)
    """The best candidates so far."""
    tuned: Mapping[str, Any] | None = None
    """The tuned options, if they are better than the defaults on the instances kept apart; otherwise None."""
    verdict: Verdict | None = None
    """The comparison on the instances kept apart; None if the defaults were the best on the instances to choose on."""
    effects: list[Effect] = field(default_factory=list)
    """The options that mattered; empty if they were not measured."""
    notes: list[str] = field(default_factory=list)

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        if self.phase == "interrupted":
            return "interrupted: the same call continues"
        if self.phase != "finished":
            return f"{self.phase}: {self.spent:,.0f} of {self.settings.budget:,.0f} processor seconds"
        if self.verdict is None:
            return "no gain: keep the defaults, which were the best on the instances to choose on"
        return self.verdict.sentence(self.settings.objective)


def tune(
    problem: str,
    solver: str,
    *,
    instances: str | os.PathLike[str],
    budget: float | str,
    time_limit: float | None = None,
    iterations: int | None = None,
    objective: str = "final",
    sampler: str = "tpe",
    seed: int = 0,
    jobs: int = 1,
    tuned: Sequence[str] = (),
    ranges: Mapping[str, Any] | None = None,
    reference: str | os.PathLike[str] | None = None,
    store: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    command: str = "",
    on_progress: Callable[[Tuning], object] | None = None,
    on_run: Callable[[Record], None] | None = None,
    **solver_options: Any,
) -> Tuning:
    """Search for options of a solver that are better than its defaults on the instances of a folder.

    All runs are stored. The same call continues a tuning that was interrupted or killed; with a larger budget it continues one
    that ended. Ctrl-C ends it with the phase "interrupted".

    Args:
        problem: The name of the problem.
        solver: The name of the solver.
        instances: A folder with at least ten instance files.
        budget: Processor seconds of all runs, or a text such as "90s", "30m" or "2h".
        time_limit: Seconds of a run. Either this or `iterations` is needed.
        iterations: Iterations of a run.
        objective: "final", the gap at the end of a run, or "anytime", the area under the gap over the logarithm of time.
        sampler: "tpe", which learns from earlier candidates, or "random".
        seed: The seed of the candidates and of the order of the instances, from 0.
        jobs: Runs at a time, each on its own processor.
        tuned: Names of the options to search; empty: all that declare a range.
        ranges: Option -> (low, high), or a list of values, to search instead of what the option declares.
        reference: A file with best known values; None: "reference.csv" in the folder, if there is one.
        store: The file of the runs; None: PROBLEM-SOLVER-tuning.db in the current folder.
        output: The option file to write if there is a gain; None: no file.
        command: The command line, for the store and the file.
        on_progress: Called after each block of runs.
        on_run: Called after each run that was executed.
        **solver_options: Options that are fixed, for the candidates and for the defaults.

    Returns:
        The Tuning. `tuned` holds the options, or None if there is no gain.

    Raises:
        UsageError: A bad argument, or a budget that is too small.
        InputError: A bad instance or reference file.
    """
    adapter = registry.problem(problem)
    if solver == "auto":
        raise UsageError("solver: 'auto' has no options of its own; accepted: the name of a solver (corl list solvers)")
    cls = registry.solver(adapter.name, solver)
    settings = check(cls, budget, time_limit, iterations, objective, sampler, seed, jobs)
    with options.named(solver):
        fixed = options.checked(cls, solver_options)
        dimensions, skipped = search_space(cls, fixed=fixed, tuned=tuned, ranges=ranges)
        method = options.build(cls, fixed)
    found = read_folder(adapter, method, Path(instances), None if reference is None else Path(reference))
    path = Path(store or f"{adapter.name}-{solver}-tuning.db")
    state = Tuning(adapter.name, solver, settings, dimensions, skipped, found, path)
    suite = Suite(
        name=f"{adapter.name}-{solver}-tuning", title=f"Tuning of {solver}", file=path, problem=adapter,
        sources=(*found.train, *found.choose, *found.judge), lineups=(Lineup(DEFAULT, solver, fixed),),
        time_limits=() if time_limit is None else (float(time_limit),), iterations=() if iterations is None else (iterations,),
        seeds=(0,), keep_solutions=False,
    )  # fmt: skip
    proposals = Proposals(dimensions, sampler, seed)
    with Store(path, create=True) as opened:
        runs = Runs(suite, opened, jobs, settings.budget, command, Listener(ended=on_run or (lambda record: None)))
        tuner = _Tuner(state, cls, runs, Candidate(fixed, DEFAULT), proposals, on_progress or (lambda tuning: None))
        try:
            tuner.run()
        except KeyboardInterrupt:
            tuner.enter("interrupted")
    if state.tuned is not None and output is not None:
        write_options(Path(output), OptionFile(state.problem, state.solver, state.tuned), provenance(state, command))
    return state


class _Tuner:
    """The phases of a tuning."""

    def __init__(
        self, state: Tuning, cls: type, runs: Runs, default: Candidate, proposals: Proposals, told: Callable[[Tuning], object]
    ) -> None:
        self.state, self.cls, self.runs, self.default, self.told = state, cls, runs, default, told
        self.objective = state.settings.objective
        course = blocks(state.instances.train, state.settings.seed)
        self.course = course
        self.race = Race(runs, cls, default, proposals, course, self.objective)

    def run(self) -> None:
        state, runs = self.state, self.runs
        self._check_budget()
        self.enter("racing")
        runs.measure([self.default], self.course[0])
        self._check_default()
        self._check_budget()
        self.race.run(self._reserve, self.report)
        self.enter("choosing")
        chosen, block = self._choose()
        if chosen is not self.default:
            self.enter("judging")
            apart = Block(state.instances.judge, self._seeds(2, state.instances.judge, _JUDGING_SHARE))
            runs.measure([self.default, chosen], apart)
            state.verdict = verdict(runs, self.default, chosen, apart, self.objective)
            if state.verdict.gains:
                state.tuned = chosen.options
                self.enter("effects")
                self._measure_effects(chosen, block)
        self.enter("finished")

    def enter(self, phase: str) -> None:
        """Begin a phase."""
        self.state.phase = phase
        self.report()

    def report(self) -> None:
        """Bring the state up to date, and report it."""
        state, race = self.state, self.race
        state.spent, state.best = self.runs.spent, list(race.best)
        state.candidates = [
            (each, len(self.runs.pairs(each, self.course)), race.value(each)) for each in race.candidates.values()
        ]
        self.told(state)

    # ---------------------------------------------------------------- budget
    def _later_runs(self) -> int:
        """Return the least number of runs after the race."""
        return (BEST + 1) * len(self.state.instances.choose) + 2 * len(self.state.instances.judge)

    def _reserve(self) -> float:
        """Return the processor seconds that the race must leave."""
        return max(_LATER_SHARE * self.runs.budget, self._later_runs() * self.runs.per_run)

    def _check_budget(self) -> None:
        """Raise UsageError if the budget does not suffice for one generation and the judgement."""
        least = ((NEW + 1) * len(self.course[0].pairs) + self._later_runs()) * self.runs.per_run / (1 - _LATER_SHARE)
        if self.runs.budget < least:
            accepted = f"accepted: at least {math.ceil(least):,} s for these instances and this limit"
            raise UsageError(f"budget: {self.runs.budget:g} s is not accepted; {accepted}")

    def _check_default(self) -> None:
        """Raise UsageError if no run with the default options found a solution."""
        records = self.runs.records(self.default)
        if not any(record.outcome == "ok" for record in records):
            reason = records[0].reason or "no solution"
            raise UsageError(f"{self.state.solver} with its defaults on {records[0].instance}: {reason}")

    def _seeds(self, candidates: int, sources: Sequence[Any], share: float) -> tuple[int, ...]:
        """Return as many seeds as a share of what is left of the budget suffices for: 1 to _MOST_SEEDS."""
        seconds = candidates * len(sources) * self.runs.per_run
        return tuple(range(max(1, min(_MOST_SEEDS, int(share * self.runs.left / seconds) if seconds else _MOST_SEEDS))))

    # ---------------------------------------------------------------- phases
    def _choose(self) -> tuple[Candidate, Block]:
        """Return the candidate with the lowest mean cost on the instances to choose on, the defaults if equal; and the block."""
        everyone = [self.default, *self.race.best]
        sources = self.state.instances.choose
        block = Block(sources, self._seeds(len(everyone), sources, _CHOOSING_SHARE))
        if len(everyone) > 1:
            self.runs.measure(everyone, block)
        means = self.runs.costs(everyone, block.pairs, self.objective).mean(axis=1)
        return everyone[int(means.argmin())] if len(everyone) > 1 else self.default, block

    def _measure_effects(self, chosen: Candidate, block: Block) -> None:
        """Measure the effect of each tuned option, with as many of the block's seeds as the rest of the budget suffices for."""
        others = ablated(self.default, chosen)
        needed = list({each.label: each for each in others.values()}.values())
        while self.runs.unknown(needed, block) * self.runs.per_run > self.runs.left:
            if len(block.seeds) == 1:
                self.state.notes.append("the budget did not suffice to measure the effect of each option")
                return
            block = Block(block.sources, block.seeds[:-1])
        self.runs.measure(needed, block)
        standard = options.defaults(self.cls)
        self.state.effects = ablation(self.runs, chosen, others, standard, block, self.objective)

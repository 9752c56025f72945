"""`CpSat`: OR-Tools' constraint programming solver on the full model, with a proven bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.problems.flowshop.instance import FlowShopInstance
    from corl.run import Run

__all__ = ["CpSat"]

_MAX_SIZE = 500_000  # jobs x jobs x machines up to which a model is built within a few seconds


@dataclass(frozen=True)
class CpSat(Solver):
    """CP-SAT on a model with one circuit constraint for the sequence, and intervals that do not overlap on each machine."""

    search_workers: int = option(
        0, "CP-SAT's threads; 0: as many as `workers`. With few threads CP-SAT uses fewer search strategies.", low=1, special=0
    )
    interleave: bool = option(False, "Whether the threads take turns in a fixed order instead of running side by side.")
    hint: bool = option(True, "Whether to begin from the sequence of `neh` if there is no warm start.")

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit (corl.solver)
    own_workers: ClassVar[bool] = True  # `solve` uses `run.workers` cores by itself (corl.solver)
    preparation_size: ClassVar[int] = 2  # `prepare` distinguishes sizes and integers only below this number (corl.solver)
    engine: ClassVar[str] = "CP-SAT"
    title: ClassVar[str] = "CP-SAT (OR-Tools), with proven bounds"

    def accepts(self, instance: FlowShopInstance) -> str:
        pairs = instance.jobs * instance.duration.size
        return f"jobs x jobs x machines are {pairs:,}; accepted: up to {_MAX_SIZE:,}" if pairs > _MAX_SIZE else ""

    def prepare(self, instance: FlowShopInstance) -> None:
        from corl.solvers.cp_sat import load_engine
        from corl.solvers.flowshop.neh import Neh

        load_engine()
        Neh().prepare(instance)

    def solve(self, instance: FlowShopInstance, run: Run) -> None:
        from corl.solvers.cp_sat import solve_model
        from corl.solvers.flowshop.neh import Neh

        if self.hint and run.solution is None:
            Neh().solve(instance, run)
        model = None if run.should_stop else _Model.build(instance, run.solution, lambda: run.should_stop)
        if model is not None:
            solve_model(model.model, run, model.sequence, search_workers=self.search_workers, interleave=self.interleave)


class _Model:
    """The model of an instance of n jobs.

    starts[j][i] is the start of job j on machine i. arcs[a, b] is a literal: job b comes directly after job a. The number n
    stands for the begin and the end of the sequence: arcs[n, b] means that b is first, arcs[a, n] that a is last.
    """

    def __init__(self, instance: FlowShopInstance) -> None:
        from ortools.sat.python import cp_model

        self.instance, self.model = instance, cp_model.CpModel()
        self.arcs: dict[tuple[int, int], Any] = {}
        self.starts: list[list[Any]] = []

    @classmethod
    def build(cls, instance: FlowShopInstance, hint: Any, stopped: Callable[[], bool]) -> _Model | None:
        """Return the model with the sequence `hint` as a hint; None if `stopped` returns True before the model is complete."""
        self, jobs = cls(instance), range(instance.jobs)
        model, duration = self.model, instance.duration.tolist()
        longest = 0 if instance.setup is None else int(instance.setup.max(axis=1).sum())
        horizon = int(instance.duration.sum()) + longest
        for j in jobs:
            self.starts.append([model.new_int_var(0, horizon, "") for _ in duration[j]])
            for i in range(1, instance.machines):
                model.add(self.starts[j][i] >= self.starts[j][i - 1] + duration[j][i - 1])
        for i in range(instance.machines):
            model.add_no_overlap([model.new_fixed_size_interval_var(self.starts[j][i], duration[j][i], "") for j in jobs])
        for before in range(instance.jobs + 1):
            if stopped():
                return None
            for after in jobs:
                if after != before:
                    self._arc(before, after, duration)
            if before < instance.jobs:
                self.arcs[before, instance.jobs] = model.new_bool_var("")
        model.add_circuit([(before, after, literal) for (before, after), literal in self.arcs.items()])
        ends = [self.starts[j][-1] + duration[j][-1] for j in jobs]
        if instance.objective == "makespan":
            makespan = model.new_int_var(0, horizon, "")
            for end in ends:
                model.add(makespan >= end)
            model.minimize(makespan)
        else:
            model.minimize(sum(ends))
        if hint is not None:
            self._hint(hint)
        return self

    def _arc(self, before: int, after: int, duration: list[list[int]]) -> None:
        """Add the literal arcs[before, after]; if it is true, `after` starts on each machine after `before` and the set-up."""
        setup, n = self.instance.setup, self.instance.jobs
        literal = self.arcs[before, after] = self.model.new_bool_var("")
        for i in range(self.instance.machines) if before < n or setup is not None else ():
            ready = int(setup[i, before, after]) if setup is not None else 0
            if before < n:
                ready = self.starts[before][i] + duration[before][i] + ready
            self.model.add(self.starts[after][i] >= ready).only_enforce_if(literal)

    def _hint(self, hint: Any) -> None:
        """Add the starts and the arcs of a sequence as a hint."""
        from corl.problems.flowshop.evaluation import check, completion

        sequence = check(self.instance, hint)
        starts = completion(self.instance, sequence) - self.instance.duration[sequence]
        for job, row in zip(sequence.tolist(), starts.tolist()):
            for variable, start in zip(self.starts[job], row):
                self.model.add_hint(variable, start)
        circuit = [self.instance.jobs, *sequence.tolist(), self.instance.jobs]
        true_arcs = set(pairwise(circuit))
        for pair, literal in self.arcs.items():
            self.model.add_hint(literal, int(pair in true_arcs))

    def sequence(self, value: Callable[[Any], int]) -> NDArray[np.int64]:
        """Return the sequence of a solution of the model, int64 [n]; `value` returns the value of a variable in it."""
        import numpy as np

        after = {before: job for (before, job), literal in self.arcs.items() if value(literal)}
        jobs = [after[self.instance.jobs]]
        while len(jobs) < self.instance.jobs:
            jobs.append(after[jobs[-1]])
        return np.array(jobs, np.int64)

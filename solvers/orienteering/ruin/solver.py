"""`RuinRecreate`: ruin and recreate under simulated annealing; the default for orienteering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.environment import Environment
    from corl.problems.orienteering.instance import OrienteeringInstance
    from corl.run import Run
    from corl.solvers.orienteering.ruin.search import Search
    from corl.solvers.orienteering.ruin.space import Space

__all__ = ["RuinRecreate"]


@dataclass(frozen=True)
class RuinRecreate(Solver):
    """Strings of the path are removed and nodes near by inserted, with a price on length and a temperature that falls to the end.

    The bound is that of a knapsack of nodes whose weights are half their two shortest edges.
    """

    neighbours: int = option(12, "Nearest nodes beside which a node may be inserted.", low=1, scale="log")
    longest: int = option(10, "Nodes of the longest string that is removed.", low=1)
    strings: int = option(2, "Strings that an iteration removes at the most.", low=1)
    excess: float = option(
        0.15, "The share of the limit by which a path may be too long at first; it falls to 0 with time.", low=0
    )
    hot: float = option(1.5, "First temperature, in mean scores.", above=0, scale="log")
    cold: float = option(0.01, "Last temperature, likewise.", above=0, scale="log")
    coolings: int = option(
        4, "How often it cools, in as much time each: from the direct way, and the last time from the best path so far.", low=1
    )
    reheat: float = option(
        0.3, "First temperature of the last of several coolings, likewise; above `hot` it counts as `hot`.", above=0, scale="log"
    )

    alike: ClassVar[int] = 2
    title: ClassVar[str] = "ruin and recreate with simulated annealing; any size"
    iteration: ClassVar[str] = "one ruin and its recreation"

    def prepare(self, instance: OrienteeringInstance) -> None:
        from corl.problems.orienteering.generators import generation_2
        from corl.problems.orienteering.problem import Orienteering
        from corl.run import Run

        tiny = generation_2(size=20, share=0.6)
        self.solve(tiny, Run(Orienteering(), tiny, iterations=50))

    def complete(self, environment: Environment, row: int, iterations: int, seed: int) -> list[NDArray[np.int64]]:
        from corl.solvers.orienteering.ruin.completing import completion

        return completion(self, environment, row, iterations, seed)

    def solve(self, instance: OrienteeringInstance, run: Run) -> None:
        from corl.problems.orienteering.evaluation import shortest_path
        from corl.solvers.orienteering.ruin.space import Space, upper_bound

        if run.solution is None:
            first = shortest_path(instance)
            assert first is not None  # or the run would have ended at its start
            run.report(first)
        run.report_bound(upper_bound(instance))
        if run.should_stop:
            return
        space = Space(instance)
        if space.n > 2:
            self._search(space, run)

    def _search(self, space: Space, run: Run) -> None:
        from corl.solvers.orienteering.ruin.path import SCORE
        from corl.solvers.orienteering.ruin.search import MORE

        best: Search | None = None
        neighbours = space.neighbours(self.neighbours)
        for part in range(self.coolings):
            search = self._begin(space, neighbours, run, part, best)
            self._cool(search, space, run, part, float(search.record[SCORE] if best is None else best.record[SCORE]))
            if best is None or search.record[SCORE] > MORE * best.record[SCORE]:
                best = search
            if run.should_stop:
                break
        assert best is not None
        run.report(space.path(best.best))

    def _cool(self, search: Search, space: Space, run: Run, part: int, reported: float) -> None:
        """One cooling, over its share of the budget; only paths that score more than `reported` are: of paths alike the first."""
        from corl.solvers.orienteering.ruin.path import SCORE
        from corl.solvers.orienteering.ruin.search import ITERATION, MORE, PLANNED, advance

        begin, end = part / self.coolings, (part + 1) / self.coolings
        planned = None
        if run.iterations is not None:
            planned = run.iterations * (part + 1) // self.coolings - run.iterations * part // self.coolings
            search.plan[PLANNED] = planned
        while True:
            left = None if planned is None else planned - int(search.counts[ITERATION])
            if end < 1.0 and (run.fraction >= end if left is None else left == 0):
                return
            steps = run.budget(left or None)  # after the last iteration it says so
            if not steps:
                return
            if planned is None and run.fraction > begin:
                search.plan[PLANNED] = max(1.0, search.counts[ITERATION] * (end - begin) / (run.fraction - begin))
            advance(search, steps)
            if search.record[SCORE] > MORE * reported and run.report_due:
                reported = float(search.record[SCORE])
                run.report(space.path(search.best))

    def _begin(self, space: Space, neighbours: NDArray[np.int32], run: Run, part: int, best: Search | None) -> Search:
        """The start of a cooling: the first from the incumbent, where its nodes all score, the last from the best so far, and
        the others from the direct way."""
        import numpy as np

        from corl.rng import random_state
        from corl.solvers.orienteering.ruin.path import insert, new_path
        from corl.solvers.orienteering.ruin.search import CANDIDATES, PRICE, new_search

        journal = max(space.n, 2 * CANDIDATES) + 2
        path, behind = new_path(space.metric, space.scores, journal), 0
        last = best is not None and part + 1 == self.coolings
        known = space.path(best.best) if last and best is not None else run.solution if part == 0 else None
        inner = None if known is None else space.numbers(known)
        for node in [] if inner is None else inner.tolist():
            insert(path, node, behind)
            behind = node
        search = new_search(path, neighbours, random_state(run.seed, part))
        mean = float(space.scores[1:-1].mean())
        hot, excess = (min(self.reheat, self.hot), 0.2 * self.excess) if last else (self.hot, self.excess)
        search.plan[:] = np.inf, hot * mean, self.cold * mean, 0.0, space.limit, excess, space.limit
        if last and best is not None:
            search.plan[PRICE] = best.plan[PRICE]
        search.strings[:] = self.longest, self.strings
        return search

"""`HeatmapMcts`: k-opt actions sampled by edge weights, after "Heatmap + MCTS"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from corl.options import option
from corl.solver import Solver
from corl.solvers.tsp.heatmap.presets import Settings, settings_of

if TYPE_CHECKING:
    from corl.problems.tsp.instance import TspInstance
    from corl.run import Run

__all__ = ["HeatmapMcts"]

_DYNAMIC_PROGRAMMING_CITIES = 9  # number of cities up to which dynamic programming finds an optimal tour at once
# Seconds per city on a slow machine for neighbour lists and a greedy tour, and for the network.
_SETUP_SECONDS, _NETWORK_SECONDS = 1e-5, 1.5e-4
_MOST_FOR_NETWORK = 200_000  # cities; the network needs about 20 kB of memory for each


@dataclass(frozen=True)
class HeatmapMcts(Solver):
    """ "Heatmap + MCTS" (Fu, Qiu & Zha 2021; re-examined by Pan et al. 2024) on sparse weights.

    A baseline of the learning literature: `eax` and `ils` find better tours in the same time. An action is a k-opt move, whose
    edges are drawn by their weights (the heatmap). Preset "paper" is the published algorithm with its published settings: it
    samples actions until many in a row fail, and then begins again with a new tour. Preset "tuned" kicks the current tour (a
    random double bridge) and samples actions where the kick changed it; a kick that actions do not make up for is undone.
    """

    preset: Literal["tuned", "paper"] = option("tuned", "The search, and the values of those options below that are not given.")
    heatmap: Literal["nearest", "gnn", "softmax", "none"] = option(
        "nearest",
        "The edges' weights: by the rank of the neighbour (nearest), by the shipped graph network (gnn; only coordinates in the "
        "plane), by a softmax of distances, or all equal (none).",
    )
    alpha: float | None = option(None, "The weight of exploration, which favours rarely chosen edges.", low=0)
    beta: float | None = option(None, "The learning rate of an edge's weight after an improvement.", low=0, scale="log")
    tries: int | None = option(
        None,
        "H: actions without gain, for each city, that end an episode (paper); the most actions sampled at a city whose edges "
        "changed (tuned).",
        low=1, high=10_000, scale="log",
    )  # fmt: skip
    candidates: int | None = option(
        None, "C: an action may add only the C heaviest edges of a city.", low=2, high=10_000, scale="log"
    )
    depth: int | None = option(
        None,
        "D: most pairs of edges (one removed, one added) that an action exchanges after its first.",
        low=1,
        high=10_000,
        scale="log",
    )
    stretch: int | None = option(
        None, "Most cities in each of the three stretches that a kick exchanges (tuned).", low=1, high=10_000, scale="log"
    )
    temperature: float | None = option(
        None, "The temperature of the heatmap softmax, in mean distances to the nearest neighbour.", above=0, scale="log"
    )

    preparation_size: ClassVar[int] = 24  # sizes and integers from 24 on need the same preparation (Solver.preparation_size)
    title: ClassVar[str] = "k-opt actions sampled by a heatmap of edges (Fu, Qiu & Zha 2021); a baseline"
    iteration: ClassVar[str] = "tuned: 100 cities of the first descent, then a kick; paper: an action, or 100 cities of a start"
    limit_free: ClassVar[bool] = True  # the search is the same for every time limit

    def accepts(self, instance: TspInstance) -> str:
        from corl.solvers.tsp.heatmap.features import readable

        if not instance.symmetric:
            return "it takes symmetric distances only"
        if self.heatmap == "gnn" and not readable(instance):
            return "the heatmap gnn needs coordinates in the plane; heatmap=nearest takes any symmetric instance"
        if self.heatmap == "gnn" and instance.n > _MOST_FOR_NETWORK:
            return f"the heatmap gnn takes at most {_MOST_FOR_NETWORK} cities; heatmap=nearest takes more"
        return ""

    def prepare(self, instance: TspInstance) -> None:
        from corl.problems.tsp.problem import Tsp
        from corl.run import Run
        from corl.solvers.tsp.construction.solver import tiny_like

        tiny = tiny_like(instance)
        self.solve(tiny, Run(Tsp(), tiny, iterations=40))
        if instance.n < tiny.n:
            self.solve(instance, Run(Tsp(), instance, iterations=1))

    def solve(self, instance: TspInstance, run: Run) -> None:
        from corl.problems.tsp.metric import metric_of
        from corl.solvers.tsp.exact.dynamic_programming import shortest_tour

        if instance.n <= _DYNAMIC_PROGRAMMING_CITIES:
            tour = shortest_tour(metric_of(instance), instance.n)
            run.report(tour)
            run.report_bound(run.problem.evaluate(instance, tour))
        elif run.remaining < (_SETUP_SECONDS + _NETWORK_SECONDS * (self.heatmap == "gnn")) * instance.n:
            from corl.solvers.tsp.neighbours.spatial import hilbert_order

            run.report(hilbert_order(metric_of(instance)))  # there is no time for neighbour lists
        elif self.preset == "paper":
            self._sample(instance, run)
        else:
            self._kick(instance, run)

    def _settings(self, n: int) -> Settings:
        """Return the preset's settings for n cities, overridden by the options that are given."""
        given = {name: value for name in Settings._fields if (value := getattr(self, name)) is not None}
        return settings_of(self.preset, self.heatmap, n)._replace(**given)

    def _sample(self, instance: TspInstance, run: Run) -> None:
        """Do the paper's search: episodes from constructed tours."""
        from corl.solvers.tsp.heatmap.episodes import episodes
        from corl.solvers.tsp.heatmap.search import HeatmapSearch

        search = HeatmapSearch(instance, run, self.heatmap, self._settings(instance.n), published=True)
        reported = float("inf")
        while units := run.budget():
            episodes(search.metric, search.mcts, search.parameters, units)
            if search.best < reported and run.report_due:
                reported = search.best
                search.report(run)
        search.report(run)

    def _kick(self, instance: TspInstance, run: Run) -> None:
        """Do the tuned search: kicks of one tour, which begins as the warm start or a greedy tour."""
        from corl.solvers.tsp.construction.kernels import greedy_edge, length_of
        from corl.solvers.tsp.heatmap.kicks import begin, kicks
        from corl.solvers.tsp.heatmap.search import HeatmapSearch
        from corl.solvers.tsp.heatmap.state import CURRENT
        from corl.solvers.tsp.tours.array_tour import set_order

        search = HeatmapSearch(instance, run, self.heatmap, self._settings(instance.n), published=False)
        mcts, metric = search.mcts, search.metric
        tour = search.numbers(run.solution) if run.solution is not None else greedy_edge(metric, mcts.near, mcts.lengths)
        set_order(mcts.tour, tour)
        mcts.length[CURRENT] = length_of(metric, tour)
        search.report(run)
        begin(mcts)
        reported = float("inf")
        while units := run.budget():
            kicks(metric, mcts, search.parameters, units)
            if search.best < reported and run.report_due:
                reported = search.best
                search.report(run)
        search.report(run)

"""The search `heatmap-mcts` outside its kernels: the instance with renumbered cities, its heatmap, the parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import EXPLICIT
from corl.rng import random_state
from corl.run import Run
from corl.solvers.tsp.heatmap.actions import ActionParameters
from corl.solvers.tsp.heatmap.heatmap import heatmap_of
from corl.solvers.tsp.heatmap.presets import Settings
from corl.solvers.tsp.heatmap.state import BEST, CURRENT, new_mcts
from corl.solvers.tsp.tours.renumbering import Renumbered

if TYPE_CHECKING:
    from corl.solvers.tsp.heatmap.state import Mcts

__all__ = ["HeatmapSearch"]

_SCALE = 100.0  # the initial W is 100 times the heatmap (Fu et al. 2021)
# The greatest number of cities that a reversal of the tuned search may move, as in ils. For 10,000 cities the tour after 30 s was
# 0.65 % above the best known; with a limit of 1000 it was 3.1 % above.
_MOST_REVERSED = 50_000


class HeatmapSearch(Renumbered):
    """A search on an instance whose cities are renumbered; `published` selects the paper's search, otherwise the tuned one."""

    def __init__(self, instance: TspInstance, run: Run, heatmap: str, settings: Settings, published: bool) -> None:
        super().__init__(instance)
        edges = heatmap_of(instance, self.metric, heatmap, settings.candidates, settings.temperature)
        self.mcts: Mcts = new_mcts(edges.near, edges.lengths, _SCALE * edges.weights, settings.depth, random_state(run.seed))
        self.parameters = ActionParameters(
            alpha=settings.alpha,
            beta=settings.beta,
            candidates=min(settings.candidates, edges.near.shape[1]),
            depth=settings.depth,
            tries=settings.tries * instance.n if published else settings.tries,
            criterion=not published,
            stretch=settings.stretch,
            most_moved=instance.n if published else _MOST_REVERSED,
            tolerance=1e-12 * self._longest(),
        )

    def _longest(self) -> float:
        """Return an estimate of the longest distance; rounding errors are proportional to it."""
        if self.metric.kind == EXPLICIT:
            return float(self.metric.matrix.max())
        points = self.metric.points
        return float(max(self.mcts.lengths.max(), np.abs(points).max(), np.ptp(points, axis=0).max()))

    @property
    def best(self) -> float:
        """The length of the best tour, including a constant that may have been added to all distances; inf before the first."""
        return float(self.mcts.length[CURRENT] if self._current_is_best else self.mcts.length[BEST])

    @property
    def _current_is_best(self) -> bool:
        """Whether the current tour is shorter, by more than rounding errors, than the best tour of earlier episodes.

        Of equally long tours the first is kept, so that the result does not depend on when tours are reported.
        """
        current, best_of_earlier = self.mcts.length
        return bool(np.isinf(best_of_earlier) or current < best_of_earlier - self.parameters.tolerance)

    def report(self, run: Run) -> None:
        """Report the best tour to the run; before the first tour, the current order of the cities."""
        run.report(self.cities[self.mcts.tour.order if self._current_is_best else self.mcts.best])

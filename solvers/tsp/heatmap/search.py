"""A search as the solver holds it: the instance renumbered, its heat, the state of the kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import EXPLICIT
from corl.rng import random_state
from corl.run import Run
from corl.solvers.tsp.heatmap.actions import Rules
from corl.solvers.tsp.heatmap.heat import heat_of
from corl.solvers.tsp.heatmap.presets import Numbers
from corl.solvers.tsp.heatmap.state import BEST, CURRENT, new_mcts
from corl.solvers.tsp.tours.renumbering import Renumbered

if TYPE_CHECKING:
    from corl.solvers.tsp.heatmap.state import Mcts

__all__ = ["Search"]

_SCALE = 100.0  # W = 100 heat (Fu et al. 2021)
# Cities that an action of the tuned search may reverse, as in ils. 1000 would be far too few: at 10,000 cities and 30 s it left
# the tour 3.1 % above the best known, against 0.65 %.
_FARTHEST = 50_000


class Search(Renumbered):
    """The kernels' state on an instance whose cities are renumbered."""

    def __init__(self, instance: TspInstance, run: Run, heatmap: str, numbers: Numbers, published: bool) -> None:
        super().__init__(instance)
        heat = heat_of(instance, self.metric, heatmap, numbers.candidates, numbers.temperature)
        self.mcts: Mcts = new_mcts(heat.near, heat.lengths, _SCALE * heat.heat, numbers.depth, random_state(run.seed))
        self.rules = Rules(
            alpha=numbers.alpha,
            beta=numbers.beta,
            candidates=min(numbers.candidates, heat.near.shape[1]),
            depth=numbers.depth,
            tries=numbers.tries * instance.n if published else numbers.tries,
            criterion=not published,
            stretch=numbers.stretch,
            most=instance.n if published else _FARTHEST,
            least=1e-12 * self._longest(),
        )

    def _longest(self) -> float:
        """The longest distance that there may be: the scale of rounding errors."""
        if self.metric.kind == EXPLICIT:
            return float(self.metric.matrix.max())
        points = self.metric.points
        return float(max(self.mcts.lengths.max(), np.abs(points).max(), np.ptp(points, axis=0).max()))

    @property
    def best(self) -> float:
        """The length of the best tour there is, constants included; inf before the first."""
        return float(self.mcts.length[CURRENT] if self._current_is_best else self.mcts.length[BEST])

    @property
    def _current_is_best(self) -> bool:
        """Whether the array beats the tour kept by more than rounding: of equal tours the first one counts, so that the
        moment of a report chooses nothing."""
        current, kept = self.mcts.length
        return bool(np.isinf(kept) or current < kept - self.rules.least)

    def report(self, run: Run) -> None:
        """Tell the run of the best tour (of whatever the array holds, before the first)."""
        run.report(self.cities[self.mcts.tour.order if self._current_is_best else self.mcts.best])

"""Observation and reward functions of `EcoleBranching`, with the names and meaning that they have in Ecole.

A function is an object with `before_reset(solve)`, called before an episode begins, and `extract(solve, done)`, called at every
node with a choice and once at the end; `solve` is a `Solve`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from corl.solvers.milp.scip.candidates import positions
from corl.solvers.milp.scip.rule import Observation
from corl.solvers.milp.stepping.measures import Measures
from corl.solvers.milp.stepping.observations import bipartite

if TYPE_CHECKING:
    from corl.solvers.milp.stepping.episodes import Branching

__all__ = [
    "EdgeFeatures", "Function", "IsDone", "LpIterations", "NNodes", "NodeBipartite", "NodeBipartiteObs", "Pseudocosts", "Reward",
    "Solve", "SolvingTime", "StrongBranchingScores",
]  # fmt: skip


class Solve:
    """The solve of an episode, the first argument of `extract`."""

    def __init__(self, episodes: Branching) -> None:
        self._episodes = episodes

    @property
    def node(self) -> Observation:
        """The current node. Raises UsageError if there is no choice to make."""
        return self._episodes.node

    @property
    def measures(self) -> Measures:
        """Nodes, LP iterations and seconds so far. Raises UsageError if no episode has begun."""
        return self._episodes.measures

    def strong_branching(self) -> NDArray[np.float64]:
        """Return `Branching.strong_branching`."""
        return self._episodes.strong_branching()

    def as_pyscipopt(self) -> Any:
        """Return the pyscipopt Model. Raises UsageError if there is no choice to make."""
        return self.node.model


class Function(Protocol):
    """An observation, reward or information function."""

    def before_reset(self, solve: Solve) -> None:
        """Prepare for an episode; its program is not loaded yet."""

    def extract(self, solve: Solve, done: bool) -> Any:
        """Return the value at the current node, or at the end if `done`."""


class EdgeFeatures(NamedTuple):
    """The nonzero coefficients of an LP with E nonzeros."""

    indices: NDArray[np.int64]
    """[2, E] the row and the column of each."""
    values: NDArray[np.float32]
    """[E] the coefficients, divided by the norm of the row."""


class NodeBipartiteObs(NamedTuple):
    """The LP of a node with n columns and m rows as a bipartite graph."""

    variable_features: NDArray[np.float32]
    """[n, 19] one line for each column of the LP; elements of the action set are indices of lines."""
    row_features: NDArray[np.float32]
    """[m, 5] one line for each row of the LP."""
    edge_features: EdgeFeatures


class _Observing:
    """An observation function without memory."""

    def before_reset(self, solve: Solve) -> None:
        """Do nothing."""


class NodeBipartite(_Observing):
    """The bipartite graph of Gasse et al. (2019); graph/features.py says how its features differ from the paper."""

    def extract(self, solve: Solve, done: bool) -> NodeBipartiteObs | None:
        """Return the graph; None at the end."""
        if done:
            return None
        graph = bipartite(solve.node).graph
        edges = EdgeFeatures(np.stack([graph.edge_row, graph.edge_column]), graph.edge_value)
        return NodeBipartiteObs(graph.columns, graph.rows, edges)


class StrongBranchingScores(_Observing):
    """Full strong branching's scores of the LP's columns, without side effects on SCIP's statistics."""

    def extract(self, solve: Solve, done: bool) -> NDArray[np.float64] | None:
        """Return float64 [n], NaN for columns that are no candidates; None at the end."""
        return None if done else _of_columns(solve.node, solve.strong_branching())


class Pseudocosts(_Observing):
    """SCIP's pseudocost scores of the LP's columns."""

    def extract(self, solve: Solve, done: bool) -> NDArray[np.float64] | None:
        """Return float64 [n], NaN for columns that are no candidates; None at the end."""
        if done:
            return None
        node = solve.node
        variables, values, *_ = node.model.getLPBranchCands()
        count = len(node.candidates)
        scores = [node.model.getVarPseudocostScore(each, value) for each, value in zip(variables[:count], values[:count])]
        return _of_columns(node, np.array(scores))


def _of_columns(node: Observation, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scores of the candidates, float64 [K], in the places of their columns, float64 [n]; NaN elsewhere."""
    found = np.full(int(node.model.getNLPCols()), np.nan)
    found[positions(node.candidates)] = scores
    return found


class Reward:
    """A reward function that can be combined with others and with numbers by +, -, *, /, ** and `apply`."""

    def __init__(self, value: Callable[[Measures, Measures, bool], float]) -> None:
        """Create a function of the Measures at the last choice, of the Measures now, and of whether the episode has ended."""
        self.value = value
        self._before = Measures(0, 0, 0.0, 0.0, 0.0)

    def before_reset(self, solve: Solve) -> None:
        """Measure from 0."""
        self._before = Measures(0, 0, 0.0, 0.0, 0.0)

    def extract(self, solve: Solve, done: bool) -> float:
        """Return the reward since the last call."""
        before, self._before = self._before, solve.measures
        return float(self.value(before, self._before, done))

    def apply(self, function: Callable[[float], float]) -> Reward:
        """Return the reward function whose values are those of `function` of this one's."""
        return Reward(lambda before, now, done: function(self.value(before, now, done)))

    def _with(self, other: Reward | float, combine: Callable[[float, float], float]) -> Reward:
        """Return the reward function that combines this one's value with another one's, or with a number."""
        if isinstance(other, Reward):
            return Reward(lambda *given: combine(self.value(*given), other.value(*given)))
        return self.apply(lambda value: combine(value, float(other)))

    def __neg__(self) -> Reward:
        return self.apply(lambda value: -value)

    def __add__(self, other: Reward | float) -> Reward:
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other: Reward | float) -> Reward:
        return self._with(other, lambda a, b: a - b)

    def __mul__(self, other: Reward | float) -> Reward:
        return self._with(other, lambda a, b: a * b)

    def __truediv__(self, other: Reward | float) -> Reward:
        return self._with(other, lambda a, b: a / b)

    def __pow__(self, other: Reward | float) -> Reward:
        return self._with(other, lambda a, b: float(a**b))

    def __rsub__(self, other: float) -> Reward:
        return -self + other

    __radd__, __rmul__ = __add__, __mul__


class NNodes(Reward):
    """The number of nodes solved since the last choice."""

    def __init__(self) -> None:
        super().__init__(lambda before, now, done: float(now.nodes - before.nodes))


class LpIterations(Reward):
    """The number of simplex iterations since the last choice."""

    def __init__(self) -> None:
        super().__init__(lambda before, now, done: float(now.lp_iterations - before.lp_iterations))


class SolvingTime(Reward):
    """Seconds of wall-clock time since the last choice."""

    def __init__(self) -> None:
        super().__init__(lambda before, now, done: now.seconds - before.seconds)


class IsDone(Reward):
    """1 at the end of an episode, otherwise 0."""

    def __init__(self) -> None:
        super().__init__(lambda before, now, done: float(done))

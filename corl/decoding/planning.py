"""Planning: a tree search from the current state chooses each action of an episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.decoding.beam import chunks
from corl.decoding.decode import Decoded, StartStates
from corl.decoding.evaluator import CountedEvaluator
from corl.decoding.noise import stream_keys
from corl.decoding.play import DecisionStep, play
from corl.decoding.rollouts import roll_out
from corl.environment import Environment, View
from corl.errors import UsageError
from corl.policy import ModelEvaluator
from corl.search.loop import SearchResult
from corl.search.models import Expansion, LearnedModel, SimulatorModel, rows_needed

__all__ = ["Chooser", "Chosen", "LearnedPlanning", "Planning"]


class Chosen(NamedTuple):
    """The result of a search for R states."""

    slots: NDArray[np.int64]
    """[R] the slots of the actions to take."""
    log_probability: NDArray[np.float64]
    """[R] the log probabilities of these actions under the search's improved policy."""


Chooser = Callable[[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint64]], Chosen]
"""A function that returns the chosen actions, given rows [R], their listed actions [R, K] and keys [R], one for each tree."""


class _TreeSearch(Protocol):
    """The interface of a search: `corl.search.gumbel.Gumbel` or `corl.search.puct.Puct`."""

    @property
    def simulations(self) -> int: ...
    @property
    def leaves(self) -> int: ...
    def search(self, model: Any, roots: Any, keys: NDArray[np.uint64]) -> SearchResult: ...


@dataclass(frozen=True)
class Planning:
    """Planning as in AlphaZero: tree searches in the environment itself, for all episodes at once.

    If only one action is legal, it is taken without a search. `Decoded.log_probability` refers to the policies improved by the
    searches.
    """

    search: _TreeSearch
    """`corl.search.gumbel.Gumbel` or `corl.search.puct.Puct`."""
    rollouts: bool = False
    """Whether the value of a leaf is the return of greedy decoding from it, instead of the value that the policy estimates."""

    @property
    def rows(self) -> int:
        """The rows of the environment that each tree needs: the root's, one per simulation, and with rollouts `leaves` more."""
        return rows_needed(1, self.search.simulations) + (self.search.leaves if self.rollouts else 0)

    def run(self, evaluator: CountedEvaluator, entries: StartStates, found: Decoded) -> None:
        """Use `rows` rows for each entry; as many entries are decoded at a time as the environment has rows for."""
        for part in chunks(evaluator, entries, self.rows, f"a search of {self.search.simulations} simulations"):
            _play(self.chooser(evaluator, len(part.number)), evaluator.environment, part, found)

    def chooser(self, evaluator: CountedEvaluator, trees: int) -> Chooser:
        """Return a chooser that searches from rows below `trees`; it overwrites the rows from `trees` to `trees` * `rows` - 1."""
        model = SimulatorModel(evaluator.environment, evaluator, first=trees)
        if self.rollouts:
            model = _RolloutModel(evaluator, trees, self.search.simulations)
        return lambda rows, actions, keys: _searched(self.search, model, rows, actions, actions, keys)


@dataclass(frozen=True)
class LearnedPlanning:
    """Planning as in MuZero: tree searches in a learned model, which the policy must have."""

    search: _TreeSearch
    """`corl.search.gumbel.Gumbel` or `corl.search.puct.Puct`."""
    rows: ClassVar[int] = 1
    """The rows of the environment that each tree needs: the root's."""

    def run(self, evaluator: CountedEvaluator, entries: StartStates, found: Decoded) -> None:
        """Use one row for each entry."""
        for part in chunks(evaluator, entries, self.rows, "a search"):
            _play(self.chooser(evaluator, len(part.number)), evaluator.environment, part, found)

    def chooser(self, evaluator: CountedEvaluator, trees: int) -> Chooser:
        """Return a chooser whose searches do not change any row."""
        counted = _CountedModel(evaluator)
        model = LearnedModel(counted)

        def choose(rows: NDArray[np.int64], actions: NDArray[np.int32], keys: NDArray[np.uint64]) -> Chosen:
            observed, slots = counted.model.root(evaluator.environment.view(rows, actions))
            return _searched(self.search, model, (observed, slots), actions, slots, keys)

        return choose


def _searched(
    search: _TreeSearch, model: Any, roots: Any, actions: NDArray[np.int32], ids: NDArray[np.int32], keys: NDArray[np.uint64]
) -> Chosen:
    """Search from R `roots`; return the chosen actions. `ids` [R, K] are the model's ids of the `actions` [R, K]."""
    result = search.search(model, roots, keys)
    slots = (ids == result.action[:, None]).argmax(axis=1)
    with np.errstate(divide="ignore"):
        return Chosen(slots, np.log(result.policy[np.arange(len(slots)), slots]))


def _play(choose_by: Chooser, environment: Environment, entries: StartStates, found: Decoded) -> None:
    """Play entry i on row i to the end of its episode, and add its solution to `found`."""
    rows = np.arange(len(entries.number))
    totals, log_probabilities = entries.reset(environment, rows), np.zeros(len(rows))

    def choose(decision: DecisionStep) -> NDArray[np.int32]:
        slots = np.zeros(len(decision.rows), np.int64)
        (searched,) = np.nonzero((decision.actions >= 0).sum(axis=1) > 1)
        if searched.size:
            episode = decision.episode[searched]
            keys = stream_keys(entries.streams[episode], decision.number)
            slots[searched], log_probability = choose_by(decision.rows[searched], decision.actions[searched], keys)
            log_probabilities[episode] += log_probability
        return decision.taken(slots)

    played = play(environment, rows, totals, choose)
    for row in rows:
        row_actions = played.actions[row]
        found.add(
            environment,
            int(row),
            int(entries.number[row]),
            played.totals[row],
            log_probabilities[row],
            row_actions[row_actions >= 0],
        )


class _RolloutModel(SimulatorModel):
    """A model in which the value of a leaf is the return of greedy decoding, on the rows after those of the trees."""

    def __init__(self, evaluator: CountedEvaluator, trees: int, simulations: int) -> None:
        super().__init__(evaluator.environment, evaluator, first=trees)
        self._evaluator = evaluator
        self._scratch = np.arange(rows_needed(trees, simulations), evaluator.environment.rows)

    def root(self, roots: ArrayLike | View, nodes: int, keys: NDArray[np.uint64]) -> Expansion:
        """See Model.root. Rollouts from the roots do not draw the random events of the true episodes."""
        episode_keys = getattr(self._evaluator.environment.state, "key", None)
        if episode_keys is None:
            return super().root(roots, nodes, keys)
        rows = roots.rows if isinstance(roots, View) else roots
        true_keys = episode_keys[rows].copy()
        episode_keys[rows] = stream_keys(keys, 0)
        expansion = super().root(roots, nodes, keys)
        episode_keys[rows] = true_keys
        return expansion

    def evaluate(self, view: View) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return the policy's logits, and the returns of greedy decoding as values."""
        logits, _ = super().evaluate(view)
        count = len(view.rows)
        _, totals, _, _ = roll_out(self._evaluator, view.rows, np.zeros(count), into=self._scratch[:count])
        return logits, totals


class _CountedModel:
    """The learned model of an evaluator, with the interface of LatentNetwork; the evaluator counts its calls."""

    def __init__(self, evaluator: CountedEvaluator) -> None:
        if not isinstance(evaluator.evaluator, ModelEvaluator):
            raise UsageError("the policy has no learned model to plan in; accepted: one of the architecture 'muzero'")
        self.evaluator, self.model = evaluator, evaluator.evaluator
        self.slots = self.model.slots

    def initial(self, observed: Mapping[str, NDArray[Any]]) -> tuple[Any, Any, Any]:
        """See LatentNetwork.initial."""
        self.evaluator.spend(len(next(iter(observed.values()))))
        return self.model.initial(observed)

    def recurrent(self, latent: Any, actions: Any) -> tuple[Any, Any, Any, Any]:
        """See LatentNetwork.recurrent."""
        self.evaluator.spend(len(actions))
        return self.model.recurrent(latent, actions)

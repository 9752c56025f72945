"""Planning: each action of an episode is chosen by a tree search from the state reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from corl.environment import Environment
from corl.search.decoding.beam import chunks
from corl.search.decoding.decoded import Decoded, Entries
from corl.search.decoding.draws import stream_keys
from corl.search.decoding.evaluator import Evaluator
from corl.search.decoding.rollouts import roll_out
from corl.search.models import LearnedModel, SimulatorModel, rows_needed
from corl.search.simulation import SearchResult

__all__ = ["LearnedPlanning", "Planning"]


class _Search(Protocol):
    """Gumbel or Puct."""

    @property
    def simulations(self) -> int: ...
    @property
    def leaves(self) -> int: ...
    def search(self, model: Any, roots: Any, keys: NDArray[np.uint64]) -> SearchResult: ...


@dataclass(frozen=True)
class Planning:
    """AlphaZero's way: searches in the environment itself, all trees at once. Actions without alternative are not searched.

    `Decoded.log_probability` is that of the searches' improved policies.
    """

    search: _Search
    """`corl.search.gumbel.Gumbel` or `corl.search.puct.Puct`."""
    rollouts: bool = False
    """Whether a leaf is worth what greedy decoding from it comes to, instead of what the policy's value head says."""

    def run(self, evaluator: Evaluator, entries: Entries, found: Decoded) -> None:
        """1 + simulations rows for each entry, with rollouts `leaves` more; so many entries at a time as there are rows for."""
        rows = rows_needed(1, self.search.simulations) + (self.search.leaves if self.rollouts else 0)
        for part in chunks(evaluator, entries, rows, f"a search of {self.search.simulations} simulations"):
            trees = len(part.number)
            if self.rollouts:
                noted = _Noted(evaluator.environment)
                scratch = np.arange(rows_needed(trees, self.search.simulations), evaluator.environment.rows)
                model = SimulatorModel(noted, _RolloutValues(evaluator, noted, scratch), first=trees)
            else:
                model = SimulatorModel(evaluator.environment, evaluator, first=trees)
            _play(self.search, model, lambda rows, actions: rows, evaluator.environment, part, found)


@dataclass(frozen=True)
class LearnedPlanning:
    """MuZero's way: searches in a learned model; the evaluator's policy is a `corl.networks.muzero.MuZeroNetwork`."""

    search: _Search

    def run(self, evaluator: Evaluator, entries: Entries, found: Decoded) -> None:
        """A row for each entry."""
        model = LearnedModel(_CountedSlots(evaluator))

        def roots(rows: NDArray[np.int64], actions: NDArray[np.int32]) -> Any:
            slots = np.where(actions >= 0, np.arange(actions.shape[1], dtype=np.int32), np.int32(-1))
            return evaluator.environment.observe(rows), slots

        for part in chunks(evaluator, entries, 1, "a search"):
            _play(self.search, model, roots, evaluator.environment, part, found)


def _play(search: _Search, model: Any, roots: Any, environment: Environment, entries: Entries, found: Decoded) -> None:
    """Play each entry on a row of its own, 0, 1, ..., by searches from roots(rows, actions)."""
    rows = np.arange(len(entries.number))
    totals, log_probabilities = entries.reset(environment, rows), np.zeros(len(rows))
    live = rows
    taken: list[NDArray[np.int32]] = []
    learned = isinstance(model, LearnedModel)
    while True:
        offered = environment.actions(live)
        going = offered[:, 0] >= 0
        live, offered = live[going], offered[going]
        if not live.size:
            break
        slot = np.zeros(len(live), np.int64)
        (searched,) = np.nonzero((offered >= 0).sum(axis=1) > 1)
        if searched.size:
            keys = stream_keys(entries.streams[live[searched]], len(taken))
            result = search.search(model, roots(live[searched], offered[searched]), keys)
            ids = result.actions if learned else offered[searched]  # the actions of a learned model are slots
            slot[searched] = (ids == result.action[:, None]).argmax(axis=1)
            with np.errstate(divide="ignore"):
                log_probabilities[live[searched]] += np.log(result.policy[np.arange(len(searched)), slot[searched]])
        chosen = offered[np.arange(len(live)), slot]
        totals[live] += environment.step(live, live, chosen)
        taken.append(np.full(len(rows), -1, np.int32))
        taken[-1][live] = chosen
    for row in rows:
        actions = np.array([step[row] for step in taken if step[row] >= 0], np.int32)
        found.add(environment, int(row), int(entries.number[row]), totals[row], log_probabilities[row], actions)


class _Noted(Environment):
    """The same pool; notes which rows were observed last."""

    def __init__(self, environment: Environment) -> None:
        self.environment, self.state = environment, environment.state
        self.rows, self.width = environment.rows, environment.width
        self.observed = np.empty(0, np.int64)

        self.compiled = environment.compiled  # type: ignore[misc]  # of the pool behind it

    def reset(self, rows: Any, which: Any, keys: Any = None) -> NDArray[np.float64]:
        return self.environment.reset(rows, which, keys)

    def actions(self, rows: Any) -> NDArray[np.int32]:
        return self.environment.actions(rows)

    def step(self, src: Any, dst: Any, actions: Any) -> NDArray[np.float64]:
        return self.environment.step(src, dst, actions)

    def observe(self, rows: Any) -> dict[str, NDArray[Any]]:
        self.observed = np.asarray(rows, np.int64)
        return self.environment.observe(rows)

    def solution(self, row: int) -> Any:
        return self.environment.solution(row)


class _RolloutValues:
    """A policy whose values are what greedy decoding comes to; it plays on the rows `scratch`."""

    def __init__(self, evaluator: Evaluator, noted: _Noted, scratch: NDArray[np.int64]) -> None:
        self.evaluator, self.noted, self.scratch = evaluator, noted, scratch

    def evaluate(self, observation: dict[str, NDArray[Any]]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Logits of the policy and values by rollouts, of the rows that were observed last."""
        rows = self.noted.observed
        logits, _ = self.evaluator.evaluate(observation)
        _, totals, _, _ = roll_out(self.evaluator, rows, np.zeros(len(rows)), into=self.scratch[: len(rows)])
        return logits.astype(np.float32), totals


class _CountedSlots:
    """The network of an evaluator as LearnedModel takes it; its calls are counted."""

    def __init__(self, evaluator: Evaluator) -> None:
        from corl.networks.muzero import Slots

        self.evaluator, self.slots = evaluator, evaluator.environment.width
        self.network = Slots(evaluator.policy, self.slots)  # type: ignore[arg-type]

    def initial(self, observation: dict[str, NDArray[Any]]) -> tuple[Any, Any, Any]:
        self.evaluator.spend(len(next(iter(observation.values()))))
        return self.network.initial(observation)

    def recurrent(self, latent: Any, actions: Any) -> tuple[Any, Any, Any, Any]:
        self.evaluator.spend(len(actions))
        return self.network.recurrent(latent, actions)

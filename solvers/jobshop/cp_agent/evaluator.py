"""The agent on a pool of interval models: what it sees of rows, its logits, and whole episodes, by kernels.

After Tassel, Gebser and Schekotihin (ICAPS 2023, section 4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl import hooks
from corl.decoding.players import play_rows
from corl.environment import Environment, View
from corl.errors import UsageError
from corl.jit import kernel
from corl.problems.jobshop.environments.intervals.transitions import State
from corl.solvers.jobshop.cp_agent.forward import Scratch, Weights, choose, logits_of, new_scratch
from corl.solvers.jobshop.cp_agent.observation import ABLE, FEATURES, KEYS, LISTED, NEXT, SLOTS, WINDOW, new_view, survey, tokens
from corl.solvers.jobshop.cp_agent.observation import View as Observation

__all__ = ["CpEvaluator", "check", "look"]


_CHUNK = 10_000  # jobs that are looked at between two looks at the clock, all for each operation: about 10 ms


class CpEvaluator:
    """As corl.policy.Player has it."""

    together = 1

    def __init__(self, environment: Environment, weights: Weights) -> None:
        check(environment)
        self._environment, self._weights, self._view = environment, weights, new_view(environment.instances)
        self._scratch = new_scratch(weights, self._view)

    def evaluate(self, view: View) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """See corl.policy.Evaluator; the values are 0."""
        rows, actions = view.rows, view.actions
        out = np.full(actions.shape, -np.inf, np.float32)
        _evaluate(self._environment.state, rows, actions, self._view, self._weights, self._scratch, out)
        return out, np.zeros(len(rows))

    def play(
        self,
        rows: NDArray[np.int64],
        temperature: ArrayLike = 0.0,
        random: NDArray[np.uint64] | None = None,
        most: int = 2**31,
        stop: Callable[[], bool] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """See corl.policy.Player. It chooses among all that can start, also where fewer are listed."""

        def advance(row: int, hot: float, state: NDArray[np.uint64], out: NDArray[np.int32]) -> tuple[int, float]:
            return _play(self._environment.state, row, self._view, self._weights, self._scratch, hot, state, out)

        chunk = max(1, min(100, _CHUNK // len(self._view.jobs)))
        return play_rows(advance, rows, temperature, random, most, stop, chunk)


def look(states: View) -> dict[str, NDArray[Any]]:
    """What the agent sees of R states of a pool whose instances have up to J jobs; see observation.View for what is listed.

    counts: int32 [R, 3] jobs that can start now, jobs listed, keys.
    x: float32 [R, J, SLOTS, FEATURES]; there: bool [R, J, SLOTS]; keys: int32 [R, J * WINDOW].
    begin, end: int32 [R, J], the competitors of each job that can start, among the keys; own: int32 [R, J], itself among them.
    slot: int32 [R, K], which of the jobs that can start each action is, J for waiting, -1 in empty slots.
    scale: float64 [R], 1.
    """
    environment, rows, actions = states.environment, states.rows, states.actions
    check(environment)
    view = new_view(environment.instances)
    r, jobs = len(rows), len(view.jobs)
    seen: dict[str, NDArray[Any]] = {
        "counts": np.zeros((r, 3), np.int32),
        "x": np.zeros((r, jobs, SLOTS, FEATURES), np.float32),
        "there": np.zeros((r, jobs, SLOTS), np.bool_),
        "keys": np.zeros((r, jobs * WINDOW), np.int32),
    }
    seen |= {name: np.zeros((r, jobs), np.int32) for name in ("begin", "end", "own")}
    seen["slot"] = np.full(actions.shape, -1, np.int32)
    _see(environment.state, rows, actions, view, *seen.values())
    return seen | {"scale": np.ones(r)}


def check(environment: Environment) -> None:
    """Raise UsageError unless a pool is of interval models."""
    if not isinstance(environment.state, State):
        raise UsageError("a network jobshop-cp plays in the environment intervals; accepted: this one")


@kernel
def _evaluate(
    state: State,
    rows: NDArray[np.int64],
    actions: NDArray[np.int32],
    view: Observation,
    weights: Weights,
    scratch: Scratch,
    out: NDArray[np.float32],
) -> None:
    """The logits of the listed actions [R, K] of `rows`, into out [R, K]."""
    for r in range(len(rows)):
        survey(state, rows[r], view)
        tokens(state, rows[r], view)
        logits_of(view, weights, scratch)
        count = view.counts[ABLE]
        for k in range(actions.shape[1]):
            if actions[r, k] < 0:
                break
            out[r, k] = scratch.logits[_place(view, actions[r, k], count)]


@kernel
def _play(
    state: State,
    row: int,
    view: Observation,
    weights: Weights,
    scratch: Scratch,
    temperature: float,
    random: NDArray[np.uint64],
    out: NDArray[np.int32],
) -> tuple[int, float]:
    """Take up to as many actions as `out` [n] has room for, and write them there; (how many, the sum of the rewards)."""
    count, total = 0, 0.0
    while count < len(out) and state.left[row] > 0:
        out[count] = choose(state, row, view, weights, scratch, temperature, random)
        total += hooks.step(state, row, row, out[count])
        count += 1
    return count, total


@kernel
def _place(view: Observation, action: int, count: int) -> int:
    """Which of the `count` jobs that can start an action is; `count` for waiting."""
    for c in range(count):
        if view.jobs[c] == action:
            return c
    return count


@kernel
def _see(
    state: State,
    rows: NDArray[np.int64],
    actions: NDArray[np.int32],
    view: Observation,
    counts: NDArray[np.int32],
    x: NDArray[np.float32],
    there: NDArray[np.bool_],
    keys: NDArray[np.int32],
    begin: NDArray[np.int32],
    end: NDArray[np.int32],
    own: NDArray[np.int32],
    slot: NDArray[np.int32],
) -> None:
    """Fill what `see` returns."""
    for r in range(len(rows)):
        survey(state, rows[r], view)
        tokens(state, rows[r], view)
        can, listed, filled = view.counts[ABLE], view.counts[LISTED], view.counts[KEYS]
        for k in range(3):
            counts[r, k] = view.counts[k]
        x[r, :listed], there[r, :listed], keys[r, :filled] = view.x[:listed], view.there[:listed], view.keys[:filled]
        for c in range(can):
            begin[r, c], end[r, c] = view.key_begin[c], view.key_end[c]
            for k in range(view.key_begin[c], view.key_end[c]):
                if view.keys[k] == c * SLOTS + NEXT:
                    own[r, c] = k
        for k in range(actions.shape[1]):
            if actions[r, k] >= 0:
                place = _place(view, actions[r, k], can)
                slot[r, k] = place if place < can else x.shape[1]

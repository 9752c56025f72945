"""The agent on a pool of interval models, by kernels: observations of rows, logits, and whole episodes.

The agent is that of Tassel, Gebser and Schekotihin (ICAPS 2023, section 4).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl import hooks
from corl.decoding.players import RowPlayer
from corl.environment import Environment, View
from corl.errors import UsageError
from corl.jit import kernel
from corl.problems.jobshop.environments.intervals.transitions import State
from corl.solvers.jobshop.cp_agent.forward import CpWeights, Scratch, choose, logits_of, new_scratch
from corl.solvers.jobshop.cp_agent.observation import (
    FEATURES,
    KEYS,
    LISTED,
    NEXT,
    SLOTS,
    STARTABLE,
    WINDOW,
    Observation,
    list_startable,
    new_observation,
    write_tokens,
)

__all__ = ["CpEvaluator", "check", "state_arrays"]


_JOBS_PER_CHECK = 10_000  # actions x jobs between two calls of `stop`, about 10 ms


class CpEvaluator(RowPlayer):
    """The agent as a `corl.policy.Player` of a pool of interval models."""

    def __init__(self, environment: Environment, weights: CpWeights) -> None:
        check(environment)
        self._environment, self._weights, self._observation = environment, weights, new_observation(environment.instances)
        self._scratch = new_scratch(weights, self._observation)
        self.actions_per_check = max(1, min(100, _JOBS_PER_CHECK // len(self._observation.jobs)))

    def evaluate(self, view: View) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """See corl.policy.Evaluator. The agent estimates no values: they are 0."""
        rows, actions = view.rows, view.actions
        out = np.full(actions.shape, -np.inf, np.float32)
        _evaluate(self._environment.state, rows, actions, self._observation, self._weights, self._scratch, out)
        return out, np.zeros(len(rows))

    def advance(self, row: int, temperature: float, random: NDArray[np.uint64], out: NDArray[np.int32]) -> tuple[int, float]:
        """See RowPlayer. The agent chooses among all jobs that can start, even if the environment lists fewer."""
        taken: tuple[int, float] = _play(
            self._environment.state, row, self._observation, self._weights, self._scratch, temperature, random, out
        )
        return taken


def state_arrays(states: View) -> dict[str, NDArray[Any]]:
    """Return the arrays of R states of a pool whose instances have up to J jobs.

    A slot in `x`, `there` and `keys` is the position of a token among the SLOTS tokens of a job (see `Observation`).

    Args:
        states: The states, with K listed actions each.

    Returns:
        counts: int32 [R, 3], the numbers of jobs that can start now, of jobs in `x`, and of entries of `keys`.
        x: float32 [R, J, SLOTS, FEATURES], the tokens of the jobs of `Observation.jobs`.
        there: bool [R, J, SLOTS], which tokens exist.
        keys: int32 [R, J * WINDOW], operations that compete for a machine, as (index of the job in `x`) * SLOTS + slot.
        begin, end: int32 [R, J], for each job that can start, the range in `keys` of the operations that compete with it.
        own: int32 [R, J], for each job that can start, the index in `keys` of its own operation.
        slot: int32 [R, K], the index of each action among the jobs that can start, J for waiting, -1 if there is no action.
        scale: float64 [R], the scale of the values, which is 1.
    """
    environment, rows, actions = states.environment, states.rows, states.actions
    check(environment)
    view = new_observation(environment.instances)
    r, jobs = len(rows), len(view.jobs)
    found: dict[str, NDArray[Any]] = {
        "counts": np.zeros((r, 3), np.int32),
        "x": np.zeros((r, jobs, SLOTS, FEATURES), np.float32),
        "there": np.zeros((r, jobs, SLOTS), np.bool_),
        "keys": np.zeros((r, jobs * WINDOW), np.int32),
    }
    found |= {name: np.zeros((r, jobs), np.int32) for name in ("begin", "end", "own")}
    found["slot"] = np.full(actions.shape, -1, np.int32)
    _fill_arrays(environment.state, rows, actions, view, *found.values())
    return found | {"scale": np.ones(r)}


def check(environment: Environment) -> None:
    """Raise UsageError unless the environment is "intervals"."""
    if not isinstance(environment.state, State):
        raise UsageError("a network jobshop-cp plays in the environment intervals; accepted: this one")


@kernel
def _evaluate(
    state: State,
    rows: NDArray[np.int64],
    actions: NDArray[np.int32],
    view: Observation,
    weights: CpWeights,
    scratch: Scratch,
    out: NDArray[np.float32],
) -> None:
    """Write the logits of the listed `actions` of `rows` to `out`; entries without an action are not written."""
    for r in range(len(rows)):
        list_startable(state, rows[r], view)
        write_tokens(state, rows[r], view)
        logits_of(view, weights, scratch)
        count = view.counts[STARTABLE]
        for k in range(actions.shape[1]):
            if actions[r, k] < 0:
                break
            out[r, k] = scratch.logits[_index_of(view, actions[r, k], count)]


@kernel
def _play(
    state: State,
    row: int,
    view: Observation,
    weights: CpWeights,
    scratch: Scratch,
    temperature: float,
    random: NDArray[np.uint64],
    out: NDArray[np.int32],
) -> tuple[int, float]:
    """Take up to len(out) actions in `row`, in place, and write them to `out`.

    Returns (number of actions, sum of their rewards).
    """
    count, total = 0, 0.0
    while count < len(out) and state.unscheduled[row] > 0:
        out[count] = choose(state, row, view, weights, scratch, temperature, random)
        total += hooks.step(state, row, row, out[count])
        count += 1
    return count, total


@kernel
def _index_of(view: Observation, action: int, count: int) -> int:
    """Return the index of a job among the `count` jobs that can start, or `count` if the action is to wait."""
    for c in range(count):
        if view.jobs[c] == action:
            return c
    return count


@kernel
def _fill_arrays(
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
    """Fill the arrays that `state_arrays` returns, in place; before, all entries are 0, those of `slot` -1."""
    for r in range(len(rows)):
        list_startable(state, rows[r], view)
        write_tokens(state, rows[r], view)
        startable, listed, key_count = view.counts[STARTABLE], view.counts[LISTED], view.counts[KEYS]
        for k in range(3):
            counts[r, k] = view.counts[k]
        x[r, :listed], there[r, :listed], keys[r, :key_count] = view.x[:listed], view.there[:listed], view.keys[:key_count]
        for c in range(startable):
            begin[r, c], end[r, c] = view.key_begin[c], view.key_end[c]
            for k in range(view.key_begin[c], view.key_end[c]):
                if view.keys[k] == c * SLOTS + NEXT:
                    own[r, c] = k
        for k in range(actions.shape[1]):
            if actions[r, k] >= 0:
                index = _index_of(view, actions[r, k], startable)
                slot[r, k] = index if index < startable else x.shape[1]

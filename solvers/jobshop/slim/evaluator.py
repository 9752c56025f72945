"""The policy on a pool of partial schedules, by kernels: observations of rows, logits, and whole episodes.

The context of a job depends on all unfinished jobs, listed or not. Therefore an observation is a table of all jobs, and `slot`
identifies the listed actions among them.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl import hooks
from corl.environment import Environment, View
from corl.errors import UsageError
from corl.jit import kernel
from corl.networks.compiled import draw
from corl.problems.jobshop.instance import JobShopInstance
from corl.problems.jobshop.transitions import SEMI_ACTIVE, State
from corl.solvers.jobshop.slim.decoder import Lanes, logits, new_lanes
from corl.solvers.jobshop.slim.encoder import Encoder
from corl.solvers.jobshop.slim.instance import SlimInstance, slim_instance
from corl.solvers.jobshop.slim.observation import Tables, fill_tables, new_tables, observe, update
from corl.solvers.jobshop.slim.weights import CONTEXT, SlimWeights

__all__ = ["SlimEvaluator", "SlimPlayer", "evaluator", "shop_of", "state_arrays"]

_LANES = 160  # jobs evaluated at once: their arrays fit into the fast caches
_WORK = 8_000  # units of work of a call between two time checks: about 10 ms
_EDGES = 50_000  # edges of a call of the encoder between two time checks
_cached_instance = lru_cache(maxsize=64)(slim_instance)


def evaluator(environment: Environment, weights: SlimWeights) -> SlimEvaluator:
    """Return the policy on a pool: a player of whole episodes if every order of operations is legal, otherwise an evaluator."""
    for instance in environment.instances:
        check(environment, instance)
    any_order = environment.state.kind[0] == SEMI_ACTIVE
    return (SlimPlayer if any_order else SlimEvaluator)(environment, weights)


class SlimEvaluator:
    """The policy as a corl.policy.Evaluator of a pool; an instance is encoded when its first row is evaluated."""

    def __init__(self, environment: Environment, weights: SlimWeights) -> None:
        self._environment, self._weights = environment, weights
        self._encoders, self._encoded = dict[int, Encoder](), dict[int, NDArray[np.float32]]()

    def evaluate(self, view: View) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """See corl.policy.Evaluator; the values are 0."""
        state, rows, actions = self._environment.state, view.rows, view.actions
        out = np.full(actions.shape, -np.inf, np.float32)
        for number, at in _groups(self._environment, rows):
            shop, embedded = shop_of(self._environment, number), self._embedded(number)
            for part, tables, lanes in _batches(shop, at):
                _observe_rows(state, rows[part], shop, tables, lanes)
                logits(self._weights, embedded, lanes)
                _copy_logits(state, rows, part, actions, lanes, out)
        return out, np.zeros(len(rows))

    def _embedded(self, number: int, stop: Callable[[], bool] | None = None) -> NDArray[np.float32] | None:
        """Return the embeddings of an instance, float32 [N, HIDDEN]; None if `stop` returns True before they are complete."""
        if number not in self._encoded:
            encoder = self._encoders.setdefault(number, Encoder(shop_of(self._environment, number), self._weights))
            while not encoder.advance(_EDGES):
                if stop is not None and stop():
                    return None
            self._encoded[number] = self._encoders.pop(number).embedded()
        return self._encoded[number]


class SlimPlayer(SlimEvaluator):
    """The policy as a corl.policy.Player of a pool of semi-active schedules; it chooses among all jobs, listed or not."""

    def __init__(self, environment: Environment, weights: SlimWeights) -> None:
        super().__init__(environment, weights)
        self.together = _rows_at_once(max(instance.jobs for instance in environment.instances))

    def play(
        self,
        rows: NDArray[np.int64],
        temperature: ArrayLike = 0.0,
        random: NDArray[np.uint64] | None = None,
        most: int = 2**31,
        stop: Callable[[], bool] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """See corl.policy.Player."""
        state, temperatures = self._environment.state, np.broadcast_to(np.asarray(temperature, np.float64), rows.shape)
        random = np.zeros((len(rows), 1), np.uint64) if random is None else random
        rewards, actions = (
            np.zeros(len(rows)),
            np.full((len(rows), min(most, int(state.unscheduled[rows].max(initial=0)))), -1, np.int32),
        )
        for number, at in _groups(self._environment, rows):
            shop, embedded = shop_of(self._environment, number), self._embedded(number, stop)
            if embedded is None:
                break
            for part, tables, lanes in _batches(shop, at):
                here, drawn, chosen, sums = rows[part], random[part], actions[part], np.zeros(len(part))
                steps = max(1, int(_WORK / (len(part) * len(shop.release) * (1.0 + len(shop.release) / 20))))
                _fill_tables(state, here, shop, tables)
                for begin in range(0, actions.shape[1], steps):
                    if stop is not None and stop():
                        break
                    end = min(begin + steps, chosen.shape[1])
                    _play(
                        state, here, shop, self._weights, embedded, tables, lanes, temperatures[part], drawn, begin, end,
                        chosen, sums,
                    )  # fmt: skip
                rewards[part], actions[part], random[part] = sums, chosen, drawn
        return rewards, actions


def state_arrays(view: View) -> dict[str, NDArray[Any]]:
    """Return the arrays of R states of a pool whose instances have up to J jobs.

    Returns:
        context: float32 [R, J, CONTEXT], the context of each job (observation.py).
        operation: int32 [R, J], the next operation of each job, -1 if the job is finished.
        slot: int32 [R, K], the jobs of the listed actions, -1 in empty slots.
        scale: float64 [R], 1.
    """
    environment, rows, actions = view.environment, view.rows, view.actions
    jobs = environment.state.next.shape[1]
    context = np.zeros((len(rows), jobs, CONTEXT), np.float32)
    operation, slot = np.full((len(rows), jobs), -1, np.int32), np.full(actions.shape, -1, np.int32)
    for number, at in _groups(environment, rows):
        shop = shop_of(environment, number)
        slot[at] = np.where(actions[at] >= 0, environment.instances[number].job[actions[at]], -1)
        for part, tables, lanes in _batches(shop, at):
            _observe_rows(environment.state, rows[part], shop, tables, lanes)
            _copy_arrays(part, lanes, context, operation)
    return {"context": context, "operation": operation, "slot": slot, "scale": np.ones(len(rows))}


def shop_of(environment: Environment, number: int) -> SlimInstance:
    """Return the instance of a number, for the kernels. Raises UsageError if the policy does not support it."""
    check(environment, environment.instances[number])
    return _cached_instance(environment.instances[number])


def check(environment: Environment, instance: JobShopInstance) -> None:
    """Raise UsageError unless the pool holds partial schedules, and the policy supports the instance."""
    if not isinstance(environment.state, State):
        raise UsageError("a network slim plays in one of the environments dispatching and semi-active; accepted: one of these")
    if instance.flexible or instance.objective != "makespan":
        raise UsageError("a network slim is for the makespan without choices of machines; accepted: such instances")


def _groups(environment: Environment, rows: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield (instance number, the positions of its rows in `rows`)."""
    instances = environment.instance_of(rows)
    for number in np.unique(instances).tolist():
        yield number, np.flatnonzero(instances == number)


def _rows_at_once(jobs: int) -> int:
    """Return how many rows of instances of `jobs` jobs are evaluated at once."""
    return max(1, _LANES // jobs)


def _batches(shop: SlimInstance, at: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], Tables, Lanes]]:
    """Yield parts of `at` that are evaluated at once, with working memory that still holds the values of the part before."""
    together = min(len(at), _rows_at_once(len(shop.release)))
    tables, lanes = new_tables(shop, together), new_lanes(together, len(shop.release))
    for begin in range(0, len(at), together):
        yield at[begin : begin + together], tables, lanes


@kernel
def _fill_tables(state, rows, shop, tables):
    """Fill the tables of `rows` [S], all of the instance of `shop`."""
    for s in range(len(rows)):
        fill_tables(state, rows[s], shop, tables, s)


@kernel
def _observe_jobs(state, rows, shop, tables, lanes):
    """Fill begin, job, operation and context of the lanes of `rows` [S]; return the number of lanes."""
    end = np.int64(0)
    lanes.begin[0] = 0
    for s in range(len(lanes.begin) - 1):
        if s < len(rows):
            end = observe(state, rows[s], shop, tables, s, lanes, end)
        lanes.begin[s + 1] = end
    return end


@kernel
def _observe_rows(state, rows, shop, tables, lanes):
    """Fill begin, job, operation and context of the lanes of `rows` [S], all of the instance of `shop`; overwrites `tables`."""
    _fill_tables(state, rows, shop, tables)
    _observe_jobs(state, rows, shop, tables, lanes)


@kernel
def _play(state, rows, shop, weights, embedded, tables, lanes, temperature, random, begin, end, actions, rewards):
    """Take steps begin..end - 1 of the episodes of `rows`, in place.

    Args:
        state: The pool.
        rows: int64 [S], rows of one instance.
        shop: The instance.
        weights: The parameters.
        embedded: float32 [N, HIDDEN], embeddings of the operations.
        tables: The tables of `rows`, updated in place.
        lanes: Lanes, overwritten.
        temperature: float64 [S], 0: the most likely action.
        random: uint64 [S, 1], states of the random number generators, advanced.
        begin: The first step.
        end: The step to stop before.
        actions: int32 [S, T], the actions taken are written here.
        rewards: float64 [S], the rewards are added.
    """
    base = state.operations_offset[state.instance[rows[0]]]
    for t in range(begin, end):
        if _observe_jobs(state, rows, shop, tables, lanes) == 0:
            break
        logits(weights, embedded, lanes)
        for s in range(len(rows)):
            if lanes.begin[s] < lanes.begin[s + 1]:
                row, at = rows[s], draw(lanes.logit, lanes.begin[s], lanes.begin[s + 1], temperature[s], random[s])
                i = lanes.operation[at]
                ready, free = state.ready[row, lanes.job[at]], state.free[row, shop.machine[i]]
                actions[s, t] = state.first_choice[base + i]
                rewards[s] += hooks.step(state, row, row, actions[s, t])
                update(state, row, shop, tables, s, i, ready, free)


@kernel
def _copy_logits(state, rows, part, actions, lanes, out):
    """Copy the logits of the lanes of rows[part] to the slots of out [R, K] that hold their jobs' `actions` [R, K]."""
    lane = np.empty(state.next.shape[1], np.int64)
    for s in range(len(part)):
        r = part[s]
        base = state.operations_offset[state.instance[rows[r]]]
        for at in range(lanes.begin[s], lanes.begin[s + 1]):
            lane[lanes.job[at]] = at
        for k in range(actions.shape[1]):
            if actions[r, k] >= 0:
                out[r, k] = lanes.logit[lane[state.job[base + actions[r, k]]]]


@kernel
def _copy_arrays(part, lanes, context, operation):
    """Copy the lanes to the rows `part` of context [R, J, CONTEXT] and operation [R, J]."""
    for s in range(len(part)):
        for at in range(lanes.begin[s], lanes.begin[s + 1]):
            operation[part[s], lanes.job[at]] = lanes.operation[at]
            for k in range(CONTEXT):
                context[part[s], lanes.job[at], k] = lanes.context[k, at]

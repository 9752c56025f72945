"""The policy on a pool of partial schedules, by kernels: observations of rows, logits, and whole episodes.

The context of a job (its features, observation.py) depends on all unfinished jobs, not only on those that the environment lists
as actions. Therefore an observation contains all jobs; its array `slot` names the job of each listed action.
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

_MAX_LANES = 160  # jobs evaluated at once; with more, the arrays do not fit into the processor's fast caches
_WORK_PER_CHECK = 8_000  # steps x rows x jobs x (1 + jobs / 20) between two calls of `stop`, about 10 ms
_EDGES_PER_CHECK = 50_000  # edges that the encoder processes between two calls of `stop`
_cached_instance = lru_cache(maxsize=64)(slim_instance)


def evaluator(environment: Environment, weights: SlimWeights) -> SlimEvaluator:
    """Return the policy on a pool: a player of whole episodes if every unfinished job is legal, otherwise an evaluator."""
    for instance in environment.instances:
        check(environment, instance)
    any_order = environment.state.kind[0] == SEMI_ACTIVE
    return (SlimPlayer if any_order else SlimEvaluator)(environment, weights)


class SlimEvaluator:
    """The policy as a `corl.policy.Evaluator` of a pool; an instance is encoded when a row of it is first evaluated."""

    def __init__(self, environment: Environment, weights: SlimWeights) -> None:
        self._environment, self._weights = environment, weights
        self._encoders, self._encoded = dict[int, Encoder](), dict[int, NDArray[np.float32]]()

    def evaluate(self, view: View) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """See corl.policy.Evaluator. The policy estimates no values: they are 0."""
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
            while not encoder.advance(_EDGES_PER_CHECK):
                if stop is not None and stop():
                    return None
            self._encoded[number] = self._encoders.pop(number).embedded()
        return self._encoded[number]


class SlimPlayer(SlimEvaluator):
    """The policy as a `corl.policy.Player` of a pool of semi-active schedules; it chooses among all jobs, even unlisted ones."""

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
                part_rows, generators, chosen, sums = rows[part], random[part], actions[part], np.zeros(len(part))
                steps = max(1, int(_WORK_PER_CHECK / (len(part) * len(shop.release) * (1.0 + len(shop.release) / 20))))
                _fill_tables(state, part_rows, shop, tables)
                for begin in range(0, actions.shape[1], steps):
                    if stop is not None and stop():
                        break
                    end = min(begin + steps, chosen.shape[1])
                    _play(
                        state, part_rows, shop, self._weights, embedded, tables, lanes, temperatures[part], generators, begin,
                        end, chosen, sums,
                    )  # fmt: skip
                rewards[part], actions[part], random[part] = sums, chosen, generators
        return rewards, actions


def state_arrays(view: View) -> dict[str, NDArray[Any]]:
    """Return the arrays of R states of a pool whose instances have up to J jobs.

    Returns:
        context: float32 [R, J, CONTEXT], the context features of each job (observation.py).
        operation: int32 [R, J], the next operation of each job, -1 if the job is finished.
        slot: int32 [R, K], the job of each listed action, -1 in empty slots.
        scale: float64 [R], the scale of the values, which is 1.
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
    """Return the SlimInstance of the instance with a number. Raises UsageError if the policy does not support it."""
    check(environment, environment.instances[number])
    return _cached_instance(environment.instances[number])


def check(environment: Environment, instance: JobShopInstance) -> None:
    """Raise UsageError unless the environment builds schedules operation by operation and the policy supports the instance."""
    if not isinstance(environment.state, State):
        raise UsageError("a network slim plays in one of the environments dispatching and semi-active; accepted: one of these")
    if instance.flexible or instance.objective != "makespan":
        raise UsageError("a network slim is for the makespan without choices of machines; accepted: such instances")


def _groups(environment: Environment, rows: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield (number of an instance, positions in `rows` of the rows of this instance)."""
    instances = environment.instance_of(rows)
    for number in np.unique(instances).tolist():
        yield number, np.flatnonzero(instances == number)


def _rows_at_once(jobs: int) -> int:
    """Return how many rows of instances of `jobs` jobs are evaluated at once."""
    return max(1, _MAX_LANES // jobs)


def _batches(shop: SlimInstance, at: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], Tables, Lanes]]:
    """Yield the parts of `at` that are evaluated at once, with the work arrays for them; all parts share the same arrays."""
    together = min(len(at), _rows_at_once(len(shop.release)))
    tables, lanes = new_tables(shop, together), new_lanes(together, len(shop.release))
    for begin in range(0, len(at), together):
        yield at[begin : begin + together], tables, lanes


@kernel
def _fill_tables(state, rows, shop, tables):
    """Fill the tables of `rows` (int64 [S]), which belong to the instance of `shop`."""
    for s in range(len(rows)):
        fill_tables(state, rows[s], shop, tables, s)


@kernel
def _observe_jobs(state, rows, shop, tables, lanes):
    """Fill `offset`, `job`, `operation` and `context` of the lanes of `rows` (int64 [S]); return the number of lanes."""
    end = np.int64(0)
    lanes.offset[0] = 0
    for s in range(len(lanes.offset) - 1):
        if s < len(rows):
            end = observe(state, rows[s], shop, tables, s, lanes, end)
        lanes.offset[s + 1] = end
    return end


@kernel
def _observe_rows(state, rows, shop, tables, lanes):
    """For `rows` (int64 [S]) of one instance, fill the tables, and `offset`, `job`, `operation` and `context` of the lanes."""
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
        lanes: The lanes, overwritten.
        temperature: float64 [S], the temperatures of sampling; 0 means the most likely action.
        random: uint64 [S, 1], the states of the random number generators, updated in place.
        begin: The first step.
        end: One past the last step.
        actions: int32 [S, T], the actions taken are written here.
        rewards: float64 [S], the rewards are added here.
    """
    base = state.operations_offset[state.instance[rows[0]]]
    for t in range(begin, end):
        if _observe_jobs(state, rows, shop, tables, lanes) == 0:
            break
        logits(weights, embedded, lanes)
        for s in range(len(rows)):
            if lanes.offset[s] < lanes.offset[s + 1]:
                row, at = rows[s], draw(lanes.logit, lanes.offset[s], lanes.offset[s + 1], temperature[s], random[s])
                i = lanes.operation[at]
                ready, free = state.ready[row, lanes.job[at]], state.free[row, shop.machine[i]]
                actions[s, t] = state.first_choice[base + i]
                rewards[s] += hooks.step(state, row, row, actions[s, t])
                update(state, row, shop, tables, s, i, ready, free)


@kernel
def _copy_logits(state, rows, part, actions, lanes, out):
    """Copy the logits of the jobs of `rows[part]` to out (float32 [R, K]), at the slots of `actions` (int32 [R, K])."""
    lane_of_job = np.empty(state.next.shape[1], np.int64)
    for s in range(len(part)):
        r = part[s]
        base = state.operations_offset[state.instance[rows[r]]]
        for at in range(lanes.offset[s], lanes.offset[s + 1]):
            lane_of_job[lanes.job[at]] = at
        for k in range(actions.shape[1]):
            if actions[r, k] >= 0:
                out[r, k] = lanes.logit[lane_of_job[state.job[base + actions[r, k]]]]


@kernel
def _copy_arrays(part, lanes, context, operation):
    """Copy the lanes to the rows `part` of context (float32 [R, J, CONTEXT]) and operation (int32 [R, J])."""
    for s in range(len(part)):
        for at in range(lanes.offset[s], lanes.offset[s + 1]):
            operation[part[s], lanes.job[at]] = lanes.operation[at]
            for k in range(CONTEXT):
                context[part[s], lanes.job[at], k] = lanes.context[k, at]

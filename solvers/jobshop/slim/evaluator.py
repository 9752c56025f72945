"""The policy on a pool of partial schedules: what it sees of rows, and its logits, by the kernels that build schedules.

The context of a job depends on all jobs that are not done, listed or not, so what is seen is a table of jobs; `slot` says which
of them the listed actions are.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.environment import Environment, View
from corl.errors import UsageError
from corl.jit import kernel
from corl.problems.jobshop.instance import JobShopInstance
from corl.problems.jobshop.transitions import JobShopState
from corl.solvers.jobshop.slim.construct import PartialSchedules, new_partial, observe
from corl.solvers.jobshop.slim.decoder import Lanes, logits, new_lanes
from corl.solvers.jobshop.slim.encoder import encoded
from corl.solvers.jobshop.slim.instance import SlimInstance, slim_instance
from corl.solvers.jobshop.slim.weights import CONTEXT, Weights

__all__ = ["LANES", "SlimEvaluator", "look", "shop_of"]

LANES = 160
"""Jobs that are looked at together: their numbers fit into the fast caches."""
_known = lru_cache(maxsize=64)(slim_instance)


class SlimEvaluator:
    """As corl.policy.Evaluator has it; an instance is encoded when its first row is asked for."""

    def __init__(self, environment: Environment, weights: Weights) -> None:
        for instance in environment.instances:
            check(environment, instance)
        self._environment, self._weights = environment, weights
        self._embedded: dict[int, NDArray[np.float32]] = {}

    def evaluate(self, view: View) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """See corl.policy.Evaluator; the values are 0."""
        state, rows, actions = self._environment.state, view.rows, view.actions
        out = np.full(actions.shape, -np.inf, np.float32)
        for number, at in _groups(self._environment, rows):
            shop = shop_of(self._environment, number)
            if number not in self._embedded:
                self._embedded[number] = encoded(shop, self._weights)
            for part, partial, lanes in _parts(shop, at):
                _look(state, rows[part], shop, partial, lanes)
                logits(self._weights, self._embedded[number], lanes)
                _spread(state, rows, part, actions, lanes, out)
        return out, np.zeros(len(rows))


def look(view: View) -> dict[str, NDArray[Any]]:
    """What the policy sees of R states of a pool whose instances have up to J jobs.

    context: float32 [R, J, CONTEXT]; operation: int32 [R, J], the next of each job, -1 where it is done; slot: int32 [R, K], the
    jobs of the listed actions, -1 in empty slots; scale: float64 [R], 1.
    """
    environment, rows, actions = view.environment, view.rows, view.actions
    jobs = environment.state.next.shape[1]
    context = np.zeros((len(rows), jobs, CONTEXT), np.float32)
    operation, slot = np.full((len(rows), jobs), -1, np.int32), np.full(actions.shape, -1, np.int32)
    for number, at in _groups(environment, rows):
        shop = shop_of(environment, number)
        slot[at] = np.where(actions[at] >= 0, environment.instances[number].job[actions[at]], -1)
        for part, partial, lanes in _parts(shop, at):
            _look(environment.state, rows[part], shop, partial, lanes)
            _note(part, lanes, context, operation)
    return {"context": context, "operation": operation, "slot": slot, "scale": np.ones(len(rows))}


def shop_of(environment: Environment, number: int) -> SlimInstance:
    """The instance of that number, for the kernels. Raises UsageError where the policy does not take it."""
    check(environment, environment.instances[number])
    return _known(environment.instances[number])


def check(environment: Environment, instance: JobShopInstance) -> None:
    """Raise UsageError unless a pool is of partial schedules, and the instance is one that the policy takes."""
    if not isinstance(environment.state, JobShopState):
        raise UsageError("a network slim plays in one of the environments dispatching and semi-active; accepted: one of these")
    if instance.flexible or instance.objective != "makespan":
        raise UsageError("a network slim is for the makespan without choices of machines; accepted: such instances")


def _groups(environment: Environment, rows: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """(instance, the places of its rows in `rows`)."""
    instances = environment.instance_of(rows)
    for number in np.unique(instances).tolist():
        yield number, np.flatnonzero(instances == number)


def _parts(shop: SlimInstance, at: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], PartialSchedules, Lanes]]:
    """Parts of `at` that fit into LANES, and memory to look at them."""
    together = min(len(at), max(1, LANES // len(shop.release)))
    partial, lanes = new_partial(shop, 1), new_lanes(together, len(shop.release))
    for begin in range(0, len(at), together):
        yield at[begin : begin + together], partial, lanes


@kernel
def _look(state, rows, shop, partial, lanes):
    """Fill begin, job, operation and context of the lanes of `rows`, all of the instance of `shop`; `partial` is scratch."""
    end = np.int64(0)
    lanes.begin[0] = 0
    for s in range(len(lanes.begin) - 1):
        if s < len(rows):
            _take_up(state, rows[s], shop, partial)
            end = observe(shop, partial, 0, lanes, end)
        lanes.begin[s + 1] = end


@kernel
def _take_up(state, row, shop, partial):
    """Make schedule 0 what a row of the pool is, as far as `observe` looks at it."""
    for m in range(len(shop.load)):
        partial.free[0, m], partial.load[0, m] = state.free[row, m], 0
    for j in range(len(shop.release)):
        partial.upcoming[0, j], partial.ready[0, j] = state.next[row, j], state.ready[row, j]
        for i in range(state.next[row, j], shop.first[j + 1]):
            partial.load[0, shop.machine[i]] += shop.duration[i]
    _sort(partial.ready, partial.ready_sorted)
    _sort(partial.free, partial.free_sorted)


@kernel
def _sort(table, out):
    """Row 0 of a table, rising."""
    for k in range(table.shape[1]):
        value, at = table[0, k], k
        while at > 0 and out[0, at - 1] > value:
            out[0, at] = out[0, at - 1]
            at -= 1
        out[0, at] = value


@kernel
def _spread(state, rows, part, actions, lanes, out):
    """The logits of the lanes of rows[part], into the slots of `actions` [R, K] in out [R, K]."""
    lane = np.empty(state.next.shape[1], np.int64)
    for s in range(len(part)):
        r = part[s]
        base = state.operation_at[state.instance[rows[r]]]
        for at in range(lanes.begin[s], lanes.begin[s + 1]):
            lane[lanes.job[at]] = at
        for k in range(actions.shape[1]):
            if actions[r, k] >= 0:
                out[r, k] = lanes.logit[lane[state.job[base + actions[r, k]]]]


@kernel
def _note(part, lanes, context, operation):
    """What was looked at, into the rows `part` of context [R, J, CONTEXT] and operation [R, J]."""
    for s in range(len(part)):
        for at in range(lanes.begin[s], lanes.begin[s + 1]):
            operation[part[s], lanes.job[at]] = lanes.operation[at]
            for k in range(CONTEXT):
                context[part[s], lanes.job[at], k] = lanes.context[k, at]

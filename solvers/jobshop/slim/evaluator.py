"""The policy on a pool of partial schedules: what it sees of rows, its logits, and whole episodes, by kernels.

The context of a job depends on all jobs that are not done, listed or not, so what is seen is a table of jobs; `slot` says which
of them the listed actions are.
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
from corl.solvers.jobshop.slim.observation import Tables, new_tables, observe, tabulate, update
from corl.solvers.jobshop.slim.weights import CONTEXT, Weights

__all__ = ["SlimEvaluator", "SlimPlayer", "evaluator", "look", "shop_of"]

_LANES = 160  # jobs that are looked at together: their numbers fit into the fast caches
_WORK = 8_000  # of a call: about 10 ms, between two looks at the clock
_EDGES = 50_000  # of a call of the encoder, likewise
_known = lru_cache(maxsize=64)(slim_instance)


def evaluator(environment: Environment, weights: Weights) -> SlimEvaluator:
    """The policy on a pool; where every order of operations is legal it plays whole episodes by itself."""
    for instance in environment.instances:
        check(environment, instance)
    anything = environment.state.kind[0] == SEMI_ACTIVE
    return (SlimPlayer if anything else SlimEvaluator)(environment, weights)


class SlimEvaluator:
    """As corl.policy.Evaluator has it; an instance is encoded when its first row is asked for."""

    def __init__(self, environment: Environment, weights: Weights) -> None:
        self._environment, self._weights = environment, weights
        self._encoders, self._encoded = dict[int, Encoder](), dict[int, NDArray[np.float32]]()

    def evaluate(self, view: View) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """See corl.policy.Evaluator; the values are 0."""
        state, rows, actions = self._environment.state, view.rows, view.actions
        out = np.full(actions.shape, -np.inf, np.float32)
        for number, at in _groups(self._environment, rows):
            shop, embedded = shop_of(self._environment, number), self._embedded(number)
            for part, tables, lanes in _parts(shop, at):
                _look(state, rows[part], shop, tables, lanes)
                logits(self._weights, embedded, lanes)
                _spread(state, rows, part, actions, lanes, out)
        return out, np.zeros(len(rows))

    def _embedded(self, number: int, stop: Callable[[], bool] | None = None) -> NDArray[np.float32] | None:
        """The embeddings of an instance, or None where `stop` says so before they are there."""
        if number not in self._encoded:
            encoder = self._encoders.setdefault(number, Encoder(shop_of(self._environment, number), self._weights))
            while not encoder.advance(_EDGES):
                if stop is not None and stop():
                    return None
            self._encoded[number] = self._encoders.pop(number).embedded()
        return self._encoded[number]


class SlimPlayer(SlimEvaluator):
    """As corl.policy.Player has it, on a pool of semi-active schedules. It chooses among all jobs, listed or not."""

    def __init__(self, environment: Environment, weights: Weights) -> None:
        super().__init__(environment, weights)
        self.together = _together(max(instance.jobs for instance in environment.instances))

    def play(
        self,
        rows: NDArray[np.int64],
        temperature: ArrayLike = 0.0,
        random: NDArray[np.uint64] | None = None,
        most: int = 2**31,
        stop: Callable[[], bool] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """See corl.policy.Player."""
        state, hot = self._environment.state, np.broadcast_to(np.asarray(temperature, np.float64), rows.shape)
        random = np.zeros((len(rows), 1), np.uint64) if random is None else random
        rewards, actions = (
            np.zeros(len(rows)),
            np.full((len(rows), min(most, int(state.left[rows].max(initial=0)))), -1, np.int32),
        )
        for number, at in _groups(self._environment, rows):
            shop, embedded = shop_of(self._environment, number), self._embedded(number, stop)
            if embedded is None:
                break
            for part, tables, lanes in _parts(shop, at):
                here, drawn, taken, given = rows[part], random[part], actions[part], np.zeros(len(part))
                steps = max(1, int(_WORK / (len(part) * len(shop.release) * (1.0 + len(shop.release) / 20))))
                _tabulate(state, here, shop, tables)
                for begin in range(0, actions.shape[1], steps):
                    if stop is not None and stop():
                        break
                    end = min(begin + steps, taken.shape[1])
                    _play(state, here, shop, self._weights, embedded, tables, lanes, hot[part], drawn, begin, end, taken, given)
                rewards[part], actions[part], random[part] = given, taken, drawn
        return rewards, actions


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
        for part, tables, lanes in _parts(shop, at):
            _look(environment.state, rows[part], shop, tables, lanes)
            _note(part, lanes, context, operation)
    return {"context": context, "operation": operation, "slot": slot, "scale": np.ones(len(rows))}


def shop_of(environment: Environment, number: int) -> SlimInstance:
    """The instance of that number, for the kernels. Raises UsageError where the policy does not take it."""
    check(environment, environment.instances[number])
    return _known(environment.instances[number])


def check(environment: Environment, instance: JobShopInstance) -> None:
    """Raise UsageError unless a pool is of partial schedules, and the instance is one that the policy takes."""
    if not isinstance(environment.state, State):
        raise UsageError("a network slim plays in one of the environments dispatching and semi-active; accepted: one of these")
    if instance.flexible or instance.objective != "makespan":
        raise UsageError("a network slim is for the makespan without choices of machines; accepted: such instances")


def _groups(environment: Environment, rows: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """(instance, the places of its rows in `rows`)."""
    instances = environment.instance_of(rows)
    for number in np.unique(instances).tolist():
        yield number, np.flatnonzero(instances == number)


def _together(jobs: int) -> int:
    """How many rows of instances of so many jobs are looked at together."""
    return max(1, _LANES // jobs)


def _parts(shop: SlimInstance, at: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], Tables, Lanes]]:
    """Parts of `at` that are looked at together, and memory for each, in which the last one's may be found."""
    together = min(len(at), _together(len(shop.release)))
    tables, lanes = new_tables(shop, together), new_lanes(together, len(shop.release))
    for begin in range(0, len(at), together):
        yield at[begin : begin + together], tables, lanes


@kernel
def _tabulate(state, rows, shop, tables):
    """Fill the tables of `rows`, all of the instance of `shop`."""
    for s in range(len(rows)):
        tabulate(state, rows[s], shop, tables, s)


@kernel
def _observe(state, rows, shop, tables, lanes):
    """Fill begin, job, operation and context of the lanes of `rows`; returns how many lanes there are."""
    end = np.int64(0)
    lanes.begin[0] = 0
    for s in range(len(lanes.begin) - 1):
        if s < len(rows):
            end = observe(state, rows[s], shop, tables, s, lanes, end)
        lanes.begin[s + 1] = end
    return end


@kernel
def _look(state, rows, shop, tables, lanes):
    """Fill begin, job, operation and context of the lanes of `rows`, all of the instance of `shop`; `tables` is scratch."""
    _tabulate(state, rows, shop, tables)
    _observe(state, rows, shop, tables, lanes)


@kernel
def _play(state, rows, shop, weights, embedded, tables, lanes, temperature, random, begin, end, actions, rewards):
    """For each t of begin..end - 1 place an operation of each of `rows` [S], where one is left, and note it in actions [S, T].

    temperature: [S]; random: [S, 1]; rewards: float64 [S], to which those of the steps are added. The tables are those of `rows`.
    """
    base = state.operations_start[state.instance[rows[0]]]
    for t in range(begin, end):
        if _observe(state, rows, shop, tables, lanes) == 0:
            break
        logits(weights, embedded, lanes)
        for s in range(len(rows)):
            if lanes.begin[s] < lanes.begin[s + 1]:
                row, at = rows[s], draw(lanes.logit, lanes.begin[s], lanes.begin[s + 1], temperature[s], random[s])
                i = lanes.operation[at]
                ready, free = state.ready[row, lanes.job[at]], state.free[row, shop.machine[i]]
                actions[s, t] = state.begin[base + i]
                rewards[s] += hooks.step(state, row, row, actions[s, t])
                update(state, row, shop, tables, s, i, ready, free)


@kernel
def _spread(state, rows, part, actions, lanes, out):
    """The logits of the lanes of rows[part], into the slots of `actions` [R, K] in out [R, K]."""
    lane = np.empty(state.next.shape[1], np.int64)
    for s in range(len(part)):
        r = part[s]
        base = state.operations_start[state.instance[rows[r]]]
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

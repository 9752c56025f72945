"""Dispatching rules on the floor, with set-ups and a choice of machines; they are played in the environment "floor"."""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl import hooks
from corl.jit import kernel
from corl.problems.jobshop.environments.floor.environment import FloorEnvironment
from corl.problems.jobshop.environments.floor.features import mean_duration
from corl.problems.jobshop.environments.floor.observation import (
    DUE,
    DURATION,
    ELSEWHERE,
    NOW,
    OF_ACTIONS,
    OF_FLOOR,
    READY,
    REST,
    SETUP,
    WAIT,
    WEIGHT,
    observe_row,
)

__all__ = ["RULES", "FloorRule", "Player", "chosen_by_rule"]

RULES = ("fifo", "edd", "spt", "wspt", "atc", "covert")
"""The names of the rules.

fifo: first in, first out. edd: earliest due date. spt: shortest processing time. wspt: the largest weight / duration. atc:
apparent tardiness cost (Vepsalainen and Morton, Management Science 33, 1987). covert: cost over time (Carroll, 1965), weighted.
"""
_FIFO, _EDD, _SPT, _WSPT, _ATC, _COVERT = range(len(RULES))


class FloorRule(NamedTuple):
    """A dispatching rule with its parameters. The listed action of the largest priority is taken.

    The priority is that of the rule times exp(-setup_weight x set-up / p) x exp(-regret_weight x regret / p), where p is the mean
    duration of the operations that can start, and the regret is how much earlier another machine would finish the operation. With
    the rule atc and a set-up weight this is ATCS (Lee, Bhaskaran and Pinedo, IIE Transactions 29, 1997).
    """

    rule: int
    """Index into RULES."""
    look_ahead: float = 2.0
    """The time that a job is expected to wait: in mean durations (atc), or as a multiple of its remaining work (covert)."""
    setup_weight: float = 0.0
    """The weight of the set-up; 0: set-ups are ignored; a large one: the least set-up first."""
    regret_weight: float = 0.0
    """The weight of the regret. inf: an operation waits for the machine that would finish it first, if that one is not free."""
    threshold: float = -np.inf
    """If the logarithm of the largest priority is below this and a machine is at work, nothing starts until the next event."""


class _Scratch(NamedTuple):
    """Work arrays for one row with up to K listed actions on M machines."""

    listed: NDArray[np.int32]
    """[K] the listed actions."""
    work: NDArray[np.int64]
    """[M] a work array of `observe_row`."""
    jobs: NDArray[np.int64]
    """[K, 17] the columns OF_ACTIONS."""
    floor: NDArray[np.int64]
    """[8] the entries OF_FLOOR."""


class Player:
    """Plays rows of an environment "floor" by a rule."""

    def __init__(self, environment: FloorEnvironment) -> None:
        self._environment = environment
        width, machines = environment.width, environment.state.free.shape[1]
        self._scratch = _Scratch(
            np.empty(width, np.int32),
            np.empty(machines, np.int64),
            np.zeros((width, len(OF_ACTIONS)), np.int64),
            np.zeros(len(OF_FLOOR), np.int64),
        )

    def play(self, row: int, rule: FloorRule, most: int = 2**31) -> int:
        """Take up to `most` actions in `row`, in place; return how many were taken, fewer than `most` at the end of the day."""
        return int(_play(self._environment.state, row, FloorRule(rule[0], *map(float, rule[1:])), self._scratch, most))

    def choose(self, row: int, rule: FloorRule) -> int:
        """Return the action that the rule takes in `row`; -1 at the end of the day."""
        return int(_choose(self._environment.state, row, FloorRule(rule[0], *map(float, rule[1:])), self._scratch))


@kernel
def _play(state, row, rule, scratch, most):
    """Take up to `most` actions in `row`, in place; return how many."""
    taken = 0
    while taken < most:
        action = _choose(state, row, rule, scratch)
        if action < 0:
            break
        hooks.step(state, row, row, action)
        taken += 1
    return taken


@kernel
def _choose(state, row, rule, scratch):
    """Return the action of the rule in `row`; -1 at the end of the day."""
    count = hooks.actions(state, row, scratch.listed)
    if count == 0:
        return -1
    if count == 1:
        return scratch.listed[0]
    observe_row(state, row, scratch.listed, count, scratch.work, scratch.jobs, scratch.floor)
    return scratch.listed[chosen_by_rule(scratch.jobs, count, scratch.floor, rule)]


@kernel
def chosen_by_rule(jobs, count, floor, rule):
    """Return the index of the listed action that the rule takes; of equal ones the first, with waiting last.

    Args:
        jobs: int64 [at least count, 17], the columns OF_ACTIONS.
        count: The number of listed actions, at least 1.
        floor: int64 [8], the entries OF_FLOOR.
        rule: The FloorRule.
    """
    mean, _, _ = mean_duration(jobs, count)
    best, chosen, waiting = -np.inf, -1, -1
    for k in range(count):
        if jobs[k, WAIT]:
            waiting = k
            continue
        value = _log_priority(jobs, k, floor[NOW], mean, rule)
        if value > best or (chosen < 0 and value > -np.inf):
            best, chosen = value, k
    if waiting >= 0 and (chosen < 0 or best < rule.threshold):
        return waiting
    return max(0, chosen)


@kernel(borrow=True)
def _log_priority(jobs, k, now, mean, rule):
    """Return the logarithm of the priority of starting an operation, whose columns OF_ACTIONS are jobs[k]."""
    regret = jobs[k, SETUP] + jobs[k, DURATION] - jobs[k, ELSEWHERE]
    value = -rule.setup_weight * jobs[k, SETUP] / mean
    if regret > 0:
        value -= rule.regret_weight * regret / mean
    if rule.rule == _FIFO:
        return value - jobs[k, READY] / mean
    if rule.rule == _EDD:
        return value - jobs[k, DUE] / mean
    if rule.rule == _SPT:
        return value - np.log(1.0 + jobs[k, DURATION])
    value += np.log(max(1, jobs[k, WEIGHT]) * mean / (1.0 + jobs[k, DURATION]))
    slack = max(0.0, float(jobs[k, DUE] - jobs[k, REST] - now))
    if rule.rule == _ATC:
        value -= slack / (rule.look_ahead * mean)
    elif rule.rule == _COVERT:  # beyond the look-ahead, the slack decides
        share = 1.0 - slack / (1.0 + rule.look_ahead * jobs[k, REST])
        value += np.log(share) if share > 1e-3 else max(-12.0, np.log(1e-3) + 0.1 * (share - 1e-3))
    return value

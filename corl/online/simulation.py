"""`simulate`: a policy plays a simulated day, whose clock may continue while the policy computes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.adapter import Problem
from corl.errors import SolverError, UsageError, shown
from corl.fields import Integer, Number
from corl.online.dispatcher import Dispatcher, dispatcher
from corl.online.stream import Day, OnlinePolicy

__all__ = ["Played", "play", "simulate"]


@dataclass(frozen=True, eq=False)
class Played:
    """The outcome of a day."""

    solution: Any
    """What was done, in the problem's own form of a solution."""
    objective: float
    """Its objective value, by `Problem.evaluate`."""
    seconds: NDArray[np.float64]
    """The wall time of each decision, float64 [decisions], in seconds."""
    late: int
    """The number of decisions that took longer than their time limit; they counted, with their real delay."""
    reduced: int
    """The number of decisions of which only a part was performed, as something had happened during their delay."""


def simulate(
    policy: str | OnlinePolicy,
    instance: Any,
    *,
    problem: str | Problem | None = None,
    key: int = 0,
    seconds: float = 1.0,
    speed: float = 0.0,
    delay: float = 0.0,
    seed: int = 0,
    **policy_options: Any,
) -> Played:
    """Play a day with a policy.

    Args:
        policy: As for `corl.dispatcher`.
        instance: The instance, with everything that the day reveals.
        problem: As for `corl.dispatcher`.
        key: The key of the day's random numbers, from 0: days of equal keys are equal as far as they do not depend on decisions.
        seconds: The time limit of a decision, in seconds of wall time.
        speed: The simulated time, in the instance's units, that passes during a second of a decision's wall time. 0: the clock
            stands still during decisions, so that days can be reproduced.
        delay: A fixed simulated time that passes during a decision besides that, in the instance's units.
        seed: The seed of the policy's random numbers, from 0.
        **policy_options: The policy's own options.

    Raises:
        InputError: A bad instance.
        UsageError: A bad argument.
        SolverError: The policy fails, or makes a decision that is not permitted.
    """
    for name, value, kind in (("key", key, Integer(0)), ("speed", speed, Number(0)), ("delay", delay, Number(0))):
        if not kind.fits(value):
            raise UsageError(f"{name}: {shown(value)} is not accepted; accepted: {kind.words}")
    player = dispatcher(policy, instance, problem=problem, seconds=seconds, seed=seed, **policy_options)
    played = play(player, key, speed, delay, lambda: math.inf)
    assert played is not None
    return played


def play(player: Dispatcher, key: int, speed: float, delay: float, remaining: Callable[[], float]) -> Played | None:
    """Play a day with a dispatcher at its beginning.

    Args:
        player: The dispatcher, which gets the day's events and makes the decisions.
        key: The key of the day's random numbers.
        speed: As for `simulate`.
        delay: As for `simulate`.
        remaining: Returns, before each decision, the seconds of wall time that it may take at most; 0 ends the day.

    Returns:
        The outcome; None if the day was ended early.
    """
    day, seconds, limit, reduced = player.stream.day(player.instance, key), list[float](), player.seconds, 0
    while (event := day.next_event()) is not None:
        player.observe(event)
        passed, whole = 0.0, True
        while whole and player.decidable:  # after a decision that was not wholly performed, what is known is out of date
            player.seconds = min(limit, remaining())
            if player.seconds <= 0:
                return None
            whole, passed = _decide(player, day, speed, passed + delay)
            seconds.append(player.last_seconds)
            reduced += not whole
    solution = day.solution()
    value = float(player.problem.evaluate(player.instance, solution))
    return Played(solution, value, np.array(seconds), player.late, reduced)


def _decide(player: Dispatcher, day: Day, speed: float, passed: float) -> tuple[bool, float]:
    """Make and perform a decision; return whether all of it was performed, and the simulated time since the last event.

    `passed` is that time before the decision; `speed` adds to it during the decision.
    """
    decision = player.propose()
    passed += speed * player.last_seconds
    try:
        performed = day.perform(decision, passed)
        player.record(performed, passed)
    except UsageError as error:
        raise SolverError(f"policy {player.name} made a decision that is not permitted: {error}") from error
    return dict(performed) == decision, passed

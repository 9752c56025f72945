"""Checks of the arguments of a RoutingModel for soft windows and travel times by the hour; `of` names the argument in errors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from corl import arguments as check
from corl.errors import UsageError
from corl.modelling.routing_fields import moment_in, times_in
from corl.modelling.travel import square

__all__ = ["periods_in", "soft_window_in", "speed_factors_in"]

_FACTORS = "a list of numbers from 1e-6 to 1e6, one for each period"


def soft_window_in(unit: str, of: str, window: Any, early_cost: Any, late_cost: Any) -> dict[str, Any]:
    """Return the fields of a client for its soft window, in a unit of time; none if it has no window. Raises UsageError."""
    costs = {"early_cost": early_cost, "late_cost": late_cost}
    found: dict[str, Any] = {key: check.number(f"{of}: {key}", cost) for key, cost in costs.items()}
    if window is None:
        if any(found.values()):
            raise UsageError(f"{of}: {'early_cost' if found['early_cost'] else 'late_cost'} without soft_window; accepted: both")
        return {}
    if not any(found.values()):
        raise UsageError(f"{of}: soft_window without a cost; accepted: early_cost or late_cost above 0")
    return times_in(unit, of, soft_window=window) | found


def speed_factors_in(of: str, given: Any) -> dict[str, Any]:
    """Return the field of a vehicle for its speed in each period; none if it is not given. Raises UsageError."""
    return {} if given is None else {"speed_factors": _factors(f"{of}: speed_factors", given)}


def periods_in(unit: str, begins: Any, speed_factors: Any, durations: Any) -> list[dict[str, Any]]:
    """Return the field "periods" of an instance. Raises UsageError."""
    times = [moment_in(unit, "begins", each) for each in check.entries("begins", begins, "a list of times")]
    if not times or times[0] != 0 or any(one >= two for one, two in pairwise(times)):
        raise check.refusal("begins", begins, "0, then later times in order")
    if (speed_factors is None) == (durations is None):
        raise UsageError("set_periods: accepted: either speed_factors or durations")
    values: list[Any]
    if durations is None:
        values, key = _factors("speed_factors", speed_factors), "speed_factor"
    else:
        values, key = [square("durations", each) for each in _listed(durations)], "durations"
    if len(values) != len(times):
        raise UsageError(f"set_periods: {len(values)} values for {len(times)} periods; accepted: one for each of begins")
    return [{"from": begin, key: value} for begin, value in zip(times, values)]


def _factors(of: str, given: Any) -> list[float]:
    """Return speed factors. Raises UsageError."""
    return [check.number(of, each, 1e-6, 1e6) for each in check.entries(of, given, _FACTORS)]


def _listed(given: Any) -> Sequence[Any]:
    """Return matrices as a list; an array [H, N, N] is accepted. Raises UsageError."""
    return (
        list(given)
        if isinstance(given, np.ndarray) and given.ndim == 3
        else check.entries("durations", given, "a square matrix of finite numbers from 0 for each period")
    )

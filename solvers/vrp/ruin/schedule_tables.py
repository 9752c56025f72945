"""The tables of soft windows and of travel times by the hour, as arrays for the kernels of schedules.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.rules import SideConstraints
from corl.solvers.vrp.ruin.schedule_points import FIRST_TIME

__all__ = ["schedule_columns", "schedule_tables"]

_POINTS = 48  # greatest number of points of a function; more are rare, as most idle time ends most of them


def schedule_columns(width: int) -> int:
    """Return how many columns of a row of segments the points take if there is room for `width` of them."""
    return FIRST_TIME + 2 * width if width else 0


def schedule_tables(instance: VrpInstance, rules: SideConstraints, extra: int, column: int) -> dict[str, Any]:
    """Return the fields of ConstraintTables from `has_schedule` on.

    Args:
        instance: The instance.
        rules: Its side constraints.
        extra: The number of reload nodes.
        column: The first free column of segments.
    """
    types, n, depots = instance.vehicles.types, instance.n, instance.depots
    has_soft_windows, hourly = rules.soft_windows is not None, rules.hourly
    windows = rules.of("soft_windows", np.column_stack([np.zeros(n), np.full(n, np.inf)]))
    early, late = rules.of("early_cost", np.zeros(n)), rules.of("late_cost", np.zeros(n))
    starts = rules.of("period_starts", np.zeros(1))
    priced = rules.lasting or bool(np.isfinite(instance.vehicles.max_duration).any())
    rate = rules.of("duration_cost", np.zeros(types)) if has_soft_windows else np.full(types, 1.0 if priced else 0.0)

    def of_clients(values: NDArray[np.float64], default: float) -> NDArray[np.float64]:
        return np.concatenate([values[depots:], np.full(extra, default)])

    return {
        "has_schedule": has_soft_windows or hourly,
        "has_soft_windows": has_soft_windows,
        "hourly": hourly,
        "hourly_matrices": rules.period_durations is not None,
        "schedule_column": column,
        # Besides the points of a function: two ends of the window, two of the soft window, and two for each change of period.
        "schedule_width": _POINTS + 2 * len(starts) + 4 if has_soft_windows or hourly else 0,
        "schedule_points": _POINTS,
        "last_event": _last_event(instance, rules),
        "schedule_rate": np.array(rate, np.float64),
        "soft_begin": of_clients(windows[:, 0], 0.0),
        "soft_end": of_clients(windows[:, 1], np.inf),
        "early_rate": of_clients(np.where(windows[:, 0] > 0.0, early, 0.0), 0.0),
        "late_rate": of_clients(np.where(np.isfinite(windows[:, 1]), late, 0.0), 0.0),
        "period_starts": np.array(starts),
        "speed_factors": np.array(rules.of("speed_factors", np.ones((types, 1)))),
        "period_durations": np.array(rules.of("period_durations", np.zeros((0, 0, 0)))),
    }


def _last_event(instance: VrpInstance, rules: SideConstraints) -> float:
    """Return the last of all finite times of windows, shifts and periods."""
    tables = (instance.earliest, instance.latest, rules.soft_windows, rules.period_starts, rules.shift)
    times = np.concatenate([np.zeros(1), *(table.ravel() for table in tables if table is not None)])
    return float(times[np.isfinite(times)].max())

"""Checks of the rules of time: soft windows with penalties, and travel times that depend on the hour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corl.errors import InputError

if TYPE_CHECKING:
    from corl.problems.vrp.instance import VrpInstance
    from corl.problems.vrp.rules import SideConstraints

__all__ = ["WORDS_OF_TIME", "check_times", "shapes_of_time"]

_BY_HOUR = "travel times that depend on the hour"
WORDS_OF_TIME = {"soft_windows": "soft windows", "speed_factors": _BY_HOUR, "period_durations": _BY_HOUR}
"""Field -> the name of its rule in messages."""


def shapes_of_time(instance: VrpInstance) -> dict[str, tuple[int | None, ...]]:
    """Return field -> shape of the fields of SideConstraints that this module checks; None: any length."""
    n, types = instance.n, instance.vehicles.types
    return {
        "soft_windows": (n, 2), "early_cost": (n,), "late_cost": (n,), "period_starts": (None,),
        "speed_factors": (types, None), "period_durations": (None, n, n),
    }  # fmt: skip


def check_times(rules: SideConstraints, instance: VrpInstance) -> None:
    """Raise InputError if soft windows or periods have invalid values, or come with rules that are not supported with them."""
    if rules.soft_windows is not None:
        _check_soft_windows(rules, instance)
    _check_periods(rules)
    pauses = {"closed": "several windows per client", "breaks": "breaks", "max_driving": "rests from driving"}
    refused = pauses | {"release": "release times"}
    for words, given, others in (
        ("soft windows", rules.soft_windows is not None, refused | {"overtime_cost": "overtime"}),
        (_BY_HOUR, rules.hourly, refused),
    ):
        for name, other in others.items() if given else ():
            if getattr(rules, name) is not None:
                raise InputError(f"{words} together with {other} are not supported", field=name)
    if rules.soft_windows is not None and bool(np.isfinite(instance.vehicles.max_duration).any()):
        raise InputError("soft windows together with maximum durations are not supported; accepted: shifts", field="max_duration")


def _check_soft_windows(rules: SideConstraints, instance: VrpInstance) -> None:
    """Check the soft windows and their costs. Raises InputError."""
    assert rules.soft_windows is not None and rules.early_cost is not None and rules.late_cost is not None
    begins, ends = rules.soft_windows.T
    if not np.isfinite(begins).all():
        raise InputError("accepted: begins that are finite", field="soft_windows")
    if (bad := ends < begins).any():
        i = int(bad.argmax())
        unit = instance.scale * instance.speed
        message = f"node {instance.labels[i]}'s soft window ends at {ends[i] / unit:g}, before it begins at {begins[i] / unit:g}"
        raise InputError(message, field="soft_windows")
    depots = slice(0, instance.depots)
    if begins[depots].any() or not np.isinf(ends[depots]).all():
        raise InputError("accepted: (0, inf) at depots", field="soft_windows")


def _check_periods(rules: SideConstraints) -> None:
    """Check the periods, and the speeds or travel times in them. Raises InputError."""
    tables = {"speed_factors": rules.speed_factors, "period_durations": rules.period_durations}
    given = {name: table for name, table in tables.items() if table is not None}
    if rules.period_starts is None and not given:
        return
    if rules.period_starts is None or len(given) != 1:
        raise InputError("accepted: period_starts with either speed_factors or period_durations", field="period_starts")
    starts, ((name, table),) = rules.period_starts, given.items()
    if not len(starts) or starts[0] != 0.0 or not (np.diff(starts) > 0.0).all():
        raise InputError("accepted: 0, then later times in order", field="period_starts")
    if table.shape[1 if name == "speed_factors" else 0] != len(starts):
        raise InputError(f"accepted: one for each of {len(starts)} periods", field=name)
    if name == "speed_factors" and not (table > 0.0).all():
        raise InputError("accepted: numbers above 0", field=name)
    if name == "period_durations" and rules.durations is not None:
        raise InputError("accepted: travel times by the hour or for all hours (durations), not both", field=name)

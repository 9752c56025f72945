"""Travel times that depend on the hour: arrivals and departures of a leg that may cross periods of the day.

In each period a vehicle covers the share of the leg that the period's travel time allows, so that who leaves later never arrives
earlier (FIFO): Ichoua, Gendreau & Potvin, Vehicle Dispatching with Time-Dependent Travel Times, EJOR 144 (2003).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from corl.jit import kernel

__all__ = ["arrival", "departure"]


@kernel(inline=True, borrow=True)
def _travel_within(data, rules, i, j, kind, travel, period):
    """Return the travel time from node i to node j within one period; `travel` is that at speed factor 1."""
    if not rules.hourly_matrices:
        return travel / rules.speed_factors[kind, period]
    if j >= data.clients:
        if i >= data.clients or data.metric_node[j + (len(data.metric_node) - data.clients) // 2] < 0:
            return 0.0
        j += (len(data.metric_node) - data.clients) // 2
    return rules.period_durations[period, data.metric_node[i], data.metric_node[j]]


@kernel(borrow=True)
def arrival(data, rules, i, j, kind, travel, time):
    """Return when a vehicle of type `kind` that leaves node i at `time` arrives at node j.

    travel: The travel time at speed factor 1; unused with a matrix for each period.
    """
    period, last, remaining = 0, len(rules.period_starts) - 1, 1.0
    while period < last and rules.period_starts[period + 1] <= time:
        period += 1
    while True:
        duration = _travel_within(data, rules, i, j, kind, travel, period)
        if period == last or time + remaining * duration <= rules.period_starts[period + 1]:
            return time + remaining * duration
        remaining -= (rules.period_starts[period + 1] - time) / duration
        period += 1
        time = rules.period_starts[period]


@kernel(borrow=True)
def departure(data, rules, i, j, kind, travel, time):
    """Return the latest time at which a vehicle of type `kind` leaves node i if it arrives at node j at `time`.

    It may be negative. travel: As in `arrival`.
    """
    period, remaining = len(rules.period_starts) - 1, 1.0
    while period > 0 and rules.period_starts[period] >= time:
        period -= 1
    while True:
        duration = _travel_within(data, rules, i, j, kind, travel, period)
        if period == 0 or time - remaining * duration >= rules.period_starts[period]:
            return time - remaining * duration
        remaining -= (time - rules.period_starts[period]) / duration
        time = rules.period_starts[period]
        period -= 1

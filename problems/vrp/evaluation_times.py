"""The judge of times that cost something or depend on the hour: soft windows, and travel times by periods of the day.

The times of a route are a chain: each service begins when its vehicle has arrived, or later. The cost of times is piecewise
linear in them, and travel times are so in the departure. In a best schedule, therefore, some time of each run of services without
idle time in between is an event: the begin or end of a window, or a leg that begins or ends with a period. The candidate times of
each visit are its own events, those of earlier visits driven forward, and those of later visits driven backward.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.routes import Route
from corl.tolerance import LIMIT, keeps

__all__ = ["Legs", "arrivals", "best_times", "earliest_times", "legs_of", "penalties"]

_Floats = NDArray[np.float64]


class Legs(NamedTuple):
    """The legs of a route."""

    starts: _Floats
    """float64 [H]: when each period begins; -inf for the first."""
    durations: _Floats
    """float64 [legs, H]: the travel time of each leg that is driven within one period."""

    def arrivals(self, leg: int, departures: _Floats) -> _Floats:
        """Return when vehicles that depart at these times arrive, float64 of the same shape."""
        return arrivals(self.starts, self.durations[leg], departures)

    def departures(self, leg: int, arrivals: _Floats) -> _Floats:
        """Return the latest departures with these arrivals, float64 of the same shape."""
        times, remaining = np.array(arrivals, np.float64), np.ones(np.shape(arrivals))
        for period in range(len(self.starts) - 1, -1, -1):
            begin, duration = self.starts[period], float(self.durations[leg, period])
            needed = remaining * duration
            leaves = (remaining > 0.0) & (times - needed >= begin)
            drives = (remaining > 0.0) & ~leaves & (times > begin)
            times = np.where(leaves, times - needed, times)
            remaining = np.where(leaves, 0.0, remaining)
            if drives.any():
                remaining = np.where(drives, remaining - (times - begin) / duration, remaining)
                times = np.where(drives, begin, times)
        return times


def arrivals(starts: _Floats, durations: _Floats, departures: _Floats) -> _Floats:
    """Return when vehicles arrive, float64 of the broadcast shape of a period's durations and the departures.

    In each period, a vehicle covers the share of the way that the period's travel time allows.

    Args:
        starts: float64 [H], when each period begins; the first begins before all departures.
        durations: float64 [H, ...], the travel times within each period.
        departures: float64, the departures.
    """
    shape = np.broadcast_shapes(np.shape(durations[0]), np.shape(departures))
    times, remaining = np.broadcast_to(departures, shape).astype(np.float64), np.ones(shape)
    for period, duration in enumerate(durations):
        end = starts[period + 1] if period + 1 < len(starts) else np.inf
        needed = remaining * duration
        arrives = (remaining > 0.0) & (times + needed <= end)
        drives = (remaining > 0.0) & ~arrives & (times < end)
        times = np.where(arrives, times + needed, times)
        remaining = np.where(arrives, 0.0, remaining)
        if drives.any():
            remaining = np.where(drives, remaining - (end - times) / np.where(drives, duration, 1.0), remaining)
            times = np.where(drives, end, times)
    return times


def legs_of(instance: VrpInstance, route: Route, path: NDArray[np.int64], travel: _Floats) -> Legs:
    """Return the legs of a route.

    Args:
        instance: The instance.
        route: The route.
        path: int64, its nodes from depot to depot.
        travel: float64 [len(path) - 1], the travel times, regardless of periods.
    """
    rules = instance.rules
    assert rules is not None
    if rules.period_starts is None:
        return Legs(np.array([-np.inf]), travel[:, None])
    starts = np.concatenate([[-np.inf], rules.period_starts[1:]])
    if rules.speed_factors is not None:
        return Legs(starts, travel[:, None] / rules.speed_factors[route.vehicle])
    assert rules.period_durations is not None
    durations = rules.period_durations[:, path[:-1], path[1:]].T.copy()
    if rules.stays_out is not None and rules.stays_out[route.vehicle]:
        durations[-1] = 0.0
    return Legs(starts, durations)


def earliest_times(opens: _Floats, service: _Floats, legs: Legs) -> _Floats:
    """Return float64 [m]: the earliest times of a route: of its departure, of each service, and of its return.

    Args:
        opens: float64 [m], the earliest time of each step.
        service: float64 [m], the durations of service.
        legs: The m - 1 legs.
    """
    times = opens.copy()
    for i in range(1, len(times)):
        times[i] = max(opens[i], float(legs.arrivals(i - 1, times[i - 1] + service[i - 1])))
    return times


def penalties(instance: VrpInstance, path: NDArray[np.int64], times: _Floats) -> tuple[_Floats, _Floats]:
    """Return by how much service at each node of a path begins before and after its soft window, two float64 [len(times)].

    path: int64 [len(times)], or [1] for one node and several times.
    """
    rules = instance.rules
    if rules is None or rules.soft_windows is None:
        return np.zeros(len(times)), np.zeros(len(times))
    begins, ends = rules.soft_windows[path].T
    return np.maximum(0.0, begins - times), np.maximum(0.0, times - ends)


def best_times(
    instance: VrpInstance, path: NDArray[np.int64], opens: _Floats, closes: _Floats, service: _Floats, legs: Legs, rate: float
) -> _Floats | None:
    """Return float64 [m]: the times of the schedule with the least cost of times; None if no schedule keeps all windows.

    Of equally good schedules it is one with the earliest return, and with the latest departure for it.

    Args:
        instance: The instance.
        path: int64 [m], the nodes of the route from depot to depot.
        opens: float64 [m], the earliest time of the departure, of each service and of the return.
        closes: float64 [m], the latest times.
        service: float64 [m], the durations of service.
        legs: The m - 1 legs.
        rate: The cost of a unit of time from departure to return.
    """
    m = len(path)
    candidates = _candidate_times(instance, path, opens, closes, service, legs)
    reached: list[_Floats] = []  # the earliest arrival at step i + 1 after each candidate of step i
    costs: list[_Floats] = []
    for i, times in enumerate(candidates):
        if not len(times):
            return None
        early, late = penalties(instance, path[i : i + 1], times)
        early_rate, late_rate = _rates(instance, path[i])
        cost = early_rate * early + late_rate * late
        cost += rate * times if i + 1 == m else -rate * times if i == 0 else 0.0
        if i:
            arrivals = np.maximum.accumulate(legs.arrivals(i - 1, candidates[i - 1] + service[i - 1]))
            reached.append(arrivals)
            # The number of candidates of step i - 1 from which each candidate of step i is reached in time.
            count = np.searchsorted(arrivals, times + LIMIT * np.abs(times), side="right")
            least = np.append(np.inf, np.minimum.accumulate(costs[-1]))
            cost = cost + least[count]
        costs.append(cost)
    if not np.isfinite(costs[-1]).any():
        return None
    chosen = np.empty(m)
    k = int(costs[-1].argmin())
    chosen[m - 1] = candidates[m - 1][k]
    for i in range(m - 2, -1, -1):
        most = int(np.searchsorted(reached[i], chosen[i + 1] + LIMIT * abs(chosen[i + 1]), side="right"))
        k = most - 1 - int(costs[i][:most][::-1].argmin())
        chosen[i] = candidates[i][k]
    for i in range(1, m):  # without the rounding of times that were driven backward
        chosen[i] = max(chosen[i], float(legs.arrivals(i - 1, chosen[i - 1] + service[i - 1])))
    return chosen


def _rates(instance: VrpInstance, node: int) -> tuple[float, float]:
    """Return the costs of a unit of earliness and of lateness at a node."""
    rules = instance.rules
    if rules is None or rules.early_cost is None or rules.late_cost is None:
        return 0.0, 0.0
    return float(rules.early_cost[node]), float(rules.late_cost[node])


def _candidate_times(
    instance: VrpInstance, path: NDArray[np.int64], opens: _Floats, closes: _Floats, service: _Floats, legs: Legs
) -> list[_Floats]:
    """Return the candidate times of each step within its window, in order; the arguments are those of `best_times`."""
    rules, m = instance.rules, len(path)
    soft = np.zeros((m, 0)) if rules is None or rules.soft_windows is None else rules.soft_windows[path]
    boundaries = legs.starts[1:]
    events = []
    for i in range(m):
        own = np.concatenate([[opens[i], closes[i]], soft[i], boundaries, boundaries - service[i]])
        events.append(own[np.isfinite(own)])
    forward, backward = events[:1], events[-1:]
    for i in range(1, m):
        forward.append(np.concatenate([events[i], legs.arrivals(i - 1, forward[-1] + service[i - 1])]))
    for i in range(m - 2, -1, -1):
        backward.append(np.concatenate([events[i], legs.departures(i, backward[-1]) - service[i]]))
    found = []
    for i, (ahead, behind) in enumerate(zip(forward, backward[::-1])):
        times = np.unique(np.concatenate([ahead, behind]))
        times = np.where(np.abs(times - opens[i]) <= LIMIT * np.abs(opens[i]), opens[i], times)
        found.append(np.unique(times[(times >= opens[i]) & np.asarray(keeps(times, closes[i]))]))
    return found

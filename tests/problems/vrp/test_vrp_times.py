"""Soft windows and travel times by the hour: the judge beside brute force, timetables, files, and what is refused by name."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from corl.errors import Infeasible, InputError, UsageError
from corl.problems.vrp.evaluation import schedule
from corl.problems.vrp.evaluation_times import Legs
from corl.problems.vrp.problem import Vrp
from corl.problems.vrp.routes import Route
from corl.problems.vrp.timetable import stops
from support.mixes.vrp_routes import Routes
from support.mixes.vrp_times import latest_below, reach, soft_cost

VRP = Vrp()
LINE = [[0, 4, 6], [4, 0, 3], [6, 3, 0]]


def given(clients=({}, {}), vehicle=None, **more):
    """An instance of two clients."""
    clients = [{"id": k} | each for k, each in enumerate(clients, 1)]
    return VRP.adapt(
        {"problem": "vrp", "matrix": LINE, "depots": [{"id": 0}], "clients": clients, "vehicles": [vehicle or {}]} | more
    )


def route(*visits):
    return Route(0, np.array(visits, np.int32))


SOFT = ({"soft_window": [10, 12], "early_cost": 2, "late_cost": 1, "service": 2}, {"soft_window": [None, 5], "late_cost": 3})


def test_service_waits_for_a_soft_window_if_that_is_cheaper():
    """To client 1 at 10 and to client 2 at 15, ten late: 30; or at once, 6 early and 4 late: 12 + 12."""
    instance = given(SOFT)
    assert schedule(instance, route(1, 2)).begin.tolist() == [4, 9] and VRP.evaluate(instance, [[1, 2]]) == 13 + 12 + 12
    stop = stops(instance, route(1, 2))
    assert (stop[0].early, stop[0].late, stop[1].early, stop[1].late) == (6, 0, 0, 4)
    assert schedule(instance, route(2, 1)).begin.tolist() == [6, 10] and VRP.evaluate(instance, [[2, 1]]) == 13 + 3
    assert stops(instance, route(2, 1))[1].wait == 1


def test_waiting_costs_time():
    """A unit of time costs 5, a unit of earliness 2: nobody waits, and the vehicle leaves later instead if no one is late."""
    instance = given((SOFT[0],), {"duration_cost": 5}, matrix=[[0, 4], [4, 0]])
    times = schedule(instance, route(1))
    assert (times.leave, times.begin.tolist(), times.back, times.duration, times.penalty) == (6, [10], 16, 10, 0)
    closed = given((SOFT[0],), {"duration_cost": 5, "shift": [0, 12]}, matrix=[[0, 4], [4, 0]])
    assert schedule(closed, route(1)).penalty == 2 * 4 and VRP.evaluate(closed, [[1]]) == 8 + 50 + 8


def test_hard_limits_hold_beside_soft_ones():
    """A soft window widens nothing: later than the window, the client is not served."""
    late = ({"window": [0, 3], "soft_window": [0, 2], "late_cost": 1}, {})
    with pytest.raises(Infeasible, match="client 1 at 4; its window ends at 3"):
        VRP.evaluate(given(late), [[1, 2]])


def test_a_leg_across_periods():
    """Half as fast from 7 on: 3 to go at 6 is 1 until 7, then 2 at half the speed; a matrix for each hour says the same."""
    slow = given(SOFT, periods=[{"from": 0}, {"from": 7, "speed_factor": 0.5}])
    times = stops(slow, route(1, 2))
    assert [stop.arrival for stop in times] == [4, 11] and schedule(slow, route(1, 2)).back == 23
    table = [{"from": 0, "durations": LINE}, {"from": 7, "durations": (2 * np.array(LINE)).tolist()}]
    assert schedule(given(SOFT, periods=table), route(1, 2)).back == 23
    with pytest.raises(Infeasible, match="client 2 at 11; its window ends at 10"):
        VRP.evaluate(given(({"service": 2}, {"window": [0, 10]}), periods=table), [[1, 2]])


def test_a_vehicle_leaves_after_the_peak():
    """Between 0 and 10 the way takes ten times as long; what is paid is time."""
    instance = given(vehicle={"duration_cost": 1}, periods=[{"from": 0, "speed_factor": 0.1}, {"from": 10}])
    assert schedule(instance, route(1, 2)).leave == 10 and VRP.evaluate(instance, [[1, 2]]) == 26


@pytest.mark.parametrize("seed", range(40))
def test_who_leaves_later_never_arrives_earlier(seed):
    """FIFO, with any travel times in any periods; arrivals and departures are inverse; beside a drive from period to period."""
    random = np.random.default_rng(seed)
    starts = np.cumsum(random.integers(1, 20, 4)).astype(float) - 1
    starts[0] = 0.0
    ways = random.integers(1, 40, 4).astype(float)
    legs, leaves = Legs(np.concatenate([[-np.inf], starts[1:]]), ways[None]), np.sort(random.uniform(0, 80, 200))
    arrivals = legs.arrivals(0, leaves)
    assert (np.diff(arrivals) > 0).all() and np.allclose(legs.departures(0, arrivals), leaves)
    assert np.allclose(arrivals, [reach(time, starts.tolist(), ways.tolist()) for time in leaves])


def random_route(seed, hourly):
    """A route of three clients with soft windows, some hard ones and a price of time, perhaps with periods."""
    random = np.random.default_rng([seed, 5])
    clients = []
    for k in range(1, 4):
        begin, hard = int(random.integers(0, 30)), int(random.integers(0, 20))
        client = {"id": k, "service": int(random.integers(0, 4)), "soft_window": [begin, begin + int(random.integers(0, 6))]}
        client |= {"early_cost": int(random.integers(0, 4)), "late_cost": int(random.integers(1, 4))}
        clients.append(client | ({"window": [hard, hard + 30]} if random.random() < 0.5 else {}))
    matrix = random.integers(1, 10, (4, 4))
    np.fill_diagonal(matrix, 0)
    periods = [{"from": 0}, {"from": 9, "speed_factor": 0.5}, {"from": 17, "speed_factor": 1.25}] if hourly else None
    return VRP.adapt({
        "problem": "vrp", "matrix": matrix.tolist(), "depots": [{"id": 0}], "clients": clients,
        "vehicles": [{"duration_cost": int(random.integers(0, 3))}], "periods": periods,
    })  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_soft_windows_beside_whole_times(seed):
    """The least cost over all whole times, one by one."""
    instance = random_route(seed, False)
    brute = Routes(instance)
    for order in itertools.permutations((1, 2, 3)):
        expected = brute.cost(0, ((0, order),))
        if math.isinf(expected):
            with pytest.raises(Infeasible):
                VRP.evaluate(instance, [list(order)])
        else:
            assert VRP.evaluate(instance, [list(order)]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_both_rules_beside_a_fine_grid(seed):
    """Soft windows with periods: no schedule on a grid of quarters is better, and one is nearly as good."""
    instance = random_route(seed, True)
    path, grid = [0, 1, 2, 3, 0], np.arange(0, 120, 0.25)
    rules, rate, arrive = instance.rules, float(instance.rules.duration_cost[0]), {}
    for k, (one, two) in enumerate(itertools.pairwise(path)):
        ways = [float(instance.matrix[one, two]) / factor for factor in rules.speed_factors[0].tolist()]
        service = float(instance.service[one])
        arrive[k] = np.array([reach(time + service, rules.period_starts.tolist(), ways) for time in grid.tolist()])
    cost = -rate * grid
    for k, node in enumerate(path[1:]):
        before = np.minimum.accumulate(cost)
        count = np.searchsorted(arrive[k], grid, side="right")
        cost = np.where(count > 0, before[np.maximum(count - 1, 0)], math.inf)
        begin, end = rules.soft_windows[node]
        cost += rules.early_cost[node] * np.maximum(0, begin - grid)
        cost += rules.late_cost[node] * np.maximum(0, grid - end) if rules.late_cost[node] else 0.0
        if instance.windows:
            cost = np.where((grid >= instance.earliest[node]) & (grid <= instance.latest[node]), cost, math.inf)
    best, legs = float((cost + rate * grid).min()), float(sum(instance.matrix[a, b] for a, b in itertools.pairwise(path)))
    if math.isinf(best):
        return
    found = VRP.evaluate(instance, [[1, 2, 3]])
    assert found <= best + legs + 1e-9 and found >= best + legs - 0.25 * 4 * (rate + 3 + 3 + 3)


def test_the_brute_force_itself():
    """One client of service 0, two away, soft window 5 to 6: at 5 without cost, at 2 three early, and 8 is two late."""
    assert soft_cost([(0, 9)] * 3, [2, 2], [0, 0, 0], [(0, math.inf), (5, 6), (0, math.inf)], [(0, 0), (1, 1), (0, 0)], 0.0) == 0
    assert (
        soft_cost(
            [(0, 0), (0, 9), (0, 4)], [2, 2], [0, 0, 0], [(0, math.inf), (5, 6), (0, math.inf)], [(0, 0), (1, 1), (0, 0)], 1
        )
        == 7
    )
    assert latest_below(lambda x: 2 * x, 3.0, 0.0, 10.0) == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clients": [{"id": 1, "soft_window": [1, 2]}]}, "early_cost or late_cost"),
        ({"clients": [{"id": 1, "late_cost": 2}]}, "together with soft_window"),
        ({"clients": [{"id": 1, "soft_window": [5, 2], "late_cost": 1}]}, "before it begins"),
        ({"periods": [{"from": 3}]}, "accepted: 0, then later times"), ({"periods": [{}, {}]}, "accepted: 0, then later"),
        ({"periods": [{"speed_factor": 0}]}, "speed_factor"), ({"periods": [{"durations": [[0]]}]}, "durations"),
        ({"periods": [{"durations": LINE, "speed_factor": 2}]}, "not both"),
        ({"vehicles": [{"speed_factors": [1]}]}, "together with periods"),
        ({"vehicles": [{"speed_factors": [1, 2]}], "periods": [{}]}, "speed_factors"),
        ({"clients": SOFT, "vehicles": [{"max_duration": 9}]}, "soft windows together with maximum durations"),
        ({"clients": SOFT, "vehicles": [{"overtime_from": 9, "overtime_cost": 1}]}, "soft windows together with overtime"),
        ({"periods": [{}], "vehicles": [{"breaks": [{"window": [1, 2], "duration": 1}]}]}, "the hour together with breaks"),
        ({"periods": [{"durations": LINE}], "profiles": [{"durations": LINE}]}, "not both"),
        ({"depots": [{"id": 0, "soft_window": [0, 1]}]}, "soft_window"),
    ],
)  # fmt: skip
def test_faults(change, message):
    """In one line that says what is accepted."""
    clients = change.get("clients", ({}, {}))
    with pytest.raises(InputError, match=message) as caught:
        given(
            clients,
            **{"matrix": LINE if len(clients) == 2 else [[0, 4], [4, 0]]} | {k: v for k, v in change.items() if k != "clients"},
        )
    assert "\n" not in str(caught.value)


def test_units_and_formats(tmp_path):
    """Times and costs in the file's units, "HH:MM" too; VRPLIB and VROOM do not know the rules."""
    instance = given(SOFT, {"speed_factors": [1, 2]}, speed=2, units={"time": "min"}, periods=[{}, {"from": "00:30"}])
    assert instance.rules.soft_windows[1].tolist() == [20, 24] and instance.rules.late_cost[1:].tolist() == [0.5, 1.5]
    assert instance.rules.period_starts.tolist() == [0, 60] and instance.rules.speed_factors.tolist() == [[1, 2]]
    plain = given(SOFT, units={"time": "min"})
    written = given([{"id": 2, **SOFT[0]}, {"id": 3}], {"capacity": 9}, depots=[{"id": 1}])
    slow = given(
        [{"soft_window": [5, 6], "early_cost": 4, "late_cost": 2, "service": 1}, {"soft_window": [0, 2.5], "late_cost": 6}],
        speed=2,
    )
    assert VRP.evaluate(slow, [[1, 2]]) == VRP.evaluate(plain, [[1, 2]])
    for name, words in (("a.vrp", "VRPLIB's format does not know soft windows"), ("a.vroom.json", "does not know soft windows")):
        with pytest.raises(UsageError, match=words):
            VRP.write(written, tmp_path / name)


def test_reasons_of_infeasible_hours():
    """Even at the fastest hour the client is too far; a soft window is no reason."""
    far = given(({"window": [0, 1], **SOFT[1]}, {}), periods=[{"speed_factor": 3}])
    assert VRP.infeasible(far) == "no vehicle can serve client 1 because of its window (1 such)"
    assert VRP.infeasible(given(({"window": [0, 2]}, {}), periods=[{"speed_factor": 3}])) == ""
    peak = [{"speed_factor": 0.5}, {"from": 6, "speed_factor": 2}]
    slow = given(({"window": [0, 7]}, {}), periods=peak)  # 3 of 4 until 6, then half a unit
    assert VRP.infeasible(slow) == "" and VRP.evaluate(slow, [[1, 2]]) == 13
    assert "because of its window" in VRP.infeasible(given(({"window": [0, 6]}, {}), periods=peak))

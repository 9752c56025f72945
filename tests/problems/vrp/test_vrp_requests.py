"""Requests that arrive during the day: rules of epochs, and the stream's refusals."""

from __future__ import annotations

import numpy as np
import pytest

from corl.errors import InputError, UsageError
from corl.problems.vrp.generators import solomon
from corl.problems.vrp.generators_requests import clustered_customers, requests
from corl.problems.vrp.online.days import customers_of, requests_of
from corl.problems.vrp.online.epochs import EPOCH, MARGIN, Requests, departure, epochs
from corl.problems.vrp.online.situation import must_go
from corl.problems.vrp.problem import Vrp

DAY = requests(size=20, per_epoch=6, seed=1)


def play(decide):
    """Play DAY with routes decide(knowledge, must) and return the solution."""
    stream, day = Vrp().stream(DAY), Vrp().stream(DAY).day(DAY, 0)
    knowledge = stream.begin(DAY)
    while (event := day.next_event()) is not None:
        stream.observe(knowledge, event)
        if stream.decidable(knowledge):
            ids, now = knowledge.situation()
            decision = {"routes": decide(ids, now.must)}
            stream.perform(knowledge, day.perform(decision))
    return day.solution()


def at_once(ids, must):
    """A route for each waiting request."""
    return [[int(number)] for number in ids]


def as_late(ids, must):
    """A route for each request that must go."""
    return [[int(number)] for number in ids[must]]


@pytest.mark.parametrize("decide", [at_once, as_late])
def test_cost_is_driving_time(decide):
    """A route for each request costs the round trips, whenever it leaves; customers of the past cost nothing."""
    nodes = requests_of(DAY)[0]
    assert Vrp().evaluate(DAY, play(decide)) == (DAY.matrix[0, nodes] + DAY.matrix[nodes, 0]).sum()


def test_requests_that_must_go_cannot_wait():
    """A request must go if and only if a vehicle of its own could not serve it an epoch later."""
    customers = customers_of(DAY)[1]
    _, known, drawn = requests_of(DAY)
    last = epochs(customers.earliest[1:]).last
    for epoch in range(known.min(), last):
        must = must_go(customers, drawn, epoch, last)
        for i, place in enumerate(drawn.customer):
            begin = max(departure(epoch + 1) + customers.matrix[0, place], drawn.earliest[i])
            back = begin + drawn.service[i] + customers.matrix[place, 0]
            assert must[i] == (begin > drawn.latest[i] or back > customers.latest[0])
    assert must_go(customers, drawn, last, last).all()


def test_epochs():
    """The first and the last epoch leave before the customers' windows begin, by the margin, rounded down to hours."""
    assert epochs(np.array([0.0, 9000.0])) == (0, 1) and epochs(np.array([MARGIN + EPOCH, 3 * EPOCH + MARGIN])) == (1, 3)


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        ({"routes": [[10**6]]}, "request 1000000 is not waiting"),
        ({"routes": [[]]}, "accepted"),
        ({}, "accepted"),
        ({"routes": [], "other": 1}, "accepted"),
    ],
)
def test_refused_decisions(decision, message):
    """Malformed decisions and unknown requests are refused; nothing changes."""
    stream, day = Vrp().stream(DAY), Vrp().stream(DAY).day(DAY, 0)
    knowledge = stream.begin(DAY)
    stream.observe(knowledge, day.next_event())
    before = stream.to_json(knowledge)
    with pytest.raises(UsageError, match=message):
        stream.perform(knowledge, decision)
    assert stream.to_json(knowledge) == before


def test_refused_routes():
    """Refused: an overfull or late route, a request in two routes, and one that is postponed although it must go."""
    stream, day = Vrp().stream(DAY), Vrp().stream(DAY).day(DAY, 0)
    knowledge = stream.begin(DAY)
    while not stream.decidable(knowledge) or not knowledge.situation()[1].must.any():
        if stream.decidable(knowledge):
            stream.perform(knowledge, day.perform({"routes": []}))
        stream.observe(knowledge, day.next_event())
    ids, now = knowledge.situation()
    first, must = int(ids[0]), int(ids[now.must][0])
    for routes, message in (
        ([[first], [first]], "in two places"),
        ([], f"request {must} is postponed"),
        ([ids.tolist()], "exceeds the capacity|is late"),
    ):
        with pytest.raises(UsageError, match=message):
            stream.perform(knowledge, {"routes": routes})


def test_other_instances_have_no_stream():
    """An instance without requests and customers of the past is refused in one line."""
    with pytest.raises(UsageError, match="not revealed over time"):
        Vrp().stream(solomon(size=10))


def test_release_between_epochs_is_refused():
    """A request that is released at no epoch's departure is refused."""
    from dataclasses import replace

    release = DAY.rules.release.copy()
    release[-1] += 1.0
    day = replace(DAY, rules=replace(DAY.rules, release=release))
    with pytest.raises(InputError, match="another release time"):
        Vrp().stream(day).day(day, 0)


def test_days_pass_through_files(tmp_path):
    """A day that is written and read again is the same day."""
    path = tmp_path / "day.json"
    Vrp().write(DAY, path)
    again = Vrp().read(path)
    for one, other in zip(requests_of(DAY), requests_of(again)):
        np.testing.assert_array_equal(np.array(one), np.array(other))


@pytest.mark.parametrize("size", [1, 2, 300])
def test_clustered_customers(size):
    """Each can be served by a vehicle of its own, and no detour is shorter than the direct way (up to rounding)."""
    customers = clustered_customers(size, 4)
    first = epochs(customers.earliest[1:]).first
    assert not must_go(customers, _all(customers), first - 1, first).any()
    matrix = customers.matrix[:40, :40]
    assert (matrix[:, :, None] + matrix[None] >= matrix[:, None, :] - 1.5).all() and (matrix.diagonal() == 0).all()
    assert (customers.latest[0] >= customers.latest[1:]).all() and (customers.demand <= customers.vehicles.capacity[0]).all()


def _all(customers):
    """A request of each customer."""
    rows = (customers.demand, customers.earliest, customers.latest, customers.service)
    return Requests(np.arange(1, customers.n), *(values[1:] for values in rows))


def test_layouts():
    """Each layout makes other days, its command is in the comment, and an unknown one is refused in one line."""
    day = requests(size=20, per_epoch=6, layout="clustered", seed=1)
    assert "--option layout=clustered" in day.comment and "layout" not in DAY.comment
    assert day.matrix.shape != DAY.matrix.shape or (day.matrix != DAY.matrix).any()
    with pytest.raises(UsageError, match="layout: round is not accepted; accepted: uniform, clustered"):
        requests(size=20, layout="round")

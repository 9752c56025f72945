"""The form of events and decisions: the message names the first part that does not fit, and what is accepted there."""

from __future__ import annotations

import pytest

from corl.errors import UsageError
from corl.fields import Array, Either, Integer, Null, Number, Object, Row, String
from corl.online.events import check_event, check_form

KINDS = {
    "arrival": {"job": Integer(0), "steps": Array(Row(Integer(0), Number(0)), 1), "note": Either(String(), Null())},
    "clock": {},
}
GOOD = {"time": 3, "kind": "arrival", "job": 1, "steps": [[0, 1.5]]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time": None}, "event.time is missing; accepted: a number from 2, the time of the last event"),
        ({"time": 1}, "event.time is 1; accepted: a number from 2, the time of the last event"),
        ({"kind": None}, "event.kind is missing; accepted: arrival, clock"),
        ({"kind": "arival"}, "event.kind: there is no kind 'arival' (did you mean 'arrival'?); there are: arrival, clock"),
        ({"job": None}, "event.job is missing; accepted: an integer from 0"),
        ({"step": 1}, "event.step: an event of kind arrival has no such field (did you mean 'steps'?); "
                      "accepted: time, kind, job, steps, note"),
        ({"steps": 4}, "event.steps is 4; accepted: a list"),
        ({"steps": []}, "event.steps has 0 entries; accepted: at least 1"),
        ({"steps": [[0, 1], [2]]}, "event.steps[1] has 1 entries; accepted: 2"),
        ({"steps": [[0, 1], [2, -1]]}, "event.steps[1][1] is -1; accepted: a number from 0"),
        ({"note": 7}, "event.note is 7; accepted: a text or null"),
    ],
)  # fmt: skip
def test_events(change, message):
    """Each wrong part is named by its place."""
    check_event(GOOD, KINDS, 2.0)
    with pytest.raises(UsageError) as raised:
        check_event(GOOD | change, KINDS, 2.0)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "decision is []; accepted: an object with the keys start, note"),
        ({}, "decision.start is missing; accepted: a list"),
        ({"start": [], "begin": 1}, "decision: there is no key 'begin'; accepted: start, note"),
        ({"start": [{"job": 1}, {}]}, "decision.start[1].job is missing; accepted: an integer from 0"),
        ({"start": [1, 2, 3]}, "decision.start has 3 entries; accepted: 0 to 2"),
        ({"start": [], "note": 1}, "decision.note is 1; accepted: a text"),
    ],
)
def test_decisions(value, message):
    """Keys, lengths and entries."""
    kind = Object({"start": Array(Object({"job": Integer(0)}), 0, 2)}, {"note": String()})
    check_form("decision", {"start": [{"job": 1}], "note": None}, kind)
    with pytest.raises(UsageError) as raised:
        check_form("decision", value, kind)
    assert str(raised.value) == message

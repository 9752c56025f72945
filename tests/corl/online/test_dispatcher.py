"""`corl.dispatcher`: events in, decisions out; saved and loaded it continues; every wrong argument is one line."""

from __future__ import annotations

import json
import math

import pytest

import corl
from corl.errors import InputError, SolverError, UsageError
from support.counter import CounterStream, Fifo

ARRIVAL = {"time": 1.0, "kind": "arrival", "customer": 4, "duration": 2.0}


def continued(player, events):
    """The decisions on the given events."""
    found = []
    for event in events:
        player.observe(event)
        while player.decidable:
            found.append(player.decide())
    return found


EVENTS = [
    ARRIVAL,
    {"time": 1.5, "kind": "arrival", "customer": 2, "duration": 9},
    {"time": 2, "kind": "arrival", "customer": 1, "duration": 3},
    {"time": 3, "kind": "free", "customer": 4},
    {"time": 9, "kind": "free", "customer": 1},
]


def test_a_loop(day):
    """Each decision is performed in what is known; the time is that of the last event."""
    player = corl.dispatcher("shortest", day)
    assert player.time == -math.inf and not player.decidable
    assert continued(player, EVENTS) == [{"serve": 4}, {"serve": 1}, {"serve": 2}]
    assert player.time == 9 and player.decisions == 3 and player.late == 0 and player.knowledge.starts == {4: 1.0, 1: 3.0, 2: 9.0}


def test_a_delay_is_part_of_what_is_known(day):
    """The decision counts from when it is performed."""
    player = corl.dispatcher(Fifo(), day)
    player.observe(ARRIVAL)
    player.decide(delay=0.5)
    assert player.knowledge.starts == {4: 1.5}


@pytest.mark.parametrize("at", range(6))
@pytest.mark.parametrize("policy", ["shortest", "resolve"])
def test_saved_anywhere_it_continues(day, tmp_path, policy, at):
    """A dispatcher that was saved and loaded makes the decisions that it would have made."""
    more = {"iterations": 20} if policy == "resolve" else {}
    whole, player = (corl.dispatcher(policy, day, seed=5, seconds=7.0, **more) for _ in range(2))
    first = continued(player, EVENTS[:at])
    player.save(tmp_path / "state.json")
    loaded = corl.online.load(tmp_path / "state.json")
    assert (loaded.time, loaded.seconds, loaded.seed) == (player.time, 7.0, 5) and loaded.policy == player.policy
    assert first + continued(loaded, EVENTS[at:]) == continued(whole, EVENTS) and loaded.decisions == whole.decisions


def test_nothing_to_decide(day):
    """One line."""
    with pytest.raises(UsageError, match=r"^there is nothing to decide now; accepted: the next event$"):
        corl.dispatcher("fifo", day).decide()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"policy": "fif"},
            "no online policy for counter is called 'fif' (did you mean 'fifo'?); there are: fifo, resolve, shortest",
        ),
        ({"policy": 3}, "policy: 3 is not accepted; accepted: a name (corl list online) or an OnlinePolicy"),
        ({"policy": Fifo(), "sleep": 1}, "sleep: an OnlinePolicy has its options already; give them to Fifo"),
        ({"policy": "fifo", "slep": 1}, "fifo: no option 'slep' (did you mean 'sleep'?); there are: sleep"),
        ({"policy": "fifo", "seconds": 0}, "seconds: 0 is not accepted; accepted: a number above 0"),
        ({"policy": "fifo", "seed": -1}, "seed: -1 is not accepted; accepted: an integer from 0"),
    ],
)
def test_wrong_arguments(day, arguments, message):
    """Each is named, with what is accepted."""
    with pytest.raises(UsageError) as caught:
        corl.dispatcher(instance=day, **arguments)
    assert str(caught.value) == message


def test_a_problem_that_is_not_revealed_over_time():
    """One line."""
    with pytest.raises(UsageError, match=r"^instances of knapsack are not revealed over time$"):
        corl.dispatcher("fifo", corl.generate("knapsack", size=3))


def test_a_decision_that_is_not_permitted(day, monkeypatch):
    """It is the policy's fault, and changes nothing."""
    monkeypatch.setattr(Fifo, "decide", lambda *_: {"serve": 77})
    player = corl.dispatcher("fifo", day)
    player.observe(ARRIVAL)
    with pytest.raises(
        SolverError, match=r"^policy fifo made a decision that is not permitted: decision.serve is 77; accepted: "
    ):
        player.decide()
    assert player.knowledge.waiting == {4: 2.0}


def test_a_policy_without_a_name_is_not_saved(day, tmp_path):
    """A class that is not declared, and options that are objects."""

    class Own(Fifo):
        pass

    from corl.online.resolve import Resolve
    from support.counter import Orders

    for policy in (Own(), Resolve(solver=Orders())):
        with pytest.raises(
            UsageError, match=r"cannot be saved; accepted: a declared policy \(corl list online\) with plain options$"
        ):
            corl.dispatcher(policy, day).save(tmp_path / "state.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "format: version 2 of a saved dispatcher is not known; accepted: 1"),
        ({"format": None}, "format: version None of a saved dispatcher is not known; accepted: 1"),
        ({"stream": 0}, "stream: version 0 of what is known is not accepted; accepted: 1"),
        ({"decisions": -1}, "decisions: not as written by Dispatcher.save; accepted: an integer from 0"),
        ({"policy": "none"}, "no online policy for counter is called 'none'; there are: fifo, resolve, shortest"),
        ({"options": {"slow": 1}}, "fifo: no option 'slow'"),
        ({"problem": "none"}, "no problem is called 'none'"),
        ({"instance": None}, "instance: the file has no instance; accepted: load(path, instance)"),
        ({"knowledge": {}}, "knowledge: not what to_json wrote"),
        ({"more": 1}, "there is no key 'more'"),
    ],
)
def test_malformed_files(day, tmp_path, change, message):
    """One line that names the file."""
    path = tmp_path / "state.json"
    player = corl.dispatcher("fifo", day)
    player.observe(ARRIVAL)
    player.save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError) as caught:
        corl.online.load(path)
    assert str(caught.value).startswith(f"{path}:") and message in str(caught.value) and "\n" not in str(caught.value)


def test_the_instance_may_be_given_again(day, tmp_path):
    """For a file that has none."""
    path = tmp_path / "state.json"
    corl.dispatcher("fifo", day).save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"instance": None}))
    assert corl.online.load(path, day).instance is day
    (tmp_path / "day.json").write_text("[")
    for bad in (tmp_path / "day.json", tmp_path / "none.json"):
        with pytest.raises(InputError):
            corl.online.load(bad)


def test_a_failed_write_keeps_the_file(day, tmp_path, monkeypatch):
    """The old state stays."""
    path, player = tmp_path / "state.json", corl.dispatcher("fifo", day)
    player.save(path)
    before = path.read_bytes()
    monkeypatch.setattr(CounterStream, "to_json", lambda *_: {"time": math.nan})
    with pytest.raises(ValueError, match="JSON"):
        player.save(path)
    assert path.read_bytes() == before

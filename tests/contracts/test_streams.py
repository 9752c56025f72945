"""Every family that is revealed over time: days end, knowledge is all that a policy needs, and nothing comes from the future."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from corl import options, registry
from corl.errors import UsageError
from corl.files.json_instances import plain
from corl.online.dispatcher import GROUP, policy_class
from corl.online.stream import Event, Seeds, Stream
from support import counter
from support.families import family

STREAMS = ["counter", *(name for name in registry.problems() if registry.problem(name).has_stream)]
"""The reference family of the tests, and those of the registry."""
EACH = pytest.mark.parametrize("name", STREAMS)
SEEDS = pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 20))])
STEPS = 10_000
"""No day of a small instance is longer."""
Decide = Callable[[Stream, Any, int], Any]
GARBAGE = (None, "x", -1e9, [[]], {"a": []}, True, math.nan)


@pytest.fixture(autouse=True)
def _counter(monkeypatch):
    counter.installed(monkeypatch)


class Step(NamedTuple):
    """An event or a decision, and what is known after it."""

    time: float
    what: Any
    known: str


def known(stream: Stream, knowledge: Any) -> str:
    """What is known, as text."""
    return json.dumps(stream.to_json(knowledge), allow_nan=False)


def facts(name: str) -> Any:
    """What the tests know of a family."""
    return counter if name == "counter" else family(name)


def at_random(name: str, seed: int) -> Decide:
    """Decisions by the seed and the number of steps before."""
    draw = facts(name).random_decision
    return lambda stream, knowledge, number: draw(stream, knowledge, np.random.default_rng([seed, number]))


def policies(name: str, instance: Any, day_seed: int = 0) -> dict[str, Decide]:
    """Random decisions, and each declared policy that accepts the instance, with quick options and seeds that follow from
    `day_seed` and the number of steps before."""
    found = {"random": at_random(name, day_seed)}
    quick = getattr(facts(name), "ONLINE", {})
    for each in registry.names(GROUP, name):
        policy = options.build(policy_class(name, each), quick.get(each, {"iterations": 20} if each == "resolve" else {}))
        if policy.accepts(instance):
            continue
        policy.prepare(instance)
        found[each] = lambda stream, knowledge, number, policy=policy: policy.decide(
            stream, knowledge, 1e3, Seeds(1000 * day_seed + number, day_seed)
        )
    return found


def play(
    name: str, instance: Any, decide: Decide, before: Callable[[Stream, Any, Event], Any] | None = None, delay: float = 0.0
) -> tuple[list[Step], Any]:
    """The steps of a day and its solution. `before` returns the knowledge to go on with, before each event and decision."""
    stream = registry.problem(name).stream(instance)
    knowledge, day, time = stream.begin(instance), stream.day(instance, 7), -math.inf
    steps = [Step(-math.inf, None, known(stream, knowledge))]
    while (event := day.next_event()) is not None:
        assert json.loads(json.dumps(event, allow_nan=False)) == event and event["time"] >= time
        time, whole = event["time"], True
        knowledge = before(stream, knowledge, event) if before else knowledge
        stream.observe(knowledge, event)
        steps.append(Step(time, event, known(stream, knowledge)))
        while whole and stream.decidable(knowledge):
            decision = plain(decide(stream, knowledge, len(steps)))
            assert known(stream, knowledge) == steps[-1].known, "a policy changed what is known"
            done = plain(day.perform(decision, delay))
            whole = done == decision
            assert whole or delay, "without a delay all of a decision is performed"
            stream.perform(knowledge, done, delay)
            steps.append(Step(time, done, known(stream, knowledge)))
        assert len(steps) < STEPS
    return steps, day.solution()


@EACH
@SEEDS
def test_days_end_and_count(name, seed):
    """Random decisions, at once or after a delay, and every policy: the day ends with a solution that the judge accepts."""
    instance, problem = facts(name).streamed(seed), registry.problem(name)
    for delay in (0.0, 0.7):
        assert math.isfinite(problem.evaluate(instance, play(name, instance, at_random(name, seed), delay=delay)[1]))
    for decide in policies(name, instance).values():
        assert math.isfinite(problem.evaluate(instance, play(name, instance, decide)[1]))


@EACH
@SEEDS
def test_knowledge_goes_through_json(name, seed):
    """Written and read again before every event, it leads to the same decisions; so does a day that is played again."""
    instance = facts(name).streamed(seed)

    def again(stream, knowledge, event):
        return stream.from_json(instance, json.loads(known(stream, knowledge)))

    for decide in policies(name, instance).values():
        assert play(name, instance, decide, again)[0] == play(name, instance, decide)[0]


@EACH
@SEEDS
def test_bad_events_change_nothing(name, seed):
    """Late, repeated, unknown and malformed ones are refused in one line; what is known and the decisions stay the same."""
    instance, random = facts(name).streamed(seed), np.random.default_rng(seed)
    last: list[Event] = []

    def disturbed(stream, knowledge, event):
        before = known(stream, knowledge)
        for bad in bad_events(event, last[-1] if last else None, random):
            with pytest.raises(UsageError) as caught:
                stream.observe(knowledge, bad)
            assert "\n" not in str(caught.value) and known(stream, knowledge) == before, bad
        last.append(event)
        return knowledge

    decide = at_random(name, seed)
    assert play(name, instance, decide, disturbed)[0] == play(name, instance, decide)[0]


def bad_events(event: Event, last: Event | None, random: np.random.Generator) -> list[Any]:
    """Events that no family may take before `event` and after `last`."""
    found: list[Any] = [None, [], "arrival", {}, {**event, "kind": "nothing of the kind"}, {**event, "kind": ["arrival"]}]
    found += [{**event, "nothing of the kind": 1}, *({**event, "time": time} for time in (None, "now", math.nan, math.inf, True))]
    found += [{key: value for key, value in event.items() if key != lost} for lost in ("time", "kind")]
    found += [{**event, key: {"a": [[]]}} for key in event]
    if last is not None:
        found += [last, {**last, "time": event["time"]}, {**event, "time": last["time"] - 1e-3}]
    return [found[k] for k in random.permutation(len(found))]


@EACH
@SEEDS
def test_chance_does_not_depend_on_decisions(name, seed):
    """Days of equal keys have the same events of the kinds that decisions do not cause."""
    instance, kinds = facts(name).streamed(seed), facts(name).EXOGENOUS
    days = [play(name, instance, at_random(name, number))[0] for number in (seed, seed + 100)]
    first, second = ([step.what for step in day if step.what and step.what.get("kind") in kinds] for day in days)
    assert first == second and first


@EACH
@SEEDS
def test_nothing_comes_from_the_future(name, seed):
    """Two days that differ only after a time: until then events, knowledge and decisions are equal to the letter."""
    first, second, time = facts(name).futures(seed)
    for decide in policies(name, first).values():
        days = [play(name, instance, decide)[0] for instance in (first, copy.deepcopy(second))]
        seen = [[step for step in day if step.time <= time] for day in days]
        assert seen[0] == seen[1] and len(seen[0]) > 2


@EACH
@SEEDS
def test_random_numbers_follow_from_the_seed(name, seed):
    """Days of equal seeds have equal decisions; with other seeds, policies that draw random numbers decide otherwise."""
    instance = facts(name).streamed(seed)
    days = [
        {each: play(name, instance, decide)[0] for each, decide in policies(name, instance, day_seed).items()}
        for day_seed in (3, 3, 4)
    ]
    assert days[0] == days[1]
    assert all(days[0][each] != days[2][each] for each in getattr(facts(name), "RANDOMISED", ()))

"""Bandits over time: events, saved knowledge, logs of earlier episodes, and the generator of health programmes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import corl
from corl import registry
from corl.errors import InputError, UsageError
from corl.problems.bandits.environment import episode_of
from corl.problems.bandits.history import from_history
from support.families.bandits import streamed

PROBLEM = registry.problem("bandits")
LOG = "arm,time,state,action,next_state\n0,0,1,0,1\n0,1,1,1,0\n5,3,0,0,1\n0,0,1,0,1\n"


def test_a_day_is_one_episode():
    """An instance of several is refused; a realised one is played, and its solution judged on it."""
    with pytest.raises(UsageError, match="a day is one episode; the instance has 4; accepted: one episode"):
        corl.dispatcher("random", PROBLEM.generators["outreach"](arms=6, pulls=2, episodes=4))
    day = episode_of(PROBLEM.generators["outreach"](arms=6, pulls=2, episodes=4, horizon=5), 3)
    result = corl.solve(day, solver="online", policy="thompson", iterations=100)
    assert result.verified and result.objective == PROBLEM.evaluate(day, result.solution)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"states": [0] * 5}, "event.states"),
        ({"states": [0, 0, 0, 0, 0, 2]}, "event.states"),
        ({"time": 2}, "event.time is 2; accepted: 1"),
        ({"step": 0}, "event.step is 0; accepted: 1"),
        ({"kind": "begin"}, "event.kind"),
    ],
)
def test_events_are_checked(wrong, message):
    """Each fault has its line."""
    instance = streamed(0)
    player = corl.dispatcher("random", instance)
    player.observe({"time": 0, "kind": "begin", "step": 0, "states": [0] * 6})
    player.decide()
    with pytest.raises(UsageError) as caught:
        player.observe({"time": 1, "kind": "states", "step": 1, "states": [0] * 6} | wrong)
    assert message in str(caught.value)


@pytest.mark.parametrize("decision", [{"action": [1] * 6}, {"action": [0] * 5}, {"pulls": [0]}, {"action": [0, 0, 0, 0, 0, 2]}])
def test_decisions_are_checked(decision):
    """Infeasible and malformed ones are refused in a line and change nothing."""
    player = corl.dispatcher("random", streamed(0))
    player.observe({"time": 0, "kind": "begin", "step": 0, "states": [0] * 6})
    with pytest.raises(UsageError, match=r"^decision"):
        player.record(decision)
    assert player.decidable


def test_logs_of_earlier_episodes(tmp_path: Path):
    """They are counted, kept in saved knowledge, and change beliefs."""
    instance = streamed(0)
    (tmp_path / "log.csv").write_text(LOG)
    knowledge = from_history(instance, tmp_path / "log.csv")
    assert knowledge.logged.sum() == 4 and knowledge.logged[0, 0, 1, 1] == 2 and knowledge.logged[5, 0, 0, 1] == 1
    stream = PROBLEM.stream(instance)
    back = stream.from_json(instance, stream.to_json(knowledge))
    assert np.array_equal(back.logged, knowledge.logged)
    knowledge.states.append(instance.initial[0])
    estimate = stream.problem_now(knowledge)[0]
    assert estimate.transitions[0, 0, 1, 1] == pytest.approx(2.5 / 3) and estimate.transitions[3, 0, 1, 1] == 0.5


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("next_state", "next", "log.csv:1"),
        ("5,3", "6,3", "log.csv:4"),
        ("1,1,0", "1,x,0", "log.csv:3"),
        ("5,3,0,0,1", "5,3,0,0", "log.csv:4"),
    ],
)
def test_malformed_logs(tmp_path: Path, old, new, place):
    """The error names file and line."""
    (tmp_path / "log.csv").write_text(LOG.replace(old, new))
    with pytest.raises(InputError) as caught:
        from_history(streamed(0), tmp_path / "log.csv")
    assert place in str(caught.value) and "accepted" in str(caught.value)


@pytest.mark.parametrize("states", [2, 3, 5])
def test_outreach(states):
    """Calls and better states make better states likelier; features that explain nothing leave the features as they are."""
    instance = PROBLEM.generators["outreach"](arms=40, pulls=4, states=states, seed=1)
    above = 1.0 - np.cumsum(instance.transitions, axis=3)[..., :-1]
    assert (above[:, 1] > above[:, 0]).all() and (np.diff(above, axis=2) > 0).mean() > 0.9
    assert instance.arm_features.shape == (40, 6) and (instance.rewards[:, 0] == instance.rewards[:, 1]).all()
    other = PROBLEM.generators["outreach"](arms=40, pulls=4, states=states, explained=0.0, seed=1)
    assert np.array_equal(other.arm_features, instance.arm_features)


def test_features_in_files(tmp_path: Path):
    """They come back; rows for other arms are refused."""
    instance = PROBLEM.generators["outreach"](arms=5, pulls=2, episodes=1)
    PROBLEM.write(instance, tmp_path / "a.json")
    assert np.array_equal(PROBLEM.read(tmp_path / "a.json").arm_features, instance.arm_features)
    text = (tmp_path / "a.json").read_text()
    head, _, rest = text.partition('"arm_features": [')
    (tmp_path / "b.json").write_text(head + '"arm_features": [[0.5],' + rest)
    with pytest.raises(InputError, match="arm_features"):
        PROBLEM.read(tmp_path / "b.json")

"""The study of routing during the day: our simulation against the competition's own controller, which is not in the project."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from vrp_day import day_of, play, policy_of, quickstart
from vrp_day_split import CHOOSE, FIRST, JUDGE, SECOND

from corl.online.stream import Seeds
from corl.problems.vrp.generators_requests import requests
from corl.problems.vrp.problem import Vrp

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif("QUICKSTART" not in os.environ, reason="needs QUICKSTART, a checkout of the competition's repository"),
]
NR = 1
POLICY = "threshold:factor=0.2;iterations=300"


def test_split():
    """No day is both chosen on and judged, and none is judged twice."""
    assert not set(CHOOSE) & set(JUDGE)
    assert not set(FIRST) & set(SECOND) and set(FIRST) | set(SECOND) == set(JUDGE)


def test_costs_equal_the_controllers():
    """The same decisions on a day of the final cost the same: the controller, the study's simulation, and the stream's day."""
    customers, seed, file = day_of(NR)
    policy = policy_of(POLICY)
    policy.prepare(customers)
    cost, _ = play(customers, seed, policy, 1e3)
    assert cost == _by_controller(file, seed) == _by_stream(file, seed, policy)


def _by_controller(file: Path, seed: int) -> float:
    """Return the cost of the policy's decisions in the competition's own controller."""
    client = Path(__file__).with_name("vrp_day_client.py")
    command = [sys.executable, "controller.py", "--instance", str(file), "--instance_seed", str(seed), "--epoch_tlim", "120"]
    command += ["--", sys.executable, str(client), POLICY, "1000"]
    done = subprocess.run(command, cwd=quickstart(), capture_output=True, text=True, timeout=600)
    found = re.search(r"Cost of solution: ([\d.]+)", done.stdout)
    assert found, done.stderr
    return float(found[1])


def _by_stream(file: Path, seed: int, policy) -> float:
    """Return the judge's cost of the policy's decisions on the day as an instance."""
    instance = requests(past=str(file), seed=seed)
    problem = Vrp()
    stream, day = problem.stream(instance), problem.stream(instance).day(instance, 0)
    knowledge = stream.begin(instance)
    while (event := day.next_event()) is not None:
        stream.observe(knowledge, event)
        if stream.decidable(knowledge):
            stream.perform(knowledge, day.perform(policy.decide(stream, knowledge, 1e3, Seeds(knowledge.epoch, 0))))
    return problem.evaluate(instance, day.solution())

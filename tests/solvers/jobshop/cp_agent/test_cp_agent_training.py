"""jobshop.cp-agent: the teacher respects what is fixed, waits are not needless, training is reproducible and learns."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from corl.errors import UsageError
from corl.learning.training import train
from corl.networks import checkpoints
from corl.problems.jobshop.generators import taillard
from corl.problems.jobshop.instance import Schedule
from corl.problems.jobshop.problem import JobShop
from corl.problems.jobshop.simulator import JobShopSimulator
from corl.rng import random_state
from corl.solvers.jobshop.cp_agent import recipe
from corl.solvers.jobshop.cp_agent.forward import new_scratch
from corl.solvers.jobshop.cp_agent.lessons import Lessons, batch_of
from corl.solvers.jobshop.cp_agent.observation import begin_view, new_view
from corl.solvers.jobshop.cp_agent.recipe import CpAgentRecipe, losses, penalise_waiting
from corl.solvers.jobshop.cp_agent.rollout import roll
from corl.solvers.jobshop.cp_agent.teacher import copy_row, improved, taught


def cut_and_completed(network, left, seed=0):
    """A simulator whose row 0 has `left` operations left and whose row 1 is the agent's own schedule from there."""
    instance = taillard(jobs=8, machines=6, seed=seed)
    simulator, view, weights = JobShopSimulator([instance], 4), new_view([instance]), network.weights()
    scratch, random = new_scratch(weights, view), random_state(seed)
    begin_view(simulator.state, 0, view)
    roll(simulator.state, 0, view, weights, scratch, 1.0, random, left)
    copy_row(simulator.state, 0, 1)
    begin_view(simulator.state, 1, view)
    roll(simulator.state, 1, view, weights, scratch, 0.0, random, 0)
    return instance, simulator, view


@pytest.mark.parametrize("left", [48, 25, 3, 1])
def test_the_teacher_completes(network, left):
    """What is fixed stays, jobs go on no earlier than they can, and what comes of a whole schedule is valid and no longer."""
    instance, simulator, _ = cut_and_completed(network, left)
    state, fixed = simulator.state, np.arange(instance.operations) < simulator.state.next[0, instance.job]
    start = improved(simulator, 200, random_state(0))
    assert (~fixed).sum() == state.left[0] <= left
    np.testing.assert_array_equal(start[fixed], state.start[0, : instance.operations][fixed])
    upcoming = [i for i in state.next[0, : instance.jobs] if i < instance.operations and not fixed[i]]
    assert (start[upcoming] >= state.start[0, upcoming]).all()
    if left == instance.operations:
        assert JobShop().evaluate(instance, Schedule(start, instance.choice_machine)) <= state.estimate[1]


def test_what_is_replayed_can_be_followed(network):
    """The decisions noted lead, one by one, to the replayed schedule: each starts something, or waits where that is offered."""
    instance, simulator, view = cut_and_completed(network, 48)
    lesson, own, value = taught(simulator, view, 500, random_state(0))
    assert own == simulator.state.estimate[1] and value == simulator.state.estimate[2]
    assert JobShop().evaluate(instance, simulator.solution(2)) == value
    ends = np.cumsum(lesson.jobs)
    for last, jobs, can, waiting in zip(ends, lesson.jobs, lesson.can, lesson.waiting):
        assert lesson.wanted[last - jobs : last - jobs + can].any() or waiting
    assert ends[-1] == len(lesson.x) == len(lesson.begin) and lesson.competitors.sum() == len(lesson.keys)


def test_lessons_come_back_from_a_snapshot(network):
    """Restored lessons draw the same batches."""
    lessons = Lessons([(5, 4)], 3, 20, np.random.default_rng(0))
    for _ in range(5):
        lessons.add(network.weights())
    assert len(lessons) == 3
    other = Lessons([(5, 4)], 3, 20, np.random.default_rng(1))
    other.load_state_dict(lessons.state_dict())
    for one, two in zip(lessons.draw(16, torch.device("cpu")), other.draw(16, torch.device("cpu"))):
        assert torch.equal(one, two)


def test_the_loss(network):
    """Minus the log of the probability of all that the teacher would start, by plain softmax, decision by decision."""
    lessons = Lessons([(5, 4)], 2, 20, np.random.default_rng(0))
    lessons.add(network.weights())
    lesson = lessons._lessons[0]
    chosen = [(lesson, i) for i in range(len(lesson.jobs))]
    expected = []
    for each in chosen:
        batch = batch_of([each], torch.device("cpu"))
        with torch.no_grad():
            logits, waiting = network(batch)
        options = torch.cat([logits, waiting[batch.waiting]])
        right = torch.cat([batch.wanted, ~batch.wanted.any()[None][batch.waiting]])
        expected.append(-torch.log(torch.softmax(options, 0)[right].sum()).item())
    with torch.no_grad():
        loss, _ = losses(network, batch_of(chosen, torch.device("cpu")))
    assert loss.item() == pytest.approx(np.mean(expected), abs=1e-5)


def test_training(tmp_path, monkeypatch):
    """The same seed gives the same weights, and some steps make the loss on other lessons smaller."""
    monkeypatch.setattr(recipe, "_SIZES", ((6, 5), (7, 4)))
    monkeypatch.setattr(recipe, "_CALIBRATION", 0)  # the one network is compared by its loss
    options = {"moves": 100, "first": 6, "batch": 64, "width": 8, "hidden": 8, "every": 2}
    for name in ("one", "two"):
        train("jobshop", "cp-agent", steps=60, output=tmp_path / f"{name}.safetensors", recipe_options=options)
    one, two = (checkpoints.load(tmp_path / f"{name}.safetensors")[0] for name in ("one", "two"))
    assert all(torch.equal(x, y) for x, y in zip(one.parameters(), two.parameters()))
    torch.manual_seed(0)
    fresh = type(one)(8, 8)
    lessons = Lessons([(6, 5)], 10, 100, np.random.default_rng(9))
    for _ in range(10):
        lessons.add(one.weights())
    batch = lessons.draw(256, torch.device("cpu"))
    with torch.no_grad():
        assert losses(one, batch)[0] < losses(fresh, batch)[0]


def test_waiting_is_penalised(network):
    """One of the penalties that are tried is taken off the logit of waiting, and nothing else changes."""
    changed = copy.deepcopy(network)
    penalty = penalise_waiting(changed, [(6, 5)], 3)
    assert penalty in recipe._PENALTIES
    assert network.out[1, -1].item() - changed.out[1, -1].item() == pytest.approx(penalty, rel=1e-5)
    with torch.no_grad():
        changed.out[1, -1] += penalty
    torch.testing.assert_close(changed.out, network.out)


def test_refusals():
    """Options out of range."""
    for bad in ({"moves": 0}, {"batch": 0}, {"rate": 0.0}, {"width": 0}):
        with pytest.raises(UsageError, match="accepted"):
            CpAgentRecipe(**bad)

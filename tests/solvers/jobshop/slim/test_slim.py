"""jobshop-slim: kernels agree with torch, schedules are right, the same bits come again, and the policy learns."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import corl
from corl.errors import UsageError
from corl.learning.training import Training, train
from corl.networks.checkpoints import load, load_policy, save
from corl.problems.jobshop.generators import flexible, taillard, tardiness
from corl.problems.jobshop.instance import from_jobs
from corl.problems.jobshop.problem import JobShop
from corl.run import Run
from corl.solvers.jobshop.slim.construct import advance, complete, new_partial
from corl.solvers.jobshop.slim.decoder import exponential, new_lanes
from corl.solvers.jobshop.slim.encoder import Encoder, encoded
from corl.solvers.jobshop.slim.lessons import batch, lesson, loss_of
from corl.solvers.jobshop.slim.measure import values
from corl.solvers.jobshop.slim.network import SlimNetwork
from corl.solvers.jobshop.slim.plan import STATIC, plan_of
from corl.solvers.jobshop.slim.solver import NETWORK, Slim
from corl.solvers.jobshop.slim.training import SlimRecipe
from corl.solvers.jobshop.slim.weights import weights_of

TINY = {"shapes": "3x3,4x3", "samples": 4, "batch": 30}
UNLIKE = [  # jobs of one and of four operations, a machine that comes back, another that is never used, durations of zero
    [[(0, 3)]],
    [[(1, 5)], [(0, 2)], [(1, 0)], [(0, 7)]],
    [[(1, 1)], [(1, 4)]],
]


@pytest.fixture(scope="module")
def network():
    """An untrained network whose logits differ more than those of a new one."""
    torch.manual_seed(3)
    network = SlimNetwork()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(2.0)
    return network.eval()


@pytest.mark.parametrize("shape", [(1, 1), (2, 5), (7, 4), (12, 3)])
def test_kernels_agree_with_torch(network, shape):
    """Embeddings of all operations, and logits of all jobs at all steps of a schedule, to 1e-5."""
    weights = weights_of(network)
    one = lesson(*shape, weights, 3, 5)
    nodes, links, kinds, context, operation, _ = batch([one])
    embedded = encoded(one.plan, weights)
    with torch.no_grad():
        expected = network.encode(nodes, links, kinds)
        logits = network.decode(expected, context, operation).numpy()
    assert np.allclose(embedded, expected.numpy(), atol=1e-5, rtol=1e-5)
    partial, lanes = new_partial(one.plan, 1), new_lanes(1, shape[0])
    for t, job in enumerate(one.chosen):
        advance(one.plan, weights, embedded, partial, lanes, 0.0, 1)
        seen, there = lanes.job[: lanes.begin[1]], operation[t].numpy() >= 0
        assert sorted(seen) == np.flatnonzero(there).tolist()
        assert np.allclose(lanes.logit[: len(seen)], logits[t, seen], atol=1e-5, rtol=1e-5)
        if partial.chosen[0, t] != job:  # the lesson goes another way than the greedy schedule
            break


def test_logits_of_whole_lessons_agree(network):
    """The probability that torch gives a sampled schedule is that of the kernels' logits along it."""
    weights = weights_of(network)
    one = lesson(5, 4, weights, 1, 11)
    with torch.no_grad():
        loss = float(loss_of(network, [one]))
    embedded, found = encoded(one.plan, weights), 0.0
    for t, job in enumerate(one.chosen):  # each step anew: the beginning as it was sampled, one more step
        partial, lanes = new_partial(one.plan, 1), new_lanes(1, 5)
        for before in one.chosen[:t]:
            _force(one.plan, partial, int(before))
        advance(one.plan, weights, embedded, partial, lanes, 0.0, 1)
        logit, seen = lanes.logit[: lanes.begin[1]], lanes.job[: lanes.begin[1]]
        found += np.log(np.exp(logit).sum()) - logit[seen == job][0]
    assert found / len(one.chosen) == pytest.approx(loss, abs=1e-5)


def _force(plan, partial, job):
    """What `_place` does, in Python."""
    i = partial.upcoming[0, job]
    m = plan.machine[i]
    end = max(partial.ready[0, job], partial.free[0, m]) + plan.duration[i]
    partial.ready[0, job] = partial.free[0, m] = end
    partial.load[0, m] -= plan.duration[i]
    partial.upcoming[0, job] += 1
    partial.ready_sorted[:], partial.free_sorted[:] = np.sort(partial.ready, 1), np.sort(partial.free, 1)
    partial.step[0] += 1


def test_the_exponential_is_one():
    """Relative error below 3e-7 + 1.2e-7 |x| from -87 to 88, and exactly 1 at 0."""
    x = np.linspace(-87.0, 88.0, 1001).astype(np.float32)
    found = np.array([exponential(value) for value in x], np.float64)
    assert (np.abs(found / np.exp(x.astype(np.float64)) - 1.0) < 3e-7 + 1.2e-7 * np.abs(x)).all()
    assert exponential(np.float32(0.0)) == 1.0


def test_features_do_not_know_the_unit_of_time():
    """All durations three times as long: the same features, and the same schedule three times as long."""
    instance = taillard(jobs=5, machines=4, seed=2)
    rows = [[[(m, 3 * d)] for ((m, d),) in row] for row in instance.rows()]
    longer = from_jobs(rows, 4)
    assert plan_of(instance).features.shape == (STATIC, 20)
    assert np.allclose(plan_of(instance).features, plan_of(longer).features, atol=1e-6)
    assert 3.0 * values(Slim(1), instance, 1, 0)[1] == values(Slim(1), longer, 1, 0)[1]


@pytest.mark.parametrize("instance", [from_jobs(UNLIKE, 3), from_jobs(UNLIKE, 3, release=[4, 0, 9]), from_jobs([[[(0, 0)]]], 1)])
def test_unlike_jobs_are_scheduled(instance):
    """Ragged and re-entrant jobs, idle machines, zero durations, release dates: what is claimed is what the judge finds."""
    run = Run(JobShop(), instance, iterations=9)
    Slim(samples=0).solve(instance, run)
    assert run.objective == JobShop().evaluate(instance, run.solution) and run.limit == "iterations"


def test_samples_depend_on_seed_and_number_alone(network, tmp_path):
    """The same seed gives the same schedules however many are built together; another seed gives others."""
    plan, weights = plan_of(taillard(jobs=9, machines=5, seed=4)), weights_of(network)
    embedded = encoded(plan, weights)

    def ways(together, seed):
        found = []
        for number in range(0, 12, together):
            partial = new_partial(plan, together, seed, number)
            advance(plan, weights, embedded, partial, new_lanes(together, 9), 1.0, 45)
            found.append(partial.chosen)
        return np.concatenate(found)

    whole = ways(12, 1)
    assert (whole == ways(1, 1)).all() and (whole == ways(4, 1)).all() and (whole != ways(12, 2)).any()
    encoder = Encoder(plan, weights)
    while not encoder.advance(7):
        pass
    assert (encoder.embedded() == embedded).all()


def test_same_seed_same_bits():
    """With iterations, corl.solve gives the same schedule again, and more samples are never worse."""
    instance = taillard(jobs=8, machines=6, seed=1)
    results = [corl.solve(instance, solver="slim", iterations=40, seed=5) for _ in range(2)]
    assert (results[0].solution.start == results[1].solution.start).all()
    assert results[0].objective <= corl.solve(instance, solver="slim", iterations=10, seed=5).objective
    one = corl.solve(instance, solver="slim", samples=1)
    assert one.limit == "finished" and one.objective == values(Slim(), instance, 1, 9)[0]


class _Stopping(Run):
    """A run that ends when it has been asked so often."""

    left = 0

    @property
    def limit(self):
        self.left -= 1
        if self.left < 0:
            self.stop("time_limit")
        return super().limit


@pytest.mark.parametrize("left", range(0, 40, 3))
def test_there_is_a_schedule_whenever_time_is_over(left):
    """Stopped in the encoder, within the first schedule or later: a feasible schedule is there."""
    instance = taillard(jobs=30, machines=20, seed=3)
    run = _Stopping(JobShop(), instance)
    run.left = left
    Slim().solve(instance, run)
    assert run.objective is not None


def test_the_rule_builds_non_delay_schedules():
    """Without the network: always what can start first, so that the first operations start at 0."""
    instance = from_jobs([[[(0, 5)], [(1, 1)]], [[(0, 2)], [(1, 9)]]], 2)
    plan = plan_of(instance)
    partial = new_partial(plan, 1)
    complete(plan, partial, 0)
    assert partial.start[0].tolist() == [2, 11, 0, 2]  # job 1 has more work left


def test_options_and_instances_that_are_refused():
    """One line each."""
    for options in ({"samples": -1}, {"temperature": 0.0}):
        with pytest.raises(UsageError, match="accepted"):
            Slim(**options)
    assert "choice" in Slim().accepts(flexible()) and "makespan" in Slim().accepts(tardiness())
    with pytest.raises(UsageError, match="recipe slim"):
        Slim(policy="tsp-heatmap").solve(taillard(jobs=2, machines=2), Run(JobShop(), taillard(jobs=2, machines=2), iterations=1))
    for options in ({"samples": 1}, {"batch": 0}, {"rate": 0.0}, {"shapes": "3x"}, {"shapes": ""}, {"shapes": "0x3"}):
        with pytest.raises(UsageError, match="accepted"):
            SlimRecipe(**options)


def test_the_shipped_policy_beats_chance():
    """Greedy at 12 x 8 it is far better than the mean of random schedules."""
    instance = taillard(jobs=12, machines=8, seed=77)
    plan, shipped = plan_of(instance), weights_of(load_policy(NETWORK))
    flat = shipped._replace(score=np.zeros_like(shipped.score))
    partial = new_partial(plan, 16, 0)
    advance(plan, flat, encoded(plan, shipped), partial, new_lanes(16, 12), 1.0, 96)
    assert values(Slim(1), instance, 1, 0)[1] < 0.85 * partial.ready.max(1).mean()


def test_a_checkpoint_comes_back(network, tmp_path):
    """Saved and loaded, it gives the schedules it gave."""
    path = tmp_path / "mine.safetensors"
    save(path, network)
    for mine, other in zip(weights_of(network).embed, weights_of(load(path)[0]).embed):
        assert (mine == other).all()
    instance = taillard(jobs=4, machines=4, seed=8)
    assert values(Slim(3, policy=str(path)), instance, 3, 0)[1] >= 0


def test_lessons_are_the_best_of_their_samples(network):
    """More samples of the same seed are never worse; the steps of a lesson are those of its schedule."""
    weights = weights_of(network)
    few, many = (lesson(6, 5, weights, samples, 21) for samples in (2, 30))
    assert many.best <= few.best <= few.mean
    assert np.bincount(many.chosen).tolist() == [5] * 6
    assert all(many.operation[t, job] >= 0 for t, job in enumerate(many.chosen))


@pytest.mark.slow
def test_the_recipe_learns():
    """150 steps at 4 x 4: the mean of the samples comes closer to their best."""
    spread = []
    options = {"shapes": "4x4", "samples": 12, "batch": 64, "rate": 5e-3}
    training = Training(JobShop(), steps=150, device="cpu", on_progress=lambda t: spread.append(t.metrics["spread"]))
    SlimRecipe(**options).train(training)
    assert np.mean(spread[-20:]) < 0.7 * np.mean(spread[:10])


def test_a_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path):
    """Interrupted after 2 of 4 steps and resumed: the weights of an unbroken run."""
    options = {"problem": "jobshop", "recipe": "slim", "steps": 4, "device": "cpu", "recipe_options": TINY}
    train(**options, output=tmp_path / "whole.safetensors")
    broken = tmp_path / "broken.safetensors"
    stopped = train(**options, output=broken, on_progress=lambda t: t.interrupt() if t.step == 1 else None)
    assert stopped.limit == "interrupted" and stopped.step == 2
    train(**options, output=broken, resume=True)
    whole, other = (load(path)[0].state_dict() for path in (tmp_path / "whole.safetensors", broken))
    assert all((whole[name] == other[name]).all() for name in whole)

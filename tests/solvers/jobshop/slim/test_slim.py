"""jobshop-slim: kernels agree with torch, schedules are right, the same bits come again, and the policy learns."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

import corl
from corl.errors import UsageError
from corl.learning.recipe import recipe_class
from corl.learning.training import train
from corl.learning.validation import greedy
from corl.networks.checkpoints import load, load_policy, save
from corl.problems.jobshop.generators import flexible, taillard, tardiness
from corl.problems.jobshop.instance import from_jobs
from corl.problems.jobshop.problem import JobShop
from corl.rng import random_state
from corl.run import Run
from corl.solvers.jobshop.slim.encoder import Encoder, encode
from corl.solvers.jobshop.slim.instance import STATIC, slim_instance
from corl.solvers.jobshop.slim.network import SlimNetwork
from corl.solvers.jobshop.slim.solver import Slim

RULES = ("spt", "mwkr", "mor", "fdd/mwkr")
TINY = {"network": "slim", "whole": True, "sampling": "independent", "sizes": "3,4", "samples": 4, "episodes": 4, "updates": 2,
        "batch": 30, "watch": 2}  # fmt: skip
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


SHAPES = ((1, 1), (2, 5), (7, 4))
INSTANCES = [from_jobs(UNLIKE, 3, release=[4, 0, 9]), *(taillard(jobs=j, machines=m, seed=5) for j, m in SHAPES)]


@pytest.mark.parametrize("name", ["semi-active", "dispatching"])
def test_kernels_agree_with_torch(network, name):
    """Of rows of several instances at all steps of random episodes: logits of the listed actions, to 1e-5, by the kernels that
    read the pool and by the module from what it sees, all in one batch."""
    environment = JobShop().environment(INSTANCES, 2 * len(INSTANCES), name=name)
    environment.reset(np.arange(environment.rows), np.repeat(np.arange(len(INSTANCES)), 2))
    random, rows = np.random.default_rng(0), np.arange(environment.rows)
    evaluator, contexts = network.on(environment), [network.context(environment, i) for i in range(len(INSTANCES))]
    compared = 0
    while (rows := rows[environment.actions(rows)[:, 0] >= 0]).size:
        actions = environment.actions(rows)
        logits, values = evaluator.evaluate(environment.view(rows))
        other, _ = network.infer(contexts, environment.instance_of(rows), network.observe(environment.view(rows)))
        assert (np.isfinite(logits) == (actions >= 0)).all() and not values.any()
        np.testing.assert_allclose(logits, other, atol=1e-5, rtol=1e-5)
        environment.step(rows, rows, [random.choice(row[row >= 0]) for row in actions])
        compared += len(rows)
    assert compared == 2 * sum(instance.operations for instance in INSTANCES)


def test_whole_episodes_are_those_of_single_states(network):
    """Played by the kernel, each action is the likeliest by `evaluate`, and the rewards are the pool's."""
    instance = taillard(jobs=9, machines=6, seed=3)
    environment = JobShop().environment([instance], 2, name=network.environment)
    evaluator = network.on(environment)
    base = environment.reset([0, 1], [0, 0])
    rewards, actions = evaluator.play(np.array([1]))
    assert actions.shape == (1, instance.operations) and environment.actions([1])[0, 0] < 0
    total = 0.0
    for action in actions[0]:
        view = environment.view(np.array([0]))
        logits = evaluator.evaluate(view)[0][0]
        assert logits[view.actions[0] == action] == logits.max()
        total += environment.step([0], [0], [action])[0]
    assert total == rewards[0] and (environment.solution(0).start == environment.solution(1).start).all()
    assert -(base[1] + rewards[0]) == JobShop().evaluate(instance, environment.solution(1))


def test_an_episode_goes_on_where_it_was_left(network):
    """With fewer actions a call, or stopped: the same schedule in the end; rows of unlike instances, and at unlike steps."""
    environment = JobShop().environment(INSTANCES, len(INSTANCES), name="semi-active")
    rows, evaluator = np.arange(len(INSTANCES)), network.on(environment)

    def played(parts):
        environment.reset(rows, rows)
        random = np.stack([random_state(7, row) for row in rows])
        total = np.zeros(len(rows))
        for part, most in parts:
            rewards, actions = evaluator.play(rows[part], 1.0, drawn := random[part], most)
            random[part] = drawn
            total[part] += rewards
            assert actions.shape[1] <= most
        return total, [environment.solution(row).start.tolist() for row in rows]

    whole, starts = played([(slice(None), 100)])
    one, other = slice(0, 2), slice(2, None)
    broken, again = played([(one, 3), (slice(None), 5), (other, 2), (slice(None), 1), (slice(None), 100)])
    assert again == starts and np.allclose(whole, broken)
    environment.reset(rows, rows)
    rewards, actions = evaluator.play(rows, stop=lambda: True)
    assert not rewards.any() and (actions == -1).all()
    assert (environment.state.unscheduled == [i.operations for i in INSTANCES]).all()


def test_batches_of_instances_of_different_sizes(network):
    """What is seen of pools of different shapes can be put into one batch; the logits are those of each alone."""
    pools = [JobShop().environment([instance], 1, name="semi-active") for instance in INSTANCES]
    contexts, seen = [network.context(pool, 0) for pool in pools], [network.observe(pool.view(np.array([0]))) for pool in pools]
    with torch.no_grad():
        together, _ = network(network.collate(contexts, seen, np.arange(len(pools))))
    for row, (pool, context, one) in enumerate(zip(pools, contexts, seen)):
        alone, _ = network.infer([context], np.zeros(1, np.int64), one)
        np.testing.assert_allclose(together[row, : pool.width], alone[0], atol=1e-5, rtol=1e-5)
        assert (together[row, pool.width :] == -torch.inf).all()


def test_instances_and_environments_that_do_not_fit(network):
    """One line: choices of machines, due dates, and the environment whose states it does not read."""
    for name, instance, match in (
        ("semi-active", flexible(), "without choices"), ("dispatching", tardiness(), "makespan"),
        ("intervals", INSTANCES[1], "semi-active"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=match):
            network.on(JobShop().environment([instance], 1, name=name))


def first_makespan(instance):
    """Of the greedy schedule."""
    return corl.solve(instance, solver="slim", decoder="greedy", iterations=10**6, seed=9).objective


def test_features_do_not_know_the_unit_of_time():
    """All durations three times as long: the same features, and the same schedule three times as long."""
    instance = taillard(jobs=5, machines=4, seed=2)
    rows = [[[(m, 3 * d)] for ((m, d),) in row] for row in instance.rows()]
    longer = from_jobs(rows, 4)
    assert slim_instance(instance).features.shape == (STATIC, 20)
    assert np.allclose(slim_instance(instance).features, slim_instance(longer).features, atol=1e-6)
    assert 3.0 * first_makespan(instance) == first_makespan(longer)


@pytest.mark.parametrize("instance", [from_jobs(UNLIKE, 3), from_jobs(UNLIKE, 3, release=[4, 0, 9]), from_jobs([[[(0, 0)]]], 1)])
def test_unlike_jobs_are_scheduled(instance):
    """Ragged and re-entrant jobs, idle machines, zero durations, release dates: what is claimed is what the judge finds."""
    run = Run(JobShop(), instance, iterations=9 * instance.operations)
    Slim(rounds=0).solve(instance, run)
    assert run.objective == JobShop().evaluate(instance, run.solution) and run.limit in ("iterations", "optimal")


def test_samples_depend_on_their_generators_alone(network):
    """The same states of generators give the same schedules however many are built together; others give others."""
    instance = taillard(jobs=9, machines=5, seed=4)
    environment = JobShop().environment([instance], 12, name="semi-active")
    evaluator = network.on(environment)

    def ways(together, seed):
        found = []
        for number in range(0, 12, together):
            rows = np.arange(together)
            environment.reset(rows, np.zeros(together, np.int64))
            random = np.stack([random_state(seed, number + s) for s in range(together)])
            found.append(evaluator.play(rows, np.ones(together), random)[1])
        return np.concatenate(found)

    whole = ways(12, 1)
    assert (whole == ways(1, 1)).all() and (whole == ways(4, 1)).all() and (whole != ways(12, 2)).any()


def test_encoding_in_parts(network):
    """The bits do not depend on how often the encoder was interrupted."""
    shop, weights = slim_instance(taillard(jobs=9, machines=5, seed=4)), network.weights()
    encoder = Encoder(shop, weights)
    while not encoder.advance(7):
        pass
    assert (encoder.embedded() == encode(shop, weights)).all()


def test_same_seed_same_bits():
    """With iterations, corl.solve gives the same schedule again, and more samples are never worse."""
    instance = taillard(jobs=8, machines=6, seed=1)
    results = [corl.solve(instance, solver="slim", iterations=40 * 48, seed=5) for _ in range(2)]
    assert (results[0].solution.start == results[1].solution.start).all()
    assert results[0].objective <= corl.solve(instance, solver="slim", iterations=10 * 48, seed=5).objective
    assert corl.solve(instance, solver="slim", iterations=128 * 48).limit == "finished"


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


def test_options_and_instances_that_are_refused():
    """One line each."""
    for options in ({"width": -1}, {"temperature": 0.0}, {"spread": 0.0}):
        with pytest.raises(UsageError, match="accepted"):
            Slim(**options)
    assert "choice" in Slim().accepts(flexible()) and "makespan" in Slim().accepts(tardiness())
    with pytest.raises(UsageError, match="for tsp, not for jobshop"):
        Slim(policy="tsp-bq").solve(taillard(jobs=2, machines=2), Run(JobShop(), taillard(jobs=2, machines=2), iterations=1))


@pytest.mark.chance
def test_the_shipped_policy_beats_the_best_rule(shuffled):
    """On 16 instances of 15 x 12, greedy schedules are at least 2 % shorter in the mean than those of the best dispatching rule
    (measured: 4.2 ± 1.9 %), and 30 % shorter than with the same weights shuffled, whatever the order (measured: 45 to 78 %).
    """
    instances = [taillard(jobs=15, machines=12, seed=70 + s) for s in range(16)]
    rules = [[corl.solve(each, solver="dispatch", rule=rule, iterations=1).objective for each in instances] for rule in RULES]
    shipped = load_policy("jobshop-slim")
    found = greedy(JobShop(), instances, shipped).mean()
    assert found < 0.98 * min(np.mean(lengths) for lengths in rules)
    for seed in range(3):
        assert found < 0.7 * greedy(JobShop(), instances, shuffled(shipped, seed)).mean()


def test_a_checkpoint_comes_back(network, tmp_path):
    """Saved and loaded, it gives the schedules it gave."""
    path = tmp_path / "mine.safetensors"
    save(path, network)
    for mine, other in zip(network.weights().embed, load(path)[0].weights().embed):
        assert (mine == other).all()
    instance = taillard(jobs=4, machines=4, seed=8)
    assert corl.solve(instance, solver="slim", width=3, policy=str(path)).objective > 0


def test_generic_solvers_play_it():
    """It is what `policy` takes unless told otherwise, and it searches trees."""
    instance = taillard(jobs=5, machines=4, seed=6)
    likeliest = corl.solve(instance, solver="policy", decoder="greedy", iterations=100)
    assert likeliest.objective == first_makespan(instance)
    for solver, options in (("policy", {"decoder": "without-replacement"}), ("tree-search", {"simulations": 4})):
        result = corl.solve(instance, solver=solver, iterations=600, **options)
        assert result.verified and result.objective <= likeliest.objective


@pytest.mark.parametrize("solver", ["slim", "cp-agent", "policy", "tree-search"])
def test_a_run_without_a_choice_ends_at_once(solver):
    """One job: every state has one action, and there is no other schedule to look for."""
    result = corl.solve(from_jobs([[[(0, 2)], [(1, 3)], [(0, 1)]]], 2), solver=solver, iterations=10**6)
    assert result.objective == 6 and result.limit in ("finished", "optimal")


@pytest.mark.parametrize("recipe", ["imitation", "policy-gradient", "self-improvement"])
def test_every_recipe_trains_it(recipe, tmp_path):
    """Two steps change the weights, by a finite loss; what was trained solves by the solver `slim` too."""
    options = TINY | {"teacher": "tabu" if recipe == "imitation" else "", "teacher_iterations": 20, "states": 4}
    known = {field.name for field in dataclasses.fields(recipe_class("jobshop", recipe))}
    given = {name: value for name, value in options.items() if name in known}
    path, seen = tmp_path / "trained.safetensors", {"steps": 2, "workers": 0, "device": "cpu"}
    torch.manual_seed(0)
    done = train("jobshop", recipe, output=path, **given, **seen)
    train("jobshop", recipe, output=tmp_path / "other.safetensors", **given | {"rate": 1e-12}, **seen)
    one, other = (load(each)[0].state_dict() for each in (path, tmp_path / "other.safetensors"))
    assert np.isfinite(done.metrics["loss"]) and any((one[name] != other[name]).any() for name in one)
    assert corl.solve(INSTANCES[0], solver="slim", policy=str(path), iterations=30).verified


def test_a_search_that_needs_a_value_refuses_it():
    """In a line that names the option."""
    with pytest.raises(UsageError, match=r"^network: slim has no value, which the search needs$"):
        train("jobshop", "alphazero", steps=1, workers=0, device="cpu", network="slim", size=3, watch=0)


@pytest.mark.chance
def test_it_learns():
    """100 steps of self-improvement with 3 and 4 jobs: the mean of the samples comes closer to their best."""
    spread: list[float] = []
    options = TINY | {"episodes": 16, "samples": 12, "updates": 4, "batch": 200, "rate": 5e-3, "watch": 0}

    def look(training):
        spread.append(training.metrics["mean"] / training.metrics["best"] - 1.0)

    train("jobshop", "self-improvement", steps=100, workers=0, device="cpu", **options, on_progress=look)
    assert np.mean(spread[-20:]) < 0.75 * np.mean(spread[:20])


def test_a_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path):
    """Interrupted after 2 of 4 steps and resumed: the weights of an unbroken run."""
    options = {"problem": "jobshop", "recipe": "self-improvement", "steps": 4, "device": "cpu", "workers": 0} | TINY
    train(**options, output=tmp_path / "whole.safetensors")
    broken = tmp_path / "broken.safetensors"
    stopped = train(**options, output=broken, on_progress=lambda t: t.interrupt() if t.step == 1 else None)
    assert stopped.limit == "interrupted" and stopped.step == 2
    train(**options, output=broken, resume=True)
    whole, other = (load(path)[0].state_dict() for path in (tmp_path / "whole.safetensors", broken))
    assert all((whole[name] == other[name]).all() for name in whole)
    assert whole.keys() == SlimNetwork().state_dict().keys()

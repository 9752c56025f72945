"""jobshop-cp: its decisions hold an optimal schedule, numba computes what torch does, schedules are valid and reproducible."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import corl
from corl.errors import UsageError
from corl.learning.validation import greedy
from corl.networks.checkpoints import load_policy, save
from corl.problems.jobshop.environments.intervals.environment import IntervalEnvironment
from corl.problems.jobshop.generators import flexible, taillard, tardiness
from corl.problems.jobshop.problem import JobShop
from corl.rng import random_state
from corl.run import Run
from corl.solvers.jobshop.cp_agent.network import CpAgentNetwork
from corl.solvers.jobshop.cp_agent.observation import NEXT, SLOTS, WINDOW, list_startable, new_observation, write_tokens
from corl.solvers.jobshop.cp_agent.solver import CpAgent
from corl.solvers.jobshop.dispatch.dispatcher import Dispatcher
from corl.solvers.jobshop.dispatch.rules import RULES

KINDS = ("classic", "ragged", "reentrant", "zeros", "dates")


def solve(instance, iterations=10**6, seed=0, **options):
    run = Run(JobShop(), instance, iterations=iterations, seed=seed)
    CpAgent(**options).solve(instance, run)
    return run


@pytest.fixture
def checkpoint(tmp_path, network):
    """A file with the untrained network."""
    save(tmp_path / "agent.safetensors", network)
    return str(tmp_path / "agent.safetensors")


def test_tokens_are_what_the_environment_shows():
    """At every decision the tokens of jobs that can start agree with `observe`: which intervals there are, fixed ones, starts."""
    instance = taillard(jobs=6, machines=5, seed=1)
    environment, view, seen = IntervalEnvironment([instance], 1), new_observation([instance]), 0
    state = environment.state
    while (listed := environment.actions([0])[0])[0] >= 0:
        list_startable(state, 0, view)
        write_tokens(state, 0, view)
        shown, seen = environment.observe([0]), seen + 1
        can, window = int(view.counts[0]), slice(1, 1 + WINDOW)
        assert sorted(view.jobs[:can]) == sorted(job for job in listed if 0 <= job < instance.jobs)
        for c in range(can):
            slot = int(np.flatnonzero(listed == view.jobs[c])[0])
            there = shown["there"][0, slot]
            assert (view.there[c, window] == there).all() and view.there[c].sum() == there.sum() + 2
            np.testing.assert_array_equal(view.x[c, window, 0] > 0, shown["fixed"][0, slot])
            np.testing.assert_array_equal(np.sign(view.x[c, window, 2]), np.sign(shown["start"][0, slot]))
            np.testing.assert_allclose(view.x[c, window, 3], shown["duration"][0, slot] / shown["unit"][0], rtol=1e-6)
            keys = view.keys[view.key_begin[c] : view.key_end[c]]
            assert c * SLOTS + NEXT in keys and len(set(keys.tolist())) == len(keys)
        environment.step([0], [0], [int(view.jobs[0])])
    assert seen > 3


def test_numba_computes_what_torch_does(network):
    """Of rows of several instances at all decisions of random episodes: logits of the listed actions by the kernels that read the
    pool, and by the module from what it sees, all in one batch."""
    instances = [taillard(jobs=j, machines=m, seed=5) for j, m in ((6, 4), (8, 6), (3, 2))]
    environment, random = IntervalEnvironment(instances, 6), np.random.default_rng(0)
    environment.reset(np.arange(6), [0, 1, 2, 0, 1, 2])
    rows, evaluator, waits = np.arange(6), network.on(environment), 0
    while (rows := rows[environment.actions(rows)[:, 0] >= 0]).size:
        actions = environment.actions(rows)
        logits, values = evaluator.evaluate(environment.view(rows))
        other, _ = network.infer([{}], np.zeros(len(rows), np.int64), network.see(environment.view(rows)))
        assert (np.isfinite(logits) == (actions >= 0)).all() and not values.any()
        np.testing.assert_allclose(logits, other, atol=2e-5)
        waits += (actions == np.array([i.jobs for i in instances])[environment.instance_of(rows), None]).sum()
        environment.step(rows, rows, [random.choice(row[row >= 0]) for row in actions])
    assert waits > 3


def test_batches_of_instances_of_different_sizes(network):
    """What is seen of pools of different shapes can be put into one batch; the logits are those of each alone."""
    pools = [IntervalEnvironment([taillard(jobs=j, machines=4, seed=j)], 1) for j in (9, 3, 6)]
    seen = [network.see(pool.view(np.array([0]))) for pool in pools]
    with torch.no_grad():
        together, _ = network(network.collate([{}], seen, np.zeros(3, np.int64)))
    for row, pool in enumerate(pools):
        np.testing.assert_allclose(
            together[row, : pool.width], network.on(pool).evaluate(pool.view(np.array([0])))[0][0], atol=2e-5
        )
        assert (together[row, pool.width :] == -torch.inf).all()


def test_generic_solvers_play_it(checkpoint):
    """The likeliest actions, played in the environment, make the agent's greedy schedule; beams and trees find one as good."""
    instance = taillard(jobs=8, machines=6, seed=3)
    alone = solve(instance, policy=checkpoint, decoder="greedy").objective
    likeliest = corl.solve(instance, solver="policy", policy=checkpoint, decoder="greedy", iterations=300)
    assert likeliest.objective == alone
    for solver, options in (("policy", {}), ("tree-search", {"simulations": 4})):
        result = corl.solve(instance, solver=solver, policy=checkpoint, iterations=900, **options)
        assert result.verified and result.objective <= alone


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(random_instance, checkpoint, kind):
    """Schedules are valid for every kind of instance without choices; what is claimed is what they are worth."""
    for seed in range(3):
        run = solve(random_instance(kind, 5, 4, seed), policy=checkpoint, width=3)
        assert run.solution is not None and run.objective >= run.bound


def test_reproducible(checkpoint):
    """The same seed gives the same bits, another one others; the greedy schedule is first; it ends by itself."""
    instance = taillard(jobs=8, machines=6, seed=3)
    one, two, other = (solve(instance, seed=seed, policy=checkpoint, width=5) for seed in (5, 5, 6))
    assert one.solution.start.tolist() == two.solution.start.tolist() and not one.should_stop
    first = [next(value for _, value, _ in run.trace if value is not None) for run in (one, other)]
    assert first[0] == first[1] == solve(instance, policy=checkpoint, decoder="greedy").objective
    assert solve(instance, 999, policy=checkpoint, rounds=0).limit == "iterations"
    environment = IntervalEnvironment([instance], 8)
    random = np.stack([random_state(seed) for seed in range(8)])
    rewards, _ = load_policy(checkpoint).on(environment).play(np.arange(8), 1.0, random)
    assert len(set(rewards)) > 1


def test_whole_episodes_are_those_of_single_states(network):
    """Played by the kernel, each action is the likeliest of those that `evaluate` gives the state; broken off, it goes on."""
    instance = taillard(jobs=12, machines=8, seed=1)
    environment, rows = IntervalEnvironment([instance], 2), np.array([1])
    evaluator = network.on(environment)
    rewards, actions = evaluator.play(rows, most=5)
    assert actions.shape == (1, 5)
    asked = []
    more, rest = evaluator.play(rows, stop=lambda: len(asked) == 1 or bool(asked.append(0)))
    last, end = evaluator.play(rows)
    assert rest.shape[1] + end.shape[1] > 5 and evaluator.play(rows)[1].shape == (1, 0)
    total = 0.0
    for action in np.concatenate([actions[0], rest[0], end[0]]):
        view = environment.view(np.array([0]))
        logits = evaluator.evaluate(view)[0][0]
        assert logits[view.actions[0] == action] == logits.max()
        total += environment.step([0], [0], [action])[0]
    assert total == rewards[0] + more[0] + last[0]
    assert (environment.solution(0).start == environment.solution(1).start).all()


def test_refusals(tmp_path):
    """Options out of range, instances of other kinds, checkpoints of other networks."""
    for options in ({"width": -1}, {"temperature": 0.0}, {"spread": 0.0}, {"spread": float("inf")}):
        with pytest.raises(UsageError, match="accepted"):
            CpAgent(**options)
    assert "choice" in CpAgent().accepts(flexible()) and "makespan" in CpAgent().accepts(tardiness())
    assert not CpAgent().accepts(taillard())
    with pytest.raises(UsageError, match="for tsp, not for jobshop"):
        solve(taillard(jobs=2, machines=2), policy="tsp-bq")
    with pytest.raises(UsageError, match="accepted"):
        CpAgentNetwork(width=0)


@pytest.mark.chance
def test_the_shipped_agent_beats_the_rules():
    """On generated instances the greedy schedules are shorter than the best rule's, on the mean."""
    instances = [taillard(jobs=20, machines=15, seed=4_000_000_000 + i) for i in range(8)]
    agents = greedy(JobShop(), instances, load_policy("jobshop-cp"))
    rules = [[Dispatcher(i).run(rule, 0.0, random_state(0)) for rule in range(RULES.index("edd"))] for i in instances]
    assert np.mean(agents) < np.mean(rules, axis=0).min()

"""jobshop-cp: its decisions hold an optimal schedule, numba computes what torch does, schedules are valid and reproducible."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from corl.errors import UsageError
from corl.networks.checkpoints import save
from corl.problems.jobshop.generators import flexible, taillard, tardiness
from corl.problems.jobshop.problem import JobShop
from corl.problems.jobshop.simulator import JobShopSimulator
from corl.rng import random_state
from corl.run import Run
from corl.solvers.jobshop.cp_agent.forward import logits_of, new_scratch
from corl.solvers.jobshop.cp_agent.lessons import Lessons, batch_of
from corl.solvers.jobshop.cp_agent.network import CpAgentNetwork
from corl.solvers.jobshop.cp_agent.observation import DECIDE, DONE, NEXT, SLOTS, begin_view, new_view, survey, tokens
from corl.solvers.jobshop.cp_agent.rollout import Agent
from corl.solvers.jobshop.cp_agent.solver import CpAgent, weights_of
from corl.solvers.jobshop.dispatching import RULES, Dispatcher

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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_decisions_left_hold_an_optimal_schedule(random_instance, least, kind, seed):
    """With forced steps taken and needless waits refused, the best sequence of decisions is still as good as enumeration."""
    instance = random_instance(kind, 3, 2, seed)
    if instance.operations > 7:
        instance = random_instance("classic", 3, 2, seed)
    simulator, view = JobShopSimulator([instance], instance.operations * 4 + 4), new_view([instance])

    def best(row):
        action = survey(simulator.state, row, view)
        if action == DONE:
            return simulator.state.estimate[row]
        options = [action]
        if action == DECIDE:
            options = view.jobs[: view.counts[0]].tolist() + [instance.jobs] * int(view.counts[3])
        values = []
        for option in options:
            assert np.isfinite(simulator.step([row], [row + 1], [option])[0])
            values.append(best(row + 1))
        return min(values)

    assert best(0) == least(instance)


def test_tokens_are_what_the_simulator_shows():
    """At every decision the tokens of listed jobs agree with `observe`: fixed, legal, and which intervals there are."""
    instance = taillard(jobs=6, machines=5, seed=1)
    simulator, view, seen = JobShopSimulator([instance], 1), new_view([instance]), 0
    state = simulator.state
    begin_view(state, 0, view)
    while (action := survey(state, 0, view)) != DONE:
        if action == DECIDE:
            tokens(state, 0, view)
            shown, action, seen = simulator.observe([0]), int(view.jobs[0]), seen + 1
            for c in range(view.counts[1]):
                job = view.jobs[c]
                begun = int(state.next[0, job] > instance.first[job])  # whether the window begins with what is fixed
                count = min(int(shown["mask"][0, job].sum()), 5 - (1 - begun))
                mine, theirs = slice(NEXT - begun, NEXT - begun + count), slice(0, count)
                assert view.there[c, mine].all() and view.there[c].sum() == count + 2
                for feature, name in ((0, "fixed"), (1, "legal")):
                    np.testing.assert_array_equal(view.x[c, mine, feature] > 0, shown[name][0, job, theirs])
                sign = np.sign(view.x[c, mine, 2])
                np.testing.assert_array_equal(sign, np.sign(shown["start"][0, job, theirs]))
            for c in range(view.counts[0]):
                keys = view.keys[view.key_begin[c] : view.key_end[c]]
                assert c * SLOTS + NEXT in keys and len(set(keys.tolist())) == len(keys)
        simulator.step([0], [0], [action])
        begin_view(state, 0, view)
    assert seen > 3


def test_numba_computes_what_torch_does(network):
    """The logits of the kernels are those of the module, decision by decision and all in one batch."""
    lessons, weights = Lessons([(6, 4), (8, 3)], 4, 50, np.random.default_rng(0)), network.weights()
    for _ in range(4):
        lessons.add(weights)
    for lesson in lessons.state_dict()["lessons"]:
        lesson = type(lessons._lessons[0])(*lesson)
        batch = batch_of([(lesson, i) for i in range(len(lesson.jobs))], torch.device("cpu"))
        with torch.no_grad():
            start, waiting = (each.numpy() for each in network(batch))
        view = new_view([taillard(jobs=8, machines=6)])
        scratch = new_scratch(weights, view)
        t = k = done = 0
        for i, (n, can, many) in enumerate(zip(lesson.jobs, lesson.can, lesson.competitors)):
            view.counts[:], view.jobs[:n] = (can, n, many, lesson.waiting[i]), np.arange(n)
            view.x[:n], view.there[:n], view.keys[:many] = lesson.x[t : t + n], lesson.there[t : t + n], lesson.keys[k : k + many]
            view.key_begin[:can], view.key_end[:can] = lesson.begin[t : t + can], lesson.end[t : t + can]
            logits_of(view, weights, scratch)
            np.testing.assert_allclose(scratch.logits[:can], start[done : done + can], atol=2e-5)
            assert scratch.logits[can] == pytest.approx(waiting[i], abs=2e-5)
            t, k, done = t + n, k + many, done + can


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(random_instance, checkpoint, kind):
    """Schedules are valid for every kind of instance without choices; what is claimed is what they are worth."""
    for seed in range(3):
        run = solve(random_instance(kind, 5, 4, seed), policy=checkpoint, schedules=4)
        assert run.solution is not None and run.objective >= run.bound


def test_reproducible(checkpoint):
    """The same seed gives the same bits, another one others; the greedy schedule is first; it ends by itself."""
    instance = taillard(jobs=8, machines=6, seed=3)
    one, two, other = (solve(instance, seed=seed, policy=checkpoint, schedules=6) for seed in (5, 5, 6))
    assert one.solution.start.tolist() == two.solution.start.tolist() and not one.should_stop
    assert one.trace[0][1] == other.trace[0][1] == solve(instance, 1, policy=checkpoint).objective
    assert solve(instance, 9, policy=checkpoint, schedules=0).limit == "iterations"
    values = [Agent(instance, weights_of(checkpoint)).build(1.0, random_state(seed)) for seed in range(8)]
    assert len(set(values)) > 1


def test_temperatures():
    """The first schedule is greedy, the others are sampled across the range."""
    solver = CpAgent(lowest=0.5, highest=2.0)
    rest = [solver.temperature(k) for k in range(1, 32)]
    assert solver.temperature(0) == 0.0 and all(0.5 <= t <= 2.0 for t in rest)
    assert min(rest) < 0.6 and max(rest) > 1.8 and sum(t < 1.0 for t in rest) in (15, 16)


def test_out_of_time(network):
    """A schedule that is stopped can be completed at once, and what comes of it is valid."""
    instance = taillard(jobs=12, machines=12, seed=1)
    agent, asked = Agent(instance, network.weights()), []
    assert agent.build(0.0, random_state(0), lambda: len(asked) == 1 or bool(asked.append(0))) == -1
    value = agent.hurry()
    assert JobShop().evaluate(instance, agent.schedule()) == value


def test_refusals(tmp_path):
    """Options out of range, instances of other kinds, checkpoints of other networks."""
    for options in ({"schedules": -1}, {"lowest": 0.0}, {"lowest": 2.0, "highest": 1.0}, {"highest": float("inf")}):
        with pytest.raises(UsageError, match="accepted"):
            CpAgent(**options)
    assert "choice" in CpAgent().accepts(flexible()) and "makespan" in CpAgent().accepts(tardiness())
    assert not CpAgent().accepts(taillard())
    with pytest.raises(UsageError, match="recipe cp-agent"):
        weights_of("tsp-bq")
    with pytest.raises(UsageError, match="accepted"):
        CpAgentNetwork(width=0)


def test_the_shipped_agent_beats_the_rules():
    """On generated instances the greedy schedules are shorter than the best rule's, on the mean."""
    instances = [taillard(jobs=20, machines=15, seed=4_000_000_000 + i) for i in range(8)]
    agents = [Agent(instance, weights_of("jobshop-cp")).build(0.0, random_state(0)) for instance in instances]
    rules = [[Dispatcher(i).run(rule, 0.0, random_state(0)) for rule in range(RULES.index("edd"))] for i in instances]
    assert np.mean(agents) < np.mean(rules, axis=0).min()

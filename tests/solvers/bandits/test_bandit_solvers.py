"""corl.solvers.bandits: indices against value iteration, the fluid relaxation against exact dynamic programming."""

from __future__ import annotations

import math
import pickle
import time
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corl
from corl import deadline, registry
from corl.deadline import OutOfTime, time_limited
from corl.problems.bandits.constraints import Budget
from corl.problems.bandits.instance import BanditInstance
from corl.run import Run
from corl.solvers.bandits.policies.fluid_relaxation import solve_fluid
from corl.solvers.bandits.policies.tables import TablePolicy
from corl.solvers.bandits.whittle_index import whittle_indices

PROBLEM = registry.problem("bandits")


def random_arms(random: np.random.Generator, arms: int, states: int) -> tuple[np.ndarray, np.ndarray]:
    chances = random.random((arms, 2, states, states)) ** 3 + 1e-3
    return chances / chances.sum(axis=3, keepdims=True), random.normal(size=(arms, 2, states))


def advantage(chances: np.ndarray, rewards: np.ndarray, beta: float, subsidy: float) -> np.ndarray:
    """[S] what pulling is worth more than leaving alone under a subsidy, by policy iteration."""
    pull = np.ones(len(rewards[0]), bool)
    while True:
        step = np.where(pull[:, None], chances[1], chances[0])
        value = np.linalg.solve(np.eye(len(pull)) - beta * step, np.where(pull, rewards[1], rewards[0] + subsidy))
        gain = rewards[1] + beta * chances[1] @ value - rewards[0] - subsidy - beta * chances[0] @ value
        better = np.where(np.abs(gain) < 1e-12, pull, gain > 0)
        if np.array_equal(better, pull):
            return gain
        pull = better


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), states=st.integers(1, 6), beta=st.sampled_from([0.3, 0.9, 0.99]))
def test_indices_are_indifference_prices(seed, states, beta):
    """At its index as subsidy, a state of an indexable arm is indifferent; above it, it is left alone, below it pulled."""
    chances, rewards = random_arms(np.random.default_rng(seed), 3, states)
    indices, indexable = whittle_indices(chances, rewards, beta)
    for j in np.flatnonzero(indexable):
        for s in range(states):
            scale = 1e-8 * (1 + abs(indices[j, s]))
            assert abs(advantage(chances[j], rewards[j], beta, indices[j, s])[s]) <= 10 * scale / (1 - beta)
            assert advantage(chances[j], rewards[j], beta, indices[j, s] + 1e-3)[s] < 0
            assert advantage(chances[j], rewards[j], beta, indices[j, s] - 1e-3)[s] > 0


def test_arms_that_are_not_indexable_are_told():
    """Over a grid of subsidies, exactly the arms that come back to being pulled somewhere are called not indexable."""
    random = np.random.default_rng(1)
    chances = random.random((80, 2, 3, 3)) ** 8 + 1e-6
    chances /= chances.sum(axis=3, keepdims=True)
    rewards = random.random((80, 2, 3))
    _, indexable = whittle_indices(chances, rewards, 0.95)
    comes_back = np.zeros(80, bool)
    for j in range(80):
        gains = np.array([advantage(chances[j], rewards[j], 0.95, x) for x in np.linspace(-5, 5, 300)])
        comes_back[j] = ((gains[:-1] < -1e-9) & (gains[1:] > 1e-9)).any()
    assert comes_back.any() and not indexable[comes_back].any()
    assert indexable[~comes_back].mean() > 0.95  # the grid may miss a few


def exact_value(instance: BanditInstance) -> float:
    """What the best policy earns in expectation, by dynamic programming over joint states; two or three arms."""
    arms, states = instance.arms, instance.rewards.shape[2]
    joint = list(product(range(states), repeat=arms))
    every = np.array(list(product((0, 1), repeat=instance.constraint.action_size)), np.int8)
    actions = [a for a in every if a.sum() <= instance.constraint.budget]
    value = dict.fromkeys(joint, 0.0)
    for weight in instance.weights[::-1]:
        now = {}
        for state in joint:
            best = -np.inf
            for action in actions:
                levels = instance.constraint.levels_of(action[None])[0]
                rows = [instance.transitions[j, levels[j], state[j]] for j in range(arms)]
                reward = sum(instance.rewards[j, levels[j], state[j]] for j in range(arms))
                chance = rows[0]
                for row in rows[1:]:
                    chance = np.multiply.outer(chance, row)
                best = max(best, weight * reward + float((chance.ravel() * [value[s] for s in joint]).sum()))
            now[state] = best
        value = now
    return float(np.mean([value[tuple(state)] for state in instance.initial]))


def test_the_fluid_bound_is_one_and_is_tight_without_coupling():
    """The relaxation's value is at least that of the best policy, and equals it where the budget is enough for all arms."""
    for seed in range(4):
        random = np.random.default_rng(seed)
        chances, rewards = random_arms(random, 3, 2)
        initial = random.integers(0, 2, (3, 3))
        for budget in (1, 3):
            instance = BanditInstance("x", chances, rewards, Budget(np.ones(3, int), budget), initial, 4, 0.9)
            bound, best = solve_fluid(instance).bound, exact_value(instance)
            assert bound >= best - 1e-9
            if budget == 3:
                assert bound == pytest.approx(best, abs=1e-9)


def test_interventions_bound():
    """With interventions shared by arms, too, the relaxation is a bound."""
    instance = PROBLEM.generators["interventions"](arms=3, count=3, pulls=1, horizon=3, episodes=2, seed=5)
    instance = BanditInstance(
        "x", instance.transitions[..., :4, :4], instance.rewards, instance.constraint, instance.initial, 3, levels=instance.levels
    )
    assert solve_fluid(instance).bound >= exact_value(instance) - 1e-9


@pytest.mark.chance
@pytest.mark.parametrize("kind", list(PROBLEM.generators))
def test_every_solver_is_feasible_and_fluid_leads(kind):
    """All solvers give feasible policies; the fluid prices earn at least nearly what looking one step ahead does."""
    options = {"arms": 8, "pulls": 3, "episodes": 20, "horizon": 10} | ({"count": 6} if kind == "interventions" else {})
    instance = PROBLEM.generators[kind](**options, seed=2)
    earned = {}
    for name in sorted(set(registry.solvers("bandits")) - {"policy", "tree-search", "muzero", "online"}):  # they need a policy
        learned = {"episodes": 1, "epochs": 1} if name in ("sequoia", "iterative-dqn") else {}
        if not registry.solver("bandits", name)().accepts(instance):
            earned[name] = corl.solve(instance, solver=name, time_limit=20, **learned).objective
    assert earned["fluid"] >= 0.99 * earned["myopic"] and earned["fluid"] > earned["null"]


def test_auto_says_its_choice_and_reports_a_bound():
    """The default gives a policy with a bound above what it earned."""
    result = corl.solve(PROBLEM.generators["scheduling"](arms=10, pulls=3, seed=1), time_limit=20)
    assert result.solver == "fluid" and result.bound >= result.objective and result.gap < 0.1


@pytest.mark.parametrize("kind", ["budget", "capacity", "scheduling", "routing", "interventions"])
def test_nothing_is_compiled_inside_the_clock(kind):
    """After `prepare`, no kernel of the simulation or of an oracle has a new signature when the instance is solved."""
    from corl.problems.bandits import transitions
    from corl.problems.bandits.constraints import kernels

    instance = PROBLEM.generators[kind](arms=12, pulls=3, episodes=5, horizon=4, seed=7)
    solver = registry.solver("bandits", "fluid")()
    solver.prepare(instance)
    compiled = [item for module in (transitions, kernels) for item in vars(module).values() if hasattr(item, "signatures")]
    before = [len(item.signatures) for item in compiled]
    run = Run(PROBLEM, instance, time_limit=20)
    run.start()
    solver.solve(instance, run)
    assert run.objective is not None and [len(item.signatures) for item in compiled] == before


@pytest.mark.chance
@pytest.mark.parametrize("solver", ["iterative-myopic", "iterative-dqn", "sampling", "fluid"])
def test_a_hundred_arms_are_given_up_in_time(solver, overtime):
    """A policy whose episodes take seconds to play is not played to its end at a limit of 0.1 s."""
    assert overtime(PROBLEM.generators["scheduling"](arms=100, pulls=20), solver, 0.1) <= 0.2


def test_a_policy_that_a_worker_has_judged_is_not_played_again():
    """What takes a worker most of the time limit takes its parent none: the policy comes with what it earned, to the bit."""
    instance = PROBLEM.generators["capacity"](arms=10, pulls=3, horizon=5)
    judged = TablePolicy(instance, instance.rewards[None])
    value = PROBLEM.evaluate(instance, judged)
    sent, again = pickle.loads(pickle.dumps((judged, instance)))
    with time_limited(lambda: 0.0):
        assert PROBLEM.evaluate(again, sent) == value
        with pytest.raises(OutOfTime):  # other luck is another instance
            PROBLEM.evaluate(replace(instance, seed=1), sent)


@pytest.mark.chance
def test_what_the_time_left_is_too_short_for_ends_the_run():
    """A relaxation that takes longer than the limit: `no_solution`, because of the time limit, also some moments before it."""
    result = corl.solve(PROBLEM.generators["scheduling"](arms=100, pulls=20), solver="fluid", time_limit=0.1)
    assert (result.status, result.limit) == ("no_solution", "time_limit")


@pytest.mark.chance
def test_a_program_that_takes_long_is_given_up_at_once():
    """HiGHS in a program of seconds neither sees Ctrl-C nor, in its presolve, the limit: who asked goes on without it."""
    instance = PROBLEM.generators["scheduling"](arms=300, pulls=60)
    begun = time.monotonic()
    with pytest.raises(OutOfTime), time_limited(lambda: math.inf if time.monotonic() < begun + 1.5 else 0.0):
        solve_fluid(instance)


def test_programs_in_a_process_find_the_same(monkeypatch):
    """A relaxation that is solved in a process has the prices of one that is solved here, and no process is left."""
    instance = PROBLEM.generators["scheduling"](arms=8, pulls=2, horizon=6)
    here = solve_fluid(instance)
    monkeypatch.setattr(deadline, "_LARGE", 0)
    with time_limited(lambda: math.inf):
        there = solve_fluid(instance)
    assert here.bound == there.bound and np.array_equal(here.level_values, there.level_values)

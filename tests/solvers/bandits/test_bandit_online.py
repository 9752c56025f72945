"""corl.solvers.bandits.online: plans and beliefs against dense algebra, the kernel's days against the policies'."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corl
from corl import registry
from corl.errors import InputError, UsageError
from corl.online.dispatcher import policy_class
from corl.online.simulation import play
from corl.problems.bandits.environment import episode_of
from corl.problems.bandits.instance import BanditInstance
from corl.solvers.bandits.online import beliefs
from corl.solvers.bandits.online.deciding import decide, make_learner
from corl.solvers.bandits.online.fitting import fit_population
from corl.solvers.bandits.online.planning import FLUID, WHITTLE, pull_values
from corl.solvers.bandits.online.priors import default_population, prior_of, read_population, write_population
from corl.solvers.bandits.online.simulation import simulate_days
from corl.solvers.bandits.whittle_index import whittle_indices

PROBLEM = registry.problem("bandits")
SETTINGS = {
    "random": [{}, {"min_pulls": 2}],
    "thompson": [{"sharing": "none"}, {"sharing": "arm", "planner": "whittle", "every": 3}, {"min_pulls": 3}],
    "ucb": [{"sharing": "none"}, {"sharing": "arm", "scale": 0.0, "every": 3}, {"planner": "whittle", "every": 2}],
    "wiql": [{"scale": 0.1}],
    "ucwhittle": [{"every": 4, "scale": 0.3}, {"variant": "penalty", "every": 3}],
    "clairvoyant": [{}, {"planner": "whittle", "min_pulls": 1}],
}


def outreach(seed: int = 0, **given: float) -> BanditInstance:
    """Eight arms, three pulls, twelve steps."""
    options = {"arms": 8, "pulls": 3, "features": 2, "horizon": 12, "episodes": 4} | given
    return PROBLEM.generators["outreach"](**options, seed=seed)


@pytest.mark.parametrize(("name", "given"), [(name, each) for name, every in SETTINGS.items() for each in every])
@pytest.mark.parametrize("states", [2, 3])
def test_the_kernel_plays_the_days_of_the_policies(name, given, states):
    """Days in one kernel have the actions and the rewards of the same days, played decision by decision."""
    instance, policy = outreach(states=states), policy_class("bandits", name)(**given)
    together = simulate_days(instance, policy.learner(instance), [3, 5], record=True)
    for row, key in enumerate((3, 5)):
        day = episode_of(instance, key)
        played = corl.online.simulate(policy, day)
        assert np.array_equal(played.solution.taken, together.actions[row])
        assert np.isclose(played.objective, together.rewards[row].mean(), rtol=1e-12)
        assert np.array_equal(together.pulls[row], together.actions[row].sum(axis=0))


def test_policies_do_not_read_what_is_unknown():
    """With other transition probabilities, but the same history, decisions are the same, except in hindsight."""
    day = episode_of(outreach(), 0)
    other = replace(day, transitions=np.full_like(day.transitions, 0.5))
    stream, random = PROBLEM.stream(day), np.random.default_rng(0)
    knowledge = stream.begin(day)
    for time in range(9):
        states = random.integers(0, 2, day.arms).tolist()
        stream.observe(knowledge, {"time": time, "step": time, "kind": "states" if time else "begin", "states": states})
        if time < 8:
            stream.perform(knowledge, {"action": day.constraint.random(random, 1)[0].tolist()})
    for name in SETTINGS:
        policy = policy_class("bandits", name)()
        same = np.array_equal(*(decide(policy.learner(each), PROBLEM.stream(each), knowledge) for each in (day, other)))
        assert same or name == "clairvoyant", name


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), states=st.integers(2, 4), planner=st.sampled_from([WHITTLE, FLUID]))
def test_values_of_pulls(seed, states, planner):
    """Whittle's indices are those of the adaptive greedy algorithm; the fluid price is a minimum of the Lagrangian dual, and the
    values of states are those of value iteration at this price."""
    random = np.random.default_rng(seed)
    arms, budget, beta = 5, 2, 0.9
    chances = random.random((arms, 2, states, states)) + 0.01
    chances /= chances.sum(axis=3, keepdims=True)
    rewards, now = random.normal(size=(arms, 2, states)), random.integers(0, states, arms).astype(np.int32)
    indices, indexable = whittle_indices(chances, rewards, beta)
    values, states_values = np.empty((arms, states)), np.empty((arms, states))
    price = pull_values(chances, rewards, now, beta, budget, planner, values, states_values)
    if planner == WHITTLE:
        assert np.allclose(values[indexable], indices[indexable])
    elif indexable.all():
        dual = [_dual(chances, rewards, now, beta, budget, price + step)[0] for step in (-0.02, 0.0, 0.02)]
        assert dual[1] <= dual[2] + 1e-6 and (price == 0.0 or dual[1] <= dual[0] + 1e-6)
        later = _dual(chances, rewards, now, beta, budget, price)[1]
        steps = rewards + beta * np.einsum("jasn,jn->jas", chances, later)
        assert np.allclose(values, steps[:, 1] - steps[:, 0], atol=1e-6) and np.allclose(states_values, later, atol=1e-6)


def _dual(chances, rewards, now, beta, budget, price):
    """The Lagrangian dual's value at a price, and the values of the arms' states, by value iteration."""
    value = np.zeros(rewards[:, 0].shape)
    for _ in range(400):
        steps = rewards + beta * np.einsum("jasn,jn->jas", chances, value)
        value = np.maximum(steps[:, 0], steps[:, 1] - price)
    return value[np.arange(len(now)), now].sum() + price * budget / (1 - beta), value


def _posterior(prior, counts, scale=0.0, samples=1):
    """Means over samples of the transition probabilities, and the work arrays of the posterior."""
    arms, _, size, _ = counts.shape
    order, width, drivers = np.arange(size), 2 * size * (size - 1), len(prior.weights)
    trials, successes, omega = (np.empty((arms, width)) for _ in range(3))
    weights, inverse = np.empty((drivers, width)), np.empty((arms, width, width))
    precision = np.empty((drivers * width, drivers * width))
    beliefs.tally(counts, order, trials, successes)
    beliefs.posterior(prior, trials, successes, weights, precision, omega, inverse)
    chances, noise = np.empty((arms, 2, size, size)), np.array([1], np.uint64)
    found = []
    for _ in range(samples):
        beliefs.sample(prior, trials, successes, weights, precision, omega, inverse, order, scale, noise, chances)
        found.append(chances.copy())
    return np.array(found), trials, successes, omega, weights, inverse


@pytest.mark.parametrize("model", [beliefs.INDEPENDENT, beliefs.ARM, beliefs.FEATURES])
@pytest.mark.parametrize("states", [2, 3])
def test_beliefs_follow_the_counts(model, states):
    """Rows of samples sum to 1; with many observations, they are near the frequencies; their mean is that of scale 0."""
    random = np.random.default_rng(model)
    true = random.dirichlet(np.ones(states), (6, 2, states))
    counts = random.multinomial(5000, true).astype(np.int32)
    prior = prior_of(default_population(states), model, random.normal(size=(6, 2)))
    middle = _posterior(prior, counts)[0][0]
    drawn = _posterior(prior, counts, 1.0, 40)[0]
    assert np.allclose(drawn.sum(axis=4), 1.0) and np.abs(middle - counts / 5000).max() < 0.02
    assert 0 < np.abs(drawn.mean(axis=0) - middle).max() < 0.02
    few = _posterior(prior, counts // 1000, 1.0, 40)[0]
    assert few.std(axis=0).mean() > 3 * drawn.std(axis=0).mean()


def test_weights_of_features_by_dense_algebra():
    """The weights' posterior mean is that of one regression on all pseudo-observations with all arms' deviations at once."""
    random = np.random.default_rng(0)
    counts = random.integers(0, 9, (7, 2, 2, 2)).astype(np.int32)
    prior = prior_of(default_population(2), beliefs.FEATURES, random.normal(size=(7, 3)))
    _, trials, successes, omega, weights, _ = _posterior(prior, counts)
    seen = trials > 0
    design = np.einsum("jf,cd->jcfd", prior.features, np.eye(4)).reshape(28, 16)[seen.ravel()]
    noise = np.kron(np.eye(7), np.linalg.inv(prior.precision))[np.ix_(seen.ravel(), seen.ravel())]
    noise += np.diag(1.0 / omega[seen])
    start = np.zeros((16, 16))
    for f in range(4):
        start[4 * f : 4 * f + 4, 4 * f : 4 * f + 4] = prior.weights_precision[f]
    right = design.T @ np.linalg.solve(noise, ((successes - 0.5 * trials)[seen] / omega[seen]))
    expected = np.linalg.solve(start + design.T @ np.linalg.solve(noise, design), right + start @ prior.weights.ravel())
    assert np.allclose(weights.ravel(), expected, atol=1e-8)


@pytest.mark.parametrize("model", [beliefs.INDEPENDENT, beliefs.ARM])
@pytest.mark.parametrize("states", [2, 3])
def test_deviations_of_values(model, states):
    """With many observations, the deviation to first order is that of samples of the posterior."""
    random = np.random.default_rng(model)
    counts = random.multinomial(400, random.dirichlet(np.full(states, 5.0), (6, 2, states))).astype(np.int32)
    prior = prior_of(default_population(states), model, np.zeros((6, 0)))
    drawn, trials, successes, _, _, inverse = _posterior(prior, counts, 1.0, 1500)
    middle, later, found = _posterior(prior, counts)[0][0], random.normal(size=(6, states)), np.zeros((6, states))
    beliefs.add_deviations(prior, trials, successes, inverse, np.arange(states), middle, later, 2.0, found)
    values = np.einsum("rjsn,jn->rjs", drawn[:, :, 1] - drawn[:, :, 0], later)
    assert np.allclose(found, 2.0 * values.std(axis=0), rtol=0.1)


def test_days_with_logs_of_earlier_ones():
    """The kernel and the policies begin with the transitions in a log, and decide otherwise than without."""
    instance = outreach()
    logged = simulate_days(instance, make_learner(instance, "random"), [9]).counts[0]
    player = corl.dispatcher("ucb", episode_of(instance, 3))
    player.knowledge.logged[:] = logged
    played = play(player, 0, 0.0, 0.0, lambda: np.inf)
    learner = player.policy.learner(instance)
    days = [simulate_days(instance, learner, [3], logged=each, record=True) for each in (logged, None)]
    assert np.array_equal(played.solution.taken, days[0].actions[0]) and (days[0].actions != days[1].actions).any()
    assert np.array_equal(days[0].counts[0].sum(axis=(1, 2, 3)), logged.sum(axis=(1, 2, 3)) + instance.horizon)


def test_minimum_pulls():
    """Every arm is pulled in each part of the episode; numbers that the budget cannot pay are refused with the largest one."""
    instance = outreach()
    for name in ("random", "thompson", "clairvoyant"):
        policy = policy_class("bandits", name)(min_pulls=4)
        taken = simulate_days(instance, policy.learner(instance), range(4), record=True).actions
        assert (taken.reshape(4, 4, 3, 8).sum(axis=2) >= 1).all() and (taken.sum(axis=2) <= 3).all()
    with pytest.raises(UsageError, match="min_pulls=5; accepted: up to 4"):
        corl.dispatcher("thompson", episode_of(instance, 0), min_pulls=5)


@pytest.mark.parametrize("kind", ["capacity", "interventions"])
def test_other_constraints_are_refused(kind):
    """In one line."""
    with pytest.raises(UsageError, match="because it takes a budget of pulls that all cost the same"):
        corl.dispatcher("ucb", PROBLEM.generators[kind](arms=8, pulls=2, episodes=1))


def test_populations(tmp_path):
    """One estimated from logs is near the frequencies, and comes back from its file; malformed files are refused."""
    instance = outreach(arms=60, horizon=200)
    played = simulate_days(instance, make_learner(instance, "random"), range(4))
    counts = played.counts.sum(axis=0, dtype=np.int32)
    found = fit_population([counts], [instance.arm_features], np.arange(2))
    share = counts[..., 1].sum(axis=0) / counts.sum(axis=(0, 3))
    assert np.allclose(found.chance, share.ravel()) and np.allclose(1 / (1 + np.exp(-found.mean)), share.ravel(), atol=0.1)
    assert (np.linalg.eigvalsh(found.residual) > 0).all() and np.trace(found.residual) < np.trace(found.covariance)
    write_population(found, tmp_path / "a.json")
    back = read_population(str(tmp_path / "a.json"))
    assert all(np.allclose(*pair, rtol=1e-5, atol=1e-9) for pair in zip(found, back))
    for sharing in ("none", "arm", "features"):
        policy = policy_class("bandits", "thompson")(prior=str(tmp_path / "a.json"), sharing=sharing)
        assert corl.online.simulate(policy, episode_of(instance, 0)).objective > 0
    text = (tmp_path / "a.json").read_text()
    (tmp_path / "b.json").write_text(text.replace('"mean"', '"man"'))
    with pytest.raises(InputError):
        read_population(str(tmp_path / "b.json"))
    with pytest.raises(UsageError, match="is not for arms with 3 states"):
        corl.online.simulate(policy, episode_of(outreach(states=3), 0))
    with pytest.raises(UsageError, match="is not for arms with 4 features"):
        corl.online.simulate(policy, episode_of(outreach(features=4), 0))

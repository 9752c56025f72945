"""The environment of bandits: what may be picked, what is seen of the future (nothing), and what its tables say."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from corl import registry
from corl.decoding import CountedEvaluator, Planning
from corl.errors import Infeasible, UsageError
from corl.policy import RulePolicy
from corl.problems.bandits.constraints import KINDS, routing
from corl.problems.bandits.environment import BanditEnvironment
from corl.problems.bandits.evaluation import episode_keys, simulate
from corl.problems.bandits.precomputed import precompute
from corl.problems.bandits.recorded import RecordedPolicy
from corl.search.gumbel import Gumbel
from corl.search.models import SimulatorModel, rows_needed
from corl.solvers.bandits.policies.tables import RandomPolicy, TablePolicy

EACH = pytest.mark.parametrize("kind", list(KINDS))


def judged(instance, action) -> bool:
    """Whether the judge takes an action."""
    try:
        instance.constraint.check(np.asarray(action, np.int8))
    except Infeasible:
        return False
    return True


@EACH
def test_rooms_hold_the_feasible_actions(kind, some):
    """Every set of picks fits into a room if and only if the judge takes it; picks add up to the levels that it gives."""
    for seed in range(25):
        instance = some(kind, 1 + seed % 5, seed)
        constraint, rooms = instance.constraint, instance.constraint.rooms()
        touched = constraint.touched()
        for picks in itertools.product((0, 1), repeat=constraint.action_size):
            action = np.array(picks, np.int8)
            assert (action @ rooms.needs <= rooms.sizes).all(axis=1).any() == judged(instance, action), (seed, picks)
            levels = np.zeros(instance.arms, np.int64)
            for arm, more in itertools.chain.from_iterable(touched[pick] for pick in np.flatnonzero(action)):
                levels[arm] += more
            assert levels.tolist() == constraint.levels_of(action[None])[0].tolist()


@EACH
def test_a_pick_is_legal_while_the_choice_can_be_completed(kind, some):
    """In every state of random episodes the actions are commit and the entries that the judge takes besides those picked."""
    random = np.random.default_rng(0)
    for seed in range(15):
        instance = some(kind, 1 + seed % 6, seed)
        environment, n = BanditEnvironment([instance], 1), instance.constraint.action_size
        while (listed := environment.actions([0])[0])[0] >= 0:
            chosen = environment.state.chosen[0, environment.state.time[0]]
            one_more = chosen | np.eye(n, dtype=np.int8)
            expected = [pick for pick in range(n) if not chosen[pick] and judged(instance, one_more[pick])]
            assert sorted(listed[listed >= 0].tolist()) == [*expected, n]
            environment.step([0], [0], [random.choice(listed[listed >= 0])])


@EACH
def test_decisions_play_as_the_judge_does(kind, some):
    """What a policy's decisions earn from a key is what the judge says of it in the episode of that key, to the bit."""
    problem = registry.problem("bandits")
    for seed in range(10):
        instance = some(kind, 2 + seed % 5, seed)
        for policy in (RandomPolicy(instance, seed), TablePolicy(instance, instance.rewards[None])):
            for key in (0, 1, 7, 2**64 - 1):
                environment = BanditEnvironment([instance], 1)
                total = environment.reset([0], [0], [key])[0]
                for action in problem.decisions(instance, policy, key):
                    total += environment.step([0], [0], [action])[0]
                assert total == simulate(problem.realised_instance(instance, key), policy.actions).mean


def test_the_episodes_that_judge_are_never_played(some):
    """No key's luck is that of an episode of the instance; other keys, and other instances, have other luck."""
    problem, keys = registry.problem("bandits"), []
    for seed in range(5):
        instance = some("budget", 4, seed)
        keys += [*episode_keys(instance), *(episode_keys(problem.realised_instance(instance, key))[0] for key in range(20))]
    assert len(set(keys)) == len(keys)


def test_a_record_is_no_policy_for_several_episodes():
    """It would have to know which one it plays; and it has an action for every step."""
    instance = registry.problem("bandits").generators["budget"](arms=3, pulls=1, horizon=2, episodes=2)
    with pytest.raises(Infeasible, match="actions recorded in one episode are no policy for 2"):
        registry.problem("bandits").evaluate(instance, RecordedPolicy(instance, np.zeros((2, 3), np.int8)))
    with pytest.raises(Infeasible, match="an action of 3 entries for each of 2 steps"):
        RecordedPolicy(instance, np.zeros((1, 3), np.int8))


def test_what_cannot_be_listed_is_refused(monkeypatch, some):
    """Walks that are too many to list leave nothing to look a pick up in; one line says so."""
    monkeypatch.setattr(routing, "_MAX_STATES", 1)
    instance = registry.problem("bandits").generators["routing"](arms=8, pulls=3)
    with pytest.raises(UsageError, match=r"^the walks of 6 steps have more than 1 states: too many to list$"):
        BanditEnvironment([instance], 1)


def test_rows_placed_in_the_middle(some):
    """They show what a row shows that has come there, and have no solution."""
    instance = registry.problem("bandits").generators["capacity"](arms=6, pulls=2, horizon=3)
    environment = BanditEnvironment([instance], 2)
    environment.step([0], [0], [int(environment.actions([0])[0, 0])])
    environment.step([0], [0], [6])
    environment.place([1], environment.state.arm[:1].copy(), 1)
    ours, theirs = (environment.observe([row]) for row in (0, 1))
    assert all(ours[name].tobytes() == theirs[name].tobytes() for name in ours)
    for row in (0, 1):
        environment.step([row], [row], [6])
        environment.step([row], [row], [6])
    assert environment.solution(0).taken[1:].sum() == 0
    with pytest.raises(UsageError, match="row 1 was placed in the middle of an episode"):
        environment.solution(1)


@EACH
def test_the_lookahead_of_arms_left_alone(kind, some):
    """By powers of the transition matrices; that of arms cared for is never less."""
    for seed in range(5):
        instance = some(kind, 3, seed)
        lookahead, gamma = precompute(instance).lookahead, instance.discount
        expected, ahead = instance.rewards.copy(), instance.transitions.copy()
        for h in range(instance.horizon):
            assert lookahead[h, 0] == pytest.approx(expected, abs=1e-12)
            assert (lookahead[h, 1] >= lookahead[h, 0] - 1e-12)[instance.exists].all()
            expected += gamma ** (h + 1) * np.einsum("jasn,jn->jas", ahead, instance.rewards[:, 0])
            ahead = np.einsum("jasn,jnm->jasm", ahead, instance.transitions[:, 0])


class _Listed(RulePolicy):
    """Prefers what is listed first; has no opinion of states, or one of the arms."""

    problem = "bandits"

    def evaluate(self, observation):
        logits = np.where(observation["mask"], -0.3 * np.arange(observation["mask"].shape[1]), -np.inf)
        return logits, observation["weight"] * observation["arms"].sum(axis=1)


@pytest.mark.parametrize("simulations", [3, 24])
@pytest.mark.parametrize("rollouts", [False, True])
def test_a_search_does_not_see_the_future(rollouts, simulations):
    """Rows in one situation, whose draws to come all differ, are searched alike to the bit, whether a leaf is worth what the
    policy says or what a rollout comes to; with few simulations the root's own value counts for actions without a visit.
    """
    instance = registry.problem("bandits").generators["scheduling"](arms=8, pulls=3, horizon=4, episodes=1, seed=3)
    trees, search = 6, Gumbel(simulations, noise=0.0)
    planning = Planning(search, rollouts)
    environment = BanditEnvironment([instance], trees * planning.rows)
    rows = np.arange(trees)
    environment.reset(rows, 0, rows)
    keys = environment.state.key[rows].copy()
    assert len(set(keys.tolist())) == trees
    choose = planning.chooser(CountedEvaluator(environment, _Listed()), trees)
    for _ in range(8):
        listed = environment.actions(rows)
        slots, likely = choose(rows, listed, np.full(trees, 5, np.uint64))
        assert len(set(slots.tolist())) == len(set(likely.tolist())) == 1
        assert (environment.state.key[rows] == keys).all()
        if not rollouts:
            model = SimulatorModel(environment, _Listed().on(environment), first=trees)
            values = [search.search(model, rows, np.full(trees, key, np.uint64)).value for key in (5, 6)]
            assert len(set(values[0].tolist())) == len(set(values[1].tolist())) == 1
        environment.step(rows[:1], rows[:1], listed[:1, slots[0]])
        arms, time = environment.state.arm[:1].copy(), int(environment.state.time[0])
        if int(environment.actions([0])[0, 0]) < 0:
            break
        for row in rows[1:]:  # the same situation, with luck of its own
            environment.step([row], [row], listed[:1, slots[0]])
        environment.state.arm[rows] = arms
        assert (environment.state.time[rows] == time).all()
    assert rows_needed(trees, search.simulations) <= environment.rows


def test_luck_matters_to_a_search():
    """The one above could not fail if it did not: with the keys of the searches, what they find differs."""
    instance = registry.problem("bandits").generators["scheduling"](arms=8, pulls=3, horizon=4, episodes=1, seed=3)
    for rollouts in (False, True):
        planning = Planning(Gumbel(24, noise=0.0), rollouts)
        environment = BanditEnvironment([instance], 6 * planning.rows)
        environment.reset(np.arange(6), 0, 0)
        choose = planning.chooser(CountedEvaluator(environment, _Listed()), 6)
        found = choose(np.arange(6), environment.actions(np.arange(6)), np.arange(6).astype(np.uint64))
        assert len(set(found.log_probability.tolist())) > 1

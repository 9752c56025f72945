"""What both searches promise whatever the rule: optima, masks, terminals, batches, seeds, several leaves, pruning, scale."""

from __future__ import annotations

import itertools

import compare_mctx
import numpy as np
import pytest
import table_tsp

from corl.errors import SolverError, UsageError
from corl.policy import RulePolicy
from corl.search.gumbel import Gumbel
from corl.search.models import SimulatorModel, rows_needed
from corl.search.puct import Puct

GUMBEL = {"search": "gumbel", "cities": 10, "simulations": 60, "considered": 8, "seed": 5}
PUCT = {"search": "puct", "cities": 10, "simulations": 60, "seed": 5}
BOTH = pytest.mark.parametrize("configuration", [GUMBEL, PUCT], ids=["gumbel", "puct"])


def simulator(cities=8, simulations=60, seed=0, trees=4):
    """(environment, policy, model) of the made-up TSP; the roots are rows 0..trees-1."""
    places = table_tsp.points(seed, cities)[:trees]
    pool = table_tsp.environment(places, rows_needed(trees, simulations))
    policy = table_tsp.TablePolicy(table_tsp.tables(seed, cities))
    return pool, policy, SimulatorModel(pool, policy.on(pool), first=trees)


def same(a, b):
    """Whether two results have the same bits."""
    return all(x.tobytes() == y.tobytes() for x, y in zip(a, b))


def shortest(places):
    """The length of the best tour through a few places, by trying all."""
    tours = np.array([(0, *rest) for rest in itertools.permutations(range(1, len(places)))])
    return np.linalg.norm(places[tours] - places[np.roll(tours, -1, axis=1)], axis=2).sum(axis=1).min()


@pytest.mark.parametrize("search", [Gumbel(3000, noise=0.0), Puct(3000)], ids=["gumbel", "puct"])
def test_many_simulations_find_the_optimum(search):
    """Without a network (all logits 0, value 0), searching before each step plays the best tour of four TSPs with 7 cities."""
    places = table_tsp.points(11, 7)
    pool = table_tsp.environment(places, rows_needed(4, search.simulations))
    model, rows, length = SimulatorModel(pool, table_tsp.Uniform().on(pool), first=4), np.arange(4), np.zeros(4)
    for _ in range(6):
        length -= pool.step(rows, rows, search.search(model, rows, 0).action)
    assert length == pytest.approx([shortest(each) for each in places], abs=1e-9)


@BOTH
@pytest.mark.parametrize("leaves", [1, 5])
def test_other_trees_do_not_matter(configuration, leaves):
    """Four trees together and one by one: the same bits; the noise comes from a tree's own key."""
    search = compare_mctx.search_of(configuration, leaves=leaves)
    search = type(search)(**{**vars(search), "noise": 0.5})
    _, _, model = simulator()
    keys = np.arange(4, dtype=np.uint64) + 77
    together = search.search(model, np.arange(4), keys)
    for tree in range(4):
        alone = search.search(model, [tree], keys[tree : tree + 1])
        assert same([each[0] for each in alone], [each[tree] for each in together])


@BOTH
def test_other_sizes_in_the_pool_do_not_matter(configuration):
    """A TSP of 6 cities searched in a pool with one of 12: as in a pool of its own, but for empty slots."""
    found = []
    for cities in ([6], [6, 12]):
        places = [table_tsp.points(4, n)[0] for n in cities]
        instances = [table_tsp.TspInstance("t", "EXACT_2D", points=each) for each in places]
        pool = table_tsp.TspEnvironment(instances, 61, width=20)
        pool.reset([0], [0])
        policy = table_tsp.TablePolicy(table_tsp.tables(4, 12))
        found.append(compare_mctx.search_of(configuration).search(SimulatorModel(pool, policy.on(pool), first=1), [0], 0))
    small, large = found
    assert small.action == large.action and small.value == large.value
    for a, b, empty in ((small.actions, large.actions, -1), (small.visits, large.visits, 0), (small.policy, large.policy, 0.0)):
        assert np.array_equal(a, b[:, :5]) and (b[:, 5:] == empty).all()


@BOTH
def test_seeds(configuration):
    """One seed gives the same bits twice; with noise another one gives another search."""
    search = type(compare_mctx.search_of(configuration))(60, noise=0.5)
    _, _, model = simulator()
    first, again, other = (search.search(model, np.arange(4), seed) for seed in (3, 3, 4))
    assert same(first, again) and not same(first, other)


@BOTH
def test_ended_states_never_reach_the_network(configuration):
    """With more simulations than a TSP of 5 cities has partial tours, each live one is evaluated at most once (the policy of
    table_tsp refuses ended ones), and all simulations are counted."""
    _, policy, model = simulator(cities=5, simulations=300)
    search = type(compare_mctx.search_of(configuration))(300, noise=0.0)
    found = search.search(model, np.arange(4), 0)
    assert policy.states == found.evaluations.sum() and (found.evaluations <= 1 + 4 + 12 + 24).all()
    assert (found.visits.sum(axis=1) == 300).all()


@BOTH
@pytest.mark.parametrize("leaves", [2, 8])
def test_several_leaves_a_call(configuration, leaves):
    """All simulations are made, in fewer calls of the network, nothing is left waiting, and the values are means of returns."""
    _, policy, model = simulator()
    search = compare_mctx.search_of(configuration, leaves=leaves)
    found = search.search(model, np.arange(4), 0)
    trees = model.trees(4, 61, model.width)
    for tree in range(4):
        used = slice(0, trees.size[tree])
        assert np.array_equal(trees.visits[tree, used], trees.finished[tree, used])
    assert (found.visits.sum(axis=1) == 60).all()
    assert policy.calls < 0.75 * 61 if leaves == 2 else policy.calls < 0.4 * 61
    total = found.visits.sum(axis=1) + 1
    raw = table_tsp.tables(0, 8).values[0]
    assert found.value == pytest.approx((raw + (found.visits * found.values).sum(axis=1)) / total)


@BOTH
def test_several_leaves_find_the_optimum(configuration):
    """Eight leaves a call are as good with many simulations: the best tour of four TSPs with 6 cities."""
    search = type(compare_mctx.search_of(configuration))(800, noise=0.0, leaves=8)
    places = table_tsp.points(13, 6)
    pool = table_tsp.environment(places, rows_needed(4, 800))
    model, rows, length = SimulatorModel(pool, table_tsp.Uniform().on(pool), first=4), np.arange(4), np.zeros(4)
    for _ in range(5):
        length -= pool.step(rows, rows, search.search(model, rows, 0).action)
    assert length == pytest.approx([shortest(each) for each in places], abs=1e-9)


class Masking(RulePolicy):
    """The made-up network with some actions masked; `value` and the rest as it is."""

    def __init__(self, policy, cities, by):
        self.policy, self.cities, self.by = policy, cities, by

    def evaluate(self, observation):
        logits, value = self.policy.evaluate(observation)
        logits[np.isin(observation["cities"][:, :-2], self.cities)] = self.by
        return logits, value


@BOTH
@pytest.mark.parametrize("by", [-np.inf, np.finfo(np.float32).min])
def test_masked_actions_are_never_taken(configuration, by):
    """Cities whose logit is -inf (or the lowest number) get no visit, no share of the policy and no q, at the root or below it;
    a state where nothing else is left is searched without the mask."""
    pool, policy, _ = simulator()
    model = SimulatorModel(pool, Masking(policy, [3, 5], by).on(pool), first=4)
    found = type(compare_mctx.search_of(configuration))(60, noise=0.9).search(model, np.arange(4), 1)
    masked = np.isin(found.actions, [3, 5])
    assert masked.sum() == 8
    assert not found.visits[masked].any() and not found.policy[masked].any() and not found.values[masked].any()
    trees = model.trees(4, 61, model.width)
    for tree in range(4):
        actions = trees.action[tree, 1 : trees.size[tree]]
        parents = trees.parent[tree, 1 : trees.size[tree]]
        for node in np.flatnonzero(np.isin(actions, [3, 5])):  # only where nothing else was left
            path, above = set(), parents[node]
            while above > 0:
                path.add(trees.action[tree, above])
                above = trees.parent[tree, above]
            assert path >= {1, 2, 4, 6, 7}


@BOTH
def test_pruning_keeps_the_likeliest(configuration):
    """width=3: the three actions with the largest prior are searched, at the root and below it; 7 gives the search as it is."""
    _, policy, model = simulator()
    search = type(compare_mctx.search_of(configuration))
    found = search(60, noise=0.0, width=3).search(model, np.arange(4), 0)
    logits = policy.network.logits
    for tree in range(4):
        likeliest = np.argsort(-logits[0, found.actions[tree]])[:3]
        assert set(np.flatnonzero(found.visits[tree])) <= set(likeliest)
    trees = model.trees(4, 61, 3)
    for tree in range(4):
        for node in range(1, trees.size[tree]):
            if trees.branches[tree, node] == 3:
                seen, above = {0}, node
                while above > 0:
                    seen.add(int(trees.action[tree, above]))
                    above = trees.parent[tree, above]
                rest = sorted(set(range(8)) - seen, key=lambda city: -logits[trees.action[tree, node], city])
                assert set(trees.edge[tree, node, :3].tolist()) == set(rest[:3])
    wide, all_ = (search(60, noise=0.0, width=width).search(model, np.arange(4), 0) for width in (7, 0))
    assert same(wide, all_)


@BOTH
def test_the_unit_of_the_rewards_does_not_matter(configuration):
    """Coordinates and values times 2**30 or 2**-30: the same visits and policy, and values in that unit."""
    plain = compare_mctx.ours(configuration)
    for scale in (2.0**30, 2.0**-30):
        scaled = compare_mctx.ours(configuration, scale=scale)
        assert np.array_equal(plain.visits, scaled.visits) and np.array_equal(plain.policy, scaled.policy)
        assert np.array_equal(plain.value * scale, scaled.value)


@BOTH
def test_roots_that_are_over(configuration):
    """A root without actions has action -1 and zeros; the others are searched as without it, and no row of theirs changes."""
    pool, _, model = simulator()
    for city in range(1, 8):
        pool.step([2], [2], [city])
    before = [array[:4].copy() for array in pool.state[-4:]]
    search = compare_mctx.search_of(configuration)
    found = search.search(model, np.arange(4), 9)
    assert found.action[2] == -1 and found.evaluations[2] == 0 and found.value[2] == 0.0
    assert not found.visits[2].any() and not found.policy[2].any() and (found.actions[2] == -1).all()
    rest = search.search(model, [0, 1, 3], found_keys(9)[[0, 1, 3]])
    assert same([each[[0, 1, 3]] for each in found], rest)
    assert all(np.array_equal(a, b[:4]) for a, b in zip(before, pool.state[-4:]))
    assert (search.search(model, [2], 0).action == -1).all()


def found_keys(seed):
    """The keys that a seed gives to four trees."""
    from corl.search.loop import tree_keys

    return tree_keys(seed, 4)


def test_mistakes_are_named():
    """Too few rows, rows of the search as roots, keys of another number: UsageError; NaN from the network: SolverError."""
    pool, policy, model = simulator(simulations=10)
    with pytest.raises(UsageError, match="needs 48 rows of the environment, which has 44"):
        Gumbel(11).search(model, np.arange(4), 0)
    with pytest.raises(UsageError, match="roots are rows from 0 to 3"):
        Gumbel(2).search(model, [4], 0)
    with pytest.raises(UsageError, match="keys are a seed or 2 integers"):
        Gumbel(2).search(model, [0, 1], [1, 2, 3])
    with pytest.raises(SolverError, match="NaN"):
        Gumbel(2).search(SimulatorModel(pool, Masking(policy, [3], np.nan).on(pool), first=4), [0, 1], 0)


def test_dirichlet_noise_and_temperature():
    """noise=1 replaces the prior by a Dirichlet draw (mean 1/K, variance as its alpha says); temperature=1 draws by visits."""
    trees, n = 600, 5
    places = np.repeat(table_tsp.points(2, n)[:1], trees, axis=0)
    pool = table_tsp.environment(places, rows_needed(trees, 20))
    model = SimulatorModel(pool, table_tsp.TablePolicy(table_tsp.tables(2, n)).on(pool), first=trees)
    Puct(1, noise=1.0, concentration=0.7).search(model, np.arange(trees), 0)
    kept = model.trees(trees, 2, 4)
    prior = np.empty((trees, 4))
    np.put_along_axis(prior, kept.root_slot, kept.weight[:, 0], axis=1)
    assert prior.sum(axis=1) == pytest.approx(1.0, abs=1e-6)
    variance = 0.25 * 0.75 / (4 * 0.7 + 1)
    assert prior.mean(axis=0) == pytest.approx(0.25, abs=4 * np.sqrt(variance / trees))
    assert prior.var(axis=0) == pytest.approx(variance, rel=0.25)
    found = Puct(20, temperature=1.0).search(model, np.arange(trees), 0)
    share = (found.action[:, None] == found.actions).mean(axis=0)
    assert (found.visits == found.visits[0]).all()
    assert share == pytest.approx(found.visits[0] / 20, abs=4 * np.sqrt(0.25 / trees))

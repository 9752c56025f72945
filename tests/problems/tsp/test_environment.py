"""The TSP as a decision process: rewards add up to the tour, episodes end, batches do not matter, the k nearest are listed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.errors import UsageError
from corl.problems.tsp.assignment import assignment_of
from corl.problems.tsp.environment import TspEnvironment
from corl.problems.tsp.evaluation import edge_lengths
from corl.problems.tsp.instance import EDGE_WEIGHT_TYPES
from corl.problems.tsp.problem import Tsp

KINDS = (*EDGE_WEIGHT_TYPES, "ATSP")
TSP = Tsp()


def unvisited(environment, row):
    """The cities that a row may go to, by the state."""
    state = environment.state
    n = state.size[state.instance[row]]
    return sorted(state.order[row, state.visited[row] : n].tolist())


def distances(instance, origin, cities):
    """From one city to some, by the judge."""
    return edge_lengths(instance, np.full(len(cities), origin), np.asarray(cities))


@settings(deadline=None, max_examples=60)
@given(
    kinds=st.lists(st.tuples(st.sampled_from(KINDS), st.integers(1, 9), st.integers(0, 99)), min_size=1, max_size=4),
    nearest=st.integers(1, 10),
    seed=st.integers(0, 10**6),
    listed=st.booleans(),
)
def test_base_and_rewards_are_the_objective(random_instance, kinds, nearest, seed, listed):
    """For every kind and mixed sizes: base + rewards of a random legal episode = -length, and it ends after n - 1 steps.

    Actions are drawn from those listed or from all unvisited cities; steps go in place or to other rows at random.
    """
    instances = [random_instance(kind, n, number) for kind, n, number in kinds]
    environment = TspEnvironment(instances, 2 * len(instances), nearest)
    random, m = np.random.default_rng(seed), len(instances)
    here = np.arange(m)
    total = environment.reset(here, here, random.integers(0, 2**63, m).astype(np.uint64))
    steps = np.zeros(m, int)
    while (live := np.flatnonzero(environment.actions(here)[:, 0] >= 0)).size:
        offered = environment.actions(here[live])
        chosen = [random.choice(row[row >= 0]) for row in offered]
        if not listed:
            chosen = [random.choice(unvisited(environment, row)) for row in here[live]]
        there = np.where(random.random(len(live)) < 0.5, here[live], live + m * (here[live] < m))
        total[live] += environment.step(here[live], there, chosen)
        here[live] = there
        steps[live] += 1
    for k, instance in enumerate(instances):
        assert steps[k] == instance.n - 1
        assert TSP.evaluate(instance, environment.solution(here[k])) == pytest.approx(-total[k], rel=1e-9, abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(
    kind=st.sampled_from(KINDS),
    n=st.integers(2, 40),
    nearest=st.integers(1, 12),
    seed=st.integers(0, 999),
    played=st.integers(0, 39),
)
def test_actions_are_the_nearest(random_instance, kind, n, nearest, seed, played):
    """The K nearest unvisited cities are listed, nearest first, however many of the neighbour list are gone."""
    instance = random_instance(kind, n, seed)
    environment = TspEnvironment([instance], 1, nearest)
    random = np.random.default_rng(seed)
    environment.reset([0], [0])
    for _ in range(min(played, n - 2)):
        options = unvisited(environment, 0)
        environment.step([0], [0], [options[0] if random.random() < 0.5 else random.choice(options)])
    origin = environment.state.order[0, environment.state.visited[0] - 1]
    rest = unvisited(environment, 0)
    (listed,) = environment.actions([0])
    listed = listed[listed >= 0]
    assert len(set(listed)) == len(listed) == min(nearest, len(rest)) and set(listed) <= set(rest)
    found, all_of_them = distances(instance, origin, listed), distances(instance, origin, rest)
    if instance.matrix is not None and n > 1:  # by reduced cost
        prices = assignment_of(instance.matrix).into
        found, all_of_them = found - prices[listed], all_of_them - prices[rest]
    all_of_them.sort()
    assert np.allclose(found, all_of_them[: len(found)], rtol=1e-12, atol=1.0 if kind == "GEO" else 1e-9)


def play(environment, rows, which, choices):
    """Episodes on `rows`, the action of step t of row r by choices[r, t]; returns rewards, actions and tours."""
    environment.reset(rows, which)
    rewards, seen = [], []
    for t in range(choices.shape[1]):
        offered = environment.actions(rows)
        live = offered[:, 0] >= 0
        if not live.any():
            break
        count = (offered >= 0).sum(axis=1)
        pick = offered[np.arange(len(rows)), (choices[:, t] * count).astype(int)]
        reward = np.zeros(len(rows))
        reward[live] = environment.step(rows[live], rows[live], pick[live])
        rewards.append(reward)
        seen.append(offered)
    return np.array(rewards), np.array(seen), [environment.solution(row).tolist() for row in rows]


def test_batches_do_not_change_bits(random_instance):
    """Rows played together and one by one, in pools of other sizes, give the same actions, rewards and tours to the bit."""
    instances = [random_instance(kind, 12, 7) for kind in KINDS]
    m = len(instances)
    choices = np.random.default_rng(0).random((m, 11))
    together = play(TspEnvironment(instances, m, 4), np.arange(m), np.arange(m), choices)
    for k in range(m):
        alone = play(TspEnvironment(instances, 3 * m, 4), np.array([2 * m]), np.array([k]), choices[k : k + 1])
        assert alone[0][:, 0].tobytes() == together[0][:, k].tobytes()
        assert np.array_equal(alone[1][:, 0], together[1][:, k]) and alone[2][0] == together[2][k]


def test_copying_steps_leave_the_source(random_instance):
    """A step to another row, even one that held a larger instance, leaves its source and equals the step in place."""
    instances = [random_instance("EUC_2D", 6, 1), random_instance("ATSP", 9, 2)]
    environment = TspEnvironment(instances, 3)
    environment.reset([0, 1, 2], [0, 1, 1])
    before = environment.state.order[0].copy()
    first = environment.step([0], [1], [3])
    assert np.array_equal(environment.state.order[0], before) and environment.state.visited[0] == 1
    assert environment.step([0], [0], [3]) == first
    for field in ("order", "place"):
        array = getattr(environment.state, field)
        assert np.array_equal(array[0, :6], array[1, :6])
    assert environment.state.instance[1] == 0 and environment.state.visited[1] == 2


@pytest.mark.parametrize("action", [0, 3, -1, 6, 10**6])
def test_visited_and_unknown_cities_are_not_legal(random_instance, action):
    """Going to a visited city, or to one that there is not, is refused."""
    environment = TspEnvironment([random_instance("EUC_2D", 6, 1)], 1)
    environment.reset([0], [0])
    environment.step([0], [0], [3])
    with pytest.raises(UsageError, match=f"action {action} is not legal in row 0"):
        environment.step([0], [0], [action])


def test_start_city_is_by_key(random_instance):
    """Without keys tours start at city 0, with keys at key % n: as many starts as there are keys."""
    environment = TspEnvironment([random_instance("EUC_2D", 5, 1)], 7)
    environment.reset(range(7), 0)
    assert environment.state.order[:, 0].tolist() == [0] * 7
    environment.reset(range(7), 0, np.arange(7))
    assert environment.state.order[:, 0].tolist() == [0, 1, 2, 3, 4, 0, 1]


def test_observation(random_instance):
    """Slots are the actions, then origin and destination; coordinates and distance blocks are those of the slots' cities."""
    instances = [random_instance("EXACT_2D", 7, 1), random_instance("ATSP", 5, 2)]
    environment = TspEnvironment(instances, 2, nearest=3)
    environment.reset([0, 1], [0, 1])
    environment.step([0, 1], [0, 1], [2, 4])
    seen, actions = environment.observe([0, 1]), environment.actions([0, 1])
    assert np.array_equal(seen["cities"][:, :3], actions)
    assert seen["cities"][:, 3].tolist() == [2, 4] and seen["cities"][:, 4].tolist() == [0, 0]
    assert np.array_equal(seen["mask"], seen["cities"] >= 0) and seen["remaining"].tolist() == [5, 3]
    assert np.array_equal(seen["coordinates"][0, :, :2], instances[0].points[seen["cities"][0]])
    assert not seen["coordinates"][1].any() and not seen["distances"][0].any()
    cities = seen["cities"][1]
    assert np.array_equal(seen["distances"][1], instances[1].matrix[np.ix_(cities, cities)])


def test_observation_of_the_end(random_instance):
    """At the end only origin and destination are left; where all instances are planar there is no distance block."""
    environment = TspEnvironment([random_instance("EUC_2D", 4, 1)], 1)
    environment.reset([0], [0])
    for city in (1, 3, 2):
        environment.step([0], [0], [city])
    seen = environment.observe([0])
    assert seen["mask"].tolist() == [[False, False, False, True, True]] and seen["remaining"].tolist() == [0]
    assert "distances" not in seen and not seen["coordinates"][0, :3].any()
    assert environment.solution(0).tolist() == [0, 1, 3, 2]


def test_equal_reduced_states_look_the_same(random_instance):
    """Two partial tours with the same ends and the same cities left, reached by other ways, have the same observation (BQ)."""
    environment = TspEnvironment([random_instance("EXACT_2D", 20, 1)], 2, nearest=6)
    environment.reset([0, 1], 0)
    for pair in zip((5, 9, 12, 3), (12, 5, 9, 3)):
        environment.step([0, 1], [0, 1], pair)
    a, b = environment.observe([0]), environment.observe([1])
    assert all(np.array_equal(a[key], b[key]) for key in a)


@pytest.mark.parametrize("options", [{"rows": 0}, {"nearest": 0}, {"instances": []}])
def test_empty_pools_are_refused(random_instance, options):
    """A pool holds at least one instance and one row."""
    with pytest.raises(UsageError, match="at least one"):
        TspEnvironment(**{"instances": [random_instance("EUC_2D", 3)], "rows": 1, **options})


def test_unfinished_tours_and_unknown_instances_are_refused(random_instance):
    """solution wants the end of the episode, reset an instance of the pool."""
    environment = Tsp().environment([random_instance("EUC_2D", 3)], 1)
    environment.reset([0], [0])
    with pytest.raises(UsageError, match="row 0 has visited 1 of 3 cities"):
        environment.solution(0)
    with pytest.raises(UsageError, match="instances are integers from 0 to 0"):
        environment.reset([0], [1])


def test_coordinates_need_no_matrix():
    """The pool of a large planar instance takes memory in proportion to its cities."""
    instance = TSP.generators["uniform"](size=20_000)
    environment = TspEnvironment([instance], 1, nearest=5)
    assert sum(array.nbytes for array in environment.state) < 200 * instance.n
    environment.reset([0], [0])
    assert (environment.actions([0]) >= 0).all()
